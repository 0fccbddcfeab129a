//! Warnings of fits that the data reject: every kind of data and entry, and false alarms counted.
//!
//! Oracles: data of a known curve, right or wrong by construction, and the binomial distribution of false alarms.

use dualfit::source::SliceSource;
use dualfit::{
    BatchData, CurveFit, Data, Estimator, Fit, GlobalFit, Loss, Missing, Sigma, Warning,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, Poisson, StandardNormal, StudentT};
use rayon::prelude::*;

/// Right fits that are drawn, and how many of them may be rejected: 1 of 1000.
const RIGHT: u64 = 10_000;
const FALSE_ALARMS: usize = 10;

fn is_rejected(fit: &Fit) -> bool {
    fit.warnings().iter().any(|w| matches!(w, Warning::Rejected { .. }))
}

fn is_correlated(fit: &Fit) -> bool {
    fit.warnings().iter().any(|w| matches!(w, Warning::CorrelatedResiduals { .. }))
}

fn normal(random: &mut StdRng) -> f64 {
    StandardNormal.sample(random)
}

fn line() -> CurveFit {
    CurveFit::new(|x, [a, b]| a + b * x).names(["a", "b"])
}

/// x², with noise of standard deviation `noise`, at `n` points from 0 to 1.
fn parabola(n: usize, noise: f64) -> (Vec<f64>, Vec<f64>) {
    let mut random = StdRng::seed_from_u64(n as u64);
    let x: Vec<f64> = (0..n).map(|i| i as f64 / (n - 1) as f64).collect();
    let y = x.iter().map(|x| x * x + noise * normal(&mut random)).collect();
    (x, y)
}

#[test]
fn a_line_through_a_parabola_is_rejected_by_absolute_errors() {
    let (x, y) = parabola(20, 0.01);
    let sigma = vec![0.01; 20];
    for sigma in [Sigma::Absolute(&sigma), Sigma::Constant(0.01)] {
        let data = Data::new(&x, &y).unwrap().sigma(sigma).unwrap();
        let fit = line().fit(data.clone(), [0.0, 0.0]).unwrap();
        assert!(is_rejected(&fit) && is_correlated(&fit), "{fit}");
        assert!(fit.to_string().contains("the data reject this fit"), "{fit}");
        assert!(fit.to_string().contains("p of chi-square"), "{fit}");
        let curve = CurveFit::new(|x, [a, b, c]| a + b * x + c * x * x);
        let fit = curve.fit(data, [0.0; 3]).unwrap();
        assert!(fit.warnings().is_empty(), "{fit}");
    }
}

#[test]
fn a_sine_of_a_wrong_frequency_through_counts_is_rejected() {
    let mut random = StdRng::seed_from_u64(4);
    let x: Vec<f64> = (0..100).map(|i| 0.1 * f64::from(i)).collect();
    let expected = |x: &f64| 100.0 + 60.0 * (3.0 * x).sin();
    let y: Vec<f64> =
        x.iter().map(|x| Poisson::new(expected(x)).unwrap().sample(&mut random)).collect();
    let curve =
        CurveFit::new(|x, [a, b, w, p]| a + b * (w * x + p).sin()).estimator(Estimator::Poisson);
    let wrong = curve.fit(Data::new(&x, &y).unwrap(), [100.0, 10.0, 5.0, 0.0]).unwrap();
    assert!(is_rejected(&wrong), "{wrong}");
    let right = curve.fit(Data::new(&x, &y).unwrap(), [100.0, 50.0, 3.1, 0.0]).unwrap();
    assert!(right.warnings().is_empty(), "{right}");
}

#[test]
fn smooth_residuals_are_seen_from_12_points_on() {
    for n in [12, 15, 20, 100, 1000, 4096, 4097, 100_000] {
        let (x, y) = parabola(n, 0.003);
        let fit = line().fit(Data::new(&x, &y).unwrap(), [0.0, 0.0]).unwrap();
        assert!(is_correlated(&fit), "{n} points: {fit}");
        // In no order, and with some points left out.
        let mut random = StdRng::seed_from_u64(1);
        let mut order: Vec<usize> = (0..n).collect();
        (1..n).rev().for_each(|i| order.swap(i, random.random_range(0..=i)));
        let shuffled = |v: &[f64]| order.iter().map(|&i| v[i]).collect::<Vec<f64>>();
        let (x, y) = (shuffled(&x), shuffled(&y));
        let fit = line().fit(Data::new(&x, &y).unwrap(), [0.0, 0.0]).unwrap();
        assert!(n < 20 || is_correlated(&fit), "{n} points in no order: {fit}");
    }
}

/// The same question of every kind of data and every entry.
#[test]
fn every_entry_warns() {
    let (x, y) = parabola(300, 0.01);
    let single: Vec<f32> = y.iter().map(|&y| y as f32).collect();
    let counts: Vec<u16> = y.iter().map(|&y| (1000.0 * (y + 0.1)) as u16).collect();
    let mask: Vec<bool> = (0..300).map(|i| i % 7 != 0).collect();
    let mut gaps = y.clone();
    gaps[10] = f64::NAN;
    let relative: Vec<f64> = vec![3.0; 300];
    let x_sigma = vec![1e-3; 300];
    let plain = || Data::new(&x, &y).unwrap();
    let kinds = [
        ("plain", plain()),
        ("f32", Data::new(&x, &single).unwrap()),
        ("u16", Data::new(&x, &counts).unwrap()),
        ("mask", plain().mask(&mask).unwrap()),
        ("gaps", Data::new(&x, &gaps).unwrap().missing(Missing::Omit)),
        ("relative", plain().sigma(Sigma::Relative(&relative)).unwrap()),
    ];
    for (kind, data) in kinds {
        let fit = line().fit(data, [0.0, 0.1]).unwrap();
        assert!(is_correlated(&fit) && fit.converged(), "{kind}: {fit}");
    }
    let shifted = plain().sigma(Sigma::Constant(0.01)).unwrap().x_sigma(&x_sigma).unwrap();
    let fit = line().fit(shifted, [0.0, 0.1]).unwrap();
    assert!(is_correlated(&fit) && is_rejected(&fit), "errors in x: {fit}");
    for loss in Loss::robust(0.05) {
        let fit = line().loss(loss).fit(plain(), [0.0, 0.1]).unwrap();
        assert!(is_correlated(&fit), "{loss:?}: {fit}");
    }
    let called = CurveFit::native(2, |x, p| p[0] + p[1] * x);
    let fit = called.fit(plain(), [0.0, 0.1]).unwrap();
    assert!(is_correlated(&fit), "a native model: {fit}");
    let fixed = line().fix("a").fix("b");
    let fit = fixed.fit(plain(), [0.0, 0.9]).unwrap();
    assert!(is_correlated(&fit), "all fixed: {fit}");
    let fit =
        line().prior("a", 0.0, 1.0).fit(plain().sigma(Sigma::Constant(0.01)).unwrap(), [0.0, 0.1]);
    assert!(is_correlated(&fit.unwrap()), "a prior");

    let fit = line().fit_stream(SliceSource::new([&x], &y).unwrap(), [0.0, 0.1]).unwrap();
    assert!(is_correlated(&fit), "a stream: {fit}");

    // Of several sets the one that is wrong is named.
    let mut sets: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    let mut random = StdRng::seed_from_u64(3);
    for set in 0..20 {
        let bend = if set == 13 { 1.0 } else { 0.0 };
        let y = x.iter().map(|x| x + bend * x * x + 0.01 * normal(&mut random)).collect();
        sets.push((x.clone(), y));
    }
    let data = sets.iter().map(|(x, y)| Data::new(x, y).unwrap());
    let joint =
        GlobalFit::new(&line()).fit(data.collect::<Vec<_>>(), [("a", 0.0), ("b", 0.5)]).unwrap();
    let named = joint.fit().warnings().iter().find_map(|w| match w {
        Warning::CorrelatedResiduals { set, .. } => Some(*set),
        _ => None,
    });
    assert_eq!(named, Some(Some(13)), "{joint}");
    assert!(is_correlated(&joint.set(13).unwrap()) && !is_correlated(&joint.set(12).unwrap()));
}

/// Batches know their chi-squares alone.
#[test]
fn batches_flag_what_chi_square_rejects() {
    let (x, bent) = parabola(30, 0.01);
    let y: Vec<f64> = x.iter().zip(&bent).map(|(x, b)| b - x * x + x).chain(bent.clone()).collect();
    let batch = |sigma: Sigma<'static>| {
        let data = BatchData::shared(&x, &y).unwrap().sigma(sigma).unwrap();
        line().fit_batch(data, [0.0, 1.0]).unwrap()
    };
    let found = batch(Sigma::Constant(0.01));
    assert_eq!(found.rejected(), [false, true], "{found}");
    assert!(found.to_string().contains("of 1 that converged the data reject the curve"), "{found}");
    let single = line()
        .fit(Data::new(&x, &bent).unwrap().sigma(Sigma::Constant(0.01)).unwrap(), [0.0, 1.0])
        .unwrap();
    assert_eq!(found.fit(1).chi_square_p_value(), single.chi_square_p_value());
    assert_eq!(batch(Sigma::Unknown).rejected(), [false, false]);
    assert_eq!(batch(Sigma::Unknown).fit(1).chi_square_p_value(), None);
}

/// A batch reports for each fit the same as the single fit, for every kind of data.
#[test]
fn batches_test_the_residuals_of_each_fit() {
    const FITS: usize = 400;
    let mut random = StdRng::seed_from_u64(12);
    let x: Vec<f64> = (0..40).map(|i| 0.1 * f64::from(i)).collect();
    let mut stack = Vec::with_capacity(40 * FITS);
    for fit in 0..FITS {
        // Every other one has a second, slow decay.
        let slow = if fit % 2 == 1 { 1.5 * random.random::<f64>() } else { 0.0 };
        let rate = 1.0 + random.random::<f64>();
        let y = x.iter().map(|x| 3.0 * (-rate * x).exp() + slow * (-0.2 * x).exp());
        stack.extend(y.map(|y| y + 0.03 * normal(&mut random)));
    }
    stack[5] = f64::NAN;
    let decay = CurveFit::new(|x, [a, b]| a * (-b * x).exp());
    let mask: Vec<bool> = (0..40).map(|i| i != 7).collect();
    let huber = decay.clone().loss(Loss::Huber { scale: 0.1 });
    for (curve, masked) in [(&decay, false), (&decay, true), (&huber, false)] {
        let all = BatchData::shared(&x, &stack).unwrap().missing(Missing::Omit);
        let all = if masked { all.mask(&mask).unwrap() } else { all };
        let batch = curve.clone().test_residuals(true).fit_batch(&all, [2.0, 1.0]).unwrap();
        let rejected = batch.rejected();
        let alone = |fit: usize| {
            let data = Data::new(&x, &stack[40 * fit..40 * (fit + 1)]).unwrap();
            let data = data.missing(Missing::Omit);
            let data = if masked { data.mask(&mask).unwrap() } else { data };
            is_correlated(&curve.fit(data, [2.0, 1.0]).unwrap())
        };
        let differ = (0..FITS).filter(|&fit| rejected[fit] != alone(fit)).count();
        let right = (0..FITS).step_by(2).filter(|&fit| rejected[fit]).count();
        let wrong = (1..FITS).step_by(2).filter(|&fit| rejected[fit]).count();
        println!("{right} right and {wrong} wrong ones of {FITS} rejected, {differ} differ");
        assert!(differ == 0 && right == 0 && wrong > FITS / 4, "{right}, {wrong}, {differ}");
        assert!(batch.to_string().contains("the data reject the curve"), "{batch}");
        assert!(curve.fit_batch(&all, [2.0, 1.0]).unwrap().rejected().iter().all(|r| !r));
    }
}

/// A right fit of a curve, a size and errors that are drawn. Returns whether the data reject it.
fn right_fit(seed: u64) -> Option<(bool, bool)> {
    let mut random = StdRng::seed_from_u64(seed);
    let n = (4.0 * random.random_range(0.5_f64..5.5).exp()) as usize + 4;
    let mut x: Vec<f64> = (0..n).map(|_| random.random_range(0.0..10.0)).collect();
    match random.random_range(0..3) {
        0 => x.sort_by(f64::total_cmp),
        1 => x = (0..n).map(|i| 10.0 * i as f64 / (n - 1) as f64).collect(),
        _ => {}
    }
    let mut between = |a: f64, b: f64| random.random_range(a..b);
    let (curve, truth) = match seed % 7 {
        0 => (CurveFit::new(|x, [a, b]| a + b * x), vec![between(-3.0, 3.0), between(-2.0, 2.0)]),
        1 => (
            CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c),
            vec![between(2.0, 5.0), between(0.2, 1.0), between(-1.0, 1.0)],
        ),
        2 => (
            CurveFit::new(|x, [a, m, s, c]| a * (-0.5 * ((x - m) / s).powi(2)).exp() + c),
            vec![between(3.0, 9.0), between(4.0, 6.0), between(0.8, 2.0), between(-1.0, 1.0)],
        ),
        3 => (
            CurveFit::new(|x, [a, w, p, c]| a * (w * x + p).sin() + c),
            vec![between(2.0, 4.0), between(0.5, 1.5), between(-1.0, 1.0), between(-1.0, 1.0)],
        ),
        4 => (
            CurveFit::new(|x, [a, b, c, d, e]| a + x * (b + x * (c + x * (d + x * e)))),
            (0..5).map(|k| between(-1.0, 1.0) * 0.2_f64.powi(k)).collect(),
        ),
        5 => {
            (CurveFit::new(|x, [v, k]| v * x / (k + x)), vec![between(2.0, 9.0), between(0.5, 4.0)])
        }
        _ => (
            CurveFit::new(|x, [l, h, m, s]| l + (h - l) / (1.0 + (-(x - m) / s).exp())),
            vec![between(-1.0, 1.0), between(2.0, 6.0), between(4.0, 6.0), between(0.4, 1.5)],
        ),
    };
    let program = curve.program().unwrap();
    let clean: Vec<f64> = x.iter().map(|&x| program.evaluate(&[x], &truth)).collect();
    let kind = (seed / 7) % 8;
    let noise = 0.3 * random.random_range(-5.0_f64..0.0).exp();
    let sigma: Vec<f64> = clean.iter().map(|f| noise * (0.1 + f.abs())).collect();
    let error = |random: &mut StdRng, i: usize| match kind {
        0 | 1 | 6 => noise * normal(random),
        2 => noise * StudentT::new(3.0).unwrap().sample(random),
        3 => noise * random.random_range(-1.0..1.0),
        4 => {
            let e: f64 = Exp1.sample(random);
            noise * (e - 1.0)
        }
        // Unequal errors, unknown to the fit and known.
        _ => sigma[i] * normal(random),
    };
    let y: Vec<f64> = clean.iter().enumerate().map(|(i, f)| f + error(&mut random, i)).collect();
    let data = Data::new(&x, &y).unwrap();
    let data = match kind {
        6 => data.sigma(Sigma::Constant(noise)).unwrap(),
        7 => data.sigma(Sigma::Absolute(&sigma)).unwrap(),
        _ => data,
    };
    let fit = curve.fit(data, &truth).ok()?;
    fit.converged().then(|| (is_rejected(&fit), is_correlated(&fit)))
}

#[test]
fn right_fits_are_hardly_ever_rejected() {
    let each: Vec<(u64, Option<(bool, bool)>)> =
        (0..RIGHT).into_par_iter().map(|seed| (seed, right_fit(seed))).collect();
    let made = each.iter().filter(|(_, fit)| fit.is_some()).count();
    let rejected: Vec<u64> =
        each.iter().filter(|(_, f)| matches!(f, Some((true, _)))).map(|e| e.0).collect();
    let alike: Vec<u64> =
        each.iter().filter(|(_, f)| matches!(f, Some((_, true)))).map(|e| e.0).collect();
    println!(
        "{made} right fits: {} by chi-square {rejected:?}, {} by autocorrelation {alike:?}",
        rejected.len(),
        alike.len()
    );
    assert!(made > 9_000 && rejected.len() + alike.len() <= FALSE_ALARMS, "{rejected:?} {alike:?}");
}

/// Counts of all sizes: the deviance of few events is not chi-square.
#[test]
fn right_fits_of_counts_are_hardly_ever_rejected() {
    let one = |seed: u64| {
        let mut random = StdRng::seed_from_u64(seed);
        let n = random.random_range(10..200);
        let size = random.random_range(-3.0_f64..7.0).exp();
        let (rate, floor) = (random.random_range(0.2..1.0), random.random_range(0.02..1.0));
        let x: Vec<f64> = (0..n).map(|i| 10.0 * f64::from(i) / f64::from(n - 1)).collect();
        let expected = |x: f64| size * ((-rate * x).exp() + floor);
        let y: Vec<f64> =
            x.iter().map(|&x| Poisson::new(expected(x)).unwrap().sample(&mut random)).collect();
        let curve = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
            .names(["a", "b", "c"])
            .estimator(Estimator::Poisson)
            .bound("c", 0.0..)
            .bound("a", 0.0..);
        let fit = curve.fit(Data::new(&x, &y).unwrap(), [size, rate, size * floor]).ok()?;
        fit.converged().then(|| (is_rejected(&fit), is_correlated(&fit), fit.chi_square_p_value()))
    };
    let each: Vec<_> = (0..RIGHT).into_par_iter().filter_map(one).collect();
    let rejected = each.iter().filter(|f| f.0).count();
    let alike = each.iter().filter(|f| f.1).count();
    let below = |p: f64| each.iter().filter(|f| f.2.is_some_and(|found| found < p)).count();
    println!(
        "{} right fits of counts: {rejected} by the deviance, {alike} by autocorrelation; p below 0.5: {}, 0.05: {}, 0.01: {}",
        each.len(),
        below(0.5),
        below(0.05),
        below(0.01)
    );
    assert!(each.len() > 9_000 && rejected + alike <= FALSE_ALARMS);
    // The p-value is what it says: binomial counts within 5 standard deviations, and approximations of small counts.
    let share = below(0.05) as f64 / each.len() as f64;
    assert!((0.03..0.07).contains(&share), "{share}");
}
