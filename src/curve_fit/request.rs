//! Assembles the request for a fit: the prepared model, the points with the device that evaluates them, and all
//! settings.

use super::CurveFit;
use super::parameters::told_of_ties;
use super::start::CompleteStart;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::fit::engine::{Request, Spent};
use crate::fit::execution::Execution;
#[cfg(test)]
use crate::fit::placement::Uploaded;
use crate::fit::placement::{GivenDevice, PlacementRequest};
use crate::fit::supply::InMemory;
use crate::model::native::Model;
use std::time::Instant;

impl CurveFit {
    /// Returns the requested placement of a fit.
    pub(super) fn wanted<'a>(&'a self, given: Option<GivenDevice<'a>>) -> PlacementRequest<'a> {
        #[cfg(test)]
        let given = given.or(self.device.as_ref().map(|device| GivenDevice {
            device,
            others: &self.other_devices,
            uploaded: Uploaded::None,
            take_over: self.take_over,
        }));
        let CurveFit { backend, costs, .. } = *self;
        PlacementRequest { backend, costs, given }
    }

    /// Passes the request for a fit to `answer` and returns its result. `given`: a device to use, with the points if
    /// they are on it.
    pub(super) fn request<R>(
        &self,
        points: &Points<'_>,
        start: CompleteStart,
        given: Option<GivenDevice<'_>>,
        spent: Spent,
        answer: impl FnOnce(Request<'_>) -> Result<R>,
    ) -> Result<R> {
        let (mut answer, mut found) = (Some(answer), None);
        self.with_request(points, start, given, spent, &mut |request| {
            found = answer.take().map(|answer| answer(request));
        })?;
        // `with_request` succeeded, therefore `answer` was called.
        found.unwrap_or(Err(Error::NoParameters))
    }

    /// Implements [`request`](Self::request) without a copy of the code for each type of result.
    fn with_request(
        &self,
        points: &Points<'_>,
        start: CompleteStart,
        given: Option<GivenDevice<'_>>,
        spent: Spent,
        answer: &mut dyn FnMut(Request<'_>),
    ) -> Result<()> {
        let begun = Instant::now();
        let free = self.free_positions();
        self.check_priors(points.is_absolute())?;
        if points.used + self.priors.len() < free.len() && !self.underdetermined {
            return Err(Error::TooFewPoints { points: points.used, parameters: free.len() });
        }
        let ready = self.ready(&free)?;
        let unused = self.unused(&ready.model, &free)?;
        let prepared = ready.prepared(&points.x_sigma)?;
        let prepare_time = begun.elapsed();
        let wanted = self.wanted(given);
        let watch =
            self.watch_after(spent.search).map(|observer| told_of_ties(observer, &ready.ties));
        let rules = (self.loss, self.precision);
        let execution = Execution::of(&wanted, rules, ready.printed.as_ref(), points)?;
        let supply = InMemory::new(points, &execution);
        answer(Request {
            model: &ready.model,
            prepared: &prepared,
            supply: &supply,
            points: points.overview(),
            names: &self.names,
            start: start.values,
            bounds: &self.bounds,
            fixed: self.fixed_or_equal(&free),
            ties: ready.ties.clone(),
            components: self.components.clone(),
            derived: &self.derived,
            priors: &self.priors,
            unused,
            loss: self.loss,
            options: &self.options,
            observer: watch.as_deref(),
            starts_refined: false,
            linear: start.solved,
            scales: &self.scales,
            on_one_thread: false,
            prepare_time,
            spent,
        });
        Ok(())
    }

    /// Returns for each parameter true if it is fixed, kept by equal bounds or tied.
    pub(super) fn fixed_or_equal(&self, free: &[usize]) -> Vec<bool> {
        (0..self.names.len()).map(|i| !free.contains(&i)).collect()
    }

    /// Returns the positions of the parameters that are neither fixed, nor kept by equal bounds, nor tied.
    pub(super) fn free_positions(&self) -> Vec<usize> {
        let kept = |i: usize| self.fixed[i] || self.bounds[i].0 == self.bounds[i].1;
        let free = |&i: &usize| !kept(i) && !self.is_tied(i);
        (0..self.names.len()).filter(free).collect()
    }

    /// Returns for each parameter true if the model is known not to contain it.
    ///
    /// # Errors
    /// [`Error::NoParameterDependence`] if the model contains none of the `free` parameters.
    pub(super) fn unused(&self, model: &Model, free: &[usize]) -> Result<Vec<bool>> {
        let unused = |i: usize| match model {
            Model::Traced(program) => !program.uses(i),
            Model::Native(_) => false,
        };
        let unused: Vec<bool> = (0..self.names.len()).map(unused).collect();
        if !free.is_empty() && free.iter().all(|&i| unused[i]) {
            let names = free.iter().map(|&i| self.names[i].clone()).collect();
            return Err(Error::NoParameterDependence { names });
        }
        Ok(unused)
    }
}
