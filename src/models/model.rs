//! A model of the library, or several of them put together.

use super::assemble::Assembled;
use super::definition::Definition;
use super::leaf::Leaf;
use crate::curve_fit::CurveFit;
use crate::data::Data;
use crate::data::observations::Observations;
use crate::data::points::Points;
use crate::error::Result;
use crate::model::Expression;
use crate::model::known::Known;
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::Arc;

/// A model that knows its formula, the names and bounds of its parameters, what follows from them,
/// and how a start is found in data.
///
/// Models add, subtract, multiply and divide, also with numbers, and nest by [`of`](Model::of).
/// Prefixes tell their parameters apart. A [`CurveFit`] made of one fits it; whatever is wrong with a
/// composite is reported by the fit, or by [`curve`](Model::curve).
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
    /// Postfix: operands before what joins them, so that a sum of any length needs no recursion.
    pub(super) steps: Vec<CompositeStep>,
}

/// One step of a composite.
#[derive(Clone, Debug)]
pub(super) enum CompositeStep {
    /// A model.
    Leaf(Arc<Leaf>),
    /// A number.
    Number(f64),
    /// What joins the two before it.
    Join(Joint),
}

/// What two models are joined by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Joint {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// The value of the second is the variable of the first.
    Nest,
}

impl Joint {
    /// How it is written: the sign, how strongly it binds, and how strongly its left and its right
    /// operand have to bind if they are to stand there without parentheses.
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
    /// A model of the library.
    pub(super) fn defined(definition: &'static Definition, prefix: &str) -> Model {
        let leaf = Leaf::defined(definition, prefix);
        Model { steps: leaf.into_iter().map(|leaf| CompositeStep::Leaf(Arc::new(leaf))).collect() }
    }

    pub(super) fn leaf(leaf: Leaf) -> Model {
        Model { steps: vec![CompositeStep::Leaf(Arc::new(leaf))] }
    }

    /// A formula of one's own over the independent `variables`, read as by [`CurveFit::parse`], to be
    /// combined with others. It has no guess until [`estimate`](Model::estimate) gives it one.
    ///
    /// ```
    /// use dualfit::models::{self, Model};
    /// let model = Model::expression("a*exp(-b*x)", ["x"])? + models::linear("bg_");
    /// assert_eq!(model.parameters(), ["a", "b", "bg_slope", "bg_intercept"]);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Parse`](crate::Error::Parse) with the column of the offence.
    pub fn expression<S: AsRef<str>>(text: &str, variables: impl AsRef<[S]>) -> Result<Model> {
        let variables: Vec<&str> = variables.as_ref().iter().map(AsRef::as_ref).collect();
        Ok(Model::leaf(Leaf::of(Expression::parse(text, &variables)?, text)))
    }

    /// The parameters of an [`expression`](Model::expression) in the order in which values are to be given; without it that is
    /// the order of the text. Names that are not mentioned follow the others. For a composite it has no effect.
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
            Arc::make_mut(leaf).parameters.sort_by_key(place);
        }
        self
    }

    /// How a start is found for an [`expression`](Model::expression): called with points that this
    /// model alone describes, it returns one value per parameter. For a composite it has no effect.
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

    /// The same model with `prefix` before all names of its parameters.
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

    /// This model with the value of `inner` in the place of its independent variable.
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

    /// Runs through the steps with a stack. `None` for a model without steps.
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

    /// The parameters' names with their prefixes, in the order in which values are given.
    pub fn parameters(&self) -> Vec<String> {
        self.leaves().flat_map(|leaf| leaf.full_names()).collect()
    }

    /// Lower and upper bounds of the parameters, in order; ±∞ for none.
    pub fn bounds(&self) -> Vec<(f64, f64)> {
        self.leaves().flat_map(|leaf| leaf.parameters.iter().map(|(_, bounds)| *bounds)).collect()
    }

    /// Names and formulas of what follows from the parameters: `g1_fwhm`, `g1_height`.
    pub fn derived(&self) -> Vec<(String, String)> {
        self.leaves().flat_map(|leaf| leaf.full_derived()).collect()
    }

    /// The independent variables, in the order of the data's columns; none for a model with a fault.
    pub fn variables(&self) -> Vec<String> {
        Assembled::of(self).map_or_else(|_| Vec::new(), |assembled| assembled.variables)
    }

    /// The whole formula over the names with prefixes, which [`CurveFit::parse`] reads.
    ///
    /// # Errors
    /// As [`curve`](Model::curve).
    pub fn formula(&self) -> Result<String> {
        Ok(Assembled::of(self)?.formula)
    }

    /// A start for all parameters, found in the data: one value per parameter, in order. NaN for
    /// those of an [`expression`](Model::expression) without an estimate.
    ///
    /// # Errors
    /// As [`curve`](Model::curve), and what is wrong with the data, as
    /// [`CurveFit::fit`] finds it.
    pub fn guess<'a>(&self, data: impl Into<Data<'a>>) -> Result<Vec<f64>> {
        let data = data.into();
        let assembled = Assembled::of(self)?;
        let points = Points::validate(&data)?;
        Ok(assembled.start(&Observations::of(&points), &Known::within(self.bounds())))
    }

    /// The model as it is fitted: with names, bounds, guess and derived quantities.
    ///
    /// # Errors
    /// [`Error::Model`](crate::Error::Model) if the composite makes no sense: two parameters of one
    /// name, a prefix that is no name, a model of several variables that is nested.
    /// [`Error::Parse`](crate::Error::Parse) if it is nested too deeply.
    pub fn curve(&self) -> Result<CurveFit> {
        let assembled = Assembled::of(self)?;
        let mut curve = CurveFit::of_expression(&assembled.expression, self.parameters())?;
        curve = curve.sum_of(self.terms()?).bounds(self.bounds());
        let derived = self.derived();
        for (name, formula) in &derived {
            curve = curve.derive(name, formula);
        }
        curve.derived_by_model = derived.len();
        Ok(curve.guess_knowing(move |points, known| assembled.start(points, known)))
    }
}

impl From<&Model> for CurveFit {
    /// As [`Model::curve`]; what is wrong with the model is reported by the fit.
    fn from(model: &Model) -> CurveFit {
        model.curve().unwrap_or_else(|error| CurveFit::senseless(error, model.parameters()))
    }
}

impl From<Model> for CurveFit {
    /// As [`Model::curve`]; what is wrong with the model is reported by the fit.
    fn from(model: Model) -> CurveFit {
        CurveFit::from(&model)
    }
}

/// The four operations, between models and with numbers.
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

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Model({self})")
    }
}

/// As [`models::parse`](super::parse) reads it: `gaussian(g1_) + linear(bg_)`. Formulas of one's own
/// are shown in parentheses.
impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::assemble::shown(self))
    }
}
