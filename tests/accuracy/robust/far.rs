//! Residuals at the start from about the loss's scale to 1e10 times it.

use super::reweighted::Reweighted;
use super::support::{Points, START, decay, losses, welsch};
use dualfit::{Data, Loss, Options, Termination};

/// The minimum beside the truth, however far the start is in scales, with outliers, also under a loss
/// that grows without end, whose cost is the outliers' alone.
#[test]
fn a_far_start_leads_to_the_minimum_of_the_good_points() {
    for loss in losses() {
        for exponent in 0..=10 {
            let outliers = match loss {
                Loss::Linear => None,
                _ => Some(6),
            };
            let points = Points::new(exponent as u64, 0.3 / 10f64.powi(exponent), outliers);
            let fit = decay().loss(loss).fit(points.data(), START).unwrap();
            let own = Reweighted::of(&points, loss);
            let what =
                format!("{loss:?} at 1e{exponent}: {:?} in {}", fit.params(), fit.evaluations());
            assert!(fit.converged() && fit.warnings().is_empty(), "{what} {:?}", fit.termination());
            // Rounding of the cost, which is quadratic in the errors.
            let nearly = 1e-6 + (1e-12 / points.sigma).sqrt();
            for ((p, q), e) in fit.params().iter().zip(own.params).zip(fit.std_errors()) {
                assert!((p - q).abs() <= nearly * e, "{what}, not {:?} ± {e:e}", own.params);
            }
            assert!((fit.cost() / own.cost - 1.0).abs() < nearly, "{what} {:e}", own.cost);
            let counting = fit.effective_points();
            assert!(
                (counting / own.weight - 1.0).abs() < nearly,
                "{what} {counting} {}",
                own.weight
            );
            assert!(fit.evaluations() < 150, "{what}");
        }
    }
}

/// In units from 1e-200 to 1e200, without sigma.
#[test]
fn no_unit_of_y_changes_the_way() {
    let points = Points::new(5, 1e-6, Some(5));
    for &loss in &losses()[4..] {
        let scale = loss.scale().unwrap() * points.sigma;
        let fit = |unit: f64| {
            let y: Vec<f64> = points.y.iter().map(|y| y * unit).collect();
            let loss = match loss {
                Loss::Cauchy { .. } => Loss::Cauchy { scale: scale * unit },
                Loss::Arctan { .. } => Loss::Arctan { scale: scale * unit },
                Loss::Custom { .. } => welsch(scale * unit),
                _ => Loss::Tukey { scale: scale * unit },
            };
            let start = [START[0] * unit, START[1], START[2] * unit];
            decay().loss(loss).fit(Data::new(&points.x, &y).unwrap(), start).unwrap()
        };
        let one = fit(1.0);
        assert!(one.converged() && one.warnings().is_empty(), "{loss:?}: {one}");
        assert!(one.effective_points() > 40.0);
        for unit in [2f64.powi(-664), 2f64.powi(-3), 2f64.powi(664)] {
            let other = fit(unit);
            assert!(other.converged(), "{loss:?} {unit:e}: {other}");
            assert!((other.params()[1] - one.params()[1]).abs() < 1e-6 * one.std_errors()[1]);
            let counting = other.effective_points() / one.effective_points();
            assert!((counting - 1.0).abs() < 1e-9, "{loss:?} {unit:e}: {counting}");
        }
    }
}

/// The limit of evaluations holds for all stages together.
#[test]
fn limits_end_the_way() {
    let points = Points::new(1, 1e-8, Some(6));
    for &loss in &losses()[4..] {
        for most in [1, 2, 3, 5, 8, 13, 21] {
            let options = Options::default().max_evaluations(most);
            let fit = decay().loss(loss).options(options).fit(points.data(), START).unwrap();
            let what = format!("{loss:?} {most}: {:?}", fit.termination());
            assert!(fit.evaluations() <= most, "{what} after {}", fit.evaluations());
            // A single evaluation tells that nothing counts there, and nothing else.
            let flat = most == 1 && fit.termination() == Termination::BeyondScale;
            assert!(flat || fit.termination() == Termination::MaxEvaluations, "{what}");
        }
    }
}
