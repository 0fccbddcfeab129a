//! What the library says of one model.

use crate::data::observations::Observations;

/// One model of the library. The formula in the documentation is the one that is fitted.
#[derive(Debug)]
pub(crate) struct Definition {
    /// The name by which it is asked for: `gaussian`.
    pub(crate) name: &'static str,
    /// The independent variables: `x`, or `x` and `y`.
    pub(crate) variables: &'static [&'static str],
    /// The value, as [`CurveFit::parse`](crate::CurveFit::parse) reads it.
    pub(crate) formula: &'static str,
    /// The parameters, in the order in which values are given.
    pub(crate) parameters: &'static [Parameter],
    /// Names and formulas, over the parameters, of what people want to know besides: `fwhm`, `height`.
    pub(crate) derived: &'static [(&'static str, &'static str)],
    /// A start for points that this model describes, noisy ones, without a background: one value per
    /// parameter, all finite whatever the points are.
    pub(crate) estimate: fn(&Observations) -> Vec<f64>,
}

/// One parameter of a model of the library.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Parameter {
    /// Its name, without a prefix.
    pub(crate) name: &'static str,
    /// The range in which the formula makes sense; ±∞ for none.
    pub(crate) bounds: (f64, f64),
}

/// A parameter that may have any value.
pub(crate) const fn any(name: &'static str) -> Parameter {
    Parameter { name, bounds: (f64::NEG_INFINITY, f64::INFINITY) }
}

/// A parameter that is not negative: a width, a lifetime.
pub(crate) const fn positive(name: &'static str) -> Parameter {
    Parameter { name, bounds: (0.0, f64::INFINITY) }
}

/// A parameter between two values, which belong to the range.
pub(crate) const fn between(name: &'static str, low: f64, high: f64) -> Parameter {
    Parameter { name, bounds: (low, high) }
}
