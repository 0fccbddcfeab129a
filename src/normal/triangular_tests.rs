//! Compares problems of arrow shape with the same problems as full matrices, whose products and solutions nalgebra
//! computes.

use super::{Arrow, RFactor, Triangular};
use nalgebra::{Cholesky, DMatrix, DVector};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;

/// Sizes of the blocks, and number of common parameters.
const SHAPES: [(&[usize], usize); 14] = [
    (&[], 0),
    (&[], 1),
    (&[], 9),
    (&[0], 0),
    (&[0], 3),
    (&[3], 0),
    (&[3], 2),
    (&[1, 1], 0),
    (&[1, 1], 1),
    (&[0, 2, 0], 2),
    (&[2, 0, 3], 0),
    (&[4, 1, 2], 5),
    (&[10, 9], 11),
    (&[1; 40], 1),
];

/// Ranges of the lengths of the columns, in powers of ten.
const DECADES: [f64; 3] = [0.0, 6.0, 12.0];

struct Problem {
    given: Triangular,
    full: DMatrix<f64>,
    z: DVector<f64>,
    /// Length of each column.
    lengths: DVector<f64>,
    random: Xoshiro256PlusPlus,
}

impl Problem {
    /// Creates a problem whose columns are well-conditioned before they are scaled.
    fn new(blocks: &[usize], common: usize, decades: f64, seed: u64) -> Problem {
        let shape = Arrow::of(blocks.iter().copied(), common);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (n, first) = (shape.n(), shape.first_common());
        let mut given = Triangular::zero(&shape);
        let mut full = DMatrix::zeros(n, n);
        let units: Vec<f64> =
            (0..n).map(|_| 10f64.powf(decades * random.random::<f64>())).collect();
        let mut entry = |i: usize, j: usize| {
            let diagonal =
                if random.random() { 1.0 } else { -1.0 } * (1.0 + random.random::<f64>());
            let above = 2.0 * random.random::<f64>() - 1.0;
            full[(i, j)] = units[j] * if i == j { diagonal } else { 0.7 * above };
            full[(i, j)]
        };
        for (own, rows) in shape.trapezoids_mut(&mut given.r, 0) {
            let m = own.len();
            for (c, j) in own.clone().chain(first..n).enumerate() {
                own.clone()
                    .filter(|&i| i <= j)
                    .for_each(|i| rows[c * m + i - own.start] = entry(i, j));
            }
        }
        let corner = shape.corner_mut(&mut given.r, 0);
        for j in first..n {
            (first..=j).for_each(|i| corner[(j - first) * common + i - first] = entry(i, j));
        }
        given.z.iter_mut().for_each(|z| *z = 2.0 * random.random::<f64>() - 1.0);
        let z = DVector::from_column_slice(&given.z);
        let lengths = lengths(&full);
        Problem { given, full, z, lengths, random }
    }

    fn n(&self) -> usize {
        self.z.len()
    }

    /// Returns a random vector. The magnitude of each element is at most 1 over the length of its column.
    fn step(&mut self) -> DVector<f64> {
        let random = &mut self.random;
        self.lengths.map(|length| (2.0 * random.random::<f64>() - 1.0) / length)
    }
}

fn lengths(a: &DMatrix<f64>) -> DVector<f64> {
    DVector::from_iterator(a.ncols(), a.column_iter().map(|column| column.norm()))
}

/// Returns the upper triangle as a full matrix.
fn full(problem: &Triangular) -> DMatrix<f64> {
    let (n, shape) = (problem.n(), &problem.shape);
    let (first, mut out) = (shape.first_common(), DMatrix::zeros(n, n));
    for (own, rows) in shape.trapezoids(&problem.r, 0) {
        for (column, j) in rows.chunks_exact(own.len().max(1)).zip(own.clone().chain(first..n)) {
            own.clone().zip(column).for_each(|(i, &value)| out[(i, j)] = value);
        }
    }
    let corner = shape.corner(&problem.r, 0);
    for (column, j) in corner.chunks_exact(shape.common().max(1)).zip(first..n) {
        (first..n).zip(column).for_each(|(i, &value)| out[(i, j)] = value);
    }
    out
}

/// Asserts that the largest difference is at most `tolerance` times the largest element, after scaling by `units`.
fn near(found: &[f64], expected: &DVector<f64>, units: &DVector<f64>, tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let found = DVector::from_column_slice(found).component_mul(units);
    let expected = expected.component_mul(units);
    let difference = (&found - &expected).amax();
    assert!(difference <= tolerance * expected.amax(), "{difference:e} {found} {expected}");
}

fn is_upper(a: &DMatrix<f64>) -> bool {
    (0..a.ncols()).all(|j| (j + 1..a.nrows()).all(|i| a[(i, j)] == 0.0))
}

/// Asserts that `found` has the triangle and the right-hand side of the least-squares problem ‖A x + b‖.
fn stands_for(found: &Triangular, a: &DMatrix<f64>, b: &DVector<f64>) {
    let r = full(found);
    assert!(is_upper(&r));
    let units = lengths(a);
    let z = DVector::from_column_slice(&found.z);
    let (squares, expected) = (r.tr_mul(&r), a.tr_mul(a));
    let (slopes, downhill) = (r.tr_mul(&z), a.tr_mul(b));
    for j in 0..a.ncols() {
        for i in 0..a.ncols() {
            let difference = (squares[(i, j)] - expected[(i, j)]).abs();
            assert!(difference <= 1e-13 * units[i] * units[j], "{i}, {j}: {difference:e}");
        }
        let difference = (slopes[j] - downhill[j]).abs();
        assert!(difference <= 1e-13 * units[j] * b.norm(), "{j}: {difference:e}");
    }
}

fn solves(problem: &mut Problem) {
    let (given, n) = (problem.given.clone(), problem.n());
    assert_eq!((given.n(), full(&given)), (n, problem.full.clone()));
    assert!(given.is_regular());
    assert_eq!(given.diagonal().collect::<Vec<_>>(), problem.full.diagonal().as_slice());
    let ones = DVector::from_element(n, 1.0);
    let b = problem.step();
    let rows = problem.full.clone() * &b;
    let mut x: Vec<f64> = rows.as_slice().to_vec();
    given.solve(&mut x);
    let expected = problem.full.solve_upper_triangular(&rows).unwrap();
    near(&x, &expected, &problem.lengths, 1e-11);
    near(&x, &b, &problem.lengths, 1e-11);
    let columns = problem.full.tr_mul(&rows);
    let mut y = columns.as_slice().to_vec();
    given.solve_transposed(&mut y);
    near(&y, &problem.full.tr_solve_upper_triangular(&columns).unwrap(), &ones, 1e-11);
    near(&y, &rows, &ones, 1e-11);
    let mut delta = vec![f64::NAN; n];
    given.gauss_newton(&mut delta);
    let newton = -problem.full.solve_upper_triangular(&problem.z).unwrap();
    near(&delta, &newton, &problem.lengths, 1e-11);
}

fn multiplies(problem: &mut Problem) {
    let (given, n) = (problem.given.clone(), problem.n());
    let (v, ones) = (problem.step(), DVector::from_element(n, 1.0));
    let (mut rows, mut seen) = (vec![f64::NAN; n], Vec::new());
    given.rows_times(v.as_slice(), |i, row, z| {
        rows[i] = row;
        seen.push((i, z));
    });
    near(&rows, &(&problem.full * &v), &ones, 1e-13);
    assert_eq!(seen, given.z.iter().copied().enumerate().collect::<Vec<_>>());
    let (w, mut columns, mut seen) = (v.component_mul(&problem.lengths), vec![f64::NAN; n], vec![]);
    given.columns_times(w.as_slice(), |j, value| {
        columns[j] = value;
        seen.push(j);
    });
    let inverse = problem.lengths.map(f64::recip);
    near(&columns, &problem.full.tr_mul(&w), &inverse, 1e-13);
    assert_eq!(seen, (0..n).collect::<Vec<_>>());
    let moved = &problem.full * &v;
    let expected = 0.5 * moved.norm_squared() + moved.dot(&problem.z);
    let size = moved.norm_squared() + moved.norm() * problem.z.norm();
    let found = given.change(v.as_slice());
    assert!((found - expected).abs() <= 1e-13 * size, "{found} {expected}");
}

fn damps(problem: &mut Problem, strength: f64) {
    let n = problem.n();
    let random = &mut problem.random;
    // Some columns are not damped.
    let damping = problem.lengths.map(|length| match random.random::<f64>() {
        below if below < 0.2 => 0.0,
        part => length * strength * part,
    });
    let mut all = DMatrix::zeros(2 * n, n);
    all.rows_mut(0, n).copy_from(&problem.full);
    all.rows_mut(n, n).copy_from(&DMatrix::from_diagonal(&damping));
    let mut b = DVector::zeros(2 * n);
    b.rows_mut(0, n).copy_from(&problem.z);
    // The previous content of the output and of the work array has no effect.
    let other = Problem::new(&[2, 1], 3, 0.0, 5).given;
    for (mut damped, mut work) in
        [(Triangular::default(), Vec::new()), (other, vec![f64::NAN; 7 * n * n + 50])]
    {
        problem.given.damped(damping.as_slice(), &mut damped, &mut work);
        assert_eq!(damped.shape, problem.given.shape);
        stands_for(&damped, &all, &b);
        let mut delta = vec![f64::NAN; n];
        damped.gauss_newton(&mut delta);
        // With scaled columns, the normal equations keep enough digits.
        let units = lengths(&all);
        let scaled = DMatrix::from_fn(2 * n, n, |i, j| all[(i, j)] / units[j]);
        let step = -Cholesky::new(scaled.tr_mul(&scaled)).unwrap().solve(&scaled.tr_mul(&b));
        near(&delta, &step.component_div(&units), &units, 1e-10);
    }
}

fn restricts(problem: &mut Problem, moving: &[usize]) {
    let n = problem.n();
    let mut delta = problem.step();
    // Some of the fixed variables are not displaced.
    for (j, d) in delta.iter_mut().enumerate() {
        if j % 3 == 1 {
            *d = 0.0;
        }
    }
    let is_fixed = |j: usize| f64::from(u8::from(moving.binary_search(&j).is_err()));
    let fixed = DVector::from_fn(n, |j, _| delta[j] * is_fixed(j));
    let b = &problem.z + &problem.full * fixed;
    let a = problem.full.select_columns(moving);
    let other = Problem::new(&[3, 2], 1, 0.0, 4).given;
    for (mut out, mut work) in
        [(Triangular::default(), Vec::new()), (other, vec![f64::NAN; 7 * n * n + 50])]
    {
        problem.given.restrict(moving, delta.as_slice(), &mut out, &mut work);
        let mut shape = Arrow::default();
        shape.keep(&problem.given.shape, moving);
        assert_eq!((&out.shape, out.n()), (&shape, moving.len()));
        stands_for(&out, &a, &b);
    }
    // Without displacement, the restricted problem is the factor of the kept columns.
    let kept = factor(problem).kept(moving).problem();
    stands_for(&kept, &a, &problem.z);
}

/// Returns the problem as a factor of [J r], with a residual that no parameter can fit.
fn factor(problem: &Problem) -> RFactor {
    let (shape, n) = (&problem.given.shape, problem.n());
    let (first, common) = (shape.first_common(), shape.common());
    let mut factor = RFactor::shaped(&Arc::new(shape.clone()));
    let (blocks, corner) = factor.parts_mut();
    let entry = |i: usize, j: usize| if j < n { problem.full[(i, j)] } else { problem.z[i] };
    for (own, rows) in blocks {
        for (column, j) in rows.chunks_exact_mut(own.len().max(1)).zip(own.clone().chain(first..=n))
        {
            column.iter_mut().zip(own.clone()).for_each(|(v, i)| *v = entry(i, j));
        }
    }
    for (column, j) in corner.chunks_exact_mut(common + 1).zip(first..=n) {
        column.iter_mut().zip(first..n).for_each(|(v, i)| *v = entry(i, j));
    }
    *corner.last_mut().unwrap() = 3.0;
    assert_eq!(factor.problem().r, problem.given.r);
    assert_eq!(factor.problem().z, problem.given.z);
    factor
}

fn all_of(problem: &mut Problem) {
    solves(problem);
    multiplies(problem);
    [1e-6, 1.0, 1e9].into_iter().for_each(|strength| damps(problem, strength));
    let n = problem.n();
    restricts(problem, &[]);
    restricts(problem, &(0..n).collect::<Vec<_>>());
    let first = problem.given.shape.first_common();
    restricts(problem, &(0..first).collect::<Vec<_>>());
    restricts(problem, &(first..n).collect::<Vec<_>>());
    for step in 2..4 {
        restricts(problem, &(0..n).step_by(step).collect::<Vec<_>>());
        restricts(problem, &(0..n).filter(|j| j % step > 0).collect::<Vec<_>>());
    }
}

#[test]
fn every_shape_does_what_the_full_matrix_does() {
    for (seed, (blocks, common)) in (0..).zip(SHAPES) {
        for decades in DECADES {
            all_of(&mut Problem::new(blocks, common, decades, seed));
        }
    }
}

#[test]
fn a_column_in_the_span_of_those_before_is_seen_in_every_place() {
    for (blocks, common) in SHAPES {
        for decades in DECADES {
            let problem = Problem::new(blocks, common, decades, 9);
            for j in 0..problem.n() {
                let at = problem.given.r.iter().position(|&v| v == problem.full[(j, j)]).unwrap();
                for part in [0.0, 1e-17, f64::NAN] {
                    let mut singular = problem.given.clone();
                    singular.r[at] *= part;
                    // A column with only a diagonal element does not depend on its predecessors.
                    let is_alone = problem.lengths[j] == problem.full[(j, j)].abs();
                    let is_regular = is_alone && part > 0.0;
                    assert_eq!(singular.is_regular(), is_regular, "{blocks:?} {common} {j} {part}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn any_shape_does_what_the_full_matrix_does(
        blocks in prop::collection::vec(0usize..5, 0..7),
        common in 0usize..6,
        decades in 0.0..12.0,
        kept in prop::collection::vec(any::<bool>(), 40),
        seed in any::<u64>(),
    ) {
        let mut problem = Problem::new(&blocks, common, decades, seed);
        solves(&mut problem);
        multiplies(&mut problem);
        damps(&mut problem, 1.0);
        let moving: Vec<usize> = (0..problem.n()).filter(|&j| kept[j]).collect();
        restricts(&mut problem, &moving);
    }
}
