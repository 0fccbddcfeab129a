//! The independent route: least squares with the weights ρ' of the point before, until nothing moves. Under
//! every one of the losses no step raises the cost from any start. Therefore, from beside the truth, it
//! ends in the nearest minimum.

use super::support::{Points, TRUTH};
use crate::support::losses::rho;
use dualfit::Loss;
use nalgebra::{Matrix3, Vector3};

/// Result for a decay, with residuals in units of sigma.
pub(crate) struct Reweighted {
    pub(crate) params: [f64; 3],
    pub(crate) cost: f64,
    /// Σ ρ'.
    pub(crate) weight: f64,
}

impl Reweighted {
    pub(crate) fn of(points: &Points, loss: Loss) -> Reweighted {
        let mut params = Vector3::from(TRUTH);
        let scale = loss.scale().unwrap_or(1.0);
        let (mut cost, mut weight) = (0.0, 0.0);
        for _ in 0..400 {
            let (mut matrix, mut right) = (Matrix3::zeros(), Vector3::zeros());
            (cost, weight) = (0.0, 0.0);
            for (x, y) in points.x.iter().zip(&points.y) {
                let fall = (-params[1] * x).exp();
                let r = (params[0] * fall + params[2] - y) / points.sigma;
                let row = Vector3::new(fall, -params[0] * x * fall, 1.0) / points.sigma;
                let [value, w, _] = rho(loss, (r / scale).powi(2));
                matrix += w * row * row.transpose();
                right += w * r * row;
                cost += 0.5 * scale * scale * value;
                weight += w;
            }
            params -= matrix.lu().solve(&right).expect("a regular matrix");
        }
        Reweighted { params: params.into(), cost, weight }
    }
}
