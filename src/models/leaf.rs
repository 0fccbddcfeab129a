//! [`Definition`] of a library model, and [`Leaf`], one model of a composite: a library model with a prefix, or a
//! formula of the user.

use crate::data::points::Observations;
use crate::model::Expression;
use crate::model::parse::tokens::replace_names;
use std::fmt;
use std::sync::Arc;

/// Function that returns an initial guess for points, one value per parameter.
pub(super) type StartEstimate = dyn Fn(&Observations) -> Vec<f64> + Send + Sync;

/// A formula with its parameters, their bounds and the derived quantities. All names are without the prefix.
#[derive(Clone)]
pub(crate) struct Leaf {
    /// Name in messages: the name of the library model, for example `gaussian`, or the formula of the user.
    pub(super) name: String,
    /// Argument before the prefix in the text form of the model: the degree of a polynomial or the knots of a spline.
    pub(super) argument: Option<String>,
    pub(super) prefix: String,
    pub(super) expression: Expression,
    pub(super) formula: String,
    pub(super) parameters: Vec<(String, (f64, f64))>,
    pub(super) derived: Vec<(String, String)>,
    pub(super) kind: ModelKind,
    pub(super) estimate: Option<Arc<StartEstimate>>,
}

impl Leaf {
    /// Creates a library model. Returns `None` if its formula cannot be parsed; tests check that this never happens.
    pub(super) fn defined(definition: &'static Definition, prefix: &str) -> Option<Leaf> {
        let expression = Expression::parse(definition.formula, definition.variables).ok()?;
        let owned = |&(name, formula): &(&str, &str)| (name.to_owned(), formula.to_owned());
        Some(Leaf {
            name: definition.name.to_owned(),
            argument: None,
            prefix: prefix.to_owned(),
            expression,
            formula: definition.formula.to_owned(),
            parameters: definition
                .parameters
                .iter()
                .map(|p| (p.name.to_owned(), p.bounds))
                .collect(),
            derived: definition.derived.iter().map(owned).collect(),
            kind: definition.kind,
            estimate: Some(Arc::new(definition.estimate)),
        })
    }

    /// Creates a model from a formula of the user.
    pub(super) fn of(expression: Expression, formula: &str) -> Leaf {
        let free = (f64::NEG_INFINITY, f64::INFINITY);
        let parameters = expression.parameters().iter().map(|name| (name.clone(), free)).collect();
        Leaf {
            name: formula.to_owned(),
            argument: None,
            prefix: String::new(),
            expression,
            formula: formula.to_owned(),
            parameters,
            derived: Vec::new(),
            kind: ModelKind::Curve,
            estimate: None,
        }
    }

    /// Returns the independent variables.
    pub(super) fn variables(&self) -> &[String] {
        self.expression.variables()
    }

    /// Returns the names of the parameters with the prefix.
    pub(super) fn full_names(&self) -> impl Iterator<Item = String> {
        self.parameters.iter().map(|(name, _)| format!("{}{name}", self.prefix))
    }

    /// Returns a formula over parameters and variables with the prefix added to every parameter.
    pub(super) fn prefixed(&self, formula: &str) -> String {
        if self.prefix.is_empty() {
            return formula.to_owned();
        }
        let known = |name: &str| self.parameters.iter().any(|(parameter, _)| parameter == name);
        replace_names(formula, |name| known(name).then(|| format!("{}{name}", self.prefix)))
    }

    /// Returns names and formulas of the derived quantities, with the prefix.
    pub(super) fn full_derived(&self) -> impl Iterator<Item = (String, String)> {
        let full = |(name, formula): &(String, String)| {
            (format!("{}{name}", self.prefix), self.prefixed(formula))
        };
        self.derived.iter().map(full)
    }

    /// Returns an initial guess for `points`, one value per parameter. Values are finite and within the bounds, or all
    /// NaN if the model has no estimate.
    pub(super) fn start(&self, points: &Observations) -> Vec<f64> {
        let found = self.estimate.as_ref().map_or_else(Vec::new, |estimate| estimate(points));
        let given = self.estimate.is_some();
        let value = |(i, (_, (low, high))): (usize, &(String, (f64, f64)))| match found.get(i) {
            Some(&value) => inside(value, *low, *high),
            None if given => inside(f64::NAN, *low, *high),
            None => f64::NAN,
        };
        self.parameters.iter().enumerate().map(value).collect()
    }

    /// Returns the value at one point. `x`: one value per variable; `p`: one value per parameter, in their order.
    pub(super) fn value(&self, x: &[f64], p: &[f64]) -> f64 {
        let place = |name: &String| self.parameters.iter().position(|(n, _)| n == name);
        let order = self.expression.parameters().iter().filter_map(place);
        let ordered: Vec<f64> = order.filter_map(|i| p.get(i).copied()).collect();
        self.expression.evaluate(x, &ordered)
    }
}

/// Returns the finite value within the bounds that is nearest to `value`. If `value` is NaN, returns a value between
/// the bounds.
fn inside(value: f64, low: f64, high: f64) -> f64 {
    const LARGE: f64 = 1e300;
    let middle = match (low.is_finite(), high.is_finite()) {
        (true, true) => low + (high - low) / 2.0,
        (true, false) => low + 1.0,
        (false, true) => high - 1.0,
        (false, false) => 0.0,
    };
    let value = if value.is_nan() { middle } else { value.clamp(-LARGE, LARGE) };
    if low <= high { value.clamp(low, high) } else { value }
}

impl fmt::Debug for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Formats a library model in the syntax of [`models::parse`](super::parse).
impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.argument, self.estimate.is_some()) {
            (Some(argument), _) if self.prefix.is_empty() => write!(f, "{}({argument})", self.name),
            (Some(argument), _) => write!(f, "{}({argument}, {})", self.name, self.prefix),
            _ if self.name == self.formula => write!(f, "({})", self.prefixed(&self.formula)),
            _ => write!(f, "{}({})", self.name, self.prefix),
        }
    }
}

/// Definition of a library model.
#[derive(Debug)]
pub(crate) struct Definition {
    /// Name for lookup, for example `gaussian`.
    pub(crate) name: &'static str,
    /// The independent variables: `x`, or `x` and `y`.
    pub(crate) variables: &'static [&'static str],
    /// Formula of the model, in the syntax of [`CurveFit::parse`](crate::CurveFit::parse).
    pub(crate) formula: &'static str,
    /// Parameters, in the order of parameter values.
    pub(crate) parameters: &'static [Parameter],
    /// Derived quantities, for example `fwhm` or `height`: names, and formulas over the parameters.
    pub(crate) derived: &'static [(&'static str, &'static str)],
    /// Kind of the model, which determines when it is estimated in a sum of models.
    pub(crate) kind: ModelKind,
    /// Function that returns an initial guess, one value per parameter, for noisy points of this model without a
    /// background. The caller corrects values that are not finite or outside their bounds.
    pub(crate) estimate: fn(&Observations) -> Vec<f64>,
}

/// Kind of a model, which determines when and where it is estimated as a term of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModelKind {
    /// Background of peaks. It is estimated first, from the ends of the range.
    Background,
    /// Returns to 0 on both sides. Peaks are estimated after the background, the largest first.
    Peak,
    /// Changes from one level to another.
    Step,
    /// Oscillates over the whole range.
    Wave,
    /// All other models, such as decay or growth. Several curves are estimated one by one, beginning at large x.
    Curve,
}

/// Parameter of a library model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Parameter {
    /// Name without a prefix.
    pub(crate) name: &'static str,
    /// Range in which the formula is valid; ±∞ without a bound.
    pub(crate) bounds: (f64, f64),
}

/// Creates a parameter without bounds.
pub(crate) const fn any(name: &'static str) -> Parameter {
    Parameter { name, bounds: (f64::NEG_INFINITY, f64::INFINITY) }
}

/// Creates a parameter that is at least 0, for example a rate or a concentration.
pub(crate) const fn positive(name: &'static str) -> Parameter {
    Parameter { name, bounds: (0.0, f64::INFINITY) }
}

/// Creates a parameter that is a divisor and therefore greater than 0, for example a width. Its lower bound is the
/// smallest normal number; formulas of (x − center)/width still have a value there.
pub(crate) const fn width(name: &'static str) -> Parameter {
    Parameter { name, bounds: (f64::MIN_POSITIVE, f64::INFINITY) }
}

/// Creates a parameter in the closed range from `low` to `high`.
pub(crate) const fn between(name: &'static str, low: f64, high: f64) -> Parameter {
    Parameter { name, bounds: (low, high) }
}
