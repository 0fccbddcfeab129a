//! The independent route: least squares with the weights ρ' of the point before, until nothing moves. Under
//! every one of the losses no step raises the cost, whatever the start, so that from beside the truth it
//! ends in the minimum there.

use super::support::{Points, TRUTH, log_cosh, welsch};
use dualfit::Loss;
use nalgebra::{Matrix3, Vector3};
use std::f64::consts::LN_2;

/// What it found for a decay, residuals in units of sigma.
pub(crate) struct Reweighted {
    pub(crate) params: [f64; 3],
    pub(crate) cost: f64,
    /// Σ ρ'.
    pub(crate) weight: f64,
}

/// ρ and ρ' by their definitions.
fn rho(loss: Loss, r: f64) -> (f64, f64) {
    let z = (r / loss.scale().unwrap_or(1.0)).powi(2);
    match loss {
        Loss::Linear => (z, 1.0),
        Loss::SoftL1 { .. } => (2.0 * ((1.0 + z).sqrt() - 1.0), (1.0 + z).powf(-0.5)),
        Loss::Huber { .. } if z <= 1.0 => (z, 1.0),
        Loss::Huber { .. } => (2.0 * z.sqrt() - 1.0, 1.0 / z.sqrt()),
        Loss::Cauchy { .. } => (z.ln_1p(), 1.0 / (1.0 + z)),
        Loss::Arctan { .. } => (z.atan(), 1.0 / (1.0 + z * z)),
        Loss::Tukey { .. } if z < 1.0 => ((1.0 - (1.0 - z).powi(3)) / 3.0, (1.0 - z).powi(2)),
        Loss::Tukey { .. } => (1.0 / 3.0, 0.0),
        other if other == welsch(2.985) => (1.0 - (-z).exp(), (-z).exp()),
        other if other == log_cosh(1.205) && z > 0.0 => {
            let u = z.sqrt();
            (2.0 * (u + (-2.0 * u).exp().ln_1p() - LN_2), u.tanh() / u)
        }
        other => panic!("a new loss: {other:?}"),
    }
}

impl Reweighted {
    pub(crate) fn of(points: &Points, loss: Loss) -> Reweighted {
        let mut params = Vector3::from(TRUTH);
        let square = loss.scale().unwrap_or(1.0).powi(2);
        let (mut cost, mut weight) = (0.0, 0.0);
        for _ in 0..400 {
            let (mut matrix, mut right) = (Matrix3::zeros(), Vector3::zeros());
            (cost, weight) = (0.0, 0.0);
            for (x, y) in points.x.iter().zip(&points.y) {
                let fall = (-params[1] * x).exp();
                let r = (params[0] * fall + params[2] - y) / points.sigma;
                let row = Vector3::new(fall, -params[0] * x * fall, 1.0) / points.sigma;
                let (value, w) = rho(loss, r);
                matrix += w * row * row.transpose();
                right += w * r * row;
                cost += 0.5 * square * value;
                weight += w;
            }
            params -= matrix.lu().solve(&right).expect("a regular matrix");
        }
        Reweighted { params: params.into(), cost, weight }
    }
}
