//! A stream as the solver sees it: an evaluator whose every new question is a pass over all points.

use super::memo::Question;
use super::passes::{Evaluated, Passes};
use crate::backend::{BadPoint, Evaluator, Fault};
use crate::normal::{Normal, RFactor};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A model over the points of a stream.
pub(crate) struct Streamed<'e, 'a> {
    passes: &'e Mutex<Passes<'a>>,
    evaluated: Evaluated<'e>,
}

impl<'e, 'a> Streamed<'e, 'a> {
    pub(crate) fn new(passes: &'e Mutex<Passes<'a>>, evaluated: Evaluated<'e>) -> Self {
        Streamed { passes, evaluated }
    }

    fn question(&self, params: &[f64], columns: &[f64]) -> Question {
        let loss = self.evaluated.loss;
        Question { loss, params: params.to_vec(), columns: columns.to_vec() }
    }
}

/// The passes; whoever panicked while it had them left them as they were.
pub(crate) fn locked<'m, 'a>(passes: &'m Mutex<Passes<'a>>) -> MutexGuard<'m, Passes<'a>> {
    passes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Evaluator for Streamed<'_, '_> {
    fn normal(&mut self, params: &[f64], columns: &[f64], out: &mut Normal) -> Result<(), Fault> {
        let question = self.question(params, columns);
        locked(self.passes).normal(self.evaluated, &question, out)
    }

    fn factor(&mut self, params: &[f64], columns: &[f64], out: &mut RFactor) -> Result<(), Fault> {
        let question = self.question(params, columns);
        locked(self.passes).factor(self.evaluated, &question, out)
    }

    fn magnitudes(&mut self, params: &[f64], out: &mut [f64]) -> Result<(), Fault> {
        let mut part = out.to_vec();
        out.fill(0.0);
        locked(self.passes).each_part(self.evaluated, 0, |cpu, _, _| {
            cpu.magnitudes(params, &mut part)?;
            out.iter_mut().zip(&part).for_each(|(o, &p)| *o = o.max(p));
            Ok(())
        })
    }

    fn threads(&self) -> usize {
        rayon::current_num_threads()
    }

    fn scratch_bytes(&self) -> usize {
        locked(self.passes).prefetch.bytes()
    }

    fn first_bad_point(&mut self, params: &[f64]) -> Option<BadPoint> {
        let mut found = None;
        let outcome = locked(self.passes).each_part(self.evaluated, 0, |cpu, first, _| {
            found = cpu.first_bad_point(params);
            match &mut found {
                Some(point) => {
                    point.index += first as usize;
                    Err(Fault::Stopped)
                }
                None => Ok(()),
            }
        });
        if let (None, Err(fault)) = (&found, outcome) {
            locked(self.passes).failed = Some(fault);
        }
        found
    }
}
