//! Further starts of the other parameters while some are held: the cost may have several minima, and the
//! minimum that a profile follows from the best fit need not be the lowest everywhere.

use crate::curve_fit::CurveFit;
use crate::error::Result;
use crate::fit::Fit;

/// Number of starts, for data of few and of many points.
const USUAL: usize = 48;
const FEW: usize = 6;
/// Number of data points above which there are fewer starts.
const MANY: usize = 10_000;
/// Maximum change of a value in powers of ten,
const POWERS: f64 = 1.5;
/// and in standard errors.
const ERRORS: f64 = 30.0;

/// Starts that are far from each other.
pub(super) struct Scattered {
    /// The model with the nonlinear parameters fixed as well; its fit solves for the linear parameters.
    pub(super) linear: CurveFit,
    /// Starts with one value per parameter. Empty if all free parameters are linear, since there is only one minimum.
    pub(super) starts: Vec<Vec<f64>>,
}

impl Scattered {
    /// Starts about the best fit, of the free parameters of `held`: nonlinear parameters of other size and sign in
    /// two of three starts, some standard errors away in the third.
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
                // A Kronecker sequence by roots of primes: even in every dimension, and always the same.
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

/// Returns a value for `part` of a range from 0 to 1 about the best one.
fn moved(value: f64, error: f64, part: f64, by_size: bool) -> f64 {
    let error = Some(error).filter(|e| *e > 0.0 && e.is_finite());
    let size = if value == 0.0 { error.unwrap_or(1.0) } else { value };
    match error.filter(|_| !by_size) {
        Some(error) => value + ERRORS * error * (2.0 * part - 1.0).powi(3),
        // 40 % of the draws have the opposite sign.
        None if part < 0.4 => -size * 10f64.powf(POWERS * (5.0 * part - 1.0)),
        None => size * 10f64.powf(POWERS * ((part - 0.4) / 0.3 - 1.0)),
    }
}
