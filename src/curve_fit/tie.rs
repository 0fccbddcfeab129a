//! Parameters that follow from others.

use super::CurveFit;
use crate::error::Result;
use crate::error::TieError;
use crate::model::Expression;
use crate::model::native::Model;
use crate::model::ties::{Tie, Ties};
use crate::solver::observe::{Event, Observe, Observer, Progress};
use std::ops::ControlFlow;
use std::sync::Arc;

impl CurveFit {
    /// Ties a parameter to others: `.tie("sigma2", "2*sigma1")`. The formula is read as by
    /// [`parse`](CurveFit::parse), over the names of the parameters; it may name other tied ones.
    ///
    /// The formula takes the parameter's place in the model, with exact partials, on every backend. A
    /// tied parameter is not estimated and takes no degree of freedom; a fit has its value, and its
    /// error and correlations as they follow from those of the others. It has no start: a value in a
    /// complete one is not looked at, and bounds that its model came with do not hold. What is wrong with ties, [`fit`](CurveFit::fit) reports: unknown
    /// names, a circle, a tied parameter that is fixed or was given bounds by name.
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

    /// Takes bounds off tied parameters that came with the model or with those of all; bounds that were
    /// said of one of them are an error.
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

    /// The ties in the order of their evaluation.
    pub(super) fn placed_ties(&self) -> Result<Ties> {
        Ties::among(&self.names, &self.ties)
    }

    /// The model with the formulas of tied parameters in their places.
    pub(super) fn effective_model(&self) -> Result<Model> {
        let model = self.model.as_ref().map_err(Clone::clone)?;
        match self.ties.is_empty() {
            true => Ok(model.clone()),
            false => self.placed_ties()?.substituted(model),
        }
    }

    /// # Errors
    /// What is wrong with the ties, alone or together with what else was said of their parameters.
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

    /// A start with the values of tied parameters.
    pub(super) fn completed(&self, mut start: Vec<f64>) -> Result<Vec<f64>> {
        if !self.ties.is_empty() {
            self.placed_ties()?.complete(&mut start);
        }
        Ok(start)
    }
}

/// Who watches, told the values of tied parameters with the others.
pub(super) fn told_of_ties(observer: Arc<Observer>, ties: &Arc<Ties>) -> Arc<Observer> {
    match ties.is_empty() {
        true => observer,
        false => Arc::new(Completing { observer, ties: ties.clone() }),
    }
}

/// An observer that sees complete parameters.
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
