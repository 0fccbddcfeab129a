//! Grouping of the results of searches ("ends") into distinct optima.
//!
//! The distance of two ends is measured as a cost. Let Δ be the difference of their parameters. Then ½ ΔᵀJᵀJΔ is the
//! increase of the cost in the linear model; it is computed with JᵀJ of the first end and with JᵀJ of the second end.
//! It is independent of the units of parameters, includes correlations, and ignores directions without effect. Two
//! ends belong to one optimum if both increases and the difference of the costs are at most the largest of
//!
//! - ½ (s/100)², the increase after a step of a hundredth of a standard error; s² is the residual variance, or 1 if
//!   the errors of the data are known. If 2 `etol` is larger than 1/100, it replaces 1/100;
//! - 100 times the uncertainty due to the tolerances, `ftol`·cost and `gtol`²·cost;
//! - 100 times the rounding of the cost.
//!
//! Ends whose parameters agree to 100 `xtol` belong to one optimum, too. The factor 100 is for searches that
//! converge linearly: they stop when the next step is small, although the sum of all further steps is not.
//!
//! Ends also belong to one optimum if an exchange of parameters that does not change the model, such as amplitudes and
//! rates of two equal terms, makes them agree. The order of the values determines the exchange to test; [`Exchanges`]
//! determines if it changes the model.

use crate::math::bits::ascending;
use crate::solver::options::Options;
use crate::solver::outcome::Outcome;

/// Step, as a fraction of a standard error, that does not separate two ends.
const NEAR: f64 = 0.01;
/// Factor of tolerances and rounding.
const LOOSE: f64 = 100.0;
/// Rounding error of a cost, relative to ‖y‖·‖r‖, as in the solver's own test.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// Function that returns true if the model does not change when the i-th free parameter takes the value of the
/// `order[i]`-th.
pub(super) type Exchanges<'a> = dyn Fn(&[usize]) -> bool + 'a;

/// Criteria for the results that belong to one optimum.
pub(super) struct Nearness<'a> {
    pub(super) exchanges: &'a Exchanges<'a>,
    pub(super) options: &'a Options,
    /// Positions of the free parameters.
    pub(super) free: &'a [usize],
    /// Variance of a weighted residual, if known.
    pub(super) variance: Option<f64>,
    /// Number of points minus number of free parameters, at least 1.
    pub(super) degrees: f64,
    /// Sum of squares of the response (`square`), and its rounding error (`rounding`).
    pub(super) square: f64,
    pub(super) rounding: f64,
}

impl Nearness<'_> {
    /// Groups converged ends into optima, by ascending cost. Returns positions in `ends` for each optimum, by ascending
    /// cost; for equal costs, the earlier end comes first.
    pub(super) fn distinct(&self, ends: &[&Outcome]) -> Vec<Vec<usize>> {
        let order = ascending(&ends.iter().map(|end| end.cost).collect::<Vec<f64>>());
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

    /// Returns the largest increase of the cost that does not separate another end from this one.
    fn most(&self, end: &Outcome) -> f64 {
        let Options { ftol, gtol, etol, .. } = *self.options;
        let variance = self.variance.unwrap_or(2.0 * end.cost / self.degrees);
        let residual = (2.0 * end.cost).sqrt();
        let effects =
            self.free.iter().enumerate().map(|(j, &k)| {
                end.normal.jtj(j, j).sqrt() * (end.params[k] / end.columns[j]).abs()
            });
        let size = effects.fold(self.square.sqrt() + residual, f64::max);
        let open = end.cost * ftol.max(gtol * gtol);
        let rounding = self.rounding.max(ROUNDING * residual * size);
        let near = NEAR.max(2.0 * etol);
        (0.5 * near * near * variance).max(LOOSE * open).max(LOOSE * rounding)
    }

    fn is_one(&self, a: &Outcome, b: &Outcome, most: f64) -> bool {
        let (p, q) = (self.values(a), self.values(b));
        let itself: Vec<usize> = (0..p.len()).collect();
        if self.is_one_by((a, &p), (b, &q), &itself, most) {
            return true;
        }
        let (by_p, by_q) = (ascending(&p), ascending(&q));
        let mut order = itself.clone();
        by_p.iter().zip(&by_q).for_each(|(&i, &j)| order[i] = j);
        order != itself
            && self.is_one_by((a, &p), (b, &q), &order, most)
            && (self.exchanges)(&order)
    }

    /// Same test as `is_one`, but parameter i of `a` is compared with parameter `order[i]` of `b`. `p`, `q`: the free
    /// parameters of `a` and of `b`.
    fn is_one_by(
        &self,
        (a, p): (&Outcome, &[f64]),
        (b, q): (&Outcome, &[f64]),
        order: &[usize],
        most: f64,
    ) -> bool {
        let least = LOOSE * self.options.xtol;
        let difference: Vec<f64> = order.iter().zip(p).map(|(&j, p)| p - q[j]).collect();
        let agrees =
            |((&j, p), d): ((&usize, &f64), &f64)| d.abs() <= least * p.abs().max(q[j].abs());
        // The same difference, in the order of the parameters of `b`.
        let mut there = vec![0.0; p.len()];
        order.iter().zip(&difference).for_each(|(&j, d)| there[j] = *d);
        order.iter().zip(p).zip(&difference).all(agrees)
            || (is_cheap(&difference, a, most) && is_cheap(&there, b, most))
    }

    fn values(&self, end: &Outcome) -> Vec<f64> {
        self.free.iter().map(|&k| end.params[k]).collect()
    }
}

/// Returns true if this difference increases the cost of the linear model at `end` by at most `most`.
fn is_cheap(difference: &[f64], end: &Outcome, most: f64) -> bool {
    let (normal, columns) = (&end.normal, &end.columns);
    let delta: Vec<f64> = difference.iter().zip(columns).map(|(d, column)| d / column).collect();
    // The sum of the absolute values of all terms limits the rounding error for a direction without effect.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::Normal;
    use crate::solver::task::Work;
    use crate::solver::termination::Termination;

    const NONE: Options = Options {
        ftol: 0.0,
        xtol: 0.0,
        gtol: 0.0,
        etol: 0.0,
        max_evaluations: None,
        max_time: None,
        initial_radius: 1.0,
    };

    /// Returns an end with two parameters and JᵀJ = [[h₀, h₁], [h₁, h₂]].
    fn end(params: [f64; 2], h: [f64; 3], cost: f64) -> Outcome {
        let products = vec![h[0], h[1], h[2], 0.0, 0.0, 2.0 * cost];
        Outcome {
            params: params.to_vec(),
            cost,
            normal: Normal::of(2, products, cost),
            termination: Termination::Cost,
            work: Work::default(),
            columns: vec![1.0; 2],
            effects: Vec::new(),
            unused: Vec::new(),
            retried: false,
            most_weight: f64::INFINITY,
        }
    }

    fn groups(options: &Options, variance: Option<f64>, ends: &[Outcome]) -> Vec<Vec<usize>> {
        groups_with(&|_| false, options, variance, ends)
    }

    fn groups_with(
        exchanges: &Exchanges<'_>,
        options: &Options,
        variance: Option<f64>,
        ends: &[Outcome],
    ) -> Vec<Vec<usize>> {
        let (free, degrees, square, rounding) = (&[0, 1][..], 25.0, 1.0, 0.0);
        let nearness = Nearness { exchanges, options, free, variance, degrees, square, rounding };
        nearness.distinct(&ends.iter().collect::<Vec<_>>())
    }

    const ROUND: [f64; 3] = [1.0, 0.0, 1.0];

    #[test]
    fn a_hundredth_of_a_standard_error_separates() {
        for (apart, optima) in [(0.0099, 1), (0.0101, 2)] {
            let ends = [end([0.0, 1.0], ROUND, 50.0), end([apart, 1.0], ROUND, 50.0)];
            assert_eq!(groups(&NONE, Some(1.0), &ends).len(), optima, "{apart}");
            // Known errors with s² = 0.25, and unknown errors with s² = 2 · 50 / 25 = 4.
            assert_eq!(groups(&NONE, Some(0.25), &ends).len(), 2);
            assert_eq!(groups(&NONE, None, &ends).len(), 1);
        }
        // Two parameters that change by d, along and across the correlation: ΔᵀJᵀJΔ = 0.02 d² and 3.98 d².
        let steep = [1.0, -0.99, 1.0];
        for (to, optima) in [([0.05, 0.05], 1), ([0.008, -0.008], 2)] {
            let ends = [end([0.0, 0.0], steep, 50.0), end(to, steep, 50.0)];
            assert_eq!(groups(&NONE, Some(1.0), &ends).len(), optima, "{to:?}");
        }
    }

    #[test]
    fn costs_and_both_ends_have_a_say() {
        let here = end([0.0, 1.0], ROUND, 50.0);
        for (cost, optima) in [(50.000_049, 1), (50.000_051, 2)] {
            let ends = [end([0.0, 1.0 + 1e-9], ROUND, cost), here.clone()];
            assert_eq!(groups(&NONE, Some(1.0), &ends).len(), optima, "{cost}");
        }
        // A parameter without effect at one end, and with effect at the other.
        let flat = end([5.0, 1.0], [0.0, 0.0, 1.0], 50.0);
        let flatter = end([9.0, 1.0], [0.0, 0.0, 1.0], 50.0);
        for ends in [[flat.clone(), here.clone()], [here.clone(), flat.clone()]] {
            assert_eq!(groups(&NONE, Some(1.0), &ends).len(), 2);
        }
        assert_eq!(groups(&NONE, Some(1.0), &[flat, flatter]).len(), 1);
    }

    #[test]
    fn what_tolerances_leave_open_does_not_separate() {
        let ends = |d: f64| [end([2.0, 1.0], ROUND, 50.0), end([2.0 + d, 1.0], ROUND, 50.0)];
        let ftol = Options { ftol: 1e-6, ..NONE };
        let gtol = Options { gtol: 1e-3, ..NONE };
        // The increase ½ d² is compared with the limit 100 · 1e-6 · 50.
        for (d, optima) in [(0.0999, 1), (0.1001, 2)] {
            assert_eq!(groups(&ftol, Some(1.0), &ends(d)).len(), optima, "{d}");
            assert_eq!(groups(&gtol, Some(1.0), &ends(d)).len(), optima, "{d}");
        }
        let xtol = Options { xtol: 1e-3, ..NONE };
        for (d, optima) in [(0.2, 1), (0.25, 2)] {
            assert_eq!(groups(&xtol, Some(1.0), &ends(d)).len(), optima, "{d}");
        }
    }

    #[test]
    fn exchanged_ends_are_one_where_the_model_stays_as_it_is() {
        let ends = [
            end([1.0, 3.0], [1.0, 0.0, 4.0], 50.0),
            end([3.001, 0.999], [4.0, 0.0, 1.0], 50.0),
            end([3.1, 1.0], [4.0, 0.0, 1.0], 50.0),
        ];
        let of = |exchanges: &Exchanges<'_>| groups_with(exchanges, &NONE, Some(1.0), &ends);
        assert_eq!(of(&|order| order == [1, 0]), [vec![0, 1], vec![2]]);
        assert_eq!(of(&|_| false).len(), 3);
    }

    #[test]
    fn optima_ascend_and_begin_with_their_least() {
        let at = |x: f64, cost: f64| end([x, 1.0], ROUND, cost);
        let ends = [at(9.0, 70.0), at(0.0, 50.0), at(9.0, 69.999_99), at(4.0, 50.0), at(0.0, 50.0)];
        assert_eq!(groups(&NONE, Some(1.0), &ends), [vec![1, 4], vec![3], vec![2, 0]]);
        assert!(groups(&NONE, None, &[]).is_empty());
    }
}
