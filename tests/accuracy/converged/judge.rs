//! Test that the result of a fit is a minimum: no point near it, or downhill from it, has a lower cost.

use crate::converged::dd::Dd;
use crate::converged::descent::{Gait, descend, falls, is_strict};
use crate::converged::problem::{Problem, Seen};
use rand::{Rng, RngExt};

/// A part of the cost that a lower one must differ by: a hundred times `ftol`, since the fall that a
/// Gauss-Newton step promises is less than what there is where residuals bend the cost.
const PART: f64 = 1e-8;
/// Operations of 53 bits that a residual is made of.
const OPERATIONS: f64 = 32.0;
/// Random directions of nudges.
const DIRECTIONS: usize = 6;
/// Nudges in each direction, of sizes drawn between 1e-8 and 1e-1.
const NUDGES: usize = 2;

/// A place with a lower cost.
#[derive(Clone, Debug)]
pub(crate) struct Lower {
    pub(crate) how: String,
    /// At the end of the fit, and there.
    pub(crate) costs: [f64; 2],
    pub(crate) params: Vec<f64>,
}

/// Returns a point with a lower cost than `end`, if there is one. `sizes`: step size of each free parameter.
pub(crate) fn lower(
    problem: &Problem,
    end: &[f64],
    sizes: &[[f64; 2]],
    random: &mut impl Rng,
) -> Option<Lower> {
    let end: Vec<Dd> = end.iter().map(|&v| v.into()).collect();
    let here = problem.see(&end);
    let found = |how: String, q: &[Dd], there: &Seen| Lower {
        how,
        costs: [here.cost.f64(), there.cost.f64()],
        params: q.iter().map(|q| q.f64()).collect(),
    };
    if !here.cost.is_finite() {
        return Some(found(String::from("there is no cost, nowhere"), &end, &here));
    }
    // Short steps are tried only if long steps find a lower cost.
    if is_lower(&here, &descend(problem, &end, Gait::Striding).1) {
        let (q, there) = descend(problem, &end, Gait::Sliding);
        if is_lower(&here, &there) {
            return Some(found(String::from("downhill"), &q, &there));
        }
    }
    let try_nudge = |step: &[f64]| {
        let mut q: Vec<Dd> = end.iter().zip(step).map(|(&q, &d)| q + Dd::from(d)).collect();
        problem.clamp(&mut q);
        (problem.cost(&q) < here.cost).then(|| problem.see(&q)).and_then(|there| {
            let downhill = is_lower(&here, &there) && falls(problem, &end, &q, here.cost);
            downhill.then(|| found(format!("a nudge by {step:?}"), &q, &there))
        })
    };
    let m = end.len();
    for direction in 0..4 * m + DIRECTIONS {
        for _ in 0..NUDGES {
            let part = 10f64.powf(random.random_range(-8.0..-1.0));
            let mut step = vec![0.0; m];
            if direction < 4 * m {
                let sign = if direction % 2 == 0 { 1.0 } else { -1.0 };
                step[direction / 4] = sign * part * sizes[direction / 4][direction / 2 % 2];
            } else {
                let mut along = |size: &[f64; 2]| part * size[0] * random.random_range(-1.0..1.0);
                step.iter_mut().zip(sizes).for_each(|(s, size)| *s = along(size));
            }
            if let Some(lower) = try_nudge(&step) {
                return Some(lower);
            }
        }
    }
    None
}

/// Returns true if the result of a fit, near which nothing lower was found, is a strict minimum.
pub(crate) fn is_minimum(problem: &Problem, end: &[f64], sizes: &[[f64; 2]]) -> bool {
    let end: Vec<Dd> = end.iter().map(|&v| v.into()).collect();
    let here = problem.see(&end);
    let sizes: Vec<f64> = sizes.iter().map(|size| size[1]).collect();
    is_strict(problem, &end, &sizes, 10.0 * (PART * here.cost.f64() + noise(&here, &here)))
        .unwrap_or(false)
}

/// Bound of the rounding error of the cost there, for rows with the uncertainty of those here.
fn noise(here: &Seen, there: &Seen) -> f64 {
    let part =
        |(i, row): (usize, &Dd)| OPERATIONS * here.rounding[i] * there.pull[i] * row.f64().abs();
    there.rows.iter().enumerate().map(part).sum()
}

/// Returns true if the cost there is lower than here by more than the tolerance and the rounding of the rows.
/// The curve meets a point of weight 1e18 only up to rounding, and this rounding has a high cost: changes of a row
/// below its own rounding do not count.
fn is_lower(here: &Seen, there: &Seen) -> bool {
    let rows = || here.rows.iter().zip(&there.rows).enumerate();
    let least = PART * there.cost.f64().abs() + noise(here, there);
    let more = |(i, (a, b)): (usize, (&Dd, &Dd))| {
        let change = (*a - *b).abs().f64() - OPERATIONS * here.rounding[i];
        0.5 * here.pull[i].max(there.pull[i]) * change.max(0.0).powi(2)
    };
    (here.cost - there.cost).f64() > least && rows().map(more).sum::<f64>() > least
}

#[test]
fn minima_saddles_slopes_and_bounds_are_told_apart() {
    use crate::converged::models::Kind;
    use crate::converged::problem::Aim;
    use dualfit::Loss;
    use rand::SeedableRng;
    let free = (f64::NEG_INFINITY, f64::INFINITY);
    let problem = |kind, y: [f64; 4], bound: (f64, f64)| Problem {
        kind,
        tie: None,
        x: vec![0.0, 1.0, 2.0, 3.0],
        y: y.to_vec(),
        weights: vec![Dd::ONE; 4],
        aim: Aim::Squares(Loss::Linear),
        bounds: vec![bound, free],
    };
    let judged = |problem: &Problem, end: [f64; 2]| {
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1);
        let sizes = [[0.1, 1.0]; 2];
        (lower(problem, &end, &sizes, &mut random).is_some(), is_minimum(problem, &end, &sizes))
    };
    // The line of least squares through these points is 2x + 1/2.
    let line = |bound| problem(Kind::Line, [1.5, 1.5, 3.5, 7.5], bound);
    assert_eq!(judged(&line(free), [2.0, 0.5]), (false, true));
    assert!(judged(&line(free), [2.0, 0.501]).0);
    // With a slope of 3 at least, the best offset is -1.
    assert_eq!(judged(&line((3.0, 9.0)), [3.0, -1.0]), (false, true));
    assert!(judged(&line((1.0, 9.0)), [3.0, -1.0]).0);
    // a² x + b²: at a = 0 the cost has no slope by a, whether the points rise or fall.
    let squares = |y| problem(Kind::Squares, y, free);
    assert_eq!(judged(&squares([4.0, 3.0, 2.0, 1.0]), [0.0, 2.5f64.sqrt()]), (false, true));
    assert!(judged(&squares([1.0, 2.0, 3.0, 4.0]), [0.0, 2.5f64.sqrt()]).0);
}
