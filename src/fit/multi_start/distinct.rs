//! Which ends of searches are one optimum.
//!
//! What separates two ends is measured in cost: ½ ΔᵀJᵀJΔ for their difference Δ, with the normal
//! equations of either, is what the linear model says that the way from one to the other costs. It is
//! free of the parameters' units, sees correlations, and does not see directions without effect. Ends
//! are one optimum if neither way, nor the difference of the costs, exceeds the largest of
//!
//! - ½ (s/100)², with the residual variance s², or 1 where the errors of the data are known: a step of a
//!   hundredth of a standard error;
//! - 100 times what the tolerances leave open, `ftol`·cost and `gtol`²·cost;
//! - 100 times the rounding of the cost.
//!
//! Ends whose parameters agree to 100 `xtol` are one optimum, too. The factor 100 is for searches that
//! converge linearly: they stop where the next step is small, and the sum of those to come is not.

use crate::normal::Normal;
use crate::solver::minimise::Outcome;
use crate::solver::options::Options;

/// The part of a standard error that does not separate two ends.
const NEAR: f64 = 0.01;
/// Tolerances and rounding count this many times.
const LOOSE: f64 = 100.0;
/// Rounding of a cost: this many units in the last place of ‖y‖·‖r‖, as in the solver's own test.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// What decides which ends are one optimum.
pub(super) struct Nearness<'a> {
    pub(super) options: &'a Options,
    /// Positions of the free parameters.
    pub(super) free: &'a [usize],
    /// The variance of a row where it is known.
    pub(super) variance: Option<f64>,
    /// Points less free parameters, at least 1.
    pub(super) degrees: f64,
    /// The sum of squares of the response, and the part of it that rounding leaves.
    pub(super) square: f64,
    pub(super) rounding: f64,
}

impl Nearness<'_> {
    /// The optima among converged ends, by ascending cost: positions in `ends`, the least cost first and,
    /// of equal ones, the earlier.
    pub(super) fn distinct(&self, ends: &[&Outcome]) -> Vec<Vec<usize>> {
        let mut order: Vec<usize> = (0..ends.len()).collect();
        order.sort_by(|&a, &b| ends[a].cost.total_cmp(&ends[b].cost));
        let mut optima: Vec<Vec<usize>> = Vec::new();
        for k in order {
            let end = ends[k];
            let most = self.most(end);
            let close = |optimum: &&mut Vec<usize>| end.cost - ends[optimum[0]].cost <= most;
            let mut candidates = optima.iter_mut().rev().take_while(close);
            match candidates.find(|optimum| self.is_one(ends[optimum[0]], end, most)) {
                Some(optimum) => optimum.push(k),
                None => optima.push(vec![k]),
            }
        }
        optima
    }

    /// The cost that does not separate another end from this one.
    fn most(&self, end: &Outcome) -> f64 {
        let Options { ftol, gtol, .. } = *self.options;
        let variance = self.variance.unwrap_or(2.0 * end.cost / self.degrees);
        let residual = (2.0 * end.cost).sqrt();
        let effects =
            self.free.iter().enumerate().map(|(j, &k)| {
                end.normal.jtj(j, j).sqrt() * (end.params[k] / end.columns[j]).abs()
            });
        let size = effects.fold(self.square.sqrt() + residual, f64::max);
        let open = end.cost * ftol.max(gtol * gtol);
        let rounding = self.rounding.max(ROUNDING * residual * size);
        (0.5 * NEAR * NEAR * variance).max(LOOSE * open).max(LOOSE * rounding)
    }

    fn is_one(&self, a: &Outcome, b: &Outcome, most: f64) -> bool {
        let least = LOOSE * self.options.xtol;
        let agrees = |&k: &usize| {
            let (p, q) = (a.params[k], b.params[k]);
            (p - q).abs() <= least * p.abs().max(q.abs())
        };
        self.free.iter().all(agrees)
            || (self.is_cheap(a, b, &a.normal, &a.columns, most)
                && self.is_cheap(a, b, &b.normal, &b.columns, most))
    }

    /// Whether the way from `a` to `b` costs no more than `most` by these normal equations.
    fn is_cheap(
        &self,
        a: &Outcome,
        b: &Outcome,
        normal: &Normal,
        columns: &[f64],
        most: f64,
    ) -> bool {
        let difference = |(j, &k): (usize, &usize)| (a.params[k] - b.params[k]) / columns[j];
        let delta: Vec<f64> = self.free.iter().enumerate().map(difference).collect();
        // The sum of all terms' sizes says what rounding leaves of a direction without effect.
        let (mut sum, mut size) = (0.0, 0.0);
        for (i, x) in delta.iter().enumerate() {
            for (j, y) in delta.iter().enumerate() {
                let term = x * y * normal.jtj(i, j);
                sum += term;
                size += term.abs();
            }
        }
        0.5 * sum <= most + LOOSE * f64::EPSILON * size
    }
}
