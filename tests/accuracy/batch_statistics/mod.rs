//! Statistics of a batch of ten thousand spots: every fit ends at the optimum that another solver finds, estimates from few
//! counts are unbiased, and error bars equal the scatter and the Cramér-Rao bound.

mod independent;
mod spots;

use dualfit::{BatchData, BatchFit, CurveFit, Estimator, Options, Sigma, Termination};
use independent::{least_squares, likelihood};
use spots::{FITS, NAMES, PIXELS, cramer_rao, curvature_bias, partials, pixel, repeats, various};

/// Amplitude, centre, width, background; about 5 photons in a pixel of background, and 5 of the spot
/// on average over the region.
const TRUTH: [f64; 5] = [50.0, 7.2, 6.8, 1.9, 5.0];
const START: [f64; 5] = [40.0, 7.0, 7.0, 2.2, 6.0];

fn model() -> CurveFit {
    CurveFit::multivariate(|[x, y], [a, x0, y0, s, b]| {
        a * (-((x - x0).powi(2) + (y - y0).powi(2)) / (2.0 * s.powi(2))).exp() + b
    })
    .names(NAMES)
    .bound("width", 0.3..=8.0)
}

fn poisson() -> CurveFit {
    model().bound("amplitude", 0.0..).bound("background", 0.01..).estimator(Estimator::Poisson)
}

/// Fits the stack from starts of each fit's own.
fn fit(model: &CurveFit, stack: &[u16], starts: &[[f64; 5]], sigma: Sigma<'_>) -> BatchFit {
    let (x, y): (Vec<f64>, Vec<f64>) = (0..PIXELS).map(pixel).map(|[x, y]| (x, y)).unzip();
    let data = BatchData::shared([&x, &y], stack).unwrap().sigma(sigma).unwrap();
    model.fit_batch(data, starts).unwrap()
}

/// The largest distance between fits of the batch and what another solver finds in the same data from
/// the same start, in standard errors, and in cost relative to it.
fn farthest(batch: &BatchFit, stack: &[u16], starts: &[[f64; 5]], solve: Solve) -> (f64, f64) {
    let (mut far, mut above) = (0.0f64, 0.0f64);
    for (i, counts) in stack.chunks(PIXELS).enumerate() {
        let counts: Vec<f64> = counts.iter().map(|&n| f64::from(n)).collect();
        let (optimum, cost) = solve(&counts, starts[i]);
        let fit = batch.fit(i);
        assert!(fit.converged(), "fit {i}: {}", fit.status());
        for j in 0..5 {
            let apart = (fit.params()[j] - optimum[j]).abs() / fit.std_errors()[j];
            assert!(apart < 1e-4, "fit {i}, {}: {apart:e} errors apart", NAMES[j]);
            far = far.max(apart);
        }
        above = above.max((fit.cost() - cost).abs() / cost);
    }
    (far, above)
}

type Solve = fn(&[f64], [f64; 5]) -> ([f64; 5], f64);

#[test]
fn every_fit_is_at_the_optimum_that_another_solver_finds() {
    let (stack, starts) = various();
    let solvers: [(&str, CurveFit, Solve); 2] =
        [("least squares", model(), least_squares), ("Poisson", poisson(), likelihood)];
    for (name, model, solve) in solvers {
        let batch = fit(&model, &stack, &starts, Sigma::Unknown);
        assert_eq!(batch.n_fits(), FITS);
        let (far, above) = farthest(&batch, &stack, &starts, solve);
        println!("{name}: {FITS} fits at most {far:.1e} errors and {above:.1e} of the cost apart");
        assert!(above < 1e-10, "{name}: costs {above:e} apart");
    }
}

/// With `etol` fits end within this fraction of their errors, after fewer evaluations, for every kind of sigma.
#[test]
fn fits_may_end_within_a_part_of_their_errors() {
    let (stack, starts) = various();
    let sigma: Vec<f64> = stack.iter().map(|&n| f64::from(n.max(1)).sqrt()).collect();
    let evaluations = |batch: &BatchFit| {
        batch.evaluations().iter().map(|&e| f64::from(e)).sum::<f64>() / FITS as f64
    };
    for (name, model, sigma) in [
        ("least squares", model(), Sigma::Unknown),
        ("least squares, absolute sigma", model(), Sigma::Absolute(&sigma)),
        ("Poisson", poisson(), Sigma::Unknown),
    ] {
        let strict = fit(&model, &stack, &starts, sigma);
        for etol in [0.01, 0.1] {
            let quick = model.clone().options(Options::default().etol(etol));
            let quick = fit(&quick, &stack, &starts, sigma);
            let (mut far, mut off) = (0.0f64, 0.0f64);
            for (a, b) in quick.iter().zip(strict.iter()) {
                assert_eq!(a.converged(), b.converged(), "{name}: fit {}", a.index());
                for j in 0..5 {
                    let error = b.std_errors()[j];
                    far = far.max((a.params()[j] - b.params()[j]).abs() / error);
                    off = off.max((a.std_errors()[j] / error - 1.0).abs());
                }
            }
            let (few, all) = (evaluations(&quick), evaluations(&strict));
            println!(
                "{name}, etol {etol}: {few:.2} for {all:.2} evaluations, at most {far:.1e} of an error away, errors {off:.1e} off"
            );
            assert!(far < etol && off < etol, "{name}: {far:e} of an error, errors {off:e} off");
            assert!(few < 0.75 * all, "{name}: {few} evaluations for {all}");
            let by_step = |fit| matches!(fit, Some(Termination::Step));
            let count = quick.iter().filter(|fit| by_step(fit.termination())).count();
            assert!(count > FITS * 9 / 10, "{name}: {count}");
        }
    }
}

/// Over the fits of a batch, for each parameter: mean, scatter, and root mean square of the error bars.
fn figures(batch: &BatchFit) -> [[f64; 3]; 5] {
    assert_eq!(batch.converged(), FITS, "{batch}");
    let n = FITS as f64;
    std::array::from_fn(|j| {
        let mean = batch.iter().map(|fit| fit.params()[j]).sum::<f64>() / n;
        let square = batch.iter().map(|fit| (fit.params()[j] - mean).powi(2)).sum::<f64>();
        let said = batch.iter().map(|fit| fit.std_errors()[j].powi(2)).sum::<f64>();
        [mean, (square / (n - 1.0)).sqrt(), (said / n).sqrt()]
    })
}

/// Prints the figures of an estimator; returns each parameter's bias in standard errors of its mean.
fn biases(name: &str, figures: &[[f64; 3]; 5]) -> [f64; 5] {
    println!("{name:<33}{:>11} {:<20}{:>9}{:>11}", "bias", "± its error", "scatter", "error bar");
    std::array::from_fn(|j| {
        let [mean, scatter, said] = figures[j];
        let (bias, error) = (mean - TRUTH[j], scatter / (FITS as f64).sqrt());
        print!("  {:<12}truth {:>8}     {bias:>+11.5} ± {error:<18.5}", NAMES[j], TRUTH[j]);
        println!("{scatter:>9.5}{said:>11.5}");
        bias / error
    })
}

#[test]
fn few_photons_bias_weighted_least_squares_and_not_the_likelihood() {
    let (stack, starts) = (repeats(TRUTH), vec![START; FITS]);
    let likely = figures(&fit(&poisson(), &stack, &starts, Sigma::Unknown));
    let plain = figures(&fit(&model(), &stack, &starts, Sigma::Unknown));
    let sigma: Vec<f64> = stack.iter().map(|&n| f64::from(n.max(1)).sqrt()).collect();
    let weighted = figures(&fit(&model(), &stack, &starts, Sigma::Absolute(&sigma)));

    let likely_bias = biases("Poisson likelihood", &likely);
    biases("least squares, all weights 1", &plain);
    let weighted_bias = biases("least squares, 1 / max(y, 1)", &weighted);

    // What curvature of the model leaves of a bias at finite counts is known, and far below an error bar.
    let expected = curvature_bias(&TRUTH);
    println!("bias of the likelihood by theory: {expected:.5?}");
    for (j, bias) in likely_bias.into_iter().enumerate() {
        let error = likely[j][1] / (FITS as f64).sqrt();
        let beyond = bias - expected[j] / error;
        assert!(beyond.abs() < 4.0, "{}: {beyond} errors of the mean beyond theory", NAMES[j]);
        assert!((bias * error).abs() < 0.07 * likely[j][1], "{}: {}", NAMES[j], bias * error);
    }
    // Weights of the counts themselves: pixels that came out low count for more. The background loses
    // most of a photon.
    assert!(weighted_bias[4] < -100.0, "background: {weighted_bias:?}");
    assert!(weighted[4][0] - TRUTH[4] < -0.5, "background: {weighted:?}");
    assert!(weighted_bias[3].abs() > 8.0, "width: {weighted_bias:?}");
    // Without weights there is next to no bias, but scatter that the likelihood does not have.
    for j in 0..4 {
        let wider = plain[j][1] / likely[j][1];
        assert!(wider > 1.05, "{}: scatter is only {wider} times wider", NAMES[j]);
    }
}

#[test]
fn error_bars_are_the_scatter_and_the_cramer_rao_bound() {
    let batch = fit(&poisson(), &repeats(TRUTH), &vec![START; FITS], Sigma::Unknown);
    let (found, bound) = (figures(&batch), cramer_rao(&TRUTH));
    println!("{:<12}{:>10}{:>11}{:>13}", "", "scatter", "error bar", "Cramér-Rao");
    for j in 0..5 {
        let [_, scatter, said] = found[j];
        println!("{:<12}{scatter:>10.5}{said:>11.5}{:>13.5}", NAMES[j], bound[j]);
        assert!((said / scatter - 1.0).abs() < 0.05, "{}: {said} for {scatter}", NAMES[j]);
        assert!((said / bound[j] - 1.0).abs() < 0.05, "{}: {said} for {}", NAMES[j], bound[j]);
        let within = |errors: f64| {
            let near = |p: f64, s: f64| (p - TRUTH[j]).abs() < errors * s;
            let count = batch.iter().filter(|f| near(f.params()[j], f.std_errors()[j])).count();
            count as f64 / FITS as f64
        };
        // Three standard errors of these shares are 0.014 and 0.006; distributions are a little skewed.
        assert!((within(1.0) - 0.6827).abs() < 0.02, "{}: {} within", NAMES[j], within(1.0));
        assert!((within(2.0) - 0.9545).abs() < 0.01, "{}: {} within two", NAMES[j], within(2.0));
    }
}

/// The partials that the other solvers and the bound rest on are those of the model.
#[test]
fn the_oracles_partials_are_the_slopes_of_the_model() {
    let program = model().program().unwrap();
    for i in 0..PIXELS {
        let at = pixel(i);
        let (value, slopes) = partials(at, &TRUTH);
        assert!((value / program.evaluate(&at, &TRUTH) - 1.0).abs() < 1e-13);
        for j in 0..5 {
            let moved = |h: f64| {
                let mut p = TRUTH;
                p[j] += h;
                program.evaluate(&at, &p)
            };
            let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!(
                (slope - slopes[j]).abs() < 1e-7 * (1.0 + slope.abs()),
                "pixel {i}, {}",
                NAMES[j]
            );
        }
    }
}
