//! Decays with outliers, and the losses.

pub(crate) use crate::support::losses::{log_cosh, welsch};
use dualfit::{CurveFit, Data, Loss, Sigma};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Amplitude, rate, offset.
pub(crate) const TRUTH: [f64; 3] = [2.0, 0.7, 0.5];
/// Residuals of about 0.5.
pub(crate) const START: [f64; 3] = [1.0, 1.1, 0.2];

/// The last three leave points out.
pub(crate) fn losses() -> [Loss; 8] {
    [
        Loss::Linear,
        Loss::SoftL1 { scale: 1.345 },
        Loss::Huber { scale: 1.345 },
        log_cosh(1.205),
        Loss::Cauchy { scale: 2.385 },
        Loss::Arctan { scale: 3.0 },
        welsch(2.985),
        Loss::Tukey { scale: 4.685 },
    ]
}

pub(crate) fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).names(["a", "b", "c"])
}

/// Sixty points of a decay.
pub(crate) struct Points {
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    pub(crate) sigma: f64,
}

impl Points {
    /// With noise of standard deviation `sigma`; every `outliers`-th point lies far above.
    pub(crate) fn new(seed: u64, sigma: f64, outliers: Option<usize>) -> Points {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let x: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
        let [a, b, c] = TRUTH;
        let far = |i: usize| outliers.is_some_and(|each| i % each == each / 2);
        let y = x.iter().enumerate().map(|(i, x)| {
            let out = if far(i) { 1.0 + 20.0 * sigma + 0.1 * (i as f64) } else { 0.0 };
            a * (-b * x).exp() + c + sigma * normal() + out
        });
        Points { y: y.collect(), x, sigma }
    }

    pub(crate) fn data(&self) -> Data<'_> {
        Data::new(&self.x, &self.y).unwrap().sigma(Sigma::Constant(self.sigma)).unwrap()
    }
}
