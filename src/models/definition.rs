//! Definitions of library models. One entry creates the documentation and the fitted formula, so they cannot differ.

use crate::data::overview::Observations;

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

/// Declares a [`Definition`] and the public function that creates its model. The formula can be several literals,
/// which are concatenated without a separator.
///
/// ```text
/// define! {
///     /// Description, use, source of the formula.
///     gaussian GAUSSIAN ["x"] Peak
///     formula "amplitude/(sigma*sqrt(2*pi))" "*exp(-((x - center)/sigma)^2/2)"
///     parameters {
///         amplitude: any "the area, in units of y times x",
///         fraction: between(0.0, 1.0) "…",
///     }
///     derived { fwhm = "2*sqrt(2*ln(2))*sigma" "full width at half maximum" }
///     estimate |points| …
/// }
/// ```
macro_rules! define {
    (
        $(#[doc = $text:literal])+
        $name:ident $constant:ident [$($variable:literal),+] $kind:ident
        formula $($formula:literal)+
        parameters {
            $($parameter:ident: $range:ident $(($($limit:expr),+))? $meaning:literal),+ $(,)?
        }
        derived { $($quantity:ident = $value:literal $said:literal),* $(,)? }
        estimate $estimate:expr
    ) => {
        #[doc = concat!("Definition of the library model `", stringify!($name), "`.")]
        pub(crate) static $constant: $crate::models::definition::Definition =
            $crate::models::definition::Definition {
                name: stringify!($name),
                variables: &[$($variable),+],
                formula: concat!($($formula),+),
                parameters: &[$(
                    $crate::models::definition::$range(stringify!($parameter) $($(, $limit)+)?)
                ),+],
                derived: &[$((stringify!($quantity), $value)),*],
                kind: $crate::models::definition::ModelKind::$kind,
                estimate: $estimate,
            };

        $(#[doc = $text])+
        ///
        /// ```text
        #[doc = concat!($($formula, "\n"),+)]
        /// ```
        ///
        /// Parameters, whose names get the `prefix`:
        $(#[doc = concat!("- `", stringify!($parameter), "`: ", $meaning)])+
        ///
        $(
            #[doc = concat!("- derived `", stringify!($quantity), "` = `", $value, "`: ", $said)]
        )*
        pub fn $name(prefix: impl AsRef<str>) -> $crate::models::Model {
            $crate::models::Model::defined(&$constant, prefix.as_ref())
        }
    };
}
pub(crate) use define;
