//! Checks that the linear algebra of the kernels gives the same bits as the host code, for a warp and for one thread.

use crate::backend::cuda::batch::unit::BATCH;
use crate::backend::cuda::driver::Driver;
use crate::backend::cuda::emulated::bench::{Bench, argument};
use crate::backend::cuda::interface::Size;
use crate::backend::cuda::source::{SOLVER, head, include};
use crate::normal::small::{
    cholesky, damped, fold_few, is_regular, jacobi_svd, solve_upper, solve_upper_transposed,
};

const PIECES: [&str; 5] =
    ["group.cuh", "cholesky.cuh", "reflection.cuh", "householder.cuh", "jacobi_svd.cuh"];

/// Compiled routines for each number of lanes.
type Benches = Vec<(u32, Bench)>;

/// Compiles the routines for a warp and for one thread, for several numbers of parameters. Small numbers of
/// parameters are kept in registers.
fn benches() -> Option<Benches> {
    let kinds = [(32, 1), (1, 1), (32, 2), (8, 3), (4, 4), (8, 5), (1, 5), (16, 6), (32, 7)];
    kinds.into_iter().map(|(lanes, free)| Some((lanes, bench(lanes, free)?))).collect()
}

fn bench(lanes: u32, free: usize) -> Option<Bench> {
    let group = format!(
        "template <int N> struct Lanes;\ntypedef Lanes<{lanes}> Group;\nconstexpr bool ROUGH = false;\n"
    );
    let mut text = head(Size { columns: 0, params: free, free }, &group);
    let all = SOLVER.iter().chain(BATCH);
    let files: Vec<_> = all.filter(|(name, _)| PIECES.contains(name)).copied().collect();
    assert_eq!(files.len(), PIECES.len());
    include(&mut text, &files);
    Bench::new(&(text + include_str!("linear_algebra.cuh")))
}

/// The four buffers that are passed to a routine.
type Buffers = [Vec<f64>; 4];

/// Runs one routine on the buffers with each group and in several orders of the lanes, and returns the buffers.
fn runs(benches: &Benches, piece: i64, n: usize, m: usize, buffers: &Buffers) -> Vec<Buffers> {
    let kinds = benches.iter().flat_map(|(lanes, bench)| {
        let seeds = if *lanes > 1 { &[0, 1 + n as u64][..] } else { &[0] };
        seeds.iter().map(move |&seed| (bench, *lanes, seed)).collect::<Vec<_>>()
    });
    let run = |(bench, threads, seed): (&Bench, u32, u64)| {
        bench.device.set_seed(seed);
        let there = buffers.each_ref().map(|b| bench.put(b));
        let mut arguments = vec![argument(piece), argument(n as i64), argument(m as i64)];
        arguments.extend(there.map(argument));
        bench.launch("piece", 1, threads, &arguments).expect("a launch");
        let mut results = buffers.clone();
        for (result, address) in results.iter_mut().zip(there) {
            *result = bench.take(address, result.len());
            bench.device.release(address);
        }
        results
    };
    kinds.map(run).collect()
}

#[track_caller]
fn assert_same(found: &[f64], expected: &[f64], what: &str) {
    let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    assert_eq!(found.len(), expected.len(), "{what}");
    assert!(found.iter().zip(expected).all(same), "{what}: {found:?} for {expected:?}");
}

/// Generator of uniform numbers on [-1, 1), the same in every run.
struct Noise(u64);

impl Noise {
    fn bits(&mut self) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as usize
    }

    fn next(&mut self) -> f64 {
        self.bits() as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// Returns a `rows` × `columns` matrix of a kind: plain, graded, tiny, huge, dependent, or special doubles.
    fn matrix(&mut self, rows: usize, columns: usize, kind: usize) -> Vec<f64> {
        const ODD: [f64; 11] = [
            0.0,
            -0.0,
            1.0,
            -3.0,
            5e-324,
            1e-310,
            1e-160,
            1e160,
            f64::MAX,
            f64::NAN,
            f64::INFINITY,
        ];
        let mut a: Vec<f64> = (0..rows * columns).map(|_| self.next()).collect();
        for j in 0..columns {
            let column = &mut a[j * rows..(j + 1) * rows];
            let factor = match kind {
                1 => 10_f64.powi((j as i32 * 37) % 120 - 60),
                2 => 1e-300,
                3 => 1e150,
                _ => 1.0,
            };
            column.iter_mut().for_each(|v| *v *= factor);
            if kind == 4 && j > 0 && j % 2 == 0 {
                (0..rows).for_each(|i| a[j * rows + i] = 0.5 * a[(j - 1) * rows + i]);
            }
        }
        match kind {
            5 => a.iter_mut().for_each(|v| *v = ODD[self.bits() % 9]),
            6 => a.iter_mut().for_each(|v| *v = ODD[self.bits() % 11]),
            _ => {}
        }
        a
    }
}

const KINDS: usize = 7;
const SIZES: [usize; 11] = [1, 2, 3, 4, 5, 6, 7, 8, 16, 31, 32];

fn upper(a: &[f64], n: usize) -> Vec<f64> {
    (0..n).flat_map(|j| a[j * n..=j * n + j].to_vec()).collect()
}

fn flag(value: bool) -> f64 {
    f64::from(u8::from(value))
}

/// Runs `check` for all sizes and kinds of matrices.
fn each(check: impl Fn(&Benches, &mut Noise, usize, usize, &str)) {
    let Some(benches) = benches() else { return };
    let mut noise = Noise(17);
    for n in SIZES {
        for kind in 0..KINDS {
            check(&benches, &mut noise, n, kind, &format!("n = {n}, kind {kind}"));
        }
    }
    assert!(benches.iter().all(|(_, bench)| bench.device.live() == 0));
}

#[test]
fn cholesky_and_the_solves() {
    each(|bench, noise, n, kind, what| {
        let rows = noise.matrix(n + 2, n, kind);
        let product = |i: usize, j: usize| -> f64 {
            (0..n + 2).map(|l| rows[i * (n + 2) + l] * rows[j * (n + 2) + l]).sum()
        };
        let a: Vec<f64> = (0..n * n).map(|at| product(at % n, at / n)).collect();
        let mut r = vec![0.0; n * n];
        let works = cholesky(&a, n, &mut r).is_ok();
        assert!(works || kind > 1, "{what}");
        for found in runs(bench, 0, n, 0, &[a, vec![7.0; n * n], vec![0.0], vec![]]) {
            assert_same(&found[2], &[flag(works)], what);
            if works {
                assert_same(&found[1], &r, what);
            }
        }
        // The Cholesky factor or, if there is none, another matrix.
        let r = if works { r } else { noise.matrix(n, n, kind) };
        let b = noise.matrix(n, 1, kind);
        for (piece, solve) in [
            (1, solve_upper as fn(&[f64], usize, &mut [f64])),
            (2, solve_upper_transposed as fn(&[f64], usize, &mut [f64])),
        ] {
            let mut x = b.clone();
            solve(&r, n, &mut x);
            for found in runs(bench, piece, n, 0, &[r.clone(), b.clone(), vec![], vec![]]) {
                assert_same(&found[1], &x, what);
            }
        }
        let regular = is_regular(&r, n);
        for found in runs(bench, 3, n, 0, &[r, vec![], vec![0.5], vec![]]) {
            assert_same(&found[2], &[flag(regular)], what);
        }
    });
}

#[test]
fn damping_and_rows_folded_in() {
    each(|bench, noise, n, kind, what| {
        let r = noise.matrix(n, n, kind);
        let (d, z) = (noise.matrix(n, 1, kind), noise.matrix(n, 1, 0));
        let (mut s, mut t) = (vec![0.0; n * n], vec![0.0; n]);
        damped(&r, n, &d, &z, &mut s, &mut t, &mut vec![0.0; n * n + n]);
        let room = vec![7.0; n * n + n];
        let buffers = [r.clone(), [d, z].concat(), vec![7.0; n * n + n], room];
        for found in runs(bench, 4, n, 0, &buffers) {
            assert_same(&found[2], &[s.clone(), t.clone()].concat(), what);
        }
        for m in [0, 1, n, n + 5] {
            let rows = noise.matrix(m, n, kind);
            let (mut folded, mut scratch) = (r.clone(), rows.clone());
            // The kernels do not define the elements below the diagonal.
            (1..n).for_each(|i| folded[i] = 0.0);
            fold_few(&mut folded, n, &mut scratch, m);
            for found in runs(bench, 5, n, m, &[r.clone(), rows, vec![], vec![]]) {
                assert_same(&upper(&found[0], n), &upper(&folded, n), what);
            }
        }
    });
}

#[test]
fn singular_values() {
    each(|bench, noise, n, kind, what| {
        let a = noise.matrix(n, n, kind);
        let (mut sigma, mut v) = (vec![0.0; n], vec![0.0; n * n]);
        let works = jacobi_svd(&mut a.clone(), n, &mut sigma, &mut v);
        for found in runs(bench, 6, n, 0, &[a, vec![7.0; n], vec![7.0; n * n], vec![0.5]]) {
            assert_same(&found[3], &[flag(works)], what);
            assert_same(&found[1], &sigma, what);
            assert_same(&found[2], &v, what);
        }
    });
}
