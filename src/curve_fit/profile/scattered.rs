//! Scattered starts for the refits of a profile. A refit also starts from the results at neighbouring values of the
//! held parameters. Those follow one minimum from the best fit, but the cost may have several minima, and another one
//! may be lower there.

use crate::curve_fit::CurveFit;
use crate::error::Result;
use crate::fit::Fit;

/// Number of starts: usual, and for data with many points.
const USUAL: usize = 48;
const FEW: usize = 6;
/// Number of data points above which there are fewer starts.
const MANY: usize = 10_000;
/// Maximum change of a value in decades.
const POWERS: f64 = 1.5;
/// Maximum change of a value in standard errors.
const ERRORS: f64 = 30.0;

/// Starts that cover a wide range of the nonlinear parameters.
pub(super) struct Scattered {
    /// The model with the held and all nonlinear parameters fixed; its fit solves for the linear parameters.
    pub(super) linear: CurveFit,
    /// Starts with one value per parameter. Empty if all free parameters are linear, because there is then only one
    /// minimum.
    pub(super) starts: Vec<Vec<f64>>,
}

impl Scattered {
    /// Creates starts around the best fit for the free parameters of `held`. In two of three starts, nonlinear
    /// parameters have other magnitudes and signs; in the third, they differ by some standard errors.
    pub(super) fn about(best: &Fit, held: &CurveFit) -> Result<Scattered> {
        let names = held.linear_parameters()?;
        let free = held.free_positions().into_iter();
        let moving: Vec<usize> =
            free.filter(|&k| !names.contains(&held.names[k].as_str())).collect();
        let mut linear = held.clone().changed();
        moving.iter().for_each(|&k| linear.fixed[k] = true);
        let count = match moving.len() {
            0 => 0,
            _ if best.points > MANY => FEW,
            _ => USUAL,
        };
        let start = |which: usize| {
            let mut params = best.params.clone();
            for (dimension, &k) in moving.iter().enumerate() {
                // A Kronecker sequence with the square roots of primes: even in every dimension, and reproducible.
                let part = (which as f64 + 0.5) * PRIMES[dimension % PRIMES.len()].sqrt() % 1.0;
                params[k] =
                    moved(params[k], best.covariance.errors[k], part, !which.is_multiple_of(3));
            }
            params
        };
        let starts = (0..count).map(start).collect();
        Ok(Scattered { linear, starts })
    }
}

const PRIMES: [f64; 8] = [2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0];

/// Maps `part` in [0, 1) to a value around the best value.
fn moved(value: f64, error: f64, part: f64, by_size: bool) -> f64 {
    let error = Some(error).filter(|e| *e > 0.0 && e.is_finite());
    let size = if value == 0.0 { error.unwrap_or(1.0) } else { value };
    match error.filter(|_| !by_size) {
        Some(error) => value + ERRORS * error * (2.0 * part - 1.0).powi(3),
        // 40 % of the values have the opposite sign.
        None if part < 0.4 => -size * 10f64.powf(POWERS * (5.0 * part - 1.0)),
        None => size * 10f64.powf(POWERS * ((part - 0.4) / 0.3 - 1.0)),
    }
}
