//! The bootstrap: refits of data that are drawn at random on the basis of the measurement.

mod draw;
mod refits;

use super::CurveFit;
use crate::curve_fit::lost_model::check_same_fit;
use crate::data::Data;
use crate::error::uncertainty::UncertaintyError;
use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::fit::replicates::{Jackknife, Replicates, Resample};
use crate::observe::span;
use draw::Sampler;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use refits::{Refits, Refitted};

/// Maximum number of replicates; their parameters must fit into memory.
const MOST: usize = 10_000_000;
/// Maximum number of jackknife refits, each without one group of points.
const GROUPS: usize = 500;
/// Default memory limit of drawn data, in bytes.
const MEMORY: usize = 256 << 20;

/// Options of [`CurveFit::bootstrap`].
#[derive(Clone, Debug, PartialEq)]
pub struct Bootstrap {
    replicates: usize,
    resample: Resample,
    seed: u64,
    memory: usize,
}

impl Bootstrap {
    /// Creates the options with a number of replicates from 2 to 10 million. A replicate is one drawn set of data.
    /// Standard errors need about 200 replicates, and intervals of 95 % about 2000 (Efron and Tibshirani, An
    /// Introduction to the Bootstrap, 1993, sections 6.4 and 14.3).
    #[must_use]
    pub fn new(replicates: usize) -> Bootstrap {
        Bootstrap { replicates, resample: Resample::default(), seed: 0, memory: MEMORY }
    }

    /// Sets the kind of draws; [`Resample::Residuals`] by default.
    #[must_use]
    pub fn resample(mut self, resample: Resample) -> Bootstrap {
        self.resample = resample;
        self
    }

    /// Sets the seed of the draws, 0 by default. The same seed produces the same data on every machine, and
    /// replicate k does not depend on the number of replicates.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Bootstrap {
        self.seed = seed;
        self
    }

    /// Sets the memory limit for drawn data in bytes, 256 MiB by default. If it is too small for all replicates, they
    /// run in several batches of at least one replicate. The results do not depend on the limit.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Bootstrap {
        self.memory = bytes;
        self
    }
}

impl CurveFit {
    /// Computes the bootstrap of `fit`, which must be the fit of this model to `data`. The fit is repeated from its
    /// parameters on data that are drawn by the method [`Resample`]. The spread of the refits determines the errors of
    /// parameters, derived quantities and formulas, without the linear approximation of standard errors.
    ///
    /// Bounds, fixed and tied parameters, the loss and the estimator apply to refits as to the fit. A
    /// [prior](CurveFit::prior) is a measurement of a parameter and is therefore also drawn: its mean is drawn with its
    /// sigma about the fitted value or, if pairs are drawn, about the given mean. Refits run as a
    /// [batch](CurveFit::fit_batch), on all cores or on a device; refits with priors, correlated errors or infinite x
    /// run as single fits on all cores. On the CPU, the result is bit-identical for any number of threads.
    ///
    /// Refits that do not converge, or that do not determine the same parameters as the fit, are left out and
    /// [counted](Replicates::failed). The observer receives the events of a batch. If it breaks, or if the token is
    /// cancelled, the result contains the finished refits.
    ///
    /// For [BCa intervals](Replicates::bca_intervals), the fit is also repeated without each point in turn or, if there
    /// are more than 500 points, without each of 500 groups of points. These refits are omitted if errors are drawn
    /// from the normal distribution.
    ///
    /// ```
    /// use dualfit::result::Resample;
    /// use dualfit::{Bootstrap, CurveFit, Data};
    /// let x: Vec<f64> = (0..30).map(|i| 0.1 * f64::from(i)).collect();
    /// let y: Vec<f64> = x.iter().map(|x| 2.0 * (-x).exp() + 0.1 * (9.0 * x).sin()).collect();
    /// let decay = CurveFit::parse("a * exp(-b * x)", ["x"])?;
    /// let data = Data::new(&x, &y)?;
    /// let fit = decay.fit(&data, [1.0, 1.0])?;
    ///
    /// let how = Bootstrap::new(1000).resample(Resample::Pairs).seed(7);
    /// let replicates = decay.bootstrap(&fit, data, &how)?;
    /// println!("{replicates}");
    /// let half_life = replicates.quantity("ln(2) / b")?.bca_interval(0.95)?;
    /// assert!(half_life.lower < 0.69 && half_life.upper > 0.69);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadOption`] for a number of replicates out of range; [`UncertaintyError::NoBootstrap`] if the kind of
    /// draws does not apply to the data, or if the fit did not converge or leaves parameters undetermined;
    /// [`UncertaintyError::OtherFit`] if `fit` is not a fit of this model to these data; the errors of
    /// [`fit_batch`](CurveFit::fit_batch).
    pub fn bootstrap<'a>(
        &self,
        fit: &Fit,
        data: impl Into<Data<'a>>,
        how: &Bootstrap,
    ) -> Result<Replicates> {
        let data = data.into();
        let _span = span!(INFO, "bootstrap", points = data.y.len(), fits = how.replicates);
        if !(2..=MOST).contains(&how.replicates) {
            let (name, value) = ("replicates", how.replicates as f64);
            return Err(Error::BadOption { name, value, requirement: "from 2 to 10,000,000" });
        }
        check_same_fit(self, fit, &data)?;
        if !fit.converged() || !fit.undetermined().is_empty() {
            let reason = "the fit did not converge, or leaves parameters undetermined";
            let remedy = "see its warnings";
            return Err(UncertaintyError::NoBootstrap { reason, remedy }.into());
        }
        let points = self.validate(&data)?;
        let sampler = Sampler::new(fit, &data, &points, how.resample)?;
        let groups = match sampler.has_jackknife() {
            true => sampler.len().min(GROUPS),
            false => 0,
        };
        let all = how.replicates + groups;
        let mut refits = Refits::new(self, (&fit.params, data.infinite_x), &sampler, all);
        let at_a_time = (how.memory / sampler.bytes()).max(1);
        let mut made = Refitted::default();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(how.seed);
        for first in (0..how.replicates).step_by(at_a_time) {
            let count = at_a_time.min(how.replicates - first);
            if refits.are_stopped() {
                made.not_run += count;
                continue;
            }
            // Each replicate has its own stream of random numbers; streams are 2^128 numbers apart.
            let streams = (0..count).map(|_| {
                let own = random.clone();
                random.jump();
                own
            });
            let streams: Vec<Xoshiro256PlusPlus> = streams.collect();
            made.append(refits.make(&sampler.drawn(&streams))?);
        }
        let mut without = Refitted::default();
        for first in (0..groups).step_by(at_a_time) {
            let these = first..(first + at_a_time).min(groups);
            without.append(refits.make(&sampler.without(these, groups))?);
        }
        let jackknife = match sampler.has_jackknife() {
            false if sampler.is_normal() => Jackknife::Symmetric,
            false => Jackknife::Correlated,
            true if without.failed + without.not_run > 0 => Jackknife::Failed,
            true => Jackknife::LeftOut(without.params),
        };
        Ok(Replicates {
            resample: how.resample,
            names: self.names.clone(),
            estimate: fit.params.clone(),
            derived: self.derived.clone(),
            params: made.params,
            jackknife,
            failed: made.failed,
            not_run: made.not_run,
        })
    }
}
