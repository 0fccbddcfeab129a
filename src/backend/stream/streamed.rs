//! Evaluator of the points of a stream. Each evaluation that is not in the cache is a pass over all points.

use super::passes::Passes;
use super::question::{Answer, At, Question};
use crate::backend::cpu::Prepared;
use crate::backend::cuda::source::FEW_PARAMETERS;
use crate::backend::cuda::streamed::DeviceStream;
use crate::backend::stream::pass_cache::Evaluated;
use crate::data::loss::Loss;
use crate::normal::{BlockRow, Normal, RFactor};
use crate::solver::evaluator::{DeviceUse, Evaluator};
use crate::solver::observe::Patience;
use crate::solver::outcome::{BadPoint, Fault};
use crate::threads::{self, lock};
use std::sync::Mutex;

/// A model over the points of a stream.
pub(crate) struct StreamEvaluator<'e, 'a> {
    passes: &'e Mutex<Passes<'a>>,
    model: &'e Prepared,
    loss: Loss,
    /// Time limit and stop request of the passes.
    patience: Patience<'e>,
    /// Starting point of the fit; it sets the typical sizes of the parameters.
    start: Vec<f64>,
    /// Upper limit of the weight of a point, multiplied by the row unit.
    most_weight: f64,
    /// The device that evaluates the passes; `None` without a device or after it failed.
    device: Option<DeviceStream>,
    /// If true, the CPU continues the fit when the device fails.
    take_over: bool,
    failed: Option<String>,
}

impl<'e, 'a> StreamEvaluator<'e, 'a> {
    /// Creates an evaluator without a device. `start`: starting point of the fit.
    pub(crate) fn new(
        passes: &'e Mutex<Passes<'a>>,
        (model, loss, patience): (&'e Prepared, Loss, Patience<'e>),
        start: Vec<f64>,
    ) -> Self {
        StreamEvaluator {
            passes,
            model,
            loss,
            patience,
            start,
            most_weight: f64::INFINITY,
            device: None,
            take_over: false,
            failed: None,
        }
    }

    /// Returns the settings of a pass.
    fn evaluated(&self) -> Evaluated<'_> {
        let StreamEvaluator { model, loss, most_weight, ref start, patience, .. } = *self;
        Evaluated { model, loss, most_weight, start, patience }
    }

    /// Sets the device that evaluates the passes, or the reason why it failed before the first pass.
    pub(crate) fn on(
        mut self,
        device: std::result::Result<DeviceStream, String>,
        take_over: bool,
    ) -> Self {
        match device {
            Ok(device) => self.device = Some(device),
            Err(failed) => self.failed = Some(failed),
        }
        self.take_over = take_over;
        self
    }

    /// Runs `pass` on the device. Returns false if the CPU must run it, because there is no device or it failed.
    fn on_device(
        &mut self,
        pass: impl FnOnce(&mut Passes<'a>, &mut DeviceStream) -> Result<(), Fault>,
    ) -> Result<bool, Fault> {
        let Some(device) = &mut self.device else { return Ok(false) };
        match pass(&mut lock(self.passes), device) {
            Ok(()) => Ok(true),
            Err(Fault::Device(error)) if self.take_over => {
                self.failed = Some(error.to_string());
                self.device = None;
                Ok(false)
            }
            Err(fault) => Err(fault),
        }
    }

    fn ask(&mut self, question: &Question) -> Result<Answer, Fault> {
        lock(self.passes).ask(self.evaluated(), question)
    }

    /// Evaluates `question` for a method that cannot return a fault. Returns `None` if the evaluation fails; the next
    /// pass then returns the fault.
    fn look(&mut self, question: &Question) -> Option<Answer> {
        let answer = self.ask(question);
        answer.map_err(|fault| lock(self.passes).failed = Some(fault)).ok()
    }
}

impl Evaluator for StreamEvaluator<'_, '_> {
    fn normal(&mut self, params: &[f64], columns: &[f64], out: &mut Normal) -> Result<(), Fault> {
        let key = self.evaluated().key(params, columns);
        if self.on_device(|passes, device| passes.answer_on(device, &key, out))? {
            return Ok(());
        }
        lock(self.passes).result(self.evaluated(), &key, out)
    }

    fn factor(&mut self, params: &[f64], columns: &[f64], out: &mut RFactor) -> Result<(), Fault> {
        let key = self.evaluated().key(params, columns);
        // The device does not store the rows of models with many parameters, therefore the CPU computes their R factor.
        let done = out.n <= FEW_PARAMETERS
            && self.on_device(|passes, device| passes.answer_on(device, &key, out))?;
        if done { Ok(()) } else { lock(self.passes).result(self.evaluated(), &key, out) }
    }

    fn magnitudes(&mut self, params: &[f64], out: &mut [f64]) -> Result<(), Fault> {
        let answer = self.ask(&Question::Magnitudes { params: params.to_vec() })?;
        if let Answer::Magnitudes(largest) = answer {
            out.copy_from_slice(&largest);
        }
        Ok(())
    }

    fn heaviest(&mut self, count: usize, level: f64) -> Vec<f64> {
        let known = lock(self.passes).known.as_ref().map(|(overview, _)| *overview);
        // Suppose that fewer than `count` weights reach `level` times the largest weight. Then the sum of w² over the
        // largest w² (`heaviest`) is at most `most`: each of these weights adds at most 1, each other weight less than
        // level². If the sum is larger, `count` weights reach that level, and the result is empty.
        let most = known.map(|all| (count - 1) as f64 + all.used as f64 * level * level);
        if known.zip(most).is_none_or(|(all, most)| all.heaviest > most) {
            return Vec::new();
        }
        match self.look(&Question::Heaviest { count: count as u64 }) {
            Some(Answer::Heaviest(_, all)) => all,
            _ => Vec::new(),
        }
    }

    fn limit_weights(&mut self, most: f64) -> Option<f64> {
        if self.device.take().is_some() {
            self.failed = Some("a few points outweigh all others by far".to_owned());
        }
        if self.most_weight == most {
            return None;
        }
        self.most_weight = most;
        match self.look(&Question::LimitWeights) {
            Some(Answer::LimitWeights(sums)) => Some(sums.sum().unwrap_or_default().0),
            _ => Some(0.0),
        }
    }

    fn heavy_rows(&mut self, params: &[f64], columns: &[f64]) -> Result<Vec<BlockRow>, Fault> {
        if self.most_weight == f64::INFINITY {
            return Ok(Vec::new());
        }
        let at = At { params: params.to_vec(), columns: columns.to_vec() };
        Ok(self.ask(&Question::HeavyRows(at))?.rows(columns.len()))
    }

    fn is_exact(&mut self, params: &[f64]) -> Result<bool, Fault> {
        let answer = self.ask(&Question::IsExact { params: params.to_vec() })?;
        Ok(matches!(answer, Answer::IsExact(true)))
    }

    fn noise(&self) -> f64 {
        lock(self.passes).noise()
    }

    fn threads(&self) -> usize {
        threads::count()
    }

    fn scratch_bytes(&self) -> usize {
        lock(self.passes).bytes()
    }

    fn device(&self) -> Option<DeviceUse> {
        let (bytes, failed) = (self.device.as_ref().map(DeviceStream::bytes), self.failed.clone());
        (bytes.is_some() || failed.is_some()).then(|| DeviceUse {
            bytes: bytes.unwrap_or(0),
            chunks: 1,
            failed,
        })
    }

    fn first_bad_point(&mut self, params: &[f64]) -> Option<BadPoint> {
        match self.look(&Question::FirstBadPoint { params: params.to_vec() })? {
            Answer::FirstBadPoint(found) => found,
            _ => None,
        }
    }
}
