//! Tests of quantiles and tails against values recorded from R, and for consistency.

use super::{chi_square_quantile, chi_square_upper, f_quantile, f_upper, half_width};

/// Values recorded by tests/record/distributions.R.
const RECORDED: &str = include_str!("../../../tests/data/uncertainty/distributions.csv");

#[test]
fn quantiles_and_tails_are_those_of_r() {
    let (mut worst, mut count) = (0.0_f64, 0);
    for line in RECORDED.lines().filter(|l| !l.starts_with('#')).skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |i: usize| cells[i].parse::<f64>().unwrap();
        let (level, d1, d2, expected) = (number(1), number(2), number(3), number(4));
        let found = match cells[0] {
            "normal" => half_width(level, None),
            "t" => half_width(level, Some(d2)),
            "chi_square" => chi_square_quantile(level, d1),
            "f" => f_quantile(level, d1, d2),
            "f_upper" => f_upper(level, d1, d2),
            "chi_square_upper" => chi_square_upper(level, d1),
            other => panic!("{other}"),
        };
        if expected < 1e-300 {
            continue;
        }
        let error = (found / expected - 1.0).abs();
        assert!(error < 1e-10, "{line}: {found:e}, {error:e}");
        worst = worst.max(error);
        count += 1;
    }
    assert!(count > 1300, "{count}");
    println!("{count} values, worst {worst:e}");
}

#[test]
fn two_degrees_of_freedom_have_closed_forms() {
    for level in [1e-9_f64, 0.1, 0.5, 0.95, 1.0 - 1e-6, 1.0 - 1e-12] {
        let rest = 1.0 - level;
        let ln = if level < 0.5 { (-level).ln_1p() } else { rest.ln() };
        let chi = chi_square_quantile(level, 2.0);
        assert!((chi / (-2.0 * ln) - 1.0).abs() < 1e-13, "{level}: {chi}");
        for d in [1.0, 7.0, 1e3, 1e6, 1e9] {
            let exact = 0.5 * d * (-2.0 / d * ln).exp_m1();
            let f = f_quantile(level, 2.0, d);
            assert!((f / exact - 1.0).abs() < 1e-11, "{level} {d}: {f} {exact}");
        }
        // Student's t with one degree of freedom is Cauchy's distribution.
        let t = half_width(level, Some(1.0));
        let exact = if level < 0.5 {
            (0.5 * std::f64::consts::PI * level).tan()
        } else {
            1.0 / (0.5 * std::f64::consts::PI * rest).tan()
        };
        assert!((t / exact - 1.0).abs() < 1e-12, "{level}: {t} {exact}");
    }
}

#[test]
fn no_degrees_of_freedom_have_no_quantile() {
    assert!(half_width(0.95, Some(0.0)).is_nan());
    assert_eq!(f_upper(-1.0, 2.0, 3.0), 1.0);
    assert_eq!(f_upper(f64::INFINITY, 2.0, 3.0), 0.0);
    assert!(f_upper(f64::NAN, 2.0, 3.0).is_nan());
}
