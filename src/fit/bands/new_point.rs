//! Scatter of a new observation about the curve.

use crate::data::sigma::Spread;
use crate::error::uncertainty::UncertaintyError;
use crate::error::{Error, Result};
use crate::fit::Fit;

/// The standard deviation of new observations, for
/// [`prediction_band`](crate::Fit::prediction_band).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum NewPoint<'a> {
    /// The standard deviation of the fitted observations: the estimated scatter for
    /// [`Sigma::Unknown`](crate::Sigma::Unknown), the given value for
    /// [`Sigma::Constant`](crate::Sigma::Constant), the root of the expected count for counts. If each observation had
    /// its own sigma, or if the scatter was estimated under a robust loss, it is unknown and the band is an error.
    #[default]
    Fitted,
    /// One standard deviation for all points, in the units of y.
    Constant(f64),
    /// One standard deviation per point of x, in the units of y.
    Each(&'a [f64]),
    /// One standard deviation per point of x, up to the common factor that was estimated by a fit with
    /// [`Sigma::Relative`](crate::Sigma::Relative).
    Relative(&'a [f64]),
}

/// Function that computes the standard deviation from a point's index and the value of the curve.
type Deviation<'a> = Box<dyn Fn(usize, f64) -> f64 + Sync + 'a>;

impl<'a> NewPoint<'a> {
    /// Returns the function for `points` new observations.
    pub(super) fn deviation(self, fit: &Fit, points: usize) -> Result<Deviation<'a>> {
        match self {
            NewPoint::Fitted => fitted(fit),
            NewPoint::Constant(sigma) => {
                check(&[sigma])?;
                Ok(Box::new(move |_, _| sigma))
            }
            NewPoint::Each(sigma) => {
                check_each(sigma, points)?;
                Ok(Box::new(move |i, _| sigma[i]))
            }
            NewPoint::Relative(sigma) => {
                check_each(sigma, points)?;
                if !fit.scaled {
                    let reason = "its sigmas are absolute, so no common factor was estimated";
                    return unknown(reason, "give NewPoint::Each in the units of y");
                }
                let factor = scatter(fit)?;
                Ok(Box::new(move |i, _| factor * sigma[i]))
            }
        }
    }
}

fn fitted<'a>(fit: &Fit) -> Result<Deviation<'a>> {
    match fit.spread {
        Spread::Measured => {
            let deviation = scatter(fit)?;
            Ok(Box::new(move |_, _| deviation))
        }
        Spread::Constant(sigma) => Ok(Box::new(move |_, _| sigma)),
        Spread::Counts => Ok(Box::new(|_, value| value.sqrt())),
        Spread::Own => {
            let reason = "each observation had its own sigma";
            let factor_is_known = fit.scaled && fit.loss.scale().is_none();
            let remedy = match factor_is_known {
                true => "give those of the new ones: NewPoint::Relative, in the same measure",
                false => {
                    "give those of the new ones, in the units of y: NewPoint::Each or NewPoint::Constant"
                }
            };
            unknown(reason, remedy)
        }
    }
}

/// Returns the standard deviation of the (weighted) residuals; NaN without degrees of freedom.
fn scatter(fit: &Fit) -> Result<f64> {
    if fit.loss.scale().is_some() {
        let reason = "under a robust loss the scatter is that of the loss";
        return unknown(reason, "give NewPoint::Constant or NewPoint::Each");
    }
    Ok(fit.residual_std_error().unwrap_or(f64::NAN))
}

fn unknown<T>(reason: &'static str, remedy: &'static str) -> Result<T> {
    Err(UncertaintyError::NewPointUnknown { reason, remedy }.into())
}

fn check_each(sigma: &[f64], points: usize) -> Result<()> {
    if sigma.len() != points {
        let (what, expected, got) = ("sigma of new points".into(), points, sigma.len());
        let remedy = "one standard deviation per point of x";
        return Err(Error::LengthMismatch { what, expected, got, remedy });
    }
    check(sigma)
}

fn check(sigma: &[f64]) -> Result<()> {
    let bad = |s: &f64| !(*s > 0.0 && s.is_finite());
    match sigma.iter().position(bad) {
        Some(index) => Err(UncertaintyError::NewPointSigma { index, value: sigma[index] }.into()),
        None => Ok(()),
    }
}
