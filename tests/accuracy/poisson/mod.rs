//! Maximum likelihood for counts. Oracles: closed solutions, deviances recorded with mpmath, Newton's method
//! with hand-written derivatives, simulation, and the Cramér-Rao bound.

mod closed_forms;
mod refusals;
mod simulated;

use dualfit::{CurveFit, Estimator};
use rand::rngs::StdRng;
use rand_distr::{Distribution, Poisson};

fn counts(model: CurveFit) -> CurveFit {
    model.estimator(Estimator::Poisson)
}

/// a exp(−b x) + c, by maximum likelihood.
fn decay() -> CurveFit {
    counts(CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c))
}

fn draw(random: &mut StdRng, expected: f64) -> f64 {
    if expected > 0.0 { Poisson::new(expected).unwrap().sample(random) } else { 0.0 }
}
