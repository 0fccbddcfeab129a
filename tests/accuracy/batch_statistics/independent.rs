//! Two solvers that share nothing with the crate: the `levenberg-marquardt` crate for least squares,
//! and Fisher scoring for the likelihood.

use crate::batch_statistics::spots::{PIXELS, information, partials, pixel};
use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra_0_34::storage::Owned;
use nalgebra_0_34::{Const, Dyn, OMatrix, OVector, SVector};

struct Spot<'a> {
    y: &'a [f64],
    p: SVector<f64, 5>,
}

impl LeastSquaresProblem<f64, Dyn, Const<5>> for Spot<'_> {
    type ParameterStorage = Owned<f64, Const<5>>;
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Const<5>>;

    fn set_params(&mut self, p: &SVector<f64, 5>) {
        self.p = *p;
    }

    fn params(&self) -> SVector<f64, 5> {
        self.p
    }

    fn residuals(&self) -> Option<OVector<f64, Dyn>> {
        let p = self.p.into();
        let residual = |i: usize, _| partials(pixel(i), &p).0 - self.y[i];
        Some(OVector::<f64, Dyn>::from_fn(PIXELS, residual))
    }

    fn jacobian(&self) -> Option<OMatrix<f64, Dyn, Const<5>>> {
        let p = self.p.into();
        let mut jacobian = OMatrix::<f64, Dyn, Const<5>>::zeros(PIXELS);
        for i in 0..PIXELS {
            let (_, slopes) = partials(pixel(i), &p);
            slopes.iter().enumerate().for_each(|(j, slope)| jacobian[(i, j)] = *slope);
        }
        Some(jacobian)
    }
}

/// The minimum of half the sum of squares, and its value. The crate stops where the cost is flat to
/// rounding; Gauss-Newton steps from there settle the digits that the cost no longer shows.
pub(crate) fn least_squares(y: &[f64], start: [f64; 5]) -> ([f64; 5], f64) {
    let spot = Spot { y, p: start.into() };
    let (mut spot, report) = LevenbergMarquardt::new().minimize(spot);
    assert!(report.termination.was_successful(), "{:?}", report.termination);
    for _ in 0..8 {
        let (j, r) = (spot.jacobian().unwrap(), spot.residuals().unwrap());
        let step = (j.transpose() * &j).cholesky().expect("full rank").solve(&(j.transpose() * r));
        spot.p -= step;
    }
    (spot.p.into(), 0.5 * spot.residuals().unwrap().norm_squared())
}

/// Half the deviance; infinite where the model is not positive.
fn half_deviance(y: &[f64], p: &[f64; 5]) -> f64 {
    let term = |(i, &y): (usize, &f64)| {
        let f = partials(pixel(i), p).0;
        let surprise = if y > 0.0 { y * (y / f).ln() } else { 0.0 };
        if f > 0.0 { f - y + surprise } else { f64::INFINITY }
    };
    y.iter().enumerate().map(term).sum()
}

/// The maximum of the likelihood by Fisher scoring, with steps halved until the likelihood grows, and
/// half its deviance.
pub(crate) fn likelihood(y: &[f64], start: [f64; 5]) -> ([f64; 5], f64) {
    let (mut p, mut cost) = (start, half_deviance(y, &start));
    for _ in 0..200 {
        let (matrix, score) = information(&p, y);
        let mut step = matrix.cholesky().expect("information on all parameters").solve(&score);
        // The gain of the step is the square of its length in standard errors.
        let length = step.dot(&score).sqrt();
        loop {
            let trial: [f64; 5] = std::array::from_fn(|j| p[j] + step[j]);
            let reached = half_deviance(y, &trial);
            if reached <= cost * (1.0 + 1e-13) && trial[3] > 0.0 {
                (p, cost) = (trial, reached);
                break;
            }
            step *= 0.5;
        }
        if length < 1e-9 {
            return (p, cost);
        }
    }
    panic!("Fisher scoring did not converge from {start:?}");
}
