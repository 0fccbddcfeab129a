//! What the library says of one model, in one entry: the formula that is documented is the one that
//! is fitted.

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
    /// How it is found in a sum of models.
    pub(crate) kind: ModelKind,
    /// A start for points that this model describes, noisy ones, without a background: one value per
    /// parameter. What is not finite or out of its bounds is put right by the caller.
    pub(crate) estimate: fn(&Observations) -> Vec<f64>,
}

/// How a model is found where it is one term of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModelKind {
    /// What peaks stand on; it is found first, where nothing stands on it: at the ends.
    Background,
    /// It goes back to 0 on both sides. Found after the background, the largest first.
    Peak,
    /// It changes level and stays there.
    Step,
    /// It goes up and down all over the range.
    Wave,
    /// Everything else, such as a decay or a growth. Several of them are peeled off from the far end.
    Curve,
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

/// A parameter that is not negative: a rate, a concentration.
pub(crate) const fn positive(name: &'static str) -> Parameter {
    Parameter { name, bounds: (0.0, f64::INFINITY) }
}

/// A parameter that is divided by, and so is more than 0: a width. Its lower bound is the smallest
/// normal number, at which formulas over (x − center)/width still have a value.
pub(crate) const fn width(name: &'static str) -> Parameter {
    Parameter { name, bounds: (f64::MIN_POSITIVE, f64::INFINITY) }
}

/// A parameter between two values, which belong to the range.
pub(crate) const fn between(name: &'static str, low: f64, high: f64) -> Parameter {
    Parameter { name, bounds: (low, high) }
}

/// A [`Definition`] and the public function that makes its model, from one entry. The formula may be
/// several literals, which are joined as they are.
///
/// ```text
/// define! {
///     /// What it is, where it is used, the source of the formula.
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
        #[doc = concat!("What the library says of `", stringify!($name), "`.")]
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
