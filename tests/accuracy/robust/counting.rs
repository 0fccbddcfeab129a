//! Fits in which few points count.

use super::support::{Points, START, TRUTH, decay, losses};
use dualfit::{Data, Fit, Loss, Termination, Warning};

fn few(fit: &Fit) -> Option<f64> {
    fit.warnings().iter().find_map(|warning| match warning {
        Warning::FewPointsCount { effective, points: 60, estimated: 3 } => Some(*effective),
        _ => None,
    })
}

/// A scale of a hundredth of the noise: the model passes through a few points and leaves the others out.
#[test]
fn a_scale_below_the_noise_is_said() {
    for seed in 0..20 {
        let points = Points::new(seed, 0.1, None);
        for loss in [
            Loss::Cauchy { scale: 0.01 },
            Loss::Arctan { scale: 0.01 },
            Loss::Tukey { scale: 0.03 },
        ] {
            for start in [START, TRUTH] {
                let fit = decay().loss(loss).fit(points.data(), start).unwrap();
                let what = format!("{loss:?} {seed}: {}", fit.effective_points());
                assert_eq!(few(&fit), Some(fit.effective_points()), "{what}");
                // As many as parameters can always be passed through.
                let more = fit.effective_points() >= 3.5;
                assert!(fit.converged() == more || !fit.converged(), "{what}");
                let beyond = fit.termination() == Termination::BeyondScale;
                assert!(more || beyond, "{what} {:?}", fit.termination());
            }
        }
        let plain = decay().loss(losses()[7]).fit(points.data(), START).unwrap();
        assert!(plain.converged() && plain.warnings().is_empty(), "{plain}");
    }
}

/// No scale that data can be seen through: flat, and said to be so.
#[test]
fn where_no_point_counts_nothing_has_converged() {
    let points = Points::new(3, 0.1, None);
    // A curve that meets no point: y is 1 to 3 above it.
    let near = decay().fix("a").fix("c").bound("b", 0.5..=0.9);
    let y: Vec<f64> = points.y.iter().map(|y| y + 1e3 + (y - 1.0).abs()).collect();
    for loss in
        [Loss::Cauchy { scale: 1e-6 }, Loss::Arctan { scale: 1e-6 }, Loss::Tukey { scale: 1e-6 }]
    {
        let fit = near.clone().loss(loss).fit(Data::new(&points.x, &y).unwrap(), TRUTH).unwrap();
        assert!(!fit.converged(), "{loss:?}: {fit}");
        assert!(fit.effective_points() < 1e-10, "{loss:?}: {}", fit.effective_points());
    }
}

#[test]
fn least_squares_count_every_point_and_fixed_parameters_change_nothing() {
    let points = Points::new(4, 0.05, Some(7));
    let squares = decay().fit(points.data(), START).unwrap();
    assert_eq!(squares.effective_points(), 60.0);
    for loss in losses() {
        let fit = decay().loss(loss).fit(points.data(), START).unwrap();
        let all = decay().loss(loss).fix("a").fix("b").fix("c");
        let [a, b, c] = [0, 1, 2].map(|i| fit.params()[i]);
        let fixed = all.fit(points.data(), [a, b, c]).unwrap();
        let (one, other) = (fit.effective_points(), fixed.effective_points());
        assert!((one / other - 1.0).abs() < 1e-9, "{loss:?}: {one}, {other}");
    }
}

#[test]
fn the_report_says_how_many_count() {
    let points = Points::new(4, 0.05, Some(7));
    let fit = decay().loss(losses()[7]).fit(points.data(), START).unwrap();
    let counting = format!("count as {:.2}", fit.effective_points());
    assert!(fit.to_string().contains(&counting), "{fit}");
}

#[cfg(feature = "json")]
#[test]
fn the_saved_fit_says_how_many_count() {
    let points = Points::new(4, 0.05, Some(7));
    let fit = decay().loss(losses()[7]).fit(points.data(), START).unwrap();
    let saved = fit.to_json().unwrap();
    assert_eq!(Fit::from_json(&saved).unwrap().effective_points(), fit.effective_points());
    // A document without the number.
    let mut document: serde_json::Value = serde_json::from_str(&saved).unwrap();
    assert!(document.as_object_mut().unwrap().remove("weight").is_some());
    let old = Fit::from_json(&document.to_string()).unwrap();
    assert!(old.effective_points().is_nan() && old.params() == fit.params());
}
