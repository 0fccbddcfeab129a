//! Settings of a batch on a device: data, model restrictions, loss, and the stages of each fit.

use super::unit::{SLIM_PARAMETERS, SLIM_POINTS};
use crate::backend::Precision;
use crate::backend::cuda::source::{Arithmetic, Weighting};
use crate::data::batch::{BatchData, Deviations, Starts};
use crate::data::loss::{Estimator, Loss};
use crate::data::sigma::Sigma;

/// Settings that all fits of a batch share. Arrays have one value per parameter, except `free`.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) data: &'a BatchData<'a>,
    pub(crate) starts: &'a Starts<'a>,
    pub(crate) bounds: &'a [(f64, f64)],
    /// Positions of the free parameters.
    pub(crate) free: &'a [usize],
    pub(crate) unused: &'a [bool],
    pub(crate) loss: Loss,
    pub(crate) estimator: Estimator,
    pub(crate) precision: Precision,
    pub(crate) rules: KernelRules,
    pub(crate) clamp_start: bool,
    pub(crate) underdetermined: bool,
    /// True if covariance matrices are requested.
    pub(crate) covariances: bool,
}

/// Loss and arithmetic of one launch, which continues from the results of the previous launch.
#[derive(Clone, Copy)]
pub(super) struct Stage {
    pub(super) loss: Loss,
    pub(super) arithmetic: Arithmetic,
    /// True if fits that converge in f32, in this stage or the previous one, are final.
    pub(super) keep: bool,
}

impl Stage {
    pub(super) fn is_rough(&self) -> bool {
        self.arithmetic != Arithmetic::Double
    }
}

impl Job<'_> {
    /// Returns true if the loss weighs points by their residuals.
    pub(super) fn is_robust(&self) -> bool {
        self.loss != Loss::Linear
    }

    /// Returns true if the slim kernel supports the batch: few free parameters, and the same number of points in all
    /// fits, without a mask, not fewer than parameters and not many.
    pub(super) fn has_slim_kernel(&self) -> bool {
        let points = self.data.equal().filter(|_| self.data.mask.is_none()).unwrap_or(0);
        self.free.len() <= SLIM_PARAMETERS && (self.free.len()..=SLIM_POINTS).contains(&points)
    }

    /// Returns the stages of a fit: f32 before f64, and [`Loss::first`], if the loss has one, before the fit's loss.
    /// The f32 stage then uses the first loss only, because the fit's loss has many minima and f32 might find another.
    /// Each stage needs an evaluation; if the limit of evaluations is smaller, the first stages are left out.
    pub(super) fn stages(&self) -> Vec<Stage> {
        let first = self.loss.first();
        let keep = self.precision == Precision::Single && first.is_none();
        // `compensated` makes the products f32. In a batch their sums are not pairs of f32: each lane sums short runs
        // in f32 and adds them to totals in f64.
        let single = Arithmetic::Single { compensated: true };
        let rough = Stage { loss: first.unwrap_or(self.loss), arithmetic: single, keep };
        let mut stages = Vec::new();
        stages.extend(Some(rough).filter(|_| self.precision != Precision::Double));
        let exact = first.into_iter().chain([self.loss]);
        stages.extend(exact.map(|loss| Stage { loss, arithmetic: Arithmetic::Double, keep }));
        let surplus = stages.len().saturating_sub(self.rules.evaluations.max(1));
        stages.split_off(surplus)
    }
}

/// Stopping rules and limits of each fit.
#[derive(Clone, Copy)]
pub(crate) struct KernelRules {
    pub(crate) ftol: f64,
    pub(crate) xtol: f64,
    pub(crate) gtol: f64,
    pub(crate) etol: f64,
    pub(crate) initial_radius: f64,
    /// Maximum number of evaluations.
    pub(crate) evaluations: usize,
    /// Lower limit of s²/ρ' while iterating, where s is the factor of a robust row (`correct` in `loss.cuh`).
    pub(crate) floor: f64,
    /// The least `ftol`, `xtol` and `etol` in f32.
    pub(crate) rough: [f64; 3],
}

impl KernelRules {
    /// Returns the rules of an f32 stage. It takes at most half of the evaluations,
    /// because f64 may have to start again.
    pub(super) fn in_f32(self) -> KernelRules {
        let [ftol, xtol, etol] = self.rough;
        let evaluations = self.evaluations.div_ceil(2);
        let (ftol, xtol, etol) = (self.ftol.max(ftol), self.xtol.max(xtol), self.etol.max(etol));
        KernelRules { ftol, xtol, etol, evaluations, ..self }
    }
}

/// Returns the weight of all samples if there is no sigma per sample.
pub(super) fn constant_weight(data: &BatchData<'_>) -> f64 {
    if let Sigma::Constant(sigma) = data.sigma { 1.0 / sigma } else { 1.0 }
}

/// Returns the kind of weights of the samples.
pub(super) fn weighting(data: &BatchData<'_>) -> Weighting {
    match data.deviations() {
        Deviations::Same if constant_weight(data) == 1.0 => Weighting::One,
        Deviations::Same => Weighting::Same,
        _ => Weighting::Each,
    }
}

/// Returns the size of a sample on a device, in bytes, including its x if each fit has its own columns.
pub(crate) fn bytes_per_sample(data: &BatchData<'_>) -> usize {
    let own = data.columns.iter().filter(|_| data.own);
    let columns = own.map(|c| c.storage().bytes()).sum::<usize>();
    columns + data.samples.storage().bytes()
}
