//! What may be said of a model's parameters: names, bounds, which are fixed.

use super::CurveFit;
use crate::data::estimator::Estimator;
use crate::data::loss::Loss;
use crate::error::names::{check_distinct, check_shown, position};
use crate::error::{Error, Result};
use crate::model::native::Model;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

impl CurveFit {
    /// Names the parameters, in order; `p0, p1, …` otherwise.
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

    /// Keeps a parameter within a range: `0.0..=1.0`, `0.0..`, `..5.0`. The ends belong to it.
    #[must_use]
    pub fn bound(mut self, name: &str, range: impl RangeBounds<f64>) -> CurveFit {
        if let Some(i) = self.find(name) {
            self.bounds[i] = ends(&range);
            self.bounded[i] = true;
        }
        self.changed()
    }

    /// Lower and upper bounds of all parameters, in order; ±∞ for none. Those of tied ones are not used.
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
        self.changed()
    }

    /// Keeps a parameter at its start.
    #[must_use]
    pub fn fix(mut self, name: &str) -> CurveFit {
        if let Some(i) = self.find(name) {
            self.fixed[i] = true;
        }
        self.changed()
    }

    /// Lets a fixed parameter move again.
    #[must_use]
    pub fn free(mut self, name: &str) -> CurveFit {
        if let Some(i) = self.find(name) {
            self.fixed[i] = false;
        }
        self.changed()
    }

    /// The parameters' names, in order.
    pub fn parameters(&self) -> &[String] {
        &self.names
    }

    /// Everything that can be wrong without looking at data or start.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(error) = &self.refused {
            return Err(error.clone());
        }
        if self.names.is_empty() {
            return Err(Error::NoParameters);
        }
        check_shown(&self.names)?;
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

    /// A complete start, inside the bounds; tied parameters have their values, whatever was given.
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

    /// The start of parameter `i`, inside its bounds.
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

    /// The position of a parameter; an unknown name is remembered as an error.
    pub(super) fn find(&mut self, name: &str) -> Option<usize> {
        let found = position(&self.names, name, "names come before what is said of them");
        found.map_err(|error| self.refuse(error)).ok()
    }

    pub(super) fn refuse(&mut self, error: Error) {
        self.refused.get_or_insert(error);
    }
}

/// The ends of a range, both taken to belong to it; ±∞ for open ones.
pub(super) fn ends(range: &impl RangeBounds<f64>) -> (f64, f64) {
    let end = |bound: Bound<&f64>, open: f64| match bound {
        Bound::Included(&v) | Bound::Excluded(&v) => v,
        Bound::Unbounded => open,
    };
    (end(range.start_bound(), f64::NEG_INFINITY), end(range.end_bound(), f64::INFINITY))
}
