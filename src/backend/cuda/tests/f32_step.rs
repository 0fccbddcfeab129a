//! The step in f32 of the slim kernel, for given sums: it solves the equations of the step up to the rounding of f32.

use crate::backend::cuda::batch::unit::SLIM_STEP;
use crate::backend::cuda::driver::Driver;
use crate::backend::cuda::emulated::bench::{Bench, argument};
use crate::backend::cuda::interface::Size;
use crate::backend::cuda::source::{SOLVER, head, include};
use crate::constants::SLACK;
use crate::normal::pair;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Number of rows of each problem.
const ROWS: usize = 40;
/// Values of the kernel's `Next`: a pass follows, or the fit leaves the kernel.
const PASS: f64 = 0.0;
const LEAVES: f64 = 2.0;

/// Returns the kernel that takes the first step of a fit. `out`: the `Next`, lambda, and the step.
fn bench(free: usize) -> Option<Bench> {
    let constants = "template <int N> struct Lanes;\ntypedef Lanes<1> Group;
         __device__ __forceinline__ constexpr int free_at(int j) { return j; }
         constexpr bool ROUGH = true;\n";
    let size = Size { columns: 0, params: free, free };
    let mut text = "#define SLIM\n#define STEP_IN_F32\n".to_owned() + &head(size, constants);
    include(&mut text, SOLVER);
    include(&mut text, SLIM_STEP);
    text += "#line 1 \"f32_step.rs\"
         extern \"C\" __global__ void step(const double* sums, const double* q, double radius, double* out) {
             State s = {};
             Scratch w = {};
             Mixing mixing = {};
             double lower[FREE], upper[FREE];
             for (int m = 0; m < SUMS; ++m) s.trial.sums[m] = Number(sums[m]);
             for (int j = 0; j < FREE; ++j) {
                 s.trial.q[j] = Number(q[j]);
                 lower[j] = -INFINITE;
                 upper[j] = INFINITE;
             }
             s.phase = BEGIN;
             s.moving = ALL;
             s.limit = 9;
             s.points_counted = 40;
             s.bulk = INFINITE;
             s.initial_radius = Number(radius);
             Number highest = 0;
             out[0] = take_step({lower, upper}, s, mixing, w, highest);
             out[1] = s.lambda;
             for (int j = 0; j < FREE; ++j) out[2 + j] = s.delta[j];
         }";
    Bench::new(&text)
}

/// A linear least-squares problem, with all numbers in f32.
struct Sums {
    /// The products of the columns of [J r] and the cost.
    sums: Vec<f64>,
    /// The parameters.
    q: Vec<f64>,
}

impl Sums {
    /// Returns a problem whose columns are up to 0.99 parallel and have lengths from 1e-6 to 1e6.
    fn random(free: usize, rng: &mut StdRng) -> Sums {
        let mut unit = || 2.0 * rng.random::<f64>() - 1.0;
        let (apart, common) = (10_f64.powf(unit() - 1.0), unit());
        let scales: Vec<f64> = (0..free).map(|_| 10_f64.powf(6.0 * unit())).collect();
        let q = scales.iter().map(|scale| f64::from((unit() / scale) as f32)).collect();
        let mut products = vec![0.0; (free + 1) * (free + 2) / 2];
        for _ in 0..ROWS {
            let shared = common + unit();
            let mut row: Vec<f64> = scales.iter().map(|s| s * (shared + apart * unit())).collect();
            row.push(shared + unit());
            for j in 0..=free {
                (0..=j).for_each(|i| products[pair(i, j)] += row[i] * row[j]);
            }
        }
        let mut sums: Vec<f64> = products.iter().map(|&v| f64::from(v as f32)).collect();
        sums.push(0.5 * sums[sums.len() - 1]);
        Sums { sums, q }
    }

    /// Returns the length of column j of J.
    fn length(&self, j: usize) -> f64 {
        self.sums[pair(j, j)].sqrt()
    }

    /// Returns `vector` with columns of unit length as the unit.
    fn scaled(&self, vector: &[f64]) -> Vec<f64> {
        vector.iter().enumerate().map(|(j, v)| self.length(j) * v).collect()
    }
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// With columns scaled to unit length, the step x solves (H + lambda I) x = -b. The computed step is the exact solution
/// for a matrix and a right-hand side that differ by rounding: each element of H by at most n + 5 roundings (scaling,
/// Cholesky's sums), and two triangular solutions add 2 n + 5 (Higham, 2nd ed., theorem 10.4). In the 2-norm that is
/// n (3 n + 10) eps. The condition of H has no part in it; the test does not compute the exact step.
#[test]
fn the_step_in_f32_solves_its_equations() {
    let mut rng = StdRng::seed_from_u64(46);
    for free in [1, 3, 5, 8] {
        let Some(bench) = bench(free) else { return };
        let (mut most, mut left, mut damped) = (0.0_f64, 0, 0);
        for round in 0..300 {
            let problem = Sums::random(free, &mut rng);
            let size = 10_f64.powi(round % 6 - 4);
            let inputs = [bench.put(&problem.sums), bench.put(&problem.q)];
            let out = bench.room::<f64>(2 + free);
            let [sums, q] = inputs.map(argument);
            bench.launch("step", 1, 1, &[sums, q, argument(size), argument(out)]).unwrap();
            let found = bench.take::<f64>(out, 2 + free);
            inputs.into_iter().chain([out]).for_each(|at| bench.device.release(at));
            if found[0] == LEAVES {
                left += 1;
                continue;
            }
            let name = format!("{free} parameters, round {round}");
            assert_eq!(found[0], PASS, "{name}");
            let (lambda, x) = (found[1], problem.scaled(&found[2..]));
            let radius = size * norm(&problem.scaled(&problem.q));
            assert!(norm(&x) <= (1.0 + 1.001 * SLACK) * radius, "{name}: too long");
            if lambda > 0.0 {
                damped += 1;
                assert!(norm(&x) >= (1.0 - 1.001 * SLACK) * radius, "{name}: too short");
            }
            let b: Vec<f64> =
                (0..free).map(|j| problem.sums[pair(j, free)] / problem.length(j)).collect();
            let element = |i: usize, j: usize| {
                let product = problem.sums[pair(i.min(j), i.max(j))];
                product / (problem.length(i) * problem.length(j))
            };
            let rest = |i: usize| {
                let row: f64 = (0..free).map(|j| element(i, j) * x[j]).sum();
                row + lambda * x[i] + b[i]
            };
            let rest: Vec<f64> = (0..free).map(rest).collect();
            let n = free as f64;
            let bound = n * (3.0 * n + 10.0) * f64::from(f32::EPSILON);
            let bound = bound * ((1.0 + lambda) * norm(&x) + norm(&b));
            assert!(norm(&rest) <= bound, "{name}: {:e} of {bound:e}", norm(&rest));
            most = most.max(norm(&rest) / bound);
        }
        println!("{free} parameters: {most:.2} of the bound, {damped} damped, {left} left");
        assert!(left <= 15 && (60..=280).contains(&damped), "{free}: {left} left, {damped} damped");
    }
}
