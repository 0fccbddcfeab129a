//! Starting points of fits: the caller's values, and the computation of missing values.

use super::CurveFit;
use super::search::Search;
use crate::backend::Backend;
use crate::backend::cpu::Cpu;
use crate::curve_fit::ready::{CompleteStart, Ready};
use crate::curve_fit::search::options::SearchWhen;
use crate::data::Data;
use crate::data::loss::{Estimator, Loss};
use crate::data::points::Observations;
use crate::data::points::Points;
use crate::data::start::Start;
use crate::error::names::position;
use crate::error::{Error, Result, StartError, TieError};
use crate::fit::engine::{Spent, error_at_start};
use crate::fit::linear_start::solved;
use crate::host::Instant;
use crate::model::linear::Conflicts;
use crate::model::native::Model;
use crate::model::program::panic_message;
use crate::model::ties::Known;
use crate::observe::span;
use crate::solver::evaluator::Evaluator;
use crate::threads::lock;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

impl CurveFit {
    /// Returns the starting point of [`fit`](CurveFit::fit), one value per parameter: the values of `start`, and
    /// computed values for the other parameters. It can be used to inspect or plot the starting point, or to start many
    /// fits from the starting point of one fit.
    ///
    /// # Errors
    /// Errors of [`fit`](CurveFit::fit) that occur before the iteration.
    pub fn start<'a>(
        &self,
        data: impl Into<Data<'a>>,
        start: impl Into<Start>,
    ) -> Result<Vec<f64>> {
        let (data, start) = (data.into(), start.into());
        self.accepts(data.columns.len(), &start)?;
        let points = self.validate(&data)?;
        self.found(&start, &points).map(|found| found.values)
    }

    /// Returns the free parameters in which the model is linear while all other parameters are constant, in the order
    /// of the model. They need no start. The set is maximal and is found by a greedy algorithm; it is empty for a
    /// native model.
    ///
    /// ```
    /// let decay = dualfit::CurveFit::parse("a*exp(-b*x) + c", ["x"])?;
    /// assert_eq!(decay.linear_parameters()?, ["a", "c"]);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors in the model or in the settings of its parameters.
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

    /// Checks a start without the data.
    pub(super) fn check_start(&self, start: &Start) -> Result<()> {
        match start {
            Start::Values(values) => self.checked_start(values).map(|_| ()),
            Start::Named(_) => self.given(start).map(|_| ()),
            Start::Guess => Ok(()),
        }
    }

    /// Returns a complete start, one value per parameter. The estimator determines how `points` are weighted.
    pub(super) fn found(&self, start: &Start, points: &Points<'_>) -> Result<CompleteStart> {
        if let Start::Values(values) = start {
            return Ok(CompleteStart::given(self.checked_start(values)?));
        }
        Finder::new(self, start)?.found(points)
    }

    /// Checks that the model is finite at a start.
    ///
    /// # Errors
    /// [`Error::ModelNonFiniteAtStart`] and similar errors.
    pub(super) fn check_value(&self, start: &[f64], points: &Points<'_>) -> Result<()> {
        self.error_of_value(start, points)?.map_or(Ok(()), Err)
    }

    /// Returns the error if a value or partial of the model is not finite at a start.
    fn error_of_value(&self, start: &[f64], points: &Points<'_>) -> Result<Option<Error>> {
        let ready = self.ready(&self.free_positions())?;
        let prepared = ready.prepared(&points.x_sigma)?;
        let bad = Cpu::new(&prepared, points, Loss::Linear, start).first_bad_point(start);
        let error = |bad| error_at_start(&ready.model, &self.names, &prepared.free, start, bad);
        Ok(bad.map(error))
    }

    /// Returns the values that the caller set by name.
    pub(super) fn given(&self, start: &Start) -> Result<Vec<Option<f64>>> {
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

    /// Returns the initial guess of each parameter, inside the bounds. The guess function receives the given values.
    fn guessed(&self, points: &Points<'_>, given: &[Option<f64>]) -> Result<Vec<Option<f64>>> {
        let Some(guess) = &self.guess else { return Ok(vec![None; self.names.len()]) };
        let seen = Observations::of(points);
        let mut known = Known { ties: self.placed_ties()?, ..Known::within(self.bounds.clone()) };
        for (i, given) in given.iter().enumerate() {
            match given.filter(|given| given.is_finite()) {
                Some(given) if self.fixed[i] => known.limits[i] = (given, given),
                given => known.starts[i] = given,
            }
        }
        let values = catch_unwind(AssertUnwindSafe(|| guess(&seen, &known)));
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

    /// Returns the nearest value within the bounds of parameter `i`.
    pub(super) fn inside(&self, i: usize, value: f64) -> f64 {
        value.clamp(self.bounds[i].0, self.bounds[i].1)
    }

    /// Returns the model with linear loss and least squares, for the computation of a start. With a robust loss or
    /// Poisson counts, linear parameters cannot be solved for directly; the fit starts from the least-squares solution.
    pub(super) fn plain(&self) -> CurveFit {
        CurveFit {
            loss: Loss::Linear,
            estimator: Estimator::LeastSquares,
            backend: Backend::Cpu,
            observer: None,
            priors: Vec::new(),
            underdetermined: true,
            ..self.clone()
        }
    }
}

/// Finds the starts of fits of one model with the same given values.
pub(super) struct Finder<'c> {
    curve: &'c CurveFit,
    /// Values from the caller, or from bounds, ties and priors.
    given: Vec<Option<f64>>,
    solvers: Arc<Solvers>,
    /// If true, passes run on the calling thread.
    pub(super) on_one_thread: bool,
    /// Additional starts that a search fits, with one value per parameter each. Given and fixed parameters keep their
    /// values.
    pub(super) candidates: Vec<Vec<f64>>,
}

/// Cache of solvers of the linear parameters; see [`Missing`] for its key.
#[derive(Default)]
pub(super) struct Solvers(Mutex<HashMap<Missing, Arc<Solver>>>);

/// Key of [`Solvers`]: positions of the parameters that have no given value and are not fixed; for every parameter,
/// true if it has a guess.
type Missing = (Vec<usize>, Vec<bool>);

/// Solver of the linear parameters.
struct Solver {
    linear: Vec<usize>,
    /// Linear parameters that occur in the model. In `curve` only these are free.
    solved: Vec<usize>,
    curve: CurveFit,
}

impl Solver {
    fn ready(&self) -> Result<&Arc<Ready>> {
        self.curve.ready(&self.solved)
    }
}

/// An incomplete start: its linear parameters must be solved for, and unknown parameters must be searched.
pub(super) struct Begin {
    pub(super) values: Vec<f64>,
    solver: Arc<Solver>,
    guessed: Vec<Option<f64>>,
    /// Positions of the parameters that must be searched.
    pub(super) unknown: Vec<usize>,
    /// Additional starts that the search fits, with one value per parameter each.
    candidates: Vec<Vec<f64>>,
}

impl Begin {
    /// Returns the prepared model in which only the solved parameters are free.
    ///
    /// # Errors
    /// Errors in the model.
    pub(super) fn linear(&self) -> Result<&Arc<Ready>> {
        self.solver.ready()
    }
}

impl<'c> Finder<'c> {
    /// Creates a finder for these given values.
    ///
    /// # Errors
    /// Errors in the named values of `start`.
    pub(super) fn new(curve: &'c CurveFit, start: &Start) -> Result<Finder<'c>> {
        Finder::sharing(curve, start, &Arc::default())
    }

    /// Creates a finder with the cached solvers of another finder of the same model.
    pub(super) fn sharing(
        curve: &'c CurveFit,
        start: &Start,
        solvers: &Arc<Solvers>,
    ) -> Result<Finder<'c>> {
        let mut given = curve.given(start)?;
        for (i, value) in given.iter_mut().enumerate() {
            let (lower, upper) = curve.bounds[i];
            match value {
                None if curve.is_tied(i) => *value = Some(f64::NAN),
                None if lower == upper => *value = Some(lower),
                None => *value = curve.expected(i),
                _ => {}
            }
        }
        Ok(Finder {
            curve,
            given,
            solvers: solvers.clone(),
            on_one_thread: false,
            candidates: Vec::new(),
        })
    }

    /// Returns a complete start of the fit of `points`.
    ///
    /// # Errors
    /// Errors of [`begin`](Self::begin) and [`found_from`](Self::found_from).
    pub(super) fn found(&self, points: &Points<'_>) -> Result<CompleteStart> {
        let _span = span!(DEBUG, "start", points = points.used);
        let given: Option<Vec<f64>> = self.given.iter().copied().collect();
        if let Some(values) = given {
            return Ok(CompleteStart::given(self.curve.completed(values)?));
        }
        let begun = Instant::now();
        let found = self.found_from(self.begin(points)?, points)?;
        Ok(CompleteStart { took: begun.elapsed(), ..found })
    }

    /// Completes `begin`: solves for the linear parameters, and searches if parameters are unknown or their guess is
    /// uncertain.
    ///
    /// # Errors
    /// Errors of [`solved`](Self::solved) and [`searched`](Self::searched).
    pub(super) fn found_from(&self, begin: Begin, points: &Points<'_>) -> Result<CompleteStart> {
        if !begin.unknown.is_empty() {
            // An incomplete guess is discarded: all nonlinear parameters are searched.
            let unknown = self.sought(&begin);
            return self.searched(Begin { unknown, ..begin }, points);
        }
        let unknown = self.uncertain(&begin.solver.linear)?;
        let found = self.solved(&begin, points)?;
        if unknown.is_empty() {
            return Ok(found);
        }
        let mut candidates = vec![found.values];
        candidates.extend(begin.candidates);
        self.searched(Begin { unknown, candidates, ..begin }, points)
    }

    /// Returns the positions of the nonlinear parameters that are neither given nor fixed.
    pub(super) fn sought(&self, begin: &Begin) -> Vec<usize> {
        self.sought_beside(&begin.solver.linear)
    }

    /// Returns the positions of the parameters that are neither given, nor fixed, nor `linear`.
    fn sought_beside(&self, linear: &[usize]) -> Vec<usize> {
        let is_sought =
            |i: &usize| self.given[*i].is_none() && !self.curve.fixed[*i] && !linear.contains(i);
        (0..self.given.len()).filter(is_sought).collect()
    }

    /// Returns true if the guess that comes with the model is only one candidate of a search.
    pub(super) fn is_uncertain(&self) -> Result<bool> {
        if self.curve.guess.is_none() {
            return Ok(false);
        }
        let free = self.curve.free_positions();
        let solver = self.solver(&free, vec![false; self.given.len()])?;
        Ok(!self.uncertain(&solver.linear)?.is_empty())
    }

    /// Returns the positions of the nonlinear parameters that are searched although there is a guess. The result is
    /// nonempty only if the model is a sum of several nonlinear terms, because its guess often confuses the terms. It
    /// is empty if the caller supplied the guess, or values of nonlinear parameters, which distinguish the terms.
    fn uncertain(&self, linear: &[usize]) -> Result<Vec<usize>> {
        let sought = self.sought_beside(linear);
        let free = self.curve.free_positions();
        let is_given = |i: &usize| self.given[*i].is_some() && !linear.contains(i);
        let is_certain = self.curve.guessed_by_caller || free.iter().any(is_given);
        if is_certain || self.curve.search.when == SearchWhen::Never {
            return Ok(Vec::new());
        }
        let several = match &self.curve.effective_model()? {
            Model::Traced(program) => program.terms(&sought).len() > 1,
            Model::Native(_) => false,
        };
        Ok(if several { sought } else { Vec::new() })
    }

    /// Searches for values of all free parameters. The search also fits from `candidates`, which are complete starts.
    /// Returns `None` if the model is not finite at any trial, or if it is linear in all parameters, so that there is
    /// only one minimum.
    ///
    /// # Errors
    /// Errors that do not depend on the starting point.
    pub(super) fn searched_for_all(
        &self,
        candidates: Vec<Vec<f64>>,
        base: Vec<f64>,
        points: &Points<'_>,
    ) -> Result<Option<CompleteStart>> {
        let free = self.curve.free_positions();
        let solver = self.solver(&free, vec![false; base.len()])?;
        let unknown: Vec<usize> = free.into_iter().filter(|i| !solver.linear.contains(i)).collect();
        if unknown.is_empty() {
            return Ok(None);
        }
        self.search(&solver, (base, unknown), candidates, points)
    }

    /// Searches for the `unknown` parameters and solves for the linear parameters of `solver`. The other parameters
    /// have their values in `base`.
    fn search(
        &self,
        solver: &Solver,
        (base, unknown): (Vec<f64>, Vec<usize>),
        candidates: Vec<Vec<f64>>,
        points: &Points<'_>,
    ) -> Result<Option<CompleteStart>> {
        let (curve, begun) = (self.curve, Instant::now());
        let search = Search { curve, linear: solver.ready()?, base, unknown, candidates };
        let Some(found) = search.best(points)? else { return Ok(None) };
        Ok(Some(CompleteStart {
            solved: solver.solved.clone(),
            search: Some(found.report),
            took: begun.elapsed(),
            ..CompleteStart::given(curve.completed(found.values)?)
        }))
    }

    /// Combines given and guessed values, and selects the parameters that are solved for and the parameters that are
    /// searched.
    ///
    /// # Errors
    /// If the value of a fixed parameter is not known, or the guess of the model is invalid.
    pub(super) fn begin(&self, points: &Points<'_>) -> Result<Begin> {
        let Finder { curve, given, .. } = self;
        let missing: Vec<usize> = (0..given.len()).filter(|&i| given[i].is_none()).collect();
        let guessed = match missing.is_empty() {
            true => vec![None; given.len()],
            false => curve.guessed(points, given)?,
        };
        let is_known = |i: usize| guessed[i].is_some();
        if let Some(&i) = missing.iter().find(|&&i| curve.fixed[i] && !is_known(i)) {
            return Err(StartError::FixedWithoutValue { name: curve.names[i].clone() }.into());
        }
        let moving: Vec<usize> = missing.iter().copied().filter(|&i| !curve.fixed[i]).collect();
        let solver = self.solver(&moving, guessed.iter().map(Option::is_some).collect())?;
        let is_unknown = |&i: &usize| !is_known(i) && !solver.linear.contains(&i);
        let unknown = missing.iter().copied().filter(is_unknown).collect();
        let value = |(i, given): (usize, &Option<f64>)| {
            given.or(guessed[i]).unwrap_or_else(|| curve.inside(i, 0.0))
        };
        let values = curve.completed(given.iter().enumerate().map(value).collect())?;
        let candidate = |candidate: &Vec<f64>| {
            let is_known = |i: usize| given[i].is_some() || curve.fixed[i];
            let own = candidate.iter().zip(&values).enumerate();
            let own = own.map(|(i, (&own, &v))| if is_known(i) { v } else { curve.inside(i, own) });
            own.collect()
        };
        let candidates = self.candidates.iter().map(candidate).collect();
        Ok(Begin { values, solver, guessed, unknown, candidates })
    }

    /// Searches for the unknown parameters.
    ///
    /// # Errors
    /// [`StartError::Unknown`] if the model is not finite at any trial.
    pub(super) fn searched(&self, begin: Begin, points: &Points<'_>) -> Result<CompleteStart> {
        let Begin { values, solver, unknown, candidates, .. } = begin;
        let guessed = candidates.first().cloned().map(CompleteStart::given);
        let names = unknown.iter().map(|&i| self.curve.names[i].clone()).collect();
        let found = match self.curve.search.when {
            SearchWhen::Never => None,
            _ => self.search(&solver, (values, unknown), candidates, points)?,
        };
        let found = found.or(guessed);
        found.ok_or_else(|| StartError::Unknown { names }.into())
    }

    /// Solves for the linear parameters.
    ///
    /// # Errors
    /// If the model has no finite value at the start, or panics.
    pub(super) fn solved(&self, begin: &Begin, points: &Points<'_>) -> Result<CompleteStart> {
        let (curve, Begin { values, solver, guessed, .. }) = (self.curve, begin);
        if solver.solved.is_empty() {
            return Ok(CompleteStart::given(values.clone()));
        }
        let measured = points.as_measurements();
        let measured = measured.as_ref().unwrap_or(points);
        let solved_by = |solver: &CurveFit| {
            let begin = CompleteStart::given(values.clone());
            let mut request = solver.request(measured, begin, None, Spent::default())?;
            request.spec.on_one_thread = self.on_one_thread;
            solved(&request)
        };
        let mut found = solved_by(&solver.curve)?;
        // The solution can yield invalid expected counts.
        if curve.estimator == Estimator::Poisson
            && solver.curve.error_of_value(&found, points)?.is_some()
        {
            // Nonnegative linear parameters usually avoid negative expected counts.
            let mut positive = solver.curve.clone();
            for &i in &solver.solved {
                let (lower, upper) = &mut positive.bounds[i];
                *lower = lower.max(upper.min(0.0));
            }
            found = solved_by(&positive.changed())?;
        }
        for &i in &solver.solved {
            // A parameter without effect at the starting point gets a nonzero value, in case it gains an effect later.
            if found[i] == 0.0 && guessed[i].is_none() {
                found[i] = curve.inside(i, 1.0);
            }
        }
        let solved = solver.solved.clone();
        Ok(CompleteStart { solved, ..CompleteStart::given(curve.completed(found)?) })
    }

    /// Returns the solver of the linear parameters among the `moving` parameters. `known` is true for parameters with a
    /// guess.
    fn solver(&self, moving: &[usize], known: Vec<bool>) -> Result<Arc<Solver>> {
        let mut solvers = lock(&self.solvers.0);
        let key = (moving.to_vec(), known);
        if let Some(solver) = solvers.get(&key) {
            return Ok(solver.clone());
        }
        let known = &key.1;
        // If only one of two parameters can be treated as linear, the parameter without a guess is preferred.
        let linear = self.curve.linear_among(moving, |i| usize::from(known[i]))?;
        let unused = self.curve.unused(&self.curve.effective_model()?, &[])?;
        let solved: Vec<usize> = linear.iter().copied().filter(|&i| !unused[i]).collect();
        let fixed = (0..known.len()).map(|i| !solved.contains(&i)).collect();
        let curve = CurveFit { fixed, ..self.curve.plain() }.changed();
        let solver = Arc::new(Solver { linear, solved, curve });
        solvers.insert(key, solver.clone());
        Ok(solver)
    }
}
