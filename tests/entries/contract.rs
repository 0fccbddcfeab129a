//! The lines that users are promised, each compiled and run: one fit in each of its forms, and what
//! callers rely on around them.

use dualfit::device::Processor;
use dualfit::error::{ErrorKind, SourceError};
use dualfit::{
    Backend, CurveFit, Data, Error, Event, Fit, GlobalFit, Loss, Mask, Matrix, Missing, Scalar,
    Sigma, Start, Var, curve_fit,
};

/// a·exp(−b·x) + c at a = 2.5, b = 1.3, c = 0.5 with disturbances of ±0.05 that are the same everywhere.
fn data() -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..80).map(|i| 0.05 * f64::from(i)).collect();
    let disturbed = |(i, x): (usize, &f64)| {
        2.5 * (-1.3 * x).exp() + 0.5 + 0.1 * ((0.618_034 * i as f64).fract() - 0.5)
    };
    let y = x.iter().enumerate().map(disturbed).collect();
    let sigma = vec![0.03; x.len()];
    (x, y, sigma)
}

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() < tolerance, "{found} is not {expected} ± {tolerance}");
}

fn decay<T: dualfit::Scalar>(x: T, [a, b, c]: [T; 3]) -> T {
    a * (-b * x).exp() + c
}

/// A light spot on 15 × 15 pixels: x, y, z.
fn spot() -> [Vec<f64>; 3] {
    let xs: Vec<f64> = (0..225).map(|i| f64::from(i % 15)).collect();
    let ys: Vec<f64> = (0..225).map(|i| f64::from(i / 15)).collect();
    let height = |(x, y): (&f64, &f64)| {
        10.0 * (-((x - 7.3).powi(2) + (y - 6.6).powi(2)) / (2.0 * 1.8f64.powi(2))).exp() + 1.0
    };
    let zs = xs.iter().zip(&ys).map(height).collect();
    [xs, ys, zs]
}

#[test]
fn form_1_one_line() -> Result<(), Error> {
    let (x, y, _) = data();
    let fit = curve_fit(|x, [a, b, c]| a * (-b * x).exp() + c, &x, &y, [2.0, 0.5, 0.3])?;
    println!("{fit}");
    let p: &[f64] = fit.params();
    let s: Vec<f64> = fit.std_errors();
    let pcov = fit.covariance();
    assert!(fit.converged());
    near(p[0], 2.5, 0.05);
    near(p[1], 1.3, 0.05);
    near(p[2], 0.5, 0.05);
    for i in 0..3 {
        near(s[i], pcov[(i, i)].sqrt(), 1e-15);
        for j in 0..3 {
            near(pcov[(i, j)], pcov[(j, i)], 1e-12 * s[i] * s[j]);
            near(fit.correlation()[(i, j)], pcov[(i, j)] / (s[i] * s[j]), 1e-12);
        }
    }
    assert_eq!(fit.rank(), 3);
    assert!(fit.condition() >= 1.0 && fit.condition() < 100.0);
    Ok(())
}

#[test]
fn form_1_takes_slices_arrays_vectors_and_f32() -> Result<(), Error> {
    let (x, y, _) = data();
    let line = |x: Var, [a, b]: [Var; 2]| a + b * x;
    let fit = curve_fit(line, &x, &y, [1.0, -1.0])?;
    let sliced = curve_fit(line, &x[..], y.as_slice(), [1.0, -1.0])?;
    assert_eq!(fit.params(), sliced.params());
    let single: Vec<f32> = y.iter().map(|&y| y as f32).collect();
    near(curve_fit(line, &x, &single, [1.0, -1.0])?.params()[1], fit.params()[1], 1e-6);
    let exact = curve_fit(line, &[0.0, 1.0, 2.0], &[1.0, 3.0, 5.0], [0.0, 0.0])?;
    near(exact.params()[1], 2.0, 1e-12);
    Ok(())
}

#[test]
fn form_2_a_generic_function_serves_fit_and_numbers() -> Result<(), Error> {
    let (x, y, _) = data();
    let fit = curve_fit(decay, &x, &y, [2.0, 0.5, 0.3])?;
    let y0 = decay(0.0, [1.0, 2.0, 3.0]);
    assert_eq!(y0, 4.0);
    let closure = curve_fit(|x, [a, b, c]| a * (-b * x).exp() + c, &x, &y, [2.0, 0.5, 0.3])?;
    assert_eq!(fit.params(), closure.params());
    let [a, b, c] = fit.params() else { panic!("three parameters") };
    assert_eq!(fit.predict(&[0.7])?, [decay(0.7, [*a, *b, *c])]);
    Ok(())
}

#[test]
fn form_3_several_variables_one_slice_each() -> Result<(), Error> {
    let [xs, ys, z] = spot();
    let fit = curve_fit(
        |[x, y], [a, x0, y0, s, b]| {
            a * (-((x - x0).powi(2) + (y - y0).powi(2)) / (2.0 * s.powi(2))).exp() + b
        },
        [&xs, &ys],
        &z,
        [9.0, 7.0, 7.0, 2.0, 1.0],
    )?;
    for (found, expected) in fit.params().iter().zip([10.0, 7.3, 6.6, 1.8, 1.0]) {
        near(*found, expected, 1e-6);
    }
    assert_eq!(fit.predict([&xs, &ys])?.len(), 225);
    Ok(())
}

#[test]
fn form_4_a_fitter_is_used_many_times_from_any_thread() -> Result<(), Error> {
    let (x, y, sigma) = data();
    let decay = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
        .names(["amplitude", "rate", "offset"])
        .bound("rate", 0.0..=10.0)
        .fix("offset")
        .loss(Loss::Huber { scale: 0.1 })
        .backend(Backend::Auto);
    let fit = decay.fit(Data::new(&x, &y)?.sigma(Sigma::Absolute(&sigma))?, [2.0, 0.5, 0.3])?;
    assert!(fit.converged());
    assert_eq!(fit.names(), ["amplitude", "rate", "offset"]);
    assert_eq!((fit.param("offset"), fit.std_error("offset")), (Some(0.3), Some(0.0)));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let data = Data::new(&x, &y)?.sigma(Sigma::Absolute(&sigma))?;
                assert_eq!(decay.fit(data, [2.0, 0.5, 0.3])?.params(), fit.params());
                Ok::<(), Error>(())
            });
        }
    });
    let cpu = decay.clone().backend(Backend::Cpu).fit(Data::new(&x, &y)?, [2.0, 0.5, 0.3])?;
    assert_eq!(cpu.stats().processor, Processor::Cpu);
    Ok(())
}

#[test]
fn form_4_of_several_variables() -> Result<(), Error> {
    let [xs, ys, z] = spot();
    let spot = CurveFit::multivariate(|[x, y], [a, x0, y0, s, b]| {
        a * (-((x - x0).powi(2) + (y - y0).powi(2)) / (2.0 * s.powi(2))).exp() + b
    });
    let fit = spot.fit(Data::new([&xs, &ys], &z)?, [9.0, 7.0, 7.0, 2.0, 1.0])?;
    near(fit.params()[3], 1.8, 1e-6);
    assert_eq!(fit.names(), ["p0", "p1", "p2", "p3", "p4"]);
    Ok(())
}

#[test]
fn form_5_a_model_as_text() -> Result<(), Error> {
    let (x, y, _) = data();
    let line = CurveFit::parse("amplitude * exp(-rate * x) + offset", ["x"])?;
    assert_eq!(line.parameters(), ["amplitude", "rate", "offset"]);
    let fit = line.fit(Data::new(&x, &y)?, [2.0, 0.5, 0.3])?;
    let closure = curve_fit(decay, &x, &y, [2.0, 0.5, 0.3])?;
    assert_eq!(fit.params(), closure.params());
    // In order of appearance, for any names.
    let other = CurveFit::parse("z + y * x + a * x^2", ["x"])?;
    assert_eq!(other.parameters(), ["z", "y", "a"]);
    Ok(())
}

#[test]
fn form_8_a_model_that_cannot_be_traced() -> Result<(), Error> {
    /// y' = −b·y from y(0) = a, with a number of steps that depends on x.
    fn simulate(x: f64, p: &[f64]) -> f64 {
        let (mut y, mut t) = (p[0], 0.0);
        while t < x {
            let h = (x - t).min(0.01);
            y *= 1.0 - p[1] * h + (p[1] * h).powi(2) / 2.0;
            t += h;
        }
        y + p[2]
    }
    let (x, y, _) = data();
    let traced = curve_fit(decay, &x, &y, [2.0, 0.5, 0.3])?;
    // What the steps multiply to: whole ones, and the rest.
    let whole: Vec<f64> = x.iter().map(|x| (x / 0.01).floor()).collect();
    let rest: Vec<f64> = x.iter().zip(&whole).map(|(x, n)| x - 0.01 * n).collect();
    let factor = |b: Var, h: Var| 1.0 - b * h + (b * h).powi(2) / 2.0;
    let stepped = CurveFit::multivariate(|[n, rest], [a, b, c]| {
        a * factor(b, Var::from(0.01)).powf(n) * factor(b, rest) + c
    })
    .fit(Data::new([&whole, &rest], &y)?, [2.0, 0.5, 0.3])?;
    let fit = CurveFit::native(3, |x: f64, p: &[f64]| simulate(x, p))
        .fit(Data::new(&x, &y)?, [2.0, 0.5, 0.3])?;
    let exact = CurveFit::native(3, |x, p| p[0] * (-p[1] * x).exp() + p[2])
        .jacobian(|x, p, out| {
            let e = (-p[1] * x).exp();
            out.copy_from_slice(&[e, -p[0] * x * e, 1.0]);
        })
        .fit(Data::new(&x, &y)?, [2.0, 0.5, 0.3])?;
    for i in 0..3 {
        near(fit.params()[i], stepped.params()[i], 1e-7);
        near(fit.std_errors()[i], stepped.std_errors()[i], 1e-5);
        near(exact.params()[i], traced.params()[i], 1e-7);
        near(exact.std_errors()[i], traced.std_errors()[i], 1e-9);
    }
    Ok(())
}

#[test]
fn form_9_what_was_used() -> Result<(), Error> {
    let (x, y, _) = data();
    let fit = curve_fit(decay, &x, &y, [2.0, 0.5, 0.3])?;
    let stats = fit.stats();
    assert_eq!(stats.processor, Processor::Cpu);
    assert!(stats.evaluations > 1 && stats.passes >= stats.evaluations);
    assert_eq!(stats.evaluations, fit.evaluations());
    let seconds = [
        stats.prepare_seconds,
        stats.validate_seconds,
        stats.start_seconds,
        stats.solve_seconds,
        stats.covariance_seconds,
    ];
    assert!(seconds.iter().all(|s| (0.0..60.0).contains(s)), "{seconds:?}");
    assert!(stats.scratch_bytes > 0 && stats.threads > 0);
    assert!(fit.to_string().contains(&stats.to_string()));
    Ok(())
}

#[test]
fn the_search_for_a_start_has_a_time_of_its_own() -> Result<(), Error> {
    let (x, y, _) = data();
    let fitter = CurveFit::new(decay).names(["a", "b", "c"]);
    let data = Data::new(&x, &y)?;
    let complete = fitter.fit(data.clone(), [2.0, 0.5, 0.3])?;
    assert_eq!(complete.stats().start_seconds, 0.0);
    assert!(complete.to_string().contains(" ms, find start 0 ms, solve "), "{complete}");
    let by_name = fitter.fit(data.clone(), [("a", 2.0), ("b", 0.5), ("c", 0.3)])?;
    assert_eq!(by_name.stats().start_seconds, 0.0);

    let found = fitter.clone().guess(|_| {
        std::thread::sleep(std::time::Duration::from_millis(30));
        vec![2.0, 0.5, 0.3]
    });
    let joint = dualfit::GlobalFit::new(&found).share(["b"]);
    let many = dualfit::MultiStart::new(0);
    let begun = std::time::Instant::now();
    let fits = [
        found.fit(data.clone(), dualfit::Start::Guess)?,
        found.multi_start(data.clone(), dualfit::Start::Guess, &many)?.into_best(),
        joint.fit([data.clone(), data], dualfit::Start::Guess)?.fit().clone(),
    ];
    let whole = begun.elapsed().as_secs_f64();
    assert!(fits.iter().all(|fit| fit.stats().start_seconds >= 0.03));
    // No time is counted twice.
    let times = |stats: &dualfit::result::Stats| {
        stats.prepare_seconds
            + stats.validate_seconds
            + stats.start_seconds
            + stats.solve_seconds
            + stats.covariance_seconds
    };
    let told: f64 = fits.iter().map(|fit| times(fit.stats())).sum();
    assert!(told <= whole, "{told} s of {whole} s");
    Ok(())
}

#[test]
fn starts_are_arrays_slices_or_vectors() -> Result<(), Error> {
    let (x, y, _) = data();
    let fitter = CurveFit::new(decay);
    let data = Data::new(&x, &y)?;
    let array = fitter.fit(data.clone(), [2.0, 0.5, 0.3])?;
    let vector = vec![2.0, 0.5, 0.3];
    assert_eq!(fitter.fit(data.clone(), &vector[..])?.params(), array.params());
    assert_eq!(fitter.fit(data.clone(), &vector)?.params(), array.params());
    assert_eq!(fitter.fit(data.clone(), vector)?.params(), array.params());
    assert_eq!(fitter.fit(data, array.start())?.start(), [2.0, 0.5, 0.3]);
    Ok(())
}

#[test]
fn cost_is_half_the_sum_of_squared_weighted_residuals() -> Result<(), Error> {
    let (x, y, sigma) = data();
    let data = Data::new(&x, &y)?.sigma(Sigma::Absolute(&sigma))?;
    let fit = CurveFit::new(decay).fit(data.clone(), [2.0, 0.5, 0.3])?;
    let weighted = fit.residuals(&data)?.into_iter().zip(&sigma).map(|(r, s)| (r / s).powi(2));
    let half: f64 = weighted.sum::<f64>() / 2.0;
    near(fit.cost() / half, 1.0, 1e-12);
    near(fit.chi_square() / fit.cost(), 2.0, 1e-12);
    Ok(())
}

#[test]
fn comparisons_min_and_max_take_a_variable_or_a_number() -> Result<(), Error> {
    let x: Vec<f64> = (0..40).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> =
        x.iter().map(|&x| if x < 2.0 { 1.0 } else { 1.0 + 3.0 * (x - 2.0) }).collect();
    let data = Data::new(&x, &y)?;
    let models = [
        CurveFit::new(|x, [a, b]| a + b * (x - 2.0).max(0.0)),
        CurveFit::new(|x, [a, b]| a + b * (x - x.min(2.0))),
        CurveFit::new(|x, [a, b]| x.lt(2.0).select(a, a + b * (x - 2.0))),
        CurveFit::new(|x, [a, b]| a + b * x.ge(Var::from(2.0)).select(x - 2.0, 0.0)),
        CurveFit::new(|x, [a, b]| a + b * (x - 2.0).clamp(0.0, 10.0)),
        CurveFit::new(|x, [a, b]| {
            a.max(b) - a.max(b) + a.max(-9.0) + b.min(9.0) * (x - 2.0).max(0.0)
        }),
    ];
    for model in models {
        let fit = model.fit(data.clone(), [0.5, 1.0])?;
        near(fit.params()[0], 1.0, 1e-9);
        near(fit.params()[1], 3.0, 1e-9);
    }
    Ok(())
}

#[test]
fn literals_stand_on_both_sides_and_loops_unroll() -> Result<(), Error> {
    let (x, y, _) = data();
    let quadratic = CurveFit::new(|x, [a, b, c]| 1.0 * a - (-b) * x * 1.0 + 2.0 * c * x * x / 2.0);
    let horner = CurveFit::dynamic(3, |x, p| {
        let mut sum = Var::from(0.0);
        for &c in p.iter().rev() {
            sum = sum * x + c;
        }
        sum
    });
    let expected = quadratic.fit(Data::new(&x, &y)?, [1.0, 1.0, 1.0])?;
    let fit = horner.fit(Data::new(&x, &y)?, vec![1.0; 3])?;
    for (found, expected) in fit.params().iter().zip(expected.params()) {
        near(*found, *expected, 1e-9);
    }
    Ok(())
}

#[test]
fn the_promised_functions_are_there() -> Result<(), Error> {
    let x: Vec<f64> = (1..50).map(|i| 0.1 * f64::from(i)).collect();
    fn all<T: Scalar>(x: T, [a, b]: [T; 2]) -> T {
        let smooth = x.sin() + x.cos() + x.tanh() + x.atan() + x.sqrt() + x.cbrt() + x.ln();
        let special = x.erf() + x.erfc() + x.ln_gamma() + x.atan2(2.0) + x.hypot(1.0);
        let powers = x.powi(3) + x.powf(1.5) + x.recip() + x.exp_m1() + x.ln_1p() + x.log2();
        let pieces = x.abs() + x.min(1.0) + x.max(a) + x.clamp(0.5, 1.5) + x.floor();
        let joint = x.gt(1.0).and(x.lt(2.0)).select(b, 0.0);
        a * (smooth + special + powers * 0.01) + b * pieces + joint
    }
    let y: Vec<f64> = x.iter().map(|&x| all(x, [1.5, -0.5])).collect();
    let fit = curve_fit(all, &x, &y, [1.2, 0.1])?;
    near(fit.params()[0], 1.5, 1e-8);
    near(fit.params()[1], -0.5, 1e-8);
    Ok(())
}

#[test]
fn every_meaning_of_sigma() -> Result<(), Error> {
    let (x, y, sigma) = data();
    let fitter = CurveFit::new(decay);
    let errors = |sigma: Sigma<'_>| -> Result<Vec<f64>, Error> {
        Ok(fitter.fit(Data::new(&x, &y)?.sigma(sigma)?, [2.0, 0.5, 0.3])?.std_errors())
    };
    let matrix = Matrix::from_diagonal(&[0.03 * 0.03; 80]);
    let unknown = errors(Sigma::Unknown)?;
    let relative = errors(Sigma::Relative(&sigma))?;
    let absolute = errors(Sigma::Absolute(&sigma))?;
    let constant = errors(Sigma::Constant(0.03))?;
    let covariance = errors(Sigma::Covariance(&matrix))?;
    for i in 0..3 {
        near(relative[i] / unknown[i], 1.0, 1e-9);
        near(constant[i] / absolute[i], 1.0, 1e-9);
        near(covariance[i] / absolute[i], 1.0, 1e-9);
        assert!((absolute[i] / unknown[i] - 1.0).abs() > 0.01);
    }
    Ok(())
}

#[test]
fn a_fit_that_failed_is_a_fit_with_its_status() -> Result<(), Error> {
    let (x, y, _) = data();
    let options = dualfit::Options::default().max_evaluations(2);
    let fit = CurveFit::new(decay).options(options).fit(Data::new(&x, &y)?, [2.0, 0.5, 0.3])?;
    assert!(!fit.converged());
    assert_eq!(fit.termination(), dualfit::Termination::MaxEvaluations);
    assert_eq!(fit.params().len(), 3);
    assert!(fit.require_convergence().is_err());
    Ok(())
}

#[test]
fn missing_points_are_refused_or_omitted() -> Result<(), Error> {
    let (x, mut y, _) = data();
    y[7] = f64::NAN;
    let refused = curve_fit(decay, &x, &y, [2.0, 0.5, 0.3]).unwrap_err();
    assert!(refused.to_string().contains("index 7"), "{refused}");
    let data = Data::new(&x, &y)?.missing(Missing::Omit);
    let fit = CurveFit::new(decay).fit(data, [2.0, 0.5, 0.3])?;
    assert_eq!((fit.points(), fit.omitted()), (79, 1));
    Ok(())
}

#[test]
fn names_appear_in_every_message() -> Result<(), Error> {
    let (x, y, _) = data();
    let fitter = CurveFit::new(decay).names(["amplitude", "rate", "offset"]);
    let data = Data::new(&x, &y)?;
    let message = |fitter: CurveFit, start: &[f64]| match fitter.fit(data.clone(), start) {
        Ok(fit) => fit.to_string(),
        Err(error) => error.to_string(),
    };
    let start = [2.0, 0.5, 0.3];
    let messages = [
        message(fitter.clone(), &[2.0, f64::NAN, 0.3]),
        message(fitter.clone(), &[2.0, 0.5]),
        message(fitter.clone().bound("rate", 1.0..), &start),
        message(fitter.clone().bound("rate", 3.0..=1.0), &start),
        message(fitter.clone().fix("speed"), &start),
        message(fitter.clone(), &[2.0, -1e9, 0.3]),
        message(fitter, &start),
    ];
    for message in messages {
        assert!(message.contains("rate"), "{message}");
    }
    Ok(())
}

#[test]
fn an_error_has_the_kind_of_the_part_that_it_is_about() -> Result<(), Error> {
    let (x, y, _) = data();
    let curve = CurveFit::new(decay).names(["amplitude", "rate", "offset"]);
    let start = [2.0, 0.5, 0.3];
    let kind = |fit: Result<Fit, Error>| fit.unwrap_err().kind();
    let ended = |_: &Event<'_>| panic!("on purpose");
    let native = CurveFit::native(1, |x, p| p[0] * x).backend(Backend::cuda(0));
    let singular = CurveFit::new(|x, [a]: [Var; 1]| a / (x - x));
    let good = Data::new(&x, &y)?;
    assert_eq!(Data::new(&x, &y[1..]).unwrap_err().kind(), ErrorKind::Data);
    assert_eq!(kind(curve.clone().fix("speed").fit(&good, start)), ErrorKind::Parameter);
    assert_eq!(kind(curve.fit(&good, [2.0, 0.5])), ErrorKind::Parameter);
    assert_eq!(CurveFit::parse("a*", ["x"]).unwrap_err().kind(), ErrorKind::Model);
    assert_eq!(kind(singular.fit(&good, [1.0])), ErrorKind::Model);
    assert_eq!(kind(native.fit(&good, [1.0])), ErrorKind::Device);
    assert_eq!(kind(curve.clone().observe(ended).fit(&good, start)), ErrorKind::Stopped);
    let source: Error = SourceError::new("the file", "there is none").into();
    assert_eq!(source.kind(), ErrorKind::Io);
    let mut gap = y.clone();
    gap[7] = f64::NAN;
    let joint = GlobalFit::new(&curve).fit([Data::new(&x, &gap)?, good], Start::Guess);
    assert_eq!(joint.unwrap_err().kind(), ErrorKind::Data);
    Ok(())
}
