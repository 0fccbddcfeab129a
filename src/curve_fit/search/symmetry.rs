//! Symmetries of a model: changes of its nonlinear parameters that leave the curve unchanged after the linear
//! parameters are solved for. Among equivalent minima, the search returns the canonical minimum: signs are positive,
//! phases are within half a turn, equal terms are in ascending order of their first parameter, and amplitudes are
//! positive if a phase can change their sign.

use super::screen::{Candidate, Screen};
use crate::math::order::sort_few;
use std::f64::consts::PI;

/// Number of draws (candidates of the search) at which a symmetry must leave the cost unchanged.
const TESTED: usize = 4;
/// Tolerance of rounding errors, as a fraction of the sum of squares of the response.
pub(super) const ROUNDING: f64 = 1e-9;

/// The symmetries of a model.
#[derive(Debug, Default)]
pub(super) struct Symmetries {
    /// Groups of parameters whose signs can be changed together.
    signs: Vec<Vec<usize>>,
    /// Phases, each with its period: 2π, or π if amplitudes change their sign.
    turns: Vec<(usize, f64)>,
    /// Pairs of terms, or of single parameters of a term, that can exchange their values; corresponding bounds are equal.
    exchanges: Vec<(Vec<usize>, Vec<usize>)>,
}

impl Symmetries {
    /// Finds the symmetries that leave the cost unchanged at [`TESTED`] elements of `draws`. These are the draws whose
    /// linear parameters are determined best. `base`: linear parameters from which the linear solve starts; `terms`:
    /// parameters of each additive term; `phases`: dimensionless parameters in periodic functions.
    pub(super) fn of(
        screen: &Screen<'_>,
        base: &[f64],
        draws: &[Candidate],
        terms: &[Vec<usize>],
        phases: &[usize],
    ) -> Symmetries {
        let scale = screen.points.summary.square;
        let mut draws: Vec<&Candidate> = draws.iter().collect();
        sort_few(&mut draws, |a, b| b.pivot.total_cmp(&a.pivot));
        draws.truncate(TESTED);
        let holds = |change: &dyn Fn(&mut [f64])| {
            let changed = |draw: &&Candidate| {
                let mut params = draw.params.clone();
                // The linear parameters of the draw can be huge, and a solve that starts from them would have large
                // rounding errors.
                screen.prepared.free.iter().for_each(|&k| params[k] = base[k]);
                change(&mut params);
                params
            };
            let is_equal = |(draw, other): (&&Candidate, Option<Candidate>)| {
                other.is_some_and(|other| (other.cost - draw.cost).abs() <= ROUNDING * scale)
            };
            let holds_at = |draws: &[&Candidate]| {
                let changed: Vec<Vec<f64>> = draws.iter().map(changed).collect();
                draws.iter().zip(screen.each(&changed)).all(is_equal)
            };
            // Most changes fail at the first draw.
            draws.len() == TESTED && holds_at(&draws[..1]) && holds_at(&draws[1..])
        };
        let mut found = Symmetries::default();
        for term in terms {
            for (j, &b) in term.iter().enumerate() {
                if holds(&|p: &mut [f64]| p[b] = -p[b]) {
                    found.signs.push(vec![b]);
                    continue;
                }
                for &a in &term[..j] {
                    let single = found.signs.iter().any(|signs| signs[..] == [a]);
                    if !single && holds(&|p: &mut [f64]| (p[a], p[b]) = (-p[a], -p[b])) {
                        found.signs.push(vec![a, b]);
                    }
                }
            }
        }
        // A frequency of several phases, such as those of the sets of a joint fit.
        let others = terms.iter().flatten().filter(|k| phases.len() > 1 && !phases.contains(k));
        for &k in others {
            let group: Vec<usize> = std::iter::once(k).chain(phases.iter().copied()).collect();
            if !found.is_sign(k) && holds(&|p: &mut [f64]| group.iter().for_each(|&k| p[k] = -p[k]))
            {
                found.signs.push(group);
            }
        }
        for &k in phases {
            let turn =
                [PI, 2.0 * PI].into_iter().find(|&turn| holds(&|p: &mut [f64]| p[k] += turn));
            found.turns.extend(turn.map(|turn| (k, turn)));
        }
        let bounds = screen.bounds;
        for term in terms {
            for (j, &b) in term.iter().enumerate() {
                for &a in term[..j].iter().filter(|&&a| bounds[a] == bounds[b]) {
                    if holds(&|p: &mut [f64]| p.swap(a, b)) {
                        found.exchanges.push((vec![a], vec![b]));
                    }
                }
            }
        }
        for (j, b) in terms.iter().enumerate() {
            for a in terms[..j].iter().filter(|a| a.len() == b.len()) {
                let same_bounds = a.iter().zip(b).all(|(&i, &k)| bounds[i] == bounds[k]);
                if same_bounds && holds(&|p: &mut [f64]| exchange(p, a, b)) {
                    found.exchanges.push((a.clone(), b.clone()));
                }
            }
        }
        found
    }

    /// Returns the canonical parameters, and true if they differ from `params`. Linear parameters are unchanged.
    pub(super) fn canonical(&self, params: &[f64]) -> (Vec<f64>, bool) {
        let mut own = params.to_vec();
        for signs in &self.signs {
            if own[signs[0]] < 0.0 {
                signs.iter().for_each(|&k| own[k] = -own[k]);
            }
        }
        for &(k, turn) in &self.turns {
            own[k] -= turn * (own[k] / turn).round();
        }
        // Exchange adjacent terms until all are in order.
        for _ in 0..self.exchanges.len() {
            for (a, b) in &self.exchanges {
                if own[a[0]] > own[b[0]] {
                    exchange(&mut own, a, b);
                }
            }
        }
        let differs = own != params;
        (own, differs)
    }

    /// Returns true if a change of the sign of parameter `k` alone leaves the curve unchanged.
    pub(super) fn is_sign(&self, k: usize) -> bool {
        self.signs.iter().any(|signs| signs[..] == [k])
    }

    /// Returns true if parameter `k` is a phase that can be shifted by its period.
    pub(super) fn is_phase(&self, k: usize) -> bool {
        self.turns.iter().any(|(phase, _)| *phase == k)
    }

    /// Returns one copy of `params` per phase of period π, with this phase shifted by π. The amplitudes are copied; the
    /// linear solve that follows gives them the opposite sign.
    pub(super) fn other_sides(&self, params: &[f64]) -> Vec<Vec<f64>> {
        let halves = self.turns.iter().filter(|(_, turn)| *turn < 2.0 * PI);
        let side = |&(k, turn): &(usize, f64)| {
            let mut other = params.to_vec();
            other[k] -= turn * if other[k] > 0.0 { 1.0 } else { -1.0 };
            other
        };
        halves.map(side).collect()
    }
}

fn exchange(params: &mut [f64], a: &[usize], b: &[usize]) {
    a.iter().zip(b).for_each(|(&a, &b)| params.swap(a, b));
}
