//! Validated data: the used points, their weights and their sums, and copies of the points for initial guesses.

use super::Missing;
use super::correlated::Correlation;
use super::loss::{DARK, Estimator};
use super::scaling::Units;
use super::sigma::{Spread, Weights};
use super::summary::{Moments, Overview};
use super::values::Values;
use super::x_sigma::XSigma;
use std::ops::Deref;

/// Validated data for every backend: the used points are finite, and their sigmas are positive.
#[derive(Clone)]
pub(crate) struct Points<'a> {
    pub(crate) columns: ColumnList<'a>,
    pub(crate) y: Values<'a>,
    pub(crate) sigma: Weights<'a>,
    /// The errors of the independent variables.
    pub(crate) x_sigma: XSigma<'a>,
    /// The Cholesky factor L of the covariance of y, if set.
    pub(crate) correlation: Option<Correlation>,
    /// True if some points are skipped. Blocks must then be gathered.
    pub(super) filtered: bool,
    pub(super) mask: Option<&'a [bool]>,
    /// True if the mask alone selects the points, because all values at its true elements are valid.
    pub(super) mask_decides: bool,
    pub(crate) infinite_x: bool,
    /// Noise model of y.
    pub(crate) estimator: Estimator,
    /// Number of used points.
    pub(crate) used: usize,
    /// Number of points left out by the mask or as missing.
    pub(crate) omitted: usize,
    /// Number of points without weight because their sigma is infinite.
    pub(crate) ignored: usize,
    /// Powers of two that keep squares in range.
    pub(crate) units: Units,
    /// Weighted mean and scatter of y.
    pub(crate) summary: Moments,
    /// The largest 1/σ, if each point has its own sigma.
    pub(super) largest_weight: f64,
    /// Lower limit of the expected count f in the weight 1/f of a point without events.
    pub(super) darkest: f64,
}

/// The independent variables, in order.
#[derive(Clone)]
pub(crate) enum ColumnList<'a> {
    Owned(Vec<Values<'a>>),
    Borrowed(&'a [Values<'a>]),
}

impl<'a> Deref for ColumnList<'a> {
    type Target = [Values<'a>];

    fn deref(&self) -> &[Values<'a>] {
        match self {
            ColumnList::Owned(columns) => columns,
            ColumnList::Borrowed(columns) => columns,
        }
    }
}

/// The arrays of one fit before validation.
pub(crate) struct Given<'a> {
    pub(crate) columns: ColumnList<'a>,
    pub(crate) y: Values<'a>,
    pub(crate) sigma: Weights<'a>,
    pub(crate) mask: Option<&'a [bool]>,
    pub(crate) missing: Missing,
    pub(crate) infinite_x: bool,
    pub(crate) x_sigma: XSigma<'a>,
    /// True if the independent variables are known to be finite.
    pub(crate) known_x: bool,
}

impl<'a> Points<'a> {
    /// Returns points without validation, as if all points were used and of ordinary size. The lengths must agree.
    pub(super) fn unchecked(data: Given<'a>) -> Points<'a> {
        Points {
            used: data.y.len(),
            columns: data.columns,
            y: data.y,
            sigma: data.sigma,
            x_sigma: data.x_sigma,
            correlation: None,
            filtered: false,
            mask: data.mask,
            mask_decides: false,
            infinite_x: data.infinite_x,
            estimator: Estimator::LeastSquares,
            omitted: 0,
            ignored: 0,
            units: Units::ORDINARY,
            summary: Moments::default(),
            largest_weight: 1.0,
            darkest: DARK,
        }
    }

    /// Returns the points of one part (`data`) of validated points. `whole`: totals over all parts.
    pub(crate) fn part(data: Given<'a>, whole: &Overview) -> Points<'a> {
        let mut points = Points::unchecked(data);
        points.estimator = whole.estimator;
        points.units = whole.units;
        points.summary = whole.summary;
        points.darkest = whole.darkest;
        if whole.omitted + whole.ignored > 0 {
            points.filter();
        }
        points
    }

    /// Returns the totals over the points.
    pub(crate) fn overview(&self) -> Overview {
        Overview {
            used: self.used,
            omitted: self.omitted,
            ignored: self.ignored,
            units: self.units,
            summary: self.summary,
            heaviest: self.summary.weights_like(self.largest_weight * self.units.weight),
            estimator: self.estimator,
            absolute: self.is_absolute(),
            darkest: self.darkest,
            errors_in_x: !self.x_sigma.is_exact(),
        }
    }

    /// Returns the lower limit of the expected count f in the weight 1/f of a point without events.
    pub(crate) fn darkest(&self) -> f64 {
        self.darkest
    }

    /// Returns true if `value`, a finite value of the model, is valid at point `i`. If y are counts, `value` must be
    /// positive, or 0 at a count of 0.
    pub(crate) fn allows(&self, i: usize, value: f64) -> bool {
        self.estimator == Estimator::LeastSquares
            || value > 0.0
            || (value == 0.0 && self.y.at(i) == 0.0)
    }

    /// Returns true if the errors of the parameters are absolute, not scaled by the scatter about the fit.
    pub(crate) fn is_absolute(&self) -> bool {
        self.estimator == Estimator::Poisson || self.sigma.is_absolute()
    }

    /// Returns the scatter of a single observation.
    pub(crate) fn spread(&self) -> Spread {
        match self.estimator {
            Estimator::Poisson => Spread::Counts,
            // The scatter of an observation depends on the slope of the model there.
            Estimator::LeastSquares if !self.x_sigma.is_exact() => Spread::Own,
            Estimator::LeastSquares => self.sigma.spread(),
        }
    }

    /// Returns the number of given points.
    pub(crate) fn len(&self) -> usize {
        self.y.len()
    }

    /// Returns true if some points are skipped.
    pub(crate) fn is_filtered(&self) -> bool {
        self.filtered
    }

    /// Returns true if point `i` is used.
    pub(crate) fn counts(&self, i: usize) -> bool {
        self.mask.is_none_or(|m| m[i]) && (self.mask_decides || self.is_usable(i))
    }

    /// Returns true if all values of point `i` are finite, or infinite if this is allowed.
    fn is_usable(&self, i: usize) -> bool {
        self.y.at(i).is_finite()
            && self.columns.iter().all(|c| self.valid_x(c.at(i)))
            && self.sigma_at(i).is_none_or(f64::is_finite)
            && self.x_sigma.is_finite_at(i)
    }

    /// Returns the indices of the used points.
    pub(crate) fn kept(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(|&i| !self.filtered || self.counts(i))
    }

    /// Returns the factor of the residual of point `i`: the row unit (a power of two) divided by the standard deviation
    /// of the point, or the row unit itself if the standard deviation is unknown.
    pub(crate) fn weight(&self, i: usize) -> f64 {
        match self.sigma {
            Weights::Constant(s) => self.units.row / s,
            _ => self.sigma_at(i).map_or(self.units.row, |s| self.units.row / s),
        }
    }

    /// Returns the standard deviations if there is one per point.
    pub(crate) fn sigmas(&self) -> Option<&'a [f64]> {
        match self.sigma {
            Weights::Each { sigma, .. } => Some(sigma),
            _ => None,
        }
    }

    pub(super) fn sigma_at(&self, i: usize) -> Option<f64> {
        self.sigmas().map(|s| s[i])
    }

    pub(super) fn valid_x(&self, x: f64) -> bool {
        x.is_finite() || (self.infinite_x && !x.is_nan())
    }
}

/// Maximum number of observations. If a fit has more points, every k-th point is copied, which suffices for starting
/// values.
const MOST: usize = 1 << 16;

/// Points that a fit uses, neither masked nor missing, in the order of the data; every k-th point of a large fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Observations {
    /// One column per independent variable, one value per point in each.
    pub columns: Vec<Vec<f64>>,
    /// The response, one value per point.
    pub y: Vec<f64>,
    /// Range of x that contains the center of a peak or a step in the search for starting values.
    pub(crate) center: (f64, f64),
    /// Range of the amplitude of this peak or step. A peak is a candidate only if the range contains values of its
    /// sign.
    pub(crate) amplitude: (f64, f64),
}

impl Observations {
    /// Returns the observations of validated data.
    pub(crate) fn of(points: &Points<'_>) -> Observations {
        let stride = points.used.div_ceil(MOST).max(1);
        let index: Vec<usize> = points.kept().step_by(stride).collect();
        let pick = |values: &Values<'_>| values.picked(&index);
        Observations::new(points.columns.iter().map(pick).collect(), pick(&points.y))
    }

    pub(crate) fn new(columns: Vec<Vec<f64>>, y: Vec<f64>) -> Observations {
        let any = (f64::NEG_INFINITY, f64::INFINITY);
        Observations { columns, y, center: any, amplitude: any }
    }

    /// Returns the first independent variable, one value per point.
    pub fn x(&self) -> &[f64] {
        self.columns.first().map_or(&[], Vec::as_slice)
    }

    /// Returns the same points with another response.
    #[must_use]
    pub fn with_response(&self, y: Vec<f64>) -> Observations {
        Observations { columns: self.columns.clone(), y, ..*self }
    }
}
