//! A model of two terms for data of one: the fit says which parameters the data do not determine.

use dualfit::{CurveFit, Data, Fit, Termination, Warning};

fn two_decays() -> CurveFit {
    CurveFit::parse("a*exp(-b*x) + c*exp(-d*x)", ["x"]).unwrap()
}

/// One decay with a small uneven error, and something added to the first and the last point.
fn fit(first: f64, last: f64, start: [f64; 4]) -> Fit {
    let x: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
    let noise = |i: usize| 0.01 * (((37 * i + 11) % 23) as f64 / 23.0 - 0.5);
    let value = |(i, x): (usize, &f64)| 3.0 * (-0.7 * x).exp() + noise(i);
    let mut y: Vec<f64> = x.iter().enumerate().map(value).collect();
    y[0] += first;
    y[59] += last;
    two_decays().fit(Data::new(&x, &y).unwrap(), start).unwrap()
}

fn first_line(fit: &Fit) -> String {
    fit.to_string().lines().next().unwrap().to_owned()
}

#[test]
fn a_rate_that_one_point_sees_has_lost_its_effect() {
    // The second decay is the excess of the first point alone: any large rate does.
    let fit = fit(0.02, 0.0, [3.0, 0.7, 0.1, 2.0]);
    assert!(fit.param("d").unwrap() > 50.0, "{fit}");
    let lost = |w: &Warning| matches!(w, Warning::LostEffect { name, ratio } if name == "d" && *ratio < 1e-8);
    assert!(fit.warnings().iter().any(lost), "{fit}");
    let others = |w: &Warning| matches!(w, Warning::LostEffect { name, .. } if name != "d");
    assert!(!fit.warnings().iter().any(others), "{fit}");
    assert!(!fit.converged() && first_line(&fit).ends_with("see the warnings"), "{fit}");
}

#[test]
fn an_amplitude_that_vanishes_is_named() {
    // The second term fills the gap at the last point: it grows from 0, ever faster.
    let fit = fit(0.0, -0.05, [3.0, 0.7, 0.1, -1.0]);
    assert!(!fit.converged() && fit.param("c").unwrap().abs() < 1e-9, "{fit}");
    let away = |w: &Warning| matches!(w, Warning::RanAway { name, .. } if name == "c");
    assert!(fit.warnings().iter().any(away), "{fit}");
    assert!(first_line(&fit).ends_with("see the warnings"), "{fit}");
}

#[test]
fn rates_that_meet_are_named() {
    let fit = fit(0.0, 0.0, [1.0, 1.0, 1.0, 0.5]);
    let tells =
        |w: &Warning| matches!(w, Warning::RankDeficient { .. } | Warning::IllConditioned { .. });
    assert!(!fit.converged() && fit.warnings().iter().any(tells), "{fit}");
    let said = first_line(&fit);
    assert!(said.contains("hardly determine all") && !said.contains("partials"), "{said}");
}

#[test]
fn where_warnings_tell_nothing_the_words_are_those_of_the_termination() {
    let x: Vec<f64> = (0..40).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * (-0.5 * x).exp() + 0.01 * (30.0 * x).sin()).collect();
    let wrong = CurveFit::native(2, |x, p| p[0] * (-p[1] * x).exp()).jacobian(|x, p, partials| {
        let e = (-p[1] * x).exp();
        (partials[0], partials[1]) = (e, x * p[0] * e);
    });
    let fit = wrong.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0]).unwrap();
    assert_eq!(fit.termination(), Termination::NoProgress);
    assert!(first_line(&fit).ends_with("check the partials"), "{fit}");
}
