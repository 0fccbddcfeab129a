//! Faster convergence of the last Gauss-Newton steps.
//!
//! Near a minimum with residuals that do not vanish, full steps converge only linearly. Anderson's
//! mixing combines the last few points qᵢ and the steps δᵢ taken from them so that the combined step
//! is as small as it can be, and goes on from there: a secant method for δ(q) = 0 that needs nothing
//! but what is at hand (Anderson 1965; Walker and Ni 2011).

use crate::normal::small::{fold_rows, is_regular, solve_upper};

/// Differences kept: directions in which the convergence of plain steps is slow are few.
const DEPTH: usize = 4;

/// The last points and the full steps from them, newest last.
pub(crate) struct Anderson {
    n: usize,
    points: Vec<Vec<f64>>,
    steps: Vec<Vec<f64>>,
}

impl Anderson {
    pub(crate) fn new(n: usize) -> Self {
        Anderson { n, points: Vec::new(), steps: Vec::new() }
    }

    /// Takes the point `q` and the Gauss-Newton step from it (n values each), and replaces `step` by
    /// the mixed one. `scale` weighs the components against each other.
    ///
    /// With Δqᵢ, Δδᵢ the differences of consecutive points and steps, the mixed step is
    /// δ − Σ γᵢ(Δqᵢ + Δδᵢ), where γ minimises ‖D(δ − Σ γᵢ Δδᵢ)‖.
    pub(crate) fn mix(&mut self, q: &[f64], step: &mut [f64], scale: &[f64]) {
        if self.points.len() > DEPTH {
            self.points.remove(0);
            self.steps.remove(0);
        }
        self.points.push(q.to_vec());
        self.steps.push(step.to_vec());
        let (n, m) = (self.n, self.points.len() - 1);
        if m == 0 {
            return;
        }
        let k = m + 1;
        let mut rows = vec![0.0; n * k];
        for c in 0..m {
            for j in 0..n {
                rows[c * n + j] = scale[j] * (self.steps[c + 1][j] - self.steps[c][j]);
            }
        }
        (0..n).for_each(|j| rows[m * n + j] = scale[j] * step[j]);
        let mut factor = vec![0.0; k * k];
        fold_rows(&mut factor, k, &mut rows, n, n);
        let r: Vec<f64> = (0..m).flat_map(|j| factor[j * k..j * k + m].to_vec()).collect();
        let mut gamma = factor[m * k..m * k + m].to_vec();
        if !is_regular(&r, m) {
            return;
        }
        solve_upper(&r, m, &mut gamma);
        for (c, g) in gamma.iter().enumerate() {
            for j in 0..n {
                let point = self.points[c + 1][j] - self.points[c][j];
                step[j] -= g * (point + self.steps[c + 1][j] - self.steps[c][j]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Anderson;

    /// A linear iteration with rates 0.9, −0.8 and 0.5 converges in as many mixed steps as there are
    /// rates, plus one.
    #[test]
    fn a_linear_iteration_ends_after_as_many_steps_as_it_has_rates() {
        let rates = [0.9, -0.8, 0.5];
        let mut q = vec![1.0, 2.0, -3.0];
        let mut anderson = Anderson::new(3);
        for _ in 0..5 {
            let mut step: Vec<f64> =
                q.iter().zip(rates).map(|(q, rate)| (rate - 1.0) * q).collect();
            anderson.mix(&q, &mut step, &[1.0; 3]);
            q.iter_mut().zip(&step).for_each(|(q, d)| *q += d);
        }
        assert!(q.iter().all(|v| v.abs() < 1e-10), "{q:?}");
    }
}
