//! Measured points of a block, and the curve to which their distances are computed.

use super::super::assembly::Assembled;
use super::super::code::{BLOCK, Code};
use super::super::kernels::Kernels;
use super::super::machine::{Block, copy};
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::model::native::Model;

/// Code of the model's value and its derivatives with respect to the independent variables that have errors.
#[derive(Debug)]
pub(crate) struct SlopeCode {
    /// Positions of the independent variables that have errors.
    pub(super) inexact: Vec<usize>,
    /// The value, the first and the second derivatives, in the order of `Program::with_slopes`.
    pub(super) slopes: Assembled,
    /// The value alone.
    pub(super) value: Assembled,
}

/// Uniform numbers of a pass, which are the same at every point.
#[derive(Default)]
pub(crate) struct SlopeNumbers {
    pub(super) slopes: Vec<f64>,
    pub(super) value: Vec<f64>,
}

impl SlopeCode {
    /// Compiles the code for the positions `inexact`.
    ///
    /// # Errors
    /// Returns [`Error::ModelKind`] if the model is native, since its slopes are not known.
    pub(crate) fn new(model: &Model, inexact: Vec<usize>) -> Result<SlopeCode> {
        let Model::Traced(program) = model else {
            let remedy = "write it as a closure over `Var`, which is traced";
            return Err(Error::ModelKind { what: "x_sigma", remedy });
        };
        let slopes = Code::compile(&program.with_slopes(&inexact)?).into();
        Ok(SlopeCode { inexact, slopes, value: Code::compile(program).into() })
    }

    /// Computes the numbers that are the same at every point.
    pub(crate) fn uniforms(&self, params: &[f64], numbers: &mut SlopeNumbers) {
        self.slopes.uniforms(params, &mut numbers.slopes);
        self.value.uniforms(params, &mut numbers.value);
    }

    /// Returns the number of operations per point and pass: about four evaluations.
    pub(crate) fn operations(&self) -> usize {
        4 * self.slopes.steps.len()
    }
}

/// The curve at given parameters.
#[derive(Clone, Copy)]
pub(super) struct Curve<'a> {
    pub(super) code: &'a SlopeCode,
    pub(super) numbers: &'a SlopeNumbers,
    pub(super) kernels: &'a Kernels,
}

/// The measured points of a block.
#[derive(Default)]
pub(super) struct Measured {
    /// Number of independent variables with errors.
    pub(super) k: usize,
    /// One column per independent variable.
    pub(super) x: Vec<Vec<f64>>,
    pub(super) y: Vec<f64>,
    /// 1/σ.
    pub(super) weight: Vec<f64>,
    /// Standard deviations of x: `k` numbers per point.
    pub(super) sigma: Vec<f64>,
}

impl Measured {
    /// Copies the points of a block.
    pub(super) fn load(
        &mut self,
        points: &Points<'_>,
        inexact: &[usize],
        (block, len): (Block<'_>, usize),
    ) {
        self.k = inexact.len();
        self.x.resize(points.columns.len(), Vec::new());
        for (values, x) in points.columns.iter().zip(&mut self.x) {
            x.resize(BLOCK, 0.0);
            copy(values, block, &mut x[..len]);
        }
        self.y.resize(BLOCK, 0.0);
        copy(&points.y, block, &mut self.y[..len]);
        self.weight.clear();
        self.sigma.clear();
        for i in 0..len {
            let index = block.index(i);
            self.weight.push(points.weight(index) / points.units.row);
            self.sigma.extend(inexact.iter().map(|&c| points.x_sigma.at(c, index)));
        }
    }

    /// Returns the number of points.
    pub(super) fn len(&self) -> usize {
        self.weight.len()
    }

    /// Returns the standard deviations of the inexact variables at point `i`.
    pub(super) fn sigma(&self, i: usize) -> &[f64] {
        &self.sigma[i * self.k..][..self.k]
    }
}
