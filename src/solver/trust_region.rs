//! The step of a trust region: how far to go, and in which direction.
//!
//! Minimise ½‖Rδ + z‖² over ‖Dδ‖ ≤ Δ. Either the Gauss-Newton step δ = −R⁻¹z is inside, or δ(λ) =
//! −(RᵀR + λD²)⁻¹Rᵀz has length Δ for one λ > 0, found by Newton's method on 1/Δ − 1/‖Dδ(λ)‖ between
//! safeguards (Moré, The Levenberg-Marquardt algorithm: implementation and theory, 1978, section 5;
//! Hebden 1973).

use crate::constants::{MAX_NEWTON_STEPS, SLACK};
use crate::normal::small::{damped, is_regular, solve_upper, solve_upper_transposed};

/// Buffers for problems of up to `n` variables.
pub(crate) struct TrustRegion {
    damping: Vec<f64>,
    s: Vec<f64>,
    t: Vec<f64>,
    work: Vec<f64>,
}

impl TrustRegion {
    pub(crate) fn new(n: usize) -> Self {
        TrustRegion {
            damping: vec![0.0; n],
            s: vec![0.0; n * n],
            t: vec![0.0; n],
            work: vec![0.0; n * n + n],
        }
    }

    /// Writes the step to `delta` and returns λ. `r`: n × n upper triangular, column-major; `z`,
    /// `scale` (the diagonal of D, positive) and `delta`: n. `guess`: the last λ.
    pub(crate) fn step(
        &mut self,
        r: &[f64],
        z: &[f64],
        scale: &[f64],
        radius: f64,
        guess: f64,
        delta: &mut [f64],
    ) -> f64 {
        let n = z.len();
        let regular = is_regular(r, n);
        let (mut excess, mut slope) = (f64::INFINITY, 0.0);
        if regular {
            gauss_newton(r, z, delta);
            let length = scaled_norm(delta, scale);
            if is_within(length, radius) {
                return 0.0;
            }
            excess = length - radius;
            // 1/Δ − 1/‖Dδ(λ)‖ is convex and falls, so that Newton's step from λ = 0 ends below its
            // root: a lower bound.
            slope = slope_of(r, scale, delta, &mut self.t);
        }
        // It is no number where the step left the range of f64.
        let mut lower = if regular { (excess / (slope * radius)).max(0.0) } else { 0.0 };
        // ‖D⁻¹Rᵀz‖ / Δ bounds λ from above.
        let gradient = (0..n).map(|j| {
            let g: f64 = (0..=j).map(|i| r[j * n + i] * z[i]).sum();
            (g / scale[j]).powi(2)
        });
        let mut upper = gradient.sum::<f64>().sqrt() / radius;
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
            self.damped_step(r, z, scale, lambda, delta);
            let before = excess;
            excess = scaled_norm(delta, scale) - radius;
            if excess.abs() <= SLACK * radius || (lower == 0.0 && excess <= before && before < 0.0)
            {
                break;
            }
            let slope = slope_of(&self.s[..n * n], scale, delta, &mut self.t);
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

    fn damped_step(&mut self, r: &[f64], z: &[f64], scale: &[f64], lambda: f64, delta: &mut [f64]) {
        let n = z.len();
        let root = lambda.sqrt();
        self.damping.iter_mut().zip(scale).for_each(|(d, s)| *d = root * s);
        damped(r, n, &self.damping[..n], z, &mut self.s[..n * n], delta, &mut self.work);
        solve_upper(&self.s[..n * n], n, delta);
        delta.iter_mut().for_each(|d| *d = -*d);
    }
}

/// Whether a step of this length is no longer than the radius, as far as that matters.
pub(crate) fn is_within(length: f64, radius: f64) -> bool {
    length - radius <= SLACK * radius
}

/// ‖S⁻ᵀ D²δ‖² / ‖Dδ‖² for the factor S that δ was solved with; `work` has n numbers.
fn slope_of(s: &[f64], scale: &[f64], delta: &[f64], work: &mut [f64]) -> f64 {
    let n = delta.len();
    let norm = scaled_norm(delta, scale);
    for ((w, d), v) in work.iter_mut().zip(scale).zip(delta) {
        *w = d * (d * v / norm);
    }
    solve_upper_transposed(s, n, &mut work[..n]);
    work[..n].iter().map(|w| w * w).sum()
}

/// Writes −R⁻¹z to `delta`.
pub(crate) fn gauss_newton(r: &[f64], z: &[f64], delta: &mut [f64]) {
    delta.copy_from_slice(z);
    solve_upper(r, z.len(), delta);
    delta.iter_mut().for_each(|d| *d = -*d);
}

/// ‖Dδ‖
pub(crate) fn scaled_norm(delta: &[f64], scale: &[f64]) -> f64 {
    delta.iter().zip(scale).map(|(d, s)| (d * s).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::TrustRegion;

    #[test]
    fn a_step_that_leaves_the_range_of_numbers_is_damped() {
        for (r, z) in [(1e-308, -1e10), (1e-200, 1e200), (1e-300, f64::MAX)] {
            let mut delta = [0.0];
            let damping = TrustRegion::new(1).step(&[r], &[z], &[1.0], 0.1, 0.0, &mut delta);
            assert!(damping >= 0.0, "{r:e} {z:e}: {damping}");
        }
    }
}
