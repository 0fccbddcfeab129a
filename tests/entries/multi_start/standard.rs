//! Common problems of these tests, and invariants of every result.

use dualfit::{CurveFit, Optima, Sampling};

pub const BOTH: [Sampling; 2] = [Sampling::Sobol, Sampling::LatinHypercube];

pub fn abscissa() -> Vec<f64> {
    (0..80).map(|i| 0.1 * f64::from(i)).collect()
}

pub fn wave_data() -> (Vec<f64>, Vec<f64>) {
    let x = abscissa();
    let y = x.iter().map(|x| 2.0 * (5.3 * x + 0.4).sin() + 0.3 * (31.0 * x * x).cos()).collect();
    (x, y)
}

/// Linear in a and b, with many minima in the frequency w.
pub fn wave() -> CurveFit {
    CurveFit::new(|x, [a, b, w]| a * (w * x).sin() + b * (w * x).cos())
        .names(["a", "b", "w"])
        .bounds([(-5.0, 5.0), (-5.0, 5.0), (0.5, 12.0)])
}

/// Result of `run` in a pool with this number of threads.
pub fn with_threads<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(run)
}

pub fn within(value: f64, expected: f64, relative: f64) -> bool {
    (value - expected).abs() <= relative * expected.abs()
}

/// Sorted by cost, every converged start in one of them, the first the best.
pub fn assert_consistent(optima: &Optima) {
    let distinct = optima.distinct();
    assert!(distinct.windows(2).all(|w| w[0].cost() <= w[1].cost()));
    let mut reached: Vec<usize> = distinct.iter().flat_map(|o| o.trials().to_vec()).collect();
    assert_eq!(distinct.iter().map(|o| o.hits()).sum::<usize>(), optima.converged());
    reached.sort_unstable();
    let converged = |&i: &usize| optima.trials()[i].converged();
    let expected: Vec<usize> = (0..optima.trials().len()).filter(converged).collect();
    assert_eq!(reached, expected);
    for optimum in distinct {
        let best = &optima.trials()[optimum.trials()[0]];
        assert_eq!((best.params(), best.cost()), (Some(optimum.params()), Some(optimum.cost())));
        assert_eq!(best.termination(), Some(optimum.termination()));
    }
    match distinct.first() {
        Some(first) => {
            assert_eq!(optima.best().params(), first.params());
            assert_eq!(optima.best().cost(), first.cost());
            assert!(optima.best().converged());
        }
        None => assert!(!optima.best().converged()),
    }
    let counts = optima.trials().iter().map(|t| t.evaluations()).sum::<usize>();
    assert_eq!(optima.evaluations(), counts);
    assert!(!optima.to_string().is_empty());
}
