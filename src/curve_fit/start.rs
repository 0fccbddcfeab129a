//! Where a fit begins: what the caller gives of it, and how the rest is found.

use super::CurveFit;
use crate::backend::cpu::Cpu;
use crate::backend::{Backend, Evaluator};
use crate::data::Data;
use crate::data::estimator::Estimator;
use crate::data::loss::Loss;
use crate::data::observations::Observations;
use crate::data::points::Points;
use crate::error::names::position;
use crate::error::{Error, Result, StartError, TieError};
use crate::fit::engine::Spent;
use crate::fit::linear_start::solved;
use crate::model::linear::Conflicts;
use crate::model::native::Model;
use crate::model::program::panic_message;
use crate::observe::span;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Where a fit begins: values for all parameters, for some of them by name, or for none.
///
/// Arrays, slices and vectors of numbers, one per parameter in the model's order, and of pairs of a
/// name and a number convert into it. What is not given is found, in this order:
///
/// 1. a parameter that equal bounds keep has their value;
/// 2. the model's [`guess`](CurveFit::guess), if it has one, is asked; a value outside the bounds is
///    moved onto the nearest;
/// 3. parameters in which the model is linear, as the data and the program show, are solved for by
///    linear least squares, the others at their starts, within the bounds;
/// 4. what is left has no start: [`StartError::Unknown`] names it.
///
/// If linear parameters were solved for and the fit does not converge from there, a search in the
/// nonlinear ones alone (variable projection) goes on from their starts, and the fit is made once more
/// from its end; [`Options`](crate::Options) that limit evaluations or time forbid that.
///
/// ```
/// use dualfit::{CurveFit, Data, Start};
/// let x: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
/// let y: Vec<f64> = x.iter().map(|x| 40.0 * (-0.7 * x).exp() + 3.0).collect();
/// let decay = CurveFit::parse("a*exp(-b*x) + c", ["x"])?;
/// let data = Data::new(&x, &y)?;
///
/// let complete = decay.fit(data.clone(), [30.0, 1.0, 0.0])?;
/// let by_name = decay.fit(data.clone(), [("b", 1.0)])?; // a and c: one linear solve
/// assert!((by_name.params()[0] - complete.params()[0]).abs() < 1e-9);
/// let error = decay.fit(data, Start::Guess).unwrap_err(); // nothing says where b is
/// assert!(error.to_string().starts_with("no start is known for b"));
/// # Ok::<(), dualfit::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// One value per parameter, in the model's order.
    Values(Vec<f64>),
    /// Values of some parameters, by name.
    Named(Vec<(String, f64)>),
    /// Nothing is known.
    Guess,
}

/// A complete start.
pub(super) struct Found {
    /// One per parameter.
    pub(super) values: Vec<f64>,
    /// Positions of the parameters that were solved for.
    pub(super) solved: Vec<usize>,
    /// How long it took to find what was not given.
    pub(super) took: Duration,
}

impl Found {
    /// A start that was complete.
    fn given(values: Vec<f64>) -> Found {
        Found { values, solved: Vec::new(), took: Duration::ZERO }
    }
}

impl CurveFit {
    /// The start that [`fit`](CurveFit::fit) begins with, one value per parameter: what `start` gives,
    /// the rest as it is found. For [`fit_stream`](CurveFit::fit_stream) and batches, which take
    /// complete starts: of a part of the data, say.
    ///
    /// # Errors
    /// As [`fit`](CurveFit::fit), as far as they are seen before it.
    pub fn start(&self, data: Data<'_>, start: impl Into<Start>) -> Result<Vec<f64>> {
        let start = start.into();
        self.accepts(data.columns.len(), &start)?;
        let points = self.validate(&data)?;
        self.found(&start, &points).map(|found| found.values)
    }

    /// The parameters, of those that are free, in which the model is linear together when the others
    /// are given: they need no start. The largest such set that is easily found, in the model's order;
    /// none of a native model.
    ///
    /// ```
    /// let decay = dualfit::CurveFit::parse("a*exp(-b*x) + c", ["x"])?;
    /// assert_eq!(decay.linear_parameters()?, ["a", "c"]);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// What is wrong with the model or with what was said of its parameters.
    pub fn linear_parameters(&self) -> Result<Vec<&str>> {
        self.check()?;
        let free = self.free_positions();
        let linear = self.linear_among(&free, |_| 0)?;
        Ok(linear.into_iter().map(|i| self.names[i].as_str()).collect())
    }

    fn linear_among(&self, free: &[usize], class: impl Fn(usize) -> usize) -> Result<Vec<usize>> {
        match &self.effective_model()? {
            Model::Traced(program) => Ok(Conflicts::of(program).affine(free, class)),
            Model::Native(_) => Ok(Vec::new()),
        }
    }

    /// What of a start can be said to be wrong before the data are seen.
    pub(super) fn check_start(&self, start: &Start) -> Result<()> {
        match start {
            Start::Values(values) => self.checked_start(values).map(|_| ()),
            Start::Named(_) => self.given(start).map(|_| ()),
            Start::Guess => Ok(()),
        }
    }

    /// A complete start, one value per parameter. `points` count as the estimator says.
    pub(super) fn found(&self, start: &Start, points: &Points<'_>) -> Result<Found> {
        if let Start::Values(values) = start {
            return Ok(Found::given(self.checked_start(values)?));
        }
        let mut found = self.given(start)?;
        for (i, value) in found.iter_mut().enumerate() {
            let (lower, upper) = self.bounds[i];
            match value {
                None if self.is_tied(i) => *value = Some(f64::NAN),
                None if lower == upper => *value = Some(lower),
                _ => {}
            }
        }
        if found.iter().all(Option::is_some) {
            return Ok(Found::given(self.completed(found.into_iter().flatten().collect())?));
        }
        let begun = Instant::now();
        let _span = span!(DEBUG, "start", points = points.used);
        let guessed = self.guessed(points)?;
        let is_known = |i: usize| guessed[i].is_some();
        let missing: Vec<usize> = (0..found.len()).filter(|&i| found[i].is_none()).collect();
        if let Some(&i) = missing.iter().find(|&&i| self.fixed[i] && !is_known(i)) {
            return Err(StartError::FixedWithoutValue { name: self.names[i].clone() }.into());
        }
        let moving: Vec<usize> = missing.iter().copied().filter(|&i| !self.fixed[i]).collect();
        // Where two exclude each other, the one without a guess needs the solve more.
        let linear = self.linear_among(&moving, |i| usize::from(is_known(i)))?;
        let unknown = missing.iter().filter(|&&i| !is_known(i) && !linear.contains(&i));
        let names: Vec<String> = unknown.map(|&i| self.names[i].clone()).collect();
        if !names.is_empty() {
            return Err(StartError::Unknown { names }.into());
        }
        let value = |(i, given): (usize, Option<f64>)| {
            given.or(guessed[i]).unwrap_or_else(|| self.inside(i, 0.0))
        };
        let begin = self.completed(found.into_iter().enumerate().map(value).collect())?;
        let (values, solved) = self.with_linear_solved(begin, &linear, &guessed, points)?;
        Ok(Found { values, solved, took: begun.elapsed() })
    }

    /// The values that are given by name.
    fn given(&self, start: &Start) -> Result<Vec<Option<f64>>> {
        let mut given = vec![None; self.names.len()];
        let Start::Named(pairs) = start else { return Ok(given) };
        for (name, value) in pairs {
            let i = position(&self.names, name, "correct the name in the start")?;
            if let Some(tie) = self.ties.iter().find(|tie| tie.name == *name) {
                let (besides, remedy) = ("has a value in the start", "leave that out");
                return Err(TieError::besides(name, &tie.text, besides, remedy).into());
            }
            if given[i].is_some() {
                return Err(StartError::GivenTwice { name: name.clone() }.into());
            }
            given[i] = Some(self.checked_value(i, *value)?);
        }
        Ok(given)
    }

    /// The model's own guess inside the bounds, for each parameter, where it has one.
    fn guessed(&self, points: &Points<'_>) -> Result<Vec<Option<f64>>> {
        let Some(guess) = &self.guess else { return Ok(vec![None; self.names.len()]) };
        let seen = Observations::of(points);
        let values = catch_unwind(AssertUnwindSafe(|| guess(&seen)));
        let values = values.map_err(|panic| Error::ModelPanicked {
            message: panic_message(&*panic),
            place: "its guess of a start; give a complete start, or mend the guess".into(),
        })?;
        if values.len() != self.names.len() {
            return Err(Error::LengthMismatch {
                what: "guess".into(),
                expected: self.names.len(),
                got: values.len(),
                remedy: "return one value for each parameter, NaN for one that is not known",
            });
        }
        let inside = |(i, value): (usize, f64)| value.is_finite().then(|| self.inside(i, value));
        Ok(values.into_iter().enumerate().map(inside).collect())
    }

    /// The nearest value within the bounds of parameter `i`.
    fn inside(&self, i: usize, value: f64) -> f64 {
        value.clamp(self.bounds[i].0, self.bounds[i].1)
    }

    /// The start with the `linear` parameters solved for, and which of them were.
    fn with_linear_solved(
        &self,
        begin: Vec<f64>,
        linear: &[usize],
        guessed: &[Option<f64>],
        points: &Points<'_>,
    ) -> Result<(Vec<f64>, Vec<usize>)> {
        let unused = self.unused(&self.effective_model()?, &[])?;
        let solve: Vec<usize> = linear.iter().copied().filter(|&i| !unused[i]).collect();
        if solve.is_empty() {
            return Ok((begin, solve));
        }
        let fixed = (0..self.names.len()).map(|i| !solve.contains(&i)).collect();
        let mut inner = CurveFit { fixed, ..self.plain() }.changed();
        let counts = points.as_measurements();
        let measured = counts.as_ref().unwrap_or(points);
        let solved_by = |inner: &CurveFit| {
            let begin = begin.clone();
            inner.request(measured, begin, None, Spent::default(), |request| solved(&request))
        };
        let mut values = solved_by(&inner)?;
        if self.estimator == Estimator::Poisson && inner.has_bad_count(&values, points)? {
            // Expected counts below zero: sums of what is positive are not negative.
            for &i in &solve {
                let (lower, upper) = &mut inner.bounds[i];
                *lower = lower.max(upper.min(0.0));
            }
            values = solved_by(&inner.changed())?;
        }
        for &i in &solve {
            // What has no effect at the start had better have some size when it gets one.
            if values[i] == 0.0 && guessed[i].is_none() {
                values[i] = self.inside(i, 1.0);
            }
        }
        Ok((self.completed(values)?, solve))
    }

    /// The same model for searches on the way to a start. A robust loss has no linear solve; a plain
    /// one is a start for it as for counts.
    pub(super) fn plain(&self) -> CurveFit {
        CurveFit {
            loss: Loss::Linear,
            estimator: Estimator::LeastSquares,
            backend: Backend::Cpu,
            observer: None,
            underdetermined: true,
            ..self.clone()
        }
    }

    /// Whether the model is no expectation of the counts somewhere.
    fn has_bad_count(&self, start: &[f64], points: &Points<'_>) -> Result<bool> {
        let ready = self.ready(&self.free_positions())?;
        let mut counts = Cpu::new(&ready.prepared, points, Loss::Linear, start);
        Ok(counts.first_bad_point(start).is_some())
    }
}

impl From<Vec<f64>> for Start {
    fn from(values: Vec<f64>) -> Start {
        Start::Values(values)
    }
}

impl From<&Vec<f64>> for Start {
    fn from(values: &Vec<f64>) -> Start {
        Start::Values(values.clone())
    }
}

impl From<&[f64]> for Start {
    fn from(values: &[f64]) -> Start {
        Start::Values(values.to_vec())
    }
}

impl<const N: usize> From<[f64; N]> for Start {
    fn from(values: [f64; N]) -> Start {
        Start::Values(values.to_vec())
    }
}

impl<const N: usize> From<&[f64; N]> for Start {
    fn from(values: &[f64; N]) -> Start {
        Start::Values(values.to_vec())
    }
}

impl From<Vec<(String, f64)>> for Start {
    fn from(pairs: Vec<(String, f64)>) -> Start {
        Start::Named(pairs)
    }
}

impl From<&[(&str, f64)]> for Start {
    fn from(pairs: &[(&str, f64)]) -> Start {
        Start::Named(pairs.iter().map(|&(name, value)| (name.to_owned(), value)).collect())
    }
}

impl From<Vec<(&str, f64)>> for Start {
    fn from(pairs: Vec<(&str, f64)>) -> Start {
        pairs.as_slice().into()
    }
}

impl<const N: usize> From<[(&str, f64); N]> for Start {
    fn from(pairs: [(&str, f64); N]) -> Start {
        pairs.as_slice().into()
    }
}

impl<const N: usize> From<&[(&str, f64); N]> for Start {
    fn from(pairs: &[(&str, f64); N]) -> Start {
        pairs.as_slice().into()
    }
}
