//! A program's CUDA C++, printed once for each way in which data and losses come.

use super::cache::Origin;
use super::device::{Device, Kernels, LoadError};
use super::source::{Arithmetic, Spec, Storage, translation_unit};
use crate::data::loss::Loss;
use crate::model::optimise::depends_on_point;
use crate::model::program::Program;
use std::mem::{Discriminant, discriminant};
use std::sync::{Arc, Mutex, PoisonError};

/// What a translation unit depends on beside the program.
#[derive(Clone, PartialEq)]
struct Kind {
    columns: Vec<Storage>,
    response: Storage,
    loss: Discriminant<Loss>,
    arithmetic: Arithmetic,
}

/// A program with partials by the free parameters, and its translation units so far.
pub(crate) struct Printed {
    pub(crate) program: Program,
    /// Units of work at a point, as [`Costs`](crate::Costs) counts them.
    pub(crate) units: f64,
    units_printed: Mutex<Vec<(Kind, Arc<str>)>>,
}

impl Printed {
    pub(crate) fn new(program: Program) -> Printed {
        let units = crate::backend::choice::units(&program, &depends_on_point(&program.nodes));
        Printed { program, units, units_printed: Mutex::default() }
    }

    /// Number of free parameters.
    pub(crate) fn free(&self) -> usize {
        self.program.partials.len()
    }

    /// The kernels on `device` for data stored like this.
    pub(crate) fn kernels(
        &self,
        device: &Device,
        (columns, response): (Vec<Storage>, Storage),
        loss: Loss,
        arithmetic: Arithmetic,
    ) -> Result<(Arc<Kernels>, Origin), LoadError> {
        let kind = Kind { columns, response, loss: discriminant(&loss), arithmetic };
        device.kernels(&self.source(kind, loss))
    }

    /// Whether [`kernels`](Self::kernels) would find them loaded.
    pub(crate) fn is_loaded(
        &self,
        device: &Device,
        (columns, response): (Vec<Storage>, Storage),
        loss: Loss,
        arithmetic: Arithmetic,
    ) -> bool {
        let kind = Kind { columns, response, loss: discriminant(&loss), arithmetic };
        device.is_loaded(&self.source(kind, loss))
    }

    fn source(&self, kind: Kind, loss: Loss) -> Arc<str> {
        let mut printed = self.units_printed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, source)) = printed.iter().find(|(k, _)| *k == kind) {
            return source.clone();
        }
        let source: Arc<str> = translation_unit(&Spec {
            program: &self.program,
            free: self.free(),
            columns: kind.columns.clone(),
            response: kind.response,
            loss,
            arithmetic: kind.arithmetic,
        })
        .into();
        printed.push((kind, source.clone()));
        source
    }
}
