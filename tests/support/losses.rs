//! Losses for tests: all of the library with formulas beside them, and their definitions.

#![allow(dead_code, reason = "each test takes its own part of this")]
#![allow(unreachable_pub, reason = "a test includes this as a private module")]

use dualfit::{Loss, Var};
use std::f64::consts::LN_2;

/// Welsch's loss, as a formula.
pub fn welsch(scale: f64) -> Loss {
    Loss::custom(scale, |u| -(-(u * u)).exp_m1()).expect("a loss")
}

/// 2 ln cosh u, as a formula: it pulls with a constant force from far away.
pub fn log_cosh(scale: f64) -> Loss {
    let formula = |u: Var| 2.0 * (u.abs() + (-2.0 * u.abs()).exp().ln_1p() - LN_2);
    Loss::custom(scale, formula).expect("a loss")
}

/// The robust losses of the library, and a formula.
pub fn robust(scale: f64) -> Vec<Loss> {
    Loss::robust(scale).into_iter().chain([welsch(scale)]).collect()
}

/// ρ, ρ' and ρ'' by their definitions.
pub fn rho(loss: Loss, z: f64) -> [f64; 3] {
    let (t, root) = (1.0 + z, z.sqrt());
    match loss {
        Loss::Linear => [z, 1.0, 0.0],
        Loss::SoftL1 { .. } => [2.0 * (t.sqrt() - 1.0), t.powf(-0.5), -0.5 * t.powf(-1.5)],
        Loss::Huber { .. } if z <= 1.0 => [z, 1.0, 0.0],
        Loss::Huber { .. } => [2.0 * root - 1.0, 1.0 / root, -0.5 / (z * root)],
        Loss::Cauchy { .. } => [z.ln_1p(), 1.0 / t, -1.0 / (t * t)],
        Loss::Arctan { .. } => {
            let u = 1.0 + z * z;
            [z.atan(), 1.0 / u, -2.0 * z / (u * u)]
        }
        Loss::Tukey { .. } if z < 1.0 => {
            let u = 1.0 - z;
            [(1.0 - u.powi(3)) / 3.0, u * u, -2.0 * u]
        }
        Loss::Tukey { .. } => [1.0 / 3.0, 0.0, 0.0],
        Loss::Custom { scale, .. } if loss == welsch(scale) => {
            [-(-z).exp_m1(), (-z).exp(), -(-z).exp()]
        }
        Loss::Custom { scale, .. } if loss == log_cosh(scale) && z > 0.0 => {
            let first = root.tanh() / root;
            let slope = 1.0 - root.tanh().powi(2);
            [2.0 * (root + (-2.0 * root).exp().ln_1p() - LN_2), first, (slope - first) / (2.0 * z)]
        }
        other => panic!("a new loss: {other:?}"),
    }
}
