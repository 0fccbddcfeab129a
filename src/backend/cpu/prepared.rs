//! A model prepared for the CPU, and one pass over points at given parameters.

use super::assembly::Assembled;
use super::closest::{SlopeCode, SlopeNumbers};
use super::code::{Code, Operand};
use crate::error::Result;
use crate::model::native::{Model, Native};
use crate::model::program::Program;
use std::sync::{Arc, OnceLock};

/// Model prepared for evaluation on the CPU, with partials with respect to the free parameters only. It does not depend
/// on data, and many fits can share it.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(super) kind: PreparedForm,
    /// Code of the derivatives with respect to x, if x has errors.
    pub(super) slopes: Option<Arc<SlopeCode>>,
    /// Positions of the free parameters.
    pub(crate) free: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum PreparedForm {
    /// `collected`: code in which the constant factors of each partial are collected into one coefficient, see
    /// `model::collect`. `plain`: code as traced, for parameters at which a coefficient is too small or too large.
    Traced {
        collected: Arc<Assembled>,
        plain: Arc<PlainCode>,
    },
    Native {
        native: Native,
        bounds: Vec<(f64, f64)>,
        outputs: Vec<Operand>,
    },
}

/// Code of a program as traced. Few fits need it, so it is compiled on first use.
#[derive(Debug)]
pub(super) struct PlainCode {
    program: Arc<Program>,
    code: OnceLock<Assembled>,
}

impl PlainCode {
    pub(super) fn get(&self) -> &Assembled {
        self.code.get_or_init(|| Assembled::from(Code::compile(&self.program)))
    }
}

impl Prepared {
    /// Prepares a program whose outputs are the value and the partials with respect to `free`.
    pub(crate) fn traced(program: Arc<Program>, free: &[usize]) -> Prepared {
        let collected = Arc::new(Assembled::from(Code::collected(&program)));
        let plain = Arc::new(PlainCode { program, code: OnceLock::new() });
        Prepared {
            free: free.to_vec(),
            kind: PreparedForm::Traced { collected, plain },
            slopes: None,
        }
    }

    /// Returns true if the model is native.
    pub(crate) fn is_native(&self) -> bool {
        matches!(self.kind, PreparedForm::Native { .. })
    }

    /// Returns the number of element operations per point and pass. Returns `None` for a native model that is called
    /// with single points, since its cost is unknown.
    pub(crate) fn work_of_a_point(&self) -> Option<usize> {
        let k = self.outputs();
        match &self.kind {
            PreparedForm::Traced { collected, .. } => {
                let slopes = self.slopes.as_ref().map_or(0, |slopes| slopes.operations());
                Some(collected.steps.len() + slopes + k * k / 2)
            }
            PreparedForm::Native { native, .. } if native.takes_arrays() => Some(k * k / 2),
            PreparedForm::Native { .. } => None,
        }
    }

    /// Returns the number of steps of the program; 0 for a native model.
    pub(crate) fn operations(&self) -> usize {
        match &self.kind {
            PreparedForm::Traced { collected, .. } => collected.steps.len(),
            PreparedForm::Native { .. } => 0,
        }
    }

    /// Prepares a native model. Steps of numerical partials stay within `bounds`, one pair per parameter.
    pub(crate) fn native(native: &Native, free: &[usize], bounds: &[(f64, f64)]) -> Prepared {
        let outputs = (0..=free.len()).map(Operand::Register).collect();
        let kind =
            PreparedForm::Native { native: native.clone(), bounds: bounds.to_vec(), outputs };
        Prepared { free: free.to_vec(), kind, slopes: None }
    }

    /// Adds the code for data whose independent variables `inexact` have errors. `model`: the model of `self`.
    ///
    /// # Errors
    /// Returns [`Error::ModelKind`](crate::Error::ModelKind) if the model is native, since its slopes are not known.
    pub(crate) fn with_errors_in_x(&self, model: &Model, inexact: Vec<usize>) -> Result<Prepared> {
        let slopes = Some(Arc::new(SlopeCode::new(model, inexact)?));
        Ok(Prepared { slopes, ..self.clone() })
    }

    /// Returns the number of outputs: the value and its partials.
    pub(super) fn outputs(&self) -> usize {
        1 + self.free.len()
    }

    /// Returns the number of registers of the interpreter for the collected code. The plain code may need a different
    /// number.
    pub(super) fn registers(&self) -> usize {
        match &self.kind {
            PreparedForm::Traced { collected, .. } => collected.registers,
            PreparedForm::Native { outputs, .. } => outputs.len(),
        }
    }
}

/// Parameters and code of one pass over points.
#[derive(Clone, Copy)]
pub(super) struct Pass<'a> {
    pub(super) params: &'a [f64],
    /// Numbers that are the same at every point.
    pub(super) uniforms: &'a [f64],
    /// `None` for a native model.
    pub(super) code: Option<&'a Assembled>,
    pub(super) outputs: &'a [Operand],
    /// Code that finds the closest points, with its uniform numbers, if x has errors.
    pub(super) slopes: Option<(&'a SlopeCode, &'a SlopeNumbers)>,
}

/// Buffers for the uniform numbers of a pass.
#[derive(Default)]
pub(super) struct PassNumbers {
    model: Vec<f64>,
    slopes: SlopeNumbers,
}

impl PassNumbers {
    fn of_slopes<'a>(
        room: &'a mut SlopeNumbers,
        model: &'a Prepared,
        params: &[f64],
    ) -> Option<(&'a SlopeCode, &'a SlopeNumbers)> {
        let slopes = model.slopes.as_deref()?;
        slopes.uniforms(params, room);
        Some((slopes, room))
    }
}

impl<'a> Pass<'a> {
    pub(super) fn new(
        model: &'a Prepared,
        params: &'a [f64],
        numbers: &'a mut PassNumbers,
    ) -> Pass<'a> {
        let PassNumbers { model: uniforms, slopes } = numbers;
        let slopes = PassNumbers::of_slopes(slopes, model, params);
        let (code, outputs) = match &model.kind {
            PreparedForm::Traced { collected, plain } => {
                let code = if collected.uniforms(params, uniforms) {
                    &**collected
                } else {
                    plain.get().uniforms(params, uniforms);
                    plain.get()
                };
                (Some(code), &code.outputs)
            }
            PreparedForm::Native { outputs, .. } => (None, outputs),
        };
        Pass { params, uniforms, code, outputs, slopes }
    }

    /// Creates a pass with the code as traced, which is valid at all parameters.
    pub(super) fn plain(
        model: &'a Prepared,
        params: &'a [f64],
        numbers: &'a mut PassNumbers,
    ) -> Pass<'a> {
        match &model.kind {
            PreparedForm::Traced { plain, .. } => {
                let PassNumbers { model: uniforms, slopes } = numbers;
                let plain = plain.get();
                plain.uniforms(params, uniforms);
                let slopes = PassNumbers::of_slopes(slopes, model, params);
                Pass { params, uniforms, code: Some(plain), outputs: &plain.outputs, slopes }
            }
            PreparedForm::Native { .. } => Pass::new(model, params, numbers),
        }
    }

    /// Creates a pass with the code as traced. It repeats a piece of points whose sums are not finite after a pass from
    /// [`new`](Pass::new), because the coefficients of the collected code may be the cause. Returns `None` for a native
    /// model. `numbers`: initialised on first use.
    pub(super) fn once_more(
        model: &'a Prepared,
        params: &'a [f64],
        numbers: &'a OnceLock<PassNumbers>,
    ) -> Option<Pass<'a>> {
        let PreparedForm::Traced { plain, .. } = &model.kind else { return None };
        let plain = plain.get();
        let numbers = numbers.get_or_init(|| {
            let mut numbers = PassNumbers::default();
            Pass::plain(model, params, &mut numbers);
            numbers
        });
        let (uniforms, outputs) = (&numbers.model[..], &plain.outputs[..]);
        let slopes = model.slopes.as_deref().map(|slopes| (slopes, &numbers.slopes));
        Some(Pass { params, uniforms, code: Some(plain), outputs, slopes })
    }
}
