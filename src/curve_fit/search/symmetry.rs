//! Symmetries of a model: changes of its nonlinear parameters that leave the curve as it is, the linear parameters
//! solved for. Of all equal minima the search returns one: signs positive, phases within half a turn, equal terms in
//! ascending order of their first parameter, and amplitudes positive as far as a phase decides that.

use super::screen::{Candidate, Screen};
use std::f64::consts::PI;

/// Draws at which a change must leave the cost as it is.
const TESTED: usize = 4;
/// Part of the sum of squares of the response that rounding may change.
pub(super) const ROUNDING: f64 = 1e-9;

/// The symmetries of a model.
#[derive(Debug, Default)]
pub(super) struct Symmetries {
    /// Parameters that may change their sign together.
    signs: Vec<Vec<usize>>,
    /// Phases, with the distance after which the curve repeats: 2π, or π if amplitudes change their sign.
    turns: Vec<(usize, f64)>,
    /// Terms that may exchange their parameters, which have the same bounds.
    exchanges: Vec<(Vec<usize>, Vec<usize>)>,
}

impl Symmetries {
    /// The symmetries that hold at all of a few draws: of `draws` those with the best determined linear parameters.
    /// `base`: linear parameters from which they are solved for; `terms`: parameters of each additive term; `phases`:
    /// those without unit in periodic functions.
    pub(super) fn of(
        screen: &Screen<'_>,
        base: &[f64],
        draws: &[Candidate],
        terms: &[Vec<usize>],
        phases: &[usize],
    ) -> Symmetries {
        let scale = screen.points.summary.square;
        let mut draws: Vec<&Candidate> = draws.iter().collect();
        draws.sort_by(|a, b| b.pivot.total_cmp(&a.pivot));
        draws.truncate(TESTED);
        let holds = |change: &dyn Fn(&mut [f64])| {
            let changed = draws.iter().map(|draw| {
                let mut params = draw.params.clone();
                // From those of the draw, which may be huge, the solution would be rounded.
                screen.prepared.free.iter().for_each(|&k| params[k] = base[k]);
                change(&mut params);
                params
            });
            let changed: Vec<Vec<f64>> = changed.collect();
            let is_equal = |(draw, other): (&&Candidate, Option<Candidate>)| {
                other.is_some_and(|other| (other.cost - draw.cost).abs() <= ROUNDING * scale)
            };
            draws.len() == TESTED && draws.iter().zip(screen.each(&changed)).all(is_equal)
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
        for &k in phases {
            let turn =
                [PI, 2.0 * PI].into_iter().find(|&turn| holds(&|p: &mut [f64]| p[k] += turn));
            found.turns.extend(turn.map(|turn| (k, turn)));
        }
        let bounds = screen.bounds;
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

    /// The equal parameters that the search returns, without the linear ones; and whether they differ.
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
        // Neighbours are exchanged until all are in order.
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

    /// Returns true for a parameter whose sign alone changes nothing.
    pub(super) fn is_sign(&self, k: usize) -> bool {
        self.signs.iter().any(|signs| signs[..] == [k])
    }

    /// Returns true for a phase that may be shifted.
    pub(super) fn is_phase(&self, k: usize) -> bool {
        self.turns.iter().any(|(phase, _)| *phase == k)
    }

    /// The same with each phase on the side on which amplitudes are positive.
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
