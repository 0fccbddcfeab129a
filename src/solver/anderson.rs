//! Faster convergence of the last Gauss-Newton steps.
//!
//! Near a minimum with nonzero residuals, full steps converge only linearly. Anderson mixing combines the last few
//! points qᵢ and their steps δᵢ such that the combined step has minimum length, and continues from the combined point.
//! It is a secant method for δ(q) = 0 that needs no further evaluations (Anderson 1965; Walker and Ni 2011).

use crate::constants::DEPTH;
use crate::normal::small::{fold_few, is_regular, solve_upper};

/// The last points and the full steps from these points, newest last.
pub(crate) struct Anderson {
    n: usize,
    /// Number of stored points, at most [`DEPTH`] + 1.
    held: usize,
    points: Vec<f64>,
    steps: Vec<f64>,
    rows: Vec<f64>,
}

impl Anderson {
    /// Creates the buffers for points of `n` components.
    pub(crate) fn new(n: usize) -> Self {
        let room = vec![0.0; n * (DEPTH + 1)];
        Anderson { n, held: 0, points: room.clone(), steps: room.clone(), rows: room }
    }

    /// Removes all points.
    pub(crate) fn restart(&mut self) {
        self.held = 0;
    }

    /// Stores the point `q` and the Gauss-Newton step from this point (n values each), and replaces `step` by the mixed
    /// step. `scale` is the diagonal of D, the weights of the components.
    ///
    /// With Δqᵢ, Δδᵢ the differences of consecutive points and steps, the mixed step is
    /// δ − Σ γᵢ(Δqᵢ + Δδᵢ), where γ minimises ‖D(δ − Σ γᵢ Δδᵢ)‖.
    pub(crate) fn mix(&mut self, q: &[f64], step: &mut [f64], scale: &[f64]) {
        let n = self.n;
        if self.held > DEPTH {
            self.points.copy_within(n.., 0);
            self.steps.copy_within(n.., 0);
            self.held = DEPTH;
        }
        self.points[self.held * n..][..n].copy_from_slice(q);
        self.steps[self.held * n..][..n].copy_from_slice(step);
        let m = self.held;
        self.held += 1;
        if m == 0 {
            return;
        }
        let k = m + 1;
        let difference = |of: &[f64], c: usize, j: usize| of[(c + 1) * n + j] - of[c * n + j];
        for c in 0..m {
            for j in 0..n {
                self.rows[c * n + j] = scale[j] * difference(&self.steps, c, j);
            }
        }
        (0..n).for_each(|j| self.rows[m * n + j] = scale[j] * step[j]);
        let mut factor = [0.0; (DEPTH + 1) * (DEPTH + 1)];
        fold_few(&mut factor[..k * k], k, &mut self.rows[..n * k], n);
        let mut r = [0.0; DEPTH * DEPTH];
        (0..m).for_each(|j| r[j * m..(j + 1) * m].copy_from_slice(&factor[j * k..j * k + m]));
        let mut gamma = [0.0; DEPTH];
        gamma[..m].copy_from_slice(&factor[m * k..m * k + m]);
        if !is_regular(&r[..m * m], m) {
            return;
        }
        solve_upper(&r[..m * m], m, &mut gamma[..m]);
        for (c, g) in gamma[..m].iter().enumerate() {
            for j in 0..n {
                step[j] -= g * (difference(&self.points, c, j) + difference(&self.steps, c, j));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Anderson;

    /// A linear iteration with the three rates 0.9, −0.8 and 0.5 converges in four mixed steps.
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
