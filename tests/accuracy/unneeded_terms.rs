//! Warnings of terms that the data do not need: every kind of data and entry.
//!
//! Oracle: a fit of the model without the term. For a term of two parameters the F distribution has two degrees of
//! freedom, so that p = (1 + 2F/ν)^(−ν/2), and p = exp(−χ²/2) for known errors.

use dualfit::source::SliceSource;
use dualfit::{CurveFit, Data, Estimator, Fit, Loss, Sigma, Stream, Warning};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Poisson, StandardNormal};
use std::collections::BTreeMap;

const POINTS: usize = 100;

/// The second term is not needed if its amplitude `c` is 0.
fn decays() -> CurveFit {
    CurveFit::parse("a*exp(-b*x) + c*exp(-d*x)", ["x"]).unwrap()
}

fn abscissae() -> Vec<f64> {
    (0..POINTS).map(|i| 0.1 * i as f64).collect()
}

/// Decays with amplitudes of 3 and `second`, with noise of standard deviation 0.05.
fn drawn(random: &mut StdRng, second: f64) -> Vec<f64> {
    let mut noise = || -> f64 { StandardNormal.sample(random) };
    let curve = |x: f64| 3.0 * (-0.7 * x).exp() + second * (-0.1 * x).exp();
    abscissae().into_iter().map(|x| curve(x) + 0.05 * noise()).collect()
}

/// Returns the factor, the lost parameters and the probability of the warning.
fn unneeded(fit: &Fit) -> Option<(&str, Vec<&str>, f64)> {
    fit.warnings().iter().find_map(|warning| match warning {
        Warning::UnneededTerm { name, lost, p_value } => {
            Some((&**name, lost.iter().map(String::as_str).collect(), *p_value))
        }
        _ => None,
    })
}

/// Returns the errors from 0 to the amplitude of the weaker term.
fn distance(fit: &Fit) -> f64 {
    let of = |k: usize| fit.params()[k].abs() / fit.std_errors()[k];
    of(0).min(of(2))
}

/// Compares the warnings of fits with those of the oracle `p`, which is computed from chi-square of fits with and
/// without the term.
fn compare(absolute: bool, second: f64) -> [usize; 2] {
    let mut random = StdRng::seed_from_u64(5);
    let x = abscissae();
    let sigma = vec![0.05; POINTS];
    let mut counts = [0; 2];
    for number in 0..60 {
        let y = drawn(&mut random, second);
        let data = Data::new(&x, &y).unwrap();
        let data = if absolute { data.sigma(Sigma::Absolute(&sigma)).unwrap() } else { data };
        let fit = decays().fit(data.clone(), [3.0, 0.7, 0.5, 0.1]).unwrap();
        if !fit.converged() || !fit.undetermined().is_empty() {
            continue;
        }
        let one = CurveFit::parse("a*exp(-b*x)", ["x"]).unwrap().fit(data, [3.0, 0.7]).unwrap();
        let rise = one.chi_square() - fit.chi_square();
        let freedom = (POINTS - 4) as f64;
        let p = match absolute {
            true => (-0.5 * rise).exp(),
            false => (1.0 + rise / fit.chi_square()).powf(-0.5 * freedom),
        };
        let found = unneeded(&fit);
        counts[usize::from(found.is_some())] += 1;
        if let Some((_, _, p_value)) = found {
            assert!(
                p_value <= p * (1.0 + 1e-9) && p_value >= 0.05,
                "{number}: {p_value}, {p}: {fit}"
            );
        }
        // Gauss-Newton steps need not reach the minimum to the last digit.
        let is_expected = p > 0.06 && distance(&fit) < 3.0;
        assert!(found.is_some() || !is_expected, "{number}: {p}: {fit}");
    }
    counts
}

#[test]
fn a_term_is_not_needed_if_a_fit_without_it_is_as_good() {
    for absolute in [false, true] {
        let [silent, warned] = compare(absolute, 0.0);
        assert!(warned > 20, "{silent} silent, {warned} warned");
        assert_eq!(compare(absolute, 1.0)[1], 0);
        let [silent, warned] = compare(absolute, 0.03);
        assert!(silent > 5 && warned > 5, "{silent} silent, {warned} warned");
    }
}

#[test]
fn the_warning_names_the_term_and_its_parameters() {
    let x = abscissae();
    let y = drawn(&mut StdRng::seed_from_u64(2), 0.0);
    let fit = decays().fit(Data::new(&x, &y).unwrap(), [3.0, 0.7, 0.1, 0.3]).unwrap();
    let (name, lost, _) = unneeded(&fit).unwrap_or_else(|| panic!("{fit}"));
    assert_eq!((name, lost), ("c", vec!["d"]));
    let text = fit.to_string();
    assert!(text.contains("the data do not need the term of `c` and `d`: with `c` = 0"), "{text}");
}

#[test]
fn every_kind_of_data_and_entry_has_the_warning() {
    let x = abscissae();
    let weights: Vec<f64> = (0..POINTS).map(|i| 0.04 + 0.0003 * i as f64).collect();
    let mask: Vec<bool> = (0..POINTS).map(|i| i % 9 != 4).collect();
    let peak = CurveFit::parse("a*exp(-b*x) + h*exp(-(x - m)^2)", ["x"]).unwrap();
    let start = [3.0, 0.7, 0.1, 5.0];
    let mut warned = BTreeMap::new();
    let mut random = StdRng::seed_from_u64(2);
    for _ in 0..20 {
        let y = drawn(&mut random, 0.0);
        let single: Vec<f32> = y.iter().map(|&y| y as f32).collect();
        let data = || Data::new(&x, &y).unwrap();
        let with = |sigma| data().sigma(sigma).unwrap();
        let loss = |loss| peak.clone().loss(loss).fit(data(), start);
        let stream = Stream::new(SliceSource::new(&x, &y).unwrap()).chunk_points(17);
        let emission = |x: &f64| Poisson::new(900.0 * (-0.3 * x).exp()).unwrap();
        let counts: Vec<f64> = x.iter().map(|x| emission(x).sample(&mut random)).collect();
        let poisson = peak.clone().estimator(Estimator::Poisson);
        let fits = [
            ("relative errors", peak.fit(with(Sigma::Relative(&weights)), start)),
            ("absolute errors", peak.fit(with(Sigma::Absolute(&weights)), start)),
            ("one error", peak.fit(with(Sigma::Constant(0.05)), start)),
            ("mask", peak.fit(data().mask(&mask).unwrap(), start)),
            ("f32", peak.fit(Data::new(&x, &single).unwrap(), start)),
            ("soft L1", loss(Loss::SoftL1 { scale: 0.1 })),
            ("Huber", loss(Loss::Huber { scale: 0.1 })),
            ("Cauchy", loss(Loss::Cauchy { scale: 0.2 })),
            ("bounds", peak.clone().bound("h", -1.0..1.0).bound("m", 2.0..8.0).fit(data(), start)),
            ("tie", peak.clone().tie("b", "a/4.3").fit(data(), start)),
            ("stream", peak.fit_stream(stream, start)),
            ("counts", poisson.fit(Data::new(&x, &counts).unwrap(), [900.0, 0.3, 5.0, 5.0])),
        ];
        for (what, fit) in fits {
            let fit = fit.unwrap();
            if let Some((name, lost, _)) = unneeded(&fit) {
                assert_eq!((name, lost), ("h", vec!["m"]), "{what}: {fit}");
                *warned.entry(what).or_insert(0) += 1;
            }
        }
    }
    assert!(warned.len() == 12 && warned.values().all(|&count| count >= 6), "{warned:?}");
}

/// The asymptote of early growth is hardly determined, and its error exceeds its value; but without it there is no curve.
#[test]
fn a_badly_determined_factor_of_a_clear_curve_is_needed() {
    let mut random = StdRng::seed_from_u64(3);
    let growth = CurveFit::parse("l/(1 + exp(-k*(x - m)))", ["x"]).unwrap();
    let x: Vec<f64> = (0..40).map(|i| 0.1 * f64::from(i)).collect();
    let (mut wide, mut count) = (0, 0);
    for _ in 0..20 {
        let noise = || random.random_range(-1.0..1.0);
        let y: Vec<f64> = x.iter().map(|x| 100.0 / (1.0 + (-(x - 6.0)).exp())).collect();
        let y: Vec<f64> = y.iter().zip(std::iter::repeat_with(noise)).map(|(y, n)| y + n).collect();
        let fit = growth.fit(Data::new(&x, &y).unwrap(), [100.0, 1.0, 6.0]).unwrap();
        if fit.converged() && fit.undetermined().is_empty() {
            count += 1;
            wide += usize::from(fit.params()[0] < 2.0 * fit.std_errors()[0]);
            assert!(unneeded(&fit).is_none(), "{fit}");
        }
    }
    assert!(wide >= 5 && count >= 10, "{wide} of {count}");
}
