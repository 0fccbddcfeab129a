//! A minimiser that shares nothing with the crate's: damped Gauss-Newton steps by Householder's triangle of
//! the whole Jacobian, then damped Newton steps, all in 106 bits, projected onto the bounds.

use crate::converged::dd::Dd;
use crate::converged::problem::{Problem, Seen};

/// Steps of each sort, at most.
const STEPS: usize = 40;
/// Relative gain of the cost, or of its rounding, below which the walk ends.
const ENOUGH: f64 = 1e-12;
/// The ratio of weights from which on squares of slopes are not added up.
const UNSQUARED: f64 = 1e10;

/// Step rule of a walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Gait {
    /// To wherever the cost is lower, over a hill too.
    Striding,
    /// Steps along which the cost falls all the way.
    Sliding,
}

/// Parts of a step at which a cost that falls all the way is looked at.
const PLACES: [f64; 9] = [1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 0.6, 1.0];

/// Returns true if the cost falls all the way from `from` to `to`.
pub(crate) fn falls(problem: &Problem, from: &[Dd], to: &[Dd], mut cost: Dd) -> bool {
    PLACES.iter().all(|&part| {
        let between = |(&a, &b): (&Dd, &Dd)| a + (b - a) * Dd::from(part);
        let q: Vec<Dd> = from.iter().zip(to).map(between).collect();
        let before = std::mem::replace(&mut cost, problem.cost(&q));
        cost < before
    })
}

/// The lowest cost that is reached downhill from `start`: with the bounds that hold there, and with each
/// set of them let go.
pub(crate) fn descend(problem: &Problem, start: &[Dd], gait: Gait) -> (Vec<Dd>, Seen) {
    let on_bound = |&j: &usize| {
        let (lower, upper) = problem.bounds[j];
        start[j] == Dd::from(lower) || start[j] == Dd::from(upper)
    };
    let bound: Vec<usize> = (0..start.len()).filter(on_bound).collect();
    let mut best: Option<(Vec<Dd>, Seen)> = None;
    for face in 0..1usize << bound.len() {
        let held =
            |j: usize| bound.iter().position(|&b| b == j).is_some_and(|k| face >> k & 1 == 1);
        let held: Vec<bool> = (0..start.len()).map(held).collect();
        let mut walk = Walk::new(problem, start.to_vec(), held, gait);
        walk.steps(Walk::gauss_newton);
        if problem.spread() < UNSQUARED {
            walk.steps(Walk::newton);
        }
        if best.as_ref().is_none_or(|(_, seen)| walk.seen.cost < seen.cost) {
            best = Some((walk.q, walk.seen));
        }
    }
    best.unwrap_or_else(|| (start.to_vec(), problem.see(start)))
}

struct Walk<'a> {
    problem: &'a Problem,
    q: Vec<Dd>,
    seen: Seen,
    held: Vec<bool>,
    damping: f64,
    gait: Gait,
}

impl<'a> Walk<'a> {
    fn new(problem: &'a Problem, q: Vec<Dd>, held: Vec<bool>, gait: Gait) -> Self {
        let seen = problem.see(&q);
        Walk { problem, q, seen, held, damping: 0.0, gait }
    }

    fn steps(&mut self, step: fn(&Walk<'a>, &[usize]) -> Option<Vec<Dd>>) {
        self.damping = 0.0;
        let mut idle = 0;
        for _ in 0..STEPS {
            let moving = self.moving();
            if moving.is_empty() {
                return;
            }
            let before = self.seen.cost;
            while !self.accept(&moving, step(self, &moving)) {
                self.damping = (10.0 * self.damping).max(1e-9);
                if self.damping > 1e12 {
                    return;
                }
            }
            self.damping = if self.damping < 1e-8 { 0.0 } else { 0.1 * self.damping };
            let floor: f64 = self.seen.rounding.iter().map(|u| u * u).sum();
            let enough = ENOUGH * (self.seen.cost.f64() + floor);
            idle = if (before - self.seen.cost).f64() <= enough { idle + 1 } else { 0 };
            if idle == 2 {
                return;
            }
        }
    }

    /// Goes where a step of the `moving` parameters leads, if the cost is lower there.
    fn accept(&mut self, moving: &[usize], step: Option<Vec<Dd>>) -> bool {
        let Some(step) = step else { return false };
        let mut q = self.q.clone();
        for (&j, &d) in moving.iter().zip(&step) {
            q[j] += d;
        }
        self.problem.clamp(&mut q);
        if !q.iter().all(|q| q.is_finite()) || self.problem.cost(&q) >= self.seen.cost {
            return false;
        }
        if self.gait == Gait::Sliding && !falls(self.problem, &self.q, &q, self.seen.cost) {
            return false;
        }
        self.seen = self.problem.see(&q);
        self.q = q;
        true
    }

    /// The parameters that are not held and do not press against a bound.
    fn moving(&self) -> Vec<usize> {
        let gradient = self.seen.gradient(self.q.len());
        let free = |&j: &usize| {
            let (lower, upper) = self.problem.bounds[j];
            let g = gradient[j].f64();
            let presses = (self.q[j] == Dd::from(lower) && g > 0.0)
                || (self.q[j] == Dd::from(upper) && g < 0.0);
            !self.held[j] && !presses
        };
        (0..self.q.len()).filter(free).collect()
    }

    /// Lengths of the columns, of which very heavy points take no more part than the others.
    fn lengths(&self, moving: &[usize]) -> Vec<f64> {
        let m = self.q.len();
        let mut sizes: Vec<f64> = self.problem.weights.iter().map(|w| w.f64()).collect();
        sizes.sort_by(f64::total_cmp);
        let usual = sizes[sizes.len() / 2];
        let part = |i: usize| (usual / self.problem.weights[i].f64()).min(1.0);
        let length = |&j: &usize| {
            let squares = (0..self.seen.rows.len())
                .map(|i| self.seen.pull[i] * (part(i) * self.seen.slopes[i * m + j].f64()).powi(2));
            squares.sum::<f64>().sqrt()
        };
        moving.iter().map(length).collect()
    }

    /// The damped step of least squares.
    fn gauss_newton(&self, moving: &[usize]) -> Option<Vec<Dd>> {
        // A parameter without any effect stays where it is.
        let lengths = self.lengths(moving);
        let acting: Vec<usize> = (0..moving.len()).filter(|&c| lengths[c] > 0.0).collect();
        let (n, m, k) = (self.seen.rows.len(), self.q.len(), acting.len());
        let root = self.damping.sqrt();
        // Columns of the Jacobian, each followed by its damping; the residuals last.
        let mut columns = vec![vec![Dd::ZERO; n + k]; k + 1];
        for i in 0..n {
            let pull = Dd::from(self.seen.pull[i].sqrt());
            for (c, &a) in acting.iter().enumerate() {
                columns[c][i] = pull * self.seen.slopes[i * m + moving[a]];
            }
            columns[k][i] = -(pull * self.seen.rows[i]);
        }
        for (c, &a) in acting.iter().enumerate() {
            columns[c][n + c] = Dd::from(root * lengths[a]);
        }
        let mut step = vec![Dd::ZERO; moving.len()];
        for (&a, part) in acting.iter().zip(triangular(&mut columns, k)?) {
            step[a] = part;
        }
        Some(step)
    }

    /// Second derivatives by the `moving` parameters, from differences of the gradient.
    fn curvature(&self, moving: &[usize]) -> Option<Vec<Vec<Dd>>> {
        let (m, k) = (self.q.len(), moving.len());
        let gradient = self.seen.gradient(m);
        let mut matrix = vec![vec![Dd::ZERO; k]; k];
        for (c, &j) in moving.iter().enumerate() {
            let mut q = self.q.clone();
            let h = Dd::from(1e-10 * self.q[j].f64().abs().max(1e-6));
            q[j] += h;
            let beside = self.problem.see(&q);
            if !beside.cost.is_finite() {
                return None;
            }
            let beside = beside.gradient(m);
            for (r, &i) in moving.iter().enumerate() {
                matrix[r][c] = (beside[i] - gradient[i]) / h;
            }
        }
        for r in 0..k {
            for c in 0..r {
                let mean = (matrix[r][c] + matrix[c][r]) * Dd::from(0.5);
                (matrix[r][c], matrix[c][r]) = (mean, mean);
            }
        }
        Some(matrix)
    }

    /// The damped step of Newton's method.
    fn newton(&self, moving: &[usize]) -> Option<Vec<Dd>> {
        let gradient = self.seen.gradient(self.q.len());
        let mut matrix = self.curvature(moving)?;
        for (c, length) in self.lengths(moving).into_iter().enumerate() {
            matrix[c][c] += Dd::from(self.damping * length * length);
        }
        let downhill: Vec<Dd> = moving.iter().map(|&j| -gradient[j]).collect();
        cholesky(matrix, downhill)
    }
}

/// Returns true if `end` is a strict minimum: by the second derivatives the cost rises by more than `least` in every
/// direction, for a step of a tenth of the `sizes`. Parameters that press against their bounds are
/// left out. `None` if weights differ too much for second derivatives.
pub(crate) fn is_strict(problem: &Problem, end: &[Dd], sizes: &[f64], least: f64) -> Option<bool> {
    if problem.spread() >= UNSQUARED {
        return None;
    }
    let walk = Walk::new(problem, end.to_vec(), vec![false; end.len()], Gait::Sliding);
    let moving = walk.moving();
    let mut matrix = walk.curvature(&moving)?;
    for (r, &i) in moving.iter().enumerate() {
        for (c, &j) in moving.iter().enumerate() {
            matrix[r][c] = matrix[r][c] * Dd::from(0.005 * sizes[i] * sizes[j]);
        }
        matrix[r][r] = matrix[r][r] - Dd::from(least);
    }
    Some(cholesky(matrix, vec![Dd::ZERO; moving.len()]).is_some())
}

/// The solution of least squares with `k` columns; the last is the right-hand side. `None` if a column
/// depends on those before it.
fn triangular(columns: &mut [Vec<Dd>], k: usize) -> Option<Vec<Dd>> {
    for c in 0..k {
        let (done, rest) = columns.split_at_mut(c + 1);
        let v = &mut done[c];
        let length = v[c..].iter().fold(Dd::ZERO, |sum, &x| sum + x.squared()).sqrt();
        if !(length.f64() > 0.0 && length.is_finite()) {
            return None;
        }
        let length = if v[c] > Dd::ZERO { -length } else { length };
        let first = v[c] - length;
        v[c] = first;
        let half = -(length * first);
        for other in rest {
            let along = v[c..].iter().zip(&other[c..]).fold(Dd::ZERO, |s, (&a, &b)| s + a * b);
            let times = along / half;
            other[c..].iter_mut().zip(&v[c..]).for_each(|(o, &v)| *o = *o - times * v);
        }
        v[c] = length;
    }
    let mut step = columns[k][..k].to_vec();
    for c in (0..k).rev() {
        for later in c + 1..k {
            step[c] = step[c] - columns[later][c] * step[later];
        }
        step[c] = step[c] / columns[c][c];
    }
    Some(step)
}

/// The solution of a positive definite system; `None` for any other.
fn cholesky(mut l: Vec<Vec<Dd>>, mut step: Vec<Dd>) -> Option<Vec<Dd>> {
    let k = step.len();
    for c in 0..k {
        for r in c..k {
            let sum = (0..c).fold(l[r][c], |sum, i| sum - l[r][i] * l[c][i]);
            if r > c {
                l[r][c] = sum / l[c][c];
            } else if sum.f64() > 0.0 {
                l[c][c] = sum.sqrt();
            } else {
                return None;
            }
        }
    }
    for c in 0..k {
        step[c] = (0..c).fold(step[c], |sum, i| sum - l[c][i] * step[i]) / l[c][c];
    }
    for c in (0..k).rev() {
        step[c] = (c + 1..k).fold(step[c], |sum, r| sum - l[r][c] * step[r]) / l[c][c];
    }
    Some(step)
}

#[test]
fn a_line_through_points_of_weights_apart_by_1e18() {
    use crate::converged::models::Kind;
    use crate::converged::problem::Aim;
    use dualfit::Loss;
    // The line must pass through (1, 5); of the others the slope through there is the mean of 2 and 4.
    let problem = Problem {
        kind: Kind::Line,
        tie: None,
        x: vec![0.0, 1.0, 2.0],
        y: vec![3.0, 5.0, 9.0],
        weights: vec![Dd::ONE, Dd::from(1e18), Dd::ONE],
        aim: Aim::Squares(Loss::Linear),
        bounds: vec![(f64::NEG_INFINITY, f64::INFINITY); 2],
    };
    for gait in [Gait::Striding, Gait::Sliding] {
        let (q, seen) = descend(&problem, &[Dd::from(-7.0), Dd::from(1e3)], gait);
        assert!((q[0].f64() - 3.0).abs() < 1e-12 && (q[1].f64() - 2.0).abs() < 1e-12, "{q:?}");
        assert!((seen.cost.f64() - 1.0).abs() < 1e-12);
    }
}
