//! Settings of a model's parameters: names, bounds, typical sizes, fixed and tied parameters, and derived
//! quantities.

use super::CurveFit;
use crate::data::loss::{Estimator, Loss};
use crate::data::points::Observations;
use crate::error::names::{NameError, SettingError, check_distinct, check_shown, position};
use crate::error::{Error, Result, TieError};
use crate::model::Expression;
use crate::model::native::Model;
use crate::model::parse::is_name;
use crate::model::ties::Known;
use crate::model::ties::{Tie, Ties};
use crate::setters::ends;
use crate::solver::observe::{Event, Observe, Observer, Progress};
use std::ops::{ControlFlow, RangeBounds};
use std::sync::Arc;

impl CurveFit {
    /// Sets the names of the parameters, in order; `p0, p1, …` by default.
    #[must_use]
    pub fn names<S: AsRef<str>>(mut self, names: impl AsRef<[S]>) -> CurveFit {
        let names: Vec<String> = names.as_ref().iter().map(|n| n.as_ref().to_owned()).collect();
        if names.len() != self.names.len() {
            let remedy = "give one name for each parameter";
            let (what, expected, got) = ("names".to_owned(), self.names.len(), names.len());
            self.refuse(Error::LengthMismatch { what, expected, got, remedy });
            return self;
        }
        if let Err(error) = check_distinct(&names) {
            self.refuse(error);
        }
        if let Ok(Model::Traced(program)) = &mut self.model {
            Arc::make_mut(program).params.clone_from(&names);
        }
        self.names = names;
        self.changed()
    }

    /// Keeps a parameter within a range: `0.0..=1.0`, `0.0..`, `..5.0`. Both ends belong to the range.
    #[must_use]
    pub fn bound(mut self, name: &str, range: impl RangeBounds<f64>) -> CurveFit {
        if let Some(i) = self.find(name) {
            self.bounds[i] = ends(&range);
            self.bounded[i] = true;
        }
        self.changed_in_place()
    }

    /// Sets lower and upper bounds of all parameters, in order; ±∞ means no bound. Bounds of tied parameters are
    /// ignored.
    #[must_use]
    pub fn bounds(mut self, bounds: impl AsRef<[(f64, f64)]>) -> CurveFit {
        let bounds = bounds.as_ref();
        if bounds.len() == self.names.len() {
            self.bounds = bounds.to_vec();
            self.bounded.fill(false);
            self.unbind_tied();
        } else {
            let (expected, got) = (self.names.len(), bounds.len());
            let remedy = "one pair of lower and upper bound per parameter";
            self.refuse(Error::LengthMismatch { what: "bounds".into(), expected, got, remedy });
        }
        self.changed_in_place()
    }

    /// Fixes a parameter at its starting value.
    #[must_use]
    pub fn fix(mut self, name: &str) -> CurveFit {
        if let Some(i) = self.find(name) {
            self.fixed[i] = true;
        }
        self.changed_in_place()
    }

    /// Makes a fixed parameter free again.
    #[must_use]
    pub fn free(mut self, name: &str) -> CurveFit {
        if let Some(i) = self.find(name) {
            self.fixed[i] = false;
        }
        self.changed_in_place()
    }

    /// Returns the names of the parameters, in order.
    pub fn parameters(&self) -> &[String] {
        &self.names
    }

    /// Performs all checks that do not depend on data or starting point.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(error) = &self.refused {
            return Err(error.clone());
        }
        if self.names.is_empty() {
            return Err(Error::NoParameters);
        }
        check_shown(&self.names)?;
        if let Some(name) = self.names.iter().find(|name| !is_name(name)) {
            return Err(NameError::NotAWord { name: name.clone() }.into());
        }
        for (name, &(lower, upper)) in self.names.iter().zip(&self.bounds) {
            for (what, value) in [("lower bound", lower), ("upper bound", upper)] {
                let beyond = if what == "lower bound" { f64::INFINITY } else { f64::NEG_INFINITY };
                if value.is_nan() || value == beyond {
                    return Err(Error::NonFiniteParameter { what, name: name.clone(), value });
                }
            }
            if lower > upper {
                return Err(Error::BoundsOrder { name: name.clone(), lower, upper });
            }
        }
        if self.estimator == Estimator::Poisson && self.loss != Loss::Linear {
            return Err(Error::NotForCounts { what: "robust loss" });
        }
        self.check_ties()?;
        self.check_derived()?;
        self.loss.validate()?;
        self.options.validate()
    }

    /// Returns a complete start inside the bounds; tied parameters have the values of their formulas.
    pub(super) fn checked_start(&self, start: &[f64]) -> Result<Vec<f64>> {
        if start.len() != self.names.len() {
            let (expected, got) = (self.names.len(), start.len());
            return Err(Error::ParameterCount { expected, got, names: self.names.clone() });
        }
        let value = |(i, &value)| match self.is_tied(i) {
            true => Ok(f64::NAN),
            false => self.checked_value(i, value),
        };
        self.completed(start.iter().enumerate().map(value).collect::<Result<_>>()?)
    }

    /// Checks a starting value of parameter `i` and returns it inside the bounds.
    pub(super) fn checked_value(&self, i: usize, value: f64) -> Result<f64> {
        let (name, (lower, upper)) = (&self.names[i], self.bounds[i]);
        if !value.is_finite() {
            let name = name.clone();
            return Err(Error::NonFiniteParameter { what: "start", name, value });
        }
        if self.clamp_start {
            return Ok(value.clamp(lower, upper));
        }
        if !(lower..=upper).contains(&value) {
            let name = name.clone();
            return Err(Error::StartOutOfBounds { name, value, lower, upper });
        }
        Ok(value)
    }

    /// Returns the position of a parameter; an unknown name is stored as an error.
    pub(super) fn find(&mut self, name: &str) -> Option<usize> {
        let remedy =
            "correct the name, or call `names` before bounds, ties and other parameter settings";
        let found = position(&self.names, name, remedy);
        found.map_err(|error| self.refuse(error)).ok()
    }

    pub(super) fn refuse(&mut self, error: Error) {
        self.refused.get_or_insert(error);
    }
}

impl CurveFit {
    /// Sets the typical size of a parameter, a positive number. This is useful if the starting value is 0 or differs
    /// from the result by orders of magnitude.
    ///
    /// If a native model has no partials of its own, they are computed by differences. The step is proportional to the
    /// magnitude of the parameter's current value, but at least to a thousandth of the typical size. If the value is 0,
    /// it is proportional to the typical size. By default, the typical size is the magnitude of the start, or 1 if
    /// the starting value is 0.
    ///
    /// If the linear parameters of the start were solved for (see [`Start`](crate::Start)) and the fit does not
    /// converge, a further search varies the nonlinear parameters. It changes each of them by fractions of its value or
    /// of its typical size, whichever is larger.
    ///
    /// The typical size has no other effect: traced models have exact partials, and the solver scales parameters by
    /// their effect on the points.
    ///
    /// ```
    /// let line = dualfit::CurveFit::native(2, |x: f64, p: &[f64]| p[0] * (x - p[1]))
    ///     .names(["slope", "shift"])
    ///     .scale("shift", 1e-9);
    /// ```
    #[must_use]
    pub fn scale(mut self, name: &str, magnitude: f64) -> CurveFit {
        let Some(i) = self.find(name) else { return self };
        if !(magnitude > 0.0 && magnitude.is_finite()) {
            let (what, name, value) = ("scale", name.to_owned(), magnitude);
            let requirement = "positive and finite";
            self.refuse(SettingError { what, name, value, requirement }.into());
            return self;
        }
        self.scales[i] = magnitude;
        if let Ok(Model::Native(native)) = &mut self.model {
            native.scales[i] = magnitude;
        }
        self.changed()
    }
}

impl CurveFit {
    /// Sets the function that computes an initial guess. It receives the used points and returns one value per
    /// parameter; NaN stands for an unknown value.
    #[must_use]
    pub fn guess(
        self,
        guess: impl Fn(&Observations) -> Vec<f64> + Send + Sync + 'static,
    ) -> CurveFit {
        CurveFit { guessed_by_caller: true, ..self.guess_knowing(move |points, _| guess(points)) }
    }

    /// Sets the guess function that comes with a model. It also receives the known values and bounds of all parameters.
    pub(crate) fn guess_knowing(
        mut self,
        guess: impl Fn(&Observations, &Known) -> Vec<f64> + Send + Sync + 'static,
    ) -> CurveFit {
        self.guess = Some(Arc::new(guess));
        self
    }

    /// Adds a derived quantity, which is computed from the parameters and reported with its error: `.derive("fwhm",
    /// "2*sqrt(2*ln(2))*sigma")`. The syntax of the formula is that of [`parse`](CurveFit::parse). It can contain the
    /// names of all parameters, including tied and fixed ones, and of other derived quantities, in any order.
    /// [`Fit::quantity`](crate::Fit::quantity) returns the value and the error.
    ///
    /// [`fit`](CurveFit::fit) returns an error if a formula cannot be parsed, contains a name that is neither a
    /// parameter nor a derived quantity, or depends on its own quantity. The name of a quantity must not be the name of
    /// a parameter or of another quantity.
    #[must_use]
    pub fn derive(mut self, name: &str, formula: &str) -> CurveFit {
        if let Err(error) = self.add_derived(name, formula) {
            self.refuse(error);
        }
        self
    }

    /// Adds a derived quantity. Its formula is stored in terms of parameters only.
    fn add_derived(&mut self, name: &str, formula: &str) -> Result<()> {
        let formula = Expression::parse(formula, &[])?.substituted(&self.derived)?;
        let is_parameter = self.names.iter().any(|known| known == name);
        if !is_parameter && formula.parameters().iter().any(|used| used == name) {
            return Err(NameError::Circular { name: name.to_owned() }.into());
        }
        let added = [(name.to_owned(), formula)];
        if !is_parameter {
            for (_, other) in &mut self.derived {
                *other = other.substituted(&added)?;
            }
        }
        self.derived.extend(added);
        Ok(())
    }

    /// Checks names and formulas of derived quantities.
    ///
    /// # Errors
    /// [`Error::Name`](crate::Error::Name) if the name of a quantity is the name of a parameter or of an earlier
    /// quantity, or cannot be printed; [`Error::UnknownParameter`](crate::Error::UnknownParameter) if a formula
    /// contains a name that is not a parameter.
    pub(super) fn check_derived(&self) -> Result<()> {
        check_shown(self.derived.iter().map(|(name, _)| name))?;
        for (i, (name, _)) in self.derived.iter().enumerate() {
            let taken = if self.names.contains(name) {
                "a parameter"
            } else if self.derived[..i].iter().any(|(other, _)| other == name) {
                "another one"
            } else {
                continue;
            };
            let remedy = "give the derived quantity a name of its own";
            return Err(NameError::taken(name, "a derived quantity", taken, remedy));
        }
        for name in self.derived.iter().flat_map(|(_, formula)| formula.parameters()) {
            position(&self.names, name, "correct the formula of the derived quantity")?;
        }
        Ok(())
    }
}

impl CurveFit {
    /// Ties a parameter to other parameters: `.tie("sigma2", "2*sigma1")`. The syntax of the formula is that of
    /// [`parse`](CurveFit::parse). It can contain the names of all parameters, including other tied parameters and
    /// those added by [`parameter`](CurveFit::parameter).
    ///
    /// The formula replaces the parameter in the model, with exact partials, on every backend. A tied parameter is not
    /// estimated and uses no degree of freedom. The result of a fit contains the value of the tied parameter; its
    /// error and correlations follow from the other parameters. It has no starting value: its value in a complete start
    /// is ignored, and bounds of the model do not apply. [`fit`](CurveFit::fit) reports errors in ties: unknown names,
    /// a circular definition, or a tied parameter that is fixed or has bounds set by name.
    ///
    /// ```
    /// use dualfit::{CurveFit, Data};
    /// # let x: Vec<f64> = (0..90).map(|i| 0.1 * f64::from(i)).collect();
    /// # let peak = |x: f64, m: f64, s: f64| (-((x - m) / s).powi(2)).exp();
    /// # let y: Vec<f64> = x.iter().map(|&x| 3.0 * peak(x, 2.0, 0.5) + peak(x, 6.0, 1.0)).collect();
    /// let peaks = CurveFit::parse("a*exp(-((x-m)/s)^2) + b*exp(-((x-n)/t)^2)", ["x"])?
    ///     .tie("t", "2*s")
    ///     .tie("n", "3*m");
    /// let fit = peaks.fit(Data::new(&x, &y)?, [("m", 1.9), ("s", 0.6)])?;
    /// assert_eq!(fit.param("t").unwrap(), 2.0 * fit.param("s").unwrap());
    /// println!("{fit}"); // t: == 2*s
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    #[must_use]
    pub fn tie(mut self, name: &str, formula: &str) -> CurveFit {
        match Expression::parse(formula, &[]) {
            Ok(expression) => {
                let (name, text) = (name.to_owned(), formula.trim().to_owned());
                self.ties.push(Tie { name, text, expression });
            }
            Err(error) => self.refuse(error),
        }
        self.unbind_tied();
        self.changed()
    }

    /// Adds a parameter that the model does not contain but that formulas of [ties](CurveFit::tie) use. An example is
    /// `t2 = t1 + d`, where the distance d has a start and bounds. Its position is after the parameters of the model.
    ///
    /// ```
    /// use dualfit::{CurveFit, Data};
    /// # let x: Vec<f64> = (0..90).map(|i| 0.1 * f64::from(i)).collect();
    /// # let y: Vec<f64> = x.iter().map(|x| 3.0 * (-x / 0.5).exp() + 2.0 * (-x / 2.5).exp()).collect();
    /// let decays = CurveFit::parse("a1*exp(-x/t1) + a2*exp(-x/t2)", ["x"])?
    ///     .parameter("d")
    ///     .bound("d", 0.0..)
    ///     .tie("t2", "t1 + d");
    /// let fit = decays.fit(Data::new(&x, &y)?, [("t1", 1.0), ("d", 1.0)])?;
    /// assert!((fit.param("d").unwrap() - 2.0).abs() < 1e-6);
    /// assert_eq!(fit.param("t2").unwrap(), fit.param("t1").unwrap() + fit.param("d").unwrap());
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// [`fit`](CurveFit::fit) returns an error if the model already has a parameter with this name, and a warning if no
    /// tie uses the added parameter.
    #[must_use]
    pub fn parameter(mut self, name: &str) -> CurveFit {
        if self.names.iter().any(|known| known == name) {
            let remedy = "give the added one a name of its own";
            self.refuse(NameError::taken(name, "a parameter of the model", "an added one", remedy));
            return self;
        }
        self.add_parameter(name);
        // The guess of a library model has a value for each parameter, the added ones, too.
        if self.guessed_by_caller
            && let Some(guess) = self.guess.take()
        {
            let of_model = move |points: &Observations, known: &Known| {
                let mut values = guess(points, known);
                values.push(f64::NAN);
                values
            };
            self.guess = Some(Arc::new(of_model));
        }
        self.changed()
    }

    /// Appends a free parameter that the model's formula does not contain.
    pub(super) fn add_parameter(&mut self, name: &str) {
        self.names.push(name.to_owned());
        self.bounds.push((f64::NEG_INFINITY, f64::INFINITY));
        self.bounded.push(false);
        self.fixed.push(false);
        self.scales.push(f64::NAN);
        if let Ok(model) = &mut self.model {
            *model = model.clone().with_parameter(name);
        }
    }

    /// Removes the bounds of tied parameters if the model set them or if [`bounds`](CurveFit::bounds) did. Bounds that
    /// were set by name stay; [`check_ties`](CurveFit::check_ties) reports them as an error.
    pub(super) fn unbind_tied(&mut self) {
        for i in 0..self.names.len() {
            if self.is_tied(i) && !self.bounded[i] {
                self.bounds[i] = (f64::NEG_INFINITY, f64::INFINITY);
            }
        }
    }

    pub(super) fn is_tied(&self, i: usize) -> bool {
        self.ties.iter().any(|tie| tie.name == self.names[i])
    }

    /// Returns the formulas of tied parameters in terms of parameters that are not tied.
    pub(super) fn tied_expressions(&self) -> Result<Vec<(String, Expression)>> {
        let mut flat: Vec<(String, Expression)> = Vec::with_capacity(self.ties.len());
        for tie in self.placed_ties()?.said() {
            let expression = tie.expression.substituted(&flat)?;
            flat.push((tie.name.clone(), expression));
        }
        Ok(flat)
    }

    /// Returns the ties in the order of their evaluation.
    pub(super) fn placed_ties(&self) -> Result<Ties> {
        Ties::among(&self.names, &self.ties)
    }

    /// Returns the model in which tied parameters are replaced by their formulas.
    pub(super) fn effective_model(&self) -> Result<Model> {
        let model = self.model.as_ref().map_err(Clone::clone)?;
        match self.ties.is_empty() {
            true => Ok(model.clone()),
            false => self.placed_ties()?.substituted(model),
        }
    }

    /// Checks the ties themselves, and that other settings of tied parameters do not contradict them.
    pub(super) fn check_ties(&self) -> Result<()> {
        if self.ties.is_empty() {
            return Ok(());
        }
        let ties = self.placed_ties()?;
        for i in ties.tied() {
            let name = self.names[i].clone();
            let formula = ties.formula(i).unwrap_or_default().to_owned();
            if self.fixed[i] {
                return Err(TieError::besides(
                    &name,
                    &formula,
                    "fixed",
                    "free it, or leave the tie out",
                )
                .into());
            }
            if self.bounds[i] != (f64::NEG_INFINITY, f64::INFINITY) {
                return Err(TieError::besides(
                    &name,
                    &formula,
                    "has bounds, which a tie does not keep",
                    "bound the parameters in its formula instead",
                )
                .into());
            }
        }
        Ok(())
    }

    /// Returns the start with the values of tied parameters filled in.
    pub(super) fn completed(&self, mut start: Vec<f64>) -> Result<Vec<f64>> {
        if !self.ties.is_empty() {
            self.placed_ties()?.complete(&mut start);
        }
        Ok(start)
    }
}

/// Returns an observer that also receives the values of tied parameters.
pub(super) fn told_of_ties(observer: Arc<Observer>, ties: &Arc<Ties>) -> Arc<Observer> {
    match ties.is_empty() {
        true => observer,
        false => Arc::new(Completing { observer, ties: ties.clone() }),
    }
}

/// An observer that completes the parameters with the values of tied parameters.
struct Completing {
    observer: Arc<Observer>,
    ties: Arc<Ties>,
}

impl Observe for Completing {
    fn tell(&self, event: &Event<'_>) -> ControlFlow<()> {
        let Event::Step(progress) = event else { return self.observer.tell(event) };
        let mut params = progress.params.to_vec();
        self.ties.complete(&mut params);
        self.observer.tell(&Event::Step(Progress { params: &params, ..*progress }))
    }

    fn is_cancelled(&self) -> bool {
        self.observer.is_cancelled()
    }
}
