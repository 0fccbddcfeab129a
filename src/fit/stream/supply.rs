//! Points of a stream as a fit's supply.

use crate::backend::Evaluator;
use crate::backend::cpu::kernels;
use crate::backend::cuda::driver::DriverError;
use crate::backend::cuda::source::Arithmetic;
use crate::backend::stream::{Evaluated, Passes, Streamed, locked};
use crate::error::{Error, Result};
use crate::fit::stats::Stats;
use crate::fit::supply::{EvaluatorWish, Supply};
use std::sync::Mutex;

/// Points that are passed over.
pub(crate) struct StreamSupply<'a> {
    pub(crate) passes: Mutex<Passes<'a>>,
}

impl Supply for StreamSupply<'_> {
    fn evaluator<'e>(&'e self, wish: &EvaluatorWish<'e>) -> Result<Box<dyn Evaluator + 'e>> {
        let evaluated = Evaluated { model: wish.model, loss: wish.loss, start: wish.start };
        Ok(Box::new(Streamed::new(&self.passes, evaluated)))
    }

    fn rough_arithmetic(&self) -> Arithmetic {
        Arithmetic::Double
    }

    fn failed(&self, error: DriverError) -> Error {
        Error::DeviceFailed { name: "no device".into(), message: error.to_string() }
    }

    fn distinct(&self, _enough: usize) -> usize {
        locked(&self.passes).known.as_ref().map_or(0, |(_, distinct)| *distinct)
    }

    fn is_on_device(&self) -> bool {
        false
    }

    fn stats(&self, evaluator: &dyn Evaluator) -> Stats {
        let passes = locked(&self.passes);
        Stats {
            backend: "CPU",
            instruction_set: kernels::detect().name.to_owned(),
            reason: "a stream".into(),
            threads: evaluator.threads(),
            scratch_bytes: passes.prefetch.bytes(),
            chunks: 1,
            ..Stats::default()
        }
    }
}
