//! Screening of candidates: computation of the cost at many values of the nonlinear parameters, minimised over the
//! linear parameters.
//!
//! Let r₀ be the residuals at linear parameters p₀, and J the partials with respect to them. The minimum cost over the
//! linear parameters is ½(r₀ᵀr₀ − gᵀ(JᵀJ)⁻¹g) with g = Jᵀr₀ (Golub and Pereyra, SIAM J. Numer. Anal. 10, 1973, 413).
//! One pass over the points computes JᵀJ, g and r₀ᵀr₀.

use crate::backend::cpu::{Cpu, Prepared};
use crate::data::loss::Loss;
use crate::data::points::Points;
use crate::math::bits::ascending;
use crate::normal::Normal;
use crate::solver::evaluator::Evaluator;
use crate::threads;

/// Number of candidates that a thread screens at a time.
const PORTION: usize = 16;
/// Columns are left out if less than this fraction of their squared norm is independent of the previous columns.
const DEPENDENT: f64 = 1e-10;

/// Parameters and their cost on the screened points, in row units.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// One value per parameter.
    pub(super) params: Vec<f64>,
    pub(super) cost: f64,
    /// Measure of the independence of the columns of the linear parameters, from 0 to 1. For each column: the part of
    /// its squared norm that is orthogonal to the previous columns, as a fraction. `pivot` is the smallest fraction; 0
    /// if a column was left out. The relative error of the cost is about the rounding unit divided by `pivot`.
    pub(super) pivot: f64,
}

/// A model in which only the linear parameters are free, and the points for screening.
pub(super) struct Screen<'a> {
    pub(super) prepared: &'a Prepared,
    pub(super) points: &'a Points<'a>,
    /// One pair per parameter.
    pub(super) bounds: &'a [(f64, f64)],
}

impl Screen<'_> {
    /// Returns the candidates by ascending cost, with their linear parameters solved for. Omits candidates without a
    /// finite cost.
    pub(super) fn sorted(&self, all: &[Vec<f64>]) -> Vec<Candidate> {
        sorted(self.each(all))
    }

    /// Solves for the linear parameters of each candidate; `None` if the cost is not finite.
    pub(super) fn each(&self, all: &[Vec<f64>]) -> Vec<Option<Candidate>> {
        let screened = threads::map(all.chunks(PORTION), |portion| {
            let Some(first) = portion.first() else { return Vec::new() };
            let mut cpu = Cpu::new(self.prepared, self.points, Loss::Linear, first).on_one_thread();
            let mut normal = Normal::zero(self.prepared.free.len());
            let of = |params: &Vec<f64>| self.solved(&mut cpu, params.clone(), &mut normal);
            portion.iter().map(of).collect()
        });
        screened.concat()
    }

    fn solved(
        &self,
        cpu: &mut Cpu<'_>,
        mut params: Vec<f64>,
        normal: &mut Normal,
    ) -> Option<Candidate> {
        let free = &self.prepared.free;
        let columns = vec![1.0; free.len()];
        let mut cost = |params: &[f64], normal: &mut Normal| {
            cpu.normal(params, &columns, normal).ok()?;
            normal.cost.is_finite().then_some(normal.cost)
        };
        let there = cost(&params, normal)?;
        if free.is_empty() {
            return Some(Candidate { params, cost: there, pivot: 1.0 });
        }
        let Solution { step, gain, pivot } = least_squares(normal);
        let mut moved = false;
        for (&k, step) in free.iter().zip(&step) {
            let (value, (lower, upper)) = (params[k] + step, self.bounds[k]);
            params[k] = value.clamp(lower, upper);
            moved |= params[k] != value;
        }
        // With active bounds the exact solution differs; the clamped solution suffices to compare candidates.
        let cost = if moved { cost(&params, normal)? } else { (there - gain).max(0.0) };
        cost.is_finite().then_some(Candidate { params, cost, pivot })
    }
}

/// Returns the candidates that are not `None`, by ascending cost.
pub(super) fn sorted(mut all: Vec<Option<Candidate>>) -> Vec<Candidate> {
    all.retain(Option::is_some);
    let costs: Vec<f64> = all.iter().flatten().map(|candidate| candidate.cost).collect();
    ascending(&costs).into_iter().filter_map(|k| all[k].take()).collect()
}

/// Least-squares solution of normal equations.
struct Solution {
    /// One value per column.
    step: Vec<f64>,
    /// Decrease of the cost by the step.
    gain: f64,
    /// See [`Candidate`].
    pivot: f64,
}

/// Computes the least-squares step of normal equations. The step is 0 for columns that depend on earlier columns.
fn least_squares(normal: &Normal) -> Solution {
    let n = normal.n;
    let length: Vec<f64> = (0..n).map(|j| normal.jtj(j, j).sqrt()).collect();
    let sound = |j: usize| length[j] > 0.0 && length[j].is_finite();
    // JᵀJ = L D Lᵀ, with the columns of J scaled to length 1: L by rows, without its unit diagonal; the diagonal of
    // D; and L⁻¹g.
    let mut lower = vec![0.0; n * n];
    let (mut pivots, mut along) = (vec![0.0; n], vec![0.0; n]);
    let mut gain = 0.0;
    for j in (0..n).filter(|&j| sound(j)) {
        for i in (0..j).filter(|&i| pivots[i] > 0.0) {
            let product = normal.jtj(i, j) / length[i] / length[j];
            let before: f64 = (0..i).map(|k| lower[j * n + k] * lower[i * n + k] * pivots[k]).sum();
            lower[j * n + i] = (product - before) / pivots[i];
        }
        let before: f64 = (0..j).map(|k| lower[j * n + k].powi(2) * pivots[k]).sum();
        let pivot = 1.0 - before;
        if pivot > DEPENDENT {
            let slope = normal.jtr(j) / length[j];
            pivots[j] = pivot;
            along[j] = slope - (0..j).map(|k| lower[j * n + k] * along[k]).sum::<f64>();
            gain += 0.5 * along[j] * along[j] / pivot;
        }
    }
    let mut step = vec![0.0; n];
    for j in (0..n).rev().filter(|&j| pivots[j] > 0.0) {
        let later: f64 = (j + 1..n).map(|k| lower[k * n + j] * step[k]).sum();
        step[j] = -along[j] / pivots[j] - later;
    }
    for j in 0..n {
        step[j] = if sound(j) { step[j] / length[j] } else { 0.0 };
    }
    let pivot = pivots.into_iter().fold(1.0, f64::min);
    Solution { step, gain, pivot }
}
