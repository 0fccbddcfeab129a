//! Models of the library and composites of them.

use super::leaf::Leaf;
use crate::data::points::Observations;
use crate::error::Result;
use crate::math::order::sort_few;
use crate::model::Expression;
use crate::models::leaf::Definition;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::Arc;

/// A model with its formula, the names and bounds of its parameters, its derived quantities and a method for the
/// initial guess.
///
/// Models can be added, subtracted, multiplied and divided, also with numbers, and nested by [`of`](Model::of).
/// Prefixes make the names of their parameters unique. A [`CurveFit`](crate::CurveFit) created from a model fits it.
/// Errors in a composite are reported by the fit, or by [`curve`](Model::curve).
///
/// ```
/// use dualfit::{CurveFit, Data, models};
/// let x: Vec<f64> = (0..120).map(|i| 0.1 * f64::from(i)).collect();
/// let y: Vec<f64> = x.iter().map(|x| 3.0 * (-(x - 5.0f64).powi(2)).exp() + 0.2 * x + 1.0).collect();
/// let data = Data::new(&x, &y)?;
///
/// let model = models::gaussian("peak_") + models::linear("bg_");
/// let start = model.guess(&data)?;
/// let fit = CurveFit::from(model).fit(data, start)?;
/// assert!((fit.param("peak_center").unwrap() - 5.0).abs() < 1e-6);
/// assert!((fit.param("bg_slope").unwrap() - 0.2).abs() < 1e-6);
/// # Ok::<(), dualfit::Error>(())
/// ```
#[derive(Clone)]
pub struct Model {
    /// Steps in postfix order: operands precede their operator. Therefore a sum of any length needs no recursion.
    pub(super) steps: Vec<CompositeStep>,
}

/// One step of a composite in postfix order.
#[derive(Clone, Debug)]
pub(super) enum CompositeStep {
    /// A single model.
    Leaf(Arc<Leaf>),
    Number(f64),
    /// Operator for the two preceding operands.
    Join(Joint),
}

/// Operator that combines two models.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Joint {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// The value of the second model is the variable of the first.
    Nest,
}

impl Joint {
    /// Returns the text of the operator and three precedences: the precedence of the operator, then the lowest
    /// precedence that a left operand and a right operand can have without parentheses.
    pub(super) fn written(self) -> (&'static str, u8, u8, u8) {
        match self {
            Joint::Add => (" + ", 1, 1, 1),
            Joint::Subtract => (" - ", 1, 1, 2),
            Joint::Multiply => ("*", 2, 2, 2),
            Joint::Divide => ("/", 2, 2, 3),
            Joint::Nest => (" of ", 3, 4, 3),
        }
    }
}

impl Model {
    /// Creates a model of the library.
    pub(super) fn defined(definition: &'static Definition, prefix: &str) -> Model {
        let leaf = Leaf::defined(definition, prefix);
        Model { steps: leaf.into_iter().map(|leaf| CompositeStep::Leaf(Arc::new(leaf))).collect() }
    }

    pub(super) fn leaf(leaf: Leaf) -> Model {
        Model { steps: vec![CompositeStep::Leaf(Arc::new(leaf))] }
    }

    /// Creates a model from a formula over the independent `variables`, in the syntax of
    /// [`CurveFit::parse`](crate::CurveFit::parse). The model can be combined with other models. It has no initial
    /// guess unless [`estimate`](Model::estimate) sets one.
    ///
    /// ```
    /// use dualfit::models::{self, Model};
    /// let model = Model::expression("a*exp(-b*x)", ["x"])? + models::linear("bg_");
    /// assert_eq!(model.parameters(), ["a", "b", "bg_slope", "bg_intercept"]);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Parse`](crate::Error::Parse) with the column of the error if the formula is invalid.
    pub fn expression<S: AsRef<str>>(text: &str, variables: impl AsRef<[S]>) -> Result<Model> {
        let variables: Vec<&str> = variables.as_ref().iter().map(AsRef::as_ref).collect();
        Ok(Model::leaf(Leaf::of(Expression::parse(text, &variables)?, text)))
    }

    /// Sets the order of the parameters of an [`expression`](Model::expression). The default is their order in the
    /// formula. Parameters that are not in `names` follow the others. No effect on a composite.
    ///
    /// ```
    /// use dualfit::models::Model;
    /// let model = Model::expression("a*exp(-b*x)", ["x"])?.ordered(&["b", "a"]);
    /// assert_eq!(model.parameters(), ["b", "a"]);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    #[must_use]
    pub fn ordered<S: AsRef<str>>(mut self, names: &[S]) -> Model {
        if let [CompositeStep::Leaf(leaf)] = self.steps.as_mut_slice() {
            let place = |(name, _): &(String, (f64, f64))| {
                names.iter().position(|n| n.as_ref() == name).unwrap_or(names.len())
            };
            sort_few(&mut Arc::make_mut(leaf).parameters, |a, b| place(a).cmp(&place(b)));
        }
        self
    }

    /// Sets the function for the initial guess of an [`expression`](Model::expression). The function receives points
    /// without the effect of other models and returns one value per parameter. No effect on a composite.
    #[must_use]
    pub fn estimate(
        mut self,
        estimate: impl Fn(&Observations) -> Vec<f64> + Send + Sync + 'static,
    ) -> Model {
        if let [CompositeStep::Leaf(leaf)] = self.steps.as_mut_slice() {
            Arc::make_mut(leaf).estimate = Some(Arc::new(estimate));
        }
        self
    }

    /// Adds `prefix` to the names of all parameters.
    #[must_use]
    pub fn prefixed(mut self, prefix: &str) -> Model {
        for step in &mut self.steps {
            if let CompositeStep::Leaf(leaf) = step {
                let leaf = Arc::make_mut(leaf);
                leaf.prefix.insert_str(0, prefix);
            }
        }
        self
    }

    /// Returns this model with its independent variable replaced by the value of `inner`.
    ///
    /// ```
    /// use dualfit::models;
    /// let warped = models::gaussian("").of(models::quadratic("axis_"));
    /// assert_eq!(warped.variables(), ["x"]);
    /// ```
    #[must_use]
    pub fn of(self, inner: Model) -> Model {
        self.join(inner, Joint::Nest)
    }

    pub(super) fn join(mut self, mut other: Model, joint: Joint) -> Model {
        self.steps.append(&mut other.steps);
        self.steps.push(CompositeStep::Join(joint));
        self
    }

    pub(super) fn number(value: f64) -> Model {
        Model { steps: vec![CompositeStep::Number(value)] }
    }

    /// Folds the steps with a stack. Returns `None` for a model without steps.
    pub(super) fn folded<T>(
        &self,
        mut leaf: impl FnMut(&Arc<Leaf>) -> T,
        number: impl Fn(f64) -> Result<T>,
        join: impl Fn(T, Joint, T) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut stack: Vec<T> = Vec::new();
        for step in &self.steps {
            let next = match step {
                CompositeStep::Leaf(it) => leaf(it),
                CompositeStep::Number(value) => number(*value)?,
                CompositeStep::Join(joint) => match (stack.pop(), stack.pop()) {
                    (Some(right), Some(left)) => join(left, *joint, right)?,
                    (one, other) => match one.or(other) {
                        Some(only) => only,
                        None => continue,
                    },
                },
            };
            stack.push(next);
        }
        Ok(stack.pop())
    }

    pub(super) fn leaves(&self) -> impl Iterator<Item = &Arc<Leaf>> {
        self.steps.iter().filter_map(|step| match step {
            CompositeStep::Leaf(leaf) => Some(leaf),
            _ => None,
        })
    }

    /// Returns the names of the parameters with their prefixes, in the order of parameter values.
    pub fn parameters(&self) -> Vec<String> {
        self.leaves().flat_map(|leaf| leaf.full_names()).collect()
    }

    /// Returns the lower and upper bounds of the parameters, in their order; ±∞ without a bound.
    pub fn bounds(&self) -> Vec<(f64, f64)> {
        self.leaves().flat_map(|leaf| leaf.parameters.iter().map(|(_, bounds)| *bounds)).collect()
    }

    /// Returns names and formulas of the derived quantities, for example `g1_fwhm` and `g1_height`.
    pub fn derived(&self) -> Vec<(String, String)> {
        self.leaves().flat_map(|leaf| leaf.full_derived()).collect()
    }
}

/// Implements the four operations between models, and between models and numbers.
macro_rules! operations {
    ($($trait:ident $method:ident $joint:ident),+) => {$(
        impl $trait for Model {
            type Output = Model;
            fn $method(self, other: Model) -> Model {
                self.join(other, Joint::$joint)
            }
        }

        impl $trait<f64> for Model {
            type Output = Model;
            fn $method(self, other: f64) -> Model {
                self.join(Model::number(other), Joint::$joint)
            }
        }

        impl $trait<Model> for f64 {
            type Output = Model;
            fn $method(self, other: Model) -> Model {
                Model::number(self).join(other, Joint::$joint)
            }
        }
    )+};
}
operations!(Add add Add, Sub sub Subtract, Mul mul Multiply, Div div Divide);

impl Neg for Model {
    type Output = Model;
    fn neg(self) -> Model {
        -1.0 * self
    }
}

/// Declares a [`Definition`](super::leaf::Definition) and the public function that creates its model. The formula can
/// be several literals, which are concatenated without a separator.
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
        pub(crate) static $constant: $crate::models::leaf::Definition =
            $crate::models::leaf::Definition {
                name: stringify!($name),
                variables: &[$($variable),+],
                formula: concat!($($formula),+),
                parameters: &[$(
                    $crate::models::leaf::$range(stringify!($parameter) $($(, $limit)+)?)
                ),+],
                derived: &[$((stringify!($quantity), $value)),*],
                kind: $crate::models::leaf::ModelKind::$kind,
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
