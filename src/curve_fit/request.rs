//! Request for a fit: the prepared model, the points with the device that evaluates them, and all settings.

use super::CurveFit;
use super::parameters::told_of_ties;
use super::ready::{CompleteStart, Ready};
use crate::data::points::Points;
use crate::data::x_sigma::XSigma;
use crate::error::{Error, Result};
use crate::fit::engine::{Request, Spent};
use crate::fit::execution::Execution;
use crate::fit::in_memory::InMemory;
use crate::fit::placement::{AssignedDevices, GivenDevice, PlacementRequest, Uploaded};
use crate::fit::spec::FitSpec;
use crate::host::Instant;
use crate::model::native::Model;
use crate::solver::observe::Observer;
use std::sync::Arc;

impl CurveFit {
    /// Returns the requested placement of a fit. `given`: the device that holds the data, if any.
    pub(super) fn wanted<'a>(&'a self, given: Option<GivenDevice<'a>>) -> PlacementRequest<'a> {
        let AssignedDevices { devices, take_over } = &self.assigned;
        let assigned = (!devices.is_empty()).then_some(GivenDevice {
            devices,
            uploaded: Uploaded::None,
            take_over: *take_over,
        });
        let CurveFit { backend, costs, .. } = *self;
        PlacementRequest { backend, costs, given: given.or(assigned) }
    }

    /// Prepares the model, selects the backend, and returns the request for a fit of `points` from `start`. `given`:
    /// the required device, with the points if they are on it.
    ///
    /// # Errors
    /// Errors in the model, priors or number of points; errors of a device that the caller requires.
    pub(super) fn request<'a>(
        &'a self,
        points: &'a Points<'_>,
        start: CompleteStart,
        given: Option<GivenDevice<'_>>,
        spent: Spent,
    ) -> Result<Request<'a>> {
        let begun = Instant::now();
        let free = self.free_positions();
        self.check_priors(points.is_absolute())?;
        if points.used + self.priors.len() < free.len() && !self.underdetermined {
            return Err(Error::TooFewPoints { points: points.used, parameters: free.len() });
        }
        let ready = self.ready(&free)?;
        let watch =
            self.watch_after(spent.search).map(|observer| told_of_ties(observer, &ready.ties));
        let spec = self.spec(ready, &free, &points.x_sigma, watch)?;
        let prepare_time = begun.elapsed();
        let rules = (self.loss, self.precision);
        let kernels = (ready.printed.as_ref(), free.len());
        let execution = Execution::of(&self.wanted(given), rules, kernels, points)?;
        Ok(Request {
            spec,
            model: &ready.model,
            source: Arc::new(InMemory::new(points, execution)),
            points: points.overview(),
            start: start.values,
            fixed: self.fixed_or_equal(&free),
            ties: ready.ties.clone(),
            components: self.components.clone(),
            derived: &self.derived,
            starts_refined: false,
            sample: None,
            linear: start.solved,
            prepare_time,
            spent,
        })
    }

    /// Returns the specification of a fit with the free parameters `free`.
    ///
    /// # Errors
    /// [`Error::NoParameterDependence`] if no `free` parameter occurs in the model; [`Error::ModelKind`] for a native
    /// model and data with errors in x.
    pub(super) fn spec<'a>(
        &'a self,
        ready: &'a Ready,
        free: &[usize],
        x_sigma: &XSigma<'_>,
        observer: Option<Arc<Observer>>,
    ) -> Result<FitSpec<'a>> {
        Ok(FitSpec {
            unused: self.unused(&ready.model, free)?,
            prepared: ready.prepared(x_sigma)?,
            names: &self.names,
            bounds: &self.bounds,
            scales: &self.scales,
            priors: &self.priors,
            loss: self.loss,
            estimator: self.estimator,
            options: self.options,
            observer,
            on_one_thread: false,
        })
    }

    /// Returns, for each parameter, true if it is fixed, has equal bounds or is tied.
    pub(super) fn fixed_or_equal(&self, free: &[usize]) -> Vec<bool> {
        (0..self.names.len()).map(|i| !free.contains(&i)).collect()
    }

    /// Returns the positions of the free parameters: not fixed, not tied, and without equal bounds.
    pub(super) fn free_positions(&self) -> Vec<usize> {
        let kept = |i: usize| self.fixed[i] || self.bounds[i].0 == self.bounds[i].1;
        let free = |&i: &usize| !kept(i) && !self.is_tied(i);
        (0..self.names.len()).filter(free).collect()
    }

    /// Returns, for each parameter, true if it is known not to occur in the model.
    ///
    /// # Errors
    /// [`Error::NoParameterDependence`] if no `free` parameter occurs in the model.
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
