//! Invariants of every fit: the result does not depend on units, the order of the points, the notation of a
//! parameter, or parameters and bounds without effect.

use crate::support::standard::*;
use dualfit::{CurveFit, Data, Fit, Sigma, Var};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Scattered data of a decay with parameters and noise of their own.
fn problem() -> impl Strategy<Value = (Vec<f64>, Vec<f64>, Vec<f64>)> {
    let truth = (1.0..4.0f64, 0.6..2.5f64, -1.0..1.0f64);
    let noise = vec(-0.03..0.03f64, N);
    let sigma = vec(0.5..2.0f64, N);
    (truth, noise, sigma).prop_map(|((a, b, c), noise, sigma)| {
        let x = abscissa();
        let y = x.iter().zip(noise).map(|(&x, e)| value(x, &[a, b, c]) + e).collect();
        (x, y, sigma)
    })
}

fn fit(fitter: &CurveFit, x: &[f64], y: &[f64], sigma: Sigma<'_>, start: &[f64]) -> Fit {
    let data = Data::new(x, y).unwrap().sigma(sigma).unwrap();
    let fit = fitter.fit(data, start).unwrap();
    assert!(fit.converged(), "{fit}");
    fit
}

/// The same cases in every run, so that a failure is one for everybody.
fn cases(cases: u32) -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(20);
    let config = ProptestConfig::default();
    ProptestConfig { cases, rng_seed, failure_persistence: None, max_shrink_iters: 8, ..config }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn solution_is_that_of_the_textbook((x, y, s) in problem()) {
        let solution = solve_decay(&x, &y, Some(&s));
        let relative = fit(&decay(), &x, &y, Sigma::Relative(&s), &START);
        assert_all_close(relative.params(), &solution.params, 1e-7);
        assert_all_close(&relative.std_errors(), &solution.relative, 1e-6);
        assert_close(relative.cost(), solution.cost, 1e-10);
        let absolute = fit(&decay(), &x, &y, Sigma::Absolute(&s), &START);
        assert_all_close(&absolute.std_errors(), &solution.absolute, 1e-6);
    }

    #[test]
    fn units_of_y_and_sigma((x, y, s) in problem(), power in -250..250i32) {
        let scale = 10f64.powi(power);
        let times = |v: &[f64]| v.iter().map(|v| v * scale).collect::<Vec<f64>>();
        let start = [2.0 * scale, 1.0, 0.3 * scale];
        let (y2, s2) = (times(&y), times(&s));
        let before = fit(&decay(), &x, &y, Sigma::Absolute(&s), &START);
        let after = fit(&decay(), &x, &y2, Sigma::Absolute(&s2), &start);
        let units = [scale, 1.0, scale];
        for k in 0..3 {
            assert_close(after.params()[k] / units[k], before.params()[k], 1e-7);
            assert_close(after.std_errors()[k] / units[k], before.std_errors()[k], 1e-6);
        }
        assert_close(after.chi_square(), before.chi_square(), 1e-9);
        assert_close(after.r_squared().unwrap(), before.r_squared().unwrap(), 1e-9);
    }

    #[test]
    fn units_of_sigma_alone((x, y, s) in problem(), power in -250..250i32) {
        // Relative sigmas have no unit at all; absolute ones carry theirs into the errors.
        let scale = 10f64.powi(power);
        let s2: Vec<f64> = s.iter().map(|s| s * scale).collect();
        let before = fit(&decay(), &x, &y, Sigma::Relative(&s), &START);
        let after = fit(&decay(), &x, &y, Sigma::Relative(&s2), &START);
        assert_all_close(after.params(), before.params(), 1e-7);
        assert_all_close(&after.std_errors(), &before.std_errors(), 1e-6);
    }

    #[test]
    fn order_of_the_points((x, y, s) in problem(), order in Just((0..N).collect::<Vec<usize>>()).prop_shuffle()) {
        let shuffled = |v: &[f64]| order.iter().map(|&i| v[i]).collect::<Vec<f64>>();
        let (x2, y2, s2) = (shuffled(&x), shuffled(&y), shuffled(&s));
        let before = fit(&decay(), &x, &y, Sigma::Relative(&s), &START);
        let after = fit(&decay(), &x2, &y2, Sigma::Relative(&s2), &START);
        // The sums agree to rounding, the minimum to what rounding of sums leaves of it.
        assert_close(after.cost(), before.cost(), 1e-12);
        assert_all_close(after.params(), before.params(), 1e-12);
        assert_all_close(&after.std_errors(), &before.std_errors(), 1e-11);
    }

    #[test]
    fn two_halves_of_a_point((x, y, s) in problem()) {
        // A point twice with √2 times its sigma is the point.
        let twice = |v: &[f64]| [v, v].concat();
        let s2: Vec<f64> = twice(&s).iter().map(|s| s * 2f64.sqrt()).collect();
        let before = fit(&decay(), &x, &y, Sigma::Absolute(&s), &START);
        let after = fit(&decay(), &twice(&x), &twice(&y), Sigma::Absolute(&s2), &START);
        assert_all_close(after.params(), before.params(), 1e-7);
        assert_all_close(&after.std_errors(), &before.std_errors(), 1e-6);
        assert_close(after.chi_square(), before.chi_square(), 1e-10);
    }

    #[test]
    fn another_parametrisation((x, y, s) in problem()) {
        let logarithmic = CurveFit::new(|x, [a, l, c]| a * (-l.exp() * x).exp() + c);
        let before = fit(&decay(), &x, &y, Sigma::Relative(&s), &START);
        let after = fit(&logarithmic, &x, &y, Sigma::Relative(&s), &[2.0, 0.0, 0.3]);
        let b = after.params()[1].exp();
        let found = [after.params()[0], b, after.params()[2]];
        assert_all_close(&found, before.params(), 1e-7);
        assert_close(after.cost(), before.cost(), 1e-10);
        // d(ln b) = db/b
        assert_close(after.std_errors()[1] * b, before.std_errors()[1], 1e-6);
    }

    #[test]
    fn a_parameter_fixed_at_zero((x, y, s) in problem()) {
        let more = CurveFit::new(|x, [a, b, c, d]| a * (-b * x).exp() + c + d * x * x);
        let more = more.names(["a", "b", "c", "d"]).fix("d");
        let before = fit(&decay(), &x, &y, Sigma::Relative(&s), &START);
        let after = fit(&more, &x, &y, Sigma::Relative(&s), &[2.0, 1.0, 0.3, 0.0]);
        assert_all_close(&after.params()[..3], before.params(), 1e-10);
        assert_all_close(&after.std_errors()[..3], &before.std_errors(), 1e-9);
        assert_eq!((after.params()[3], after.std_errors()[3]), (0.0, 0.0));
        assert_eq!(after.degrees_of_freedom(), before.degrees_of_freedom());
    }

    #[test]
    fn bounds_at_infinity((x, y, s) in problem()) {
        let bounded = decay().bounds([(f64::NEG_INFINITY, f64::INFINITY); 3]);
        let before = fit(&decay(), &x, &y, Sigma::Relative(&s), &START);
        let after = fit(&bounded, &x, &y, Sigma::Relative(&s), &START);
        assert_eq!(after.params(), before.params());
        assert_eq!(after.std_errors(), before.std_errors());
        assert_eq!(after.evaluations(), before.evaluations());
        // Wide bounds do not change the result.
        let wide = decay().bounds([(-1e6, 1e6); 3]);
        let after = fit(&wide, &x, &y, Sigma::Relative(&s), &START);
        assert_all_close(after.params(), before.params(), 1e-7);
    }

    #[test]
    fn covariance_is_symmetric_and_positive_semidefinite((x, y, s) in problem(), weak in 0..3usize) {
        // Well-conditioned, nearly collinear, and with terms of very different size.
        let models: [fn(Var, [Var; 4]) -> Var; 3] = [
            |x, [a, b, c, d]| a * (-b * x).exp() + c + d * x,
            |x, [a, b, c, d]| a * (-b * x).exp() + c + d * (x + 1e-5),
            |x, [a, b, c, d]| a * (-b * x).exp() + c * 1e-9 + d * x * 1e7,
        ];
        let start = [2.0, 1.0, if weak == 2 { 3e8 } else { 0.3 }, 0.0];
        let data = Data::new(&x, &y).unwrap().sigma(Sigma::Relative(&s)).unwrap();
        let fit = CurveFit::new(models[weak]).fit(data, start).unwrap();
        let (covariance, correlation) = (fit.covariance(), fit.correlation());
        for i in 0..4 {
            assert_eq!(correlation[(i, i)], 1.0);
            assert!(covariance[(i, i)] > 0.0);
            for j in 0..4 {
                assert!(correlation[(i, j)].abs() <= 1.0);
                assert_eq!(correlation[(i, j)], correlation[(j, i)]);
                assert_eq!(covariance[(i, j)], covariance[(j, i)]);
            }
        }
        let correlation = nalgebra::DMatrix::from_row_slice(4, 4, correlation.as_slice());
        let eigenvalues = correlation.symmetric_eigen().eigenvalues;
        assert!(eigenvalues.iter().all(|&e| e > -1e-14), "{eigenvalues}");
    }

    #[test]
    fn traced_and_called_models((x, y, s) in problem()) {
        let native = CurveFit::native(3, value);
        let exact = CurveFit::native(3, value).jacobian(|x, p, out| {
            out.copy_from_slice(&value_and_partials(x, p).1);
        });
        let traced = fit(&decay(), &x, &y, Sigma::Relative(&s), &START);
        for (other, digits) in [(native, 1e-6), (exact, 1e-7)] {
            let called = fit(&other, &x, &y, Sigma::Relative(&s), &START);
            assert_all_close(called.params(), traced.params(), digits);
            assert_all_close(&called.std_errors(), &traced.std_errors(), 10.0 * digits);
        }
    }
}
