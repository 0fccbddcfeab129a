//! Step of the trust-region method.
//!
//! The step minimises ½‖Rδ + z‖² subject to ‖Dδ‖ ≤ Δ. Either the Gauss-Newton step δ = −R⁻¹z is within the region, or
//! δ(λ) = −(RᵀR + λD²)⁻¹Rᵀz satisfies ‖Dδ(λ)‖ = Δ for one λ > 0. This λ is found by Newton's method on
//! 1/Δ − 1/‖Dδ(λ)‖ with lower and upper bounds (Moré, The Levenberg-Marquardt algorithm: implementation and theory,
//! 1978, section 5; Hebden 1973).

use crate::constants::{MAX_NEWTON_STEPS, SLACK};
use crate::normal::{Arrow, Triangular};

/// Buffers for problems of up to a given number of variables.
pub(crate) struct TrustRegion {
    damping: Vec<f64>,
    /// The problem with the damping.
    damped: Triangular,
    t: Vec<f64>,
    work: Vec<f64>,
}

impl TrustRegion {
    pub(crate) fn new(shape: &Arrow) -> Self {
        let line = vec![0.0; shape.n()];
        TrustRegion {
            damping: line.clone(),
            damped: Triangular::zero(shape),
            t: line,
            work: Vec::new(),
        }
    }

    /// Writes the step to `delta` and returns λ. `scale` (the diagonal of D, positive) and `delta` have one number per
    /// variable. `guess`: the previous λ.
    pub(crate) fn step(
        &mut self,
        problem: &Triangular,
        scale: &[f64],
        radius: f64,
        guess: f64,
        delta: &mut [f64],
    ) -> f64 {
        let n = problem.n();
        let regular = problem.is_regular();
        let (mut excess, mut slope) = (f64::INFINITY, 0.0);
        if regular {
            problem.gauss_newton(delta);
            let length = scaled_norm(delta, scale);
            if is_within(length, radius) {
                return 0.0;
            }
            excess = length - radius;
            // 1/Δ − 1/‖Dδ(λ)‖ is convex and decreasing. Therefore Newton's step from λ = 0 ends below the root and
            // provides a lower bound.
            slope = slope_of(problem, scale, delta, &mut self.t[..n]);
        }
        // The quotient is NaN if the step exceeds the range of f64; `max` then returns 0.
        let mut lower = if regular { (excess / (slope * radius)).max(0.0) } else { 0.0 };
        // ‖D⁻¹Rᵀz‖ / Δ bounds λ from above.
        let mut square = 0.0;
        problem.columns_times(&problem.z, |j, g| square += (g / scale[j]).powi(2));
        let mut upper = square.sqrt() / radius;
        if upper == 0.0 {
            upper = f64::MIN_POSITIVE / radius.min(SLACK);
        }
        let mut lambda = guess.clamp(lower, upper.max(lower));
        if lambda == 0.0 {
            lambda = (0.001 * upper).max((lower * upper).sqrt());
        }
        for _ in 0..MAX_NEWTON_STEPS {
            if lambda == 0.0 {
                lambda = (0.001 * upper).max(f64::MIN_POSITIVE);
            }
            self.damped_step(problem, scale, lambda, delta);
            let before = excess;
            excess = scaled_norm(delta, scale) - radius;
            if excess.abs() <= SLACK * radius || (lower == 0.0 && excess <= before && before < 0.0)
            {
                break;
            }
            let slope = slope_of(&self.damped, scale, delta, &mut self.t[..n]);
            let correction = excess / (radius * slope);
            if excess > 0.0 {
                lower = lower.max(lambda);
            } else {
                upper = upper.min(lambda);
            }
            lambda = lower.max(lambda + correction);
        }
        lambda
    }

    fn damped_step(&mut self, problem: &Triangular, scale: &[f64], lambda: f64, delta: &mut [f64]) {
        let root = lambda.sqrt();
        self.damping.iter_mut().zip(scale).for_each(|(d, s)| *d = root * s);
        problem.damped(&self.damping, &mut self.damped, &mut self.work);
        self.damped.gauss_newton(delta);
    }
}

/// Returns true if a step of this length is within the radius, up to a tolerance.
pub(crate) fn is_within(length: f64, radius: f64) -> bool {
    length - radius <= SLACK * radius
}

/// Returns ‖S⁻ᵀ D²δ‖² / ‖Dδ‖² for the triangular factor S with which δ was computed; `work` has n numbers.
fn slope_of(s: &Triangular, scale: &[f64], delta: &[f64], work: &mut [f64]) -> f64 {
    let norm = scaled_norm(delta, scale);
    for ((w, d), v) in work.iter_mut().zip(scale).zip(delta) {
        *w = d * (d * v / norm);
    }
    s.solve_transposed(work);
    work.iter().map(|w| w * w).sum()
}

/// Returns ‖Dδ‖.
pub(crate) fn scaled_norm(delta: &[f64], scale: &[f64]) -> f64 {
    delta.iter().zip(scale).map(|(d, s)| (d * s).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::TrustRegion;
    use crate::normal::{Arrow, Triangular};

    #[test]
    fn a_step_that_leaves_the_range_of_numbers_is_damped() {
        for (r, z) in [(1e-308, -1e10), (1e-200, 1e200), (1e-300, f64::MAX)] {
            let mut delta = [0.0];
            let problem = Triangular { shape: Arrow::full(1), r: vec![r], z: vec![z] };
            let mut region = TrustRegion::new(&problem.shape);
            let damping = region.step(&problem, &[1.0], 0.1, 0.0, &mut delta);
            assert!(damping >= 0.0, "{r:e} {z:e}: {damping}");
        }
    }
}
