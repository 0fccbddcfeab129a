//! One problem for every entry: its data and settings, the result of an entry, and the comparison of two results.

#![allow(dead_code, reason = "each test takes its own part of this")]
#![allow(unreachable_pub, reason = "a test includes this as a private module")]

#[path = "questions_list.rs"]
mod list;

use dualfit::error::GlobalError;
use dualfit::result::BatchFitView;
use dualfit::{BatchData, BatchFit, CurveFit, Data, Error, Fit, FitStatus, Missing, Sigma, Start};

pub use list::questions;

/// A fit to be made, whichever way.
#[derive(Clone)]
pub struct Question {
    pub name: String,
    pub model: CurveFit,
    /// Independent variables, one column each.
    pub x: Vec<Vec<f64>>,
    pub y: Vec<f64>,
    pub sigma: Weights,
    /// Which points count; all if empty.
    pub mask: Vec<bool>,
    pub missing: Missing,
    pub start: Start,
    /// True if y are counts.
    pub counts: bool,
}

/// Ratio of error to parameter from which the parameter counts as undetermined.
const VAGUE: f64 = 1e3;

/// Sigma of y.
#[derive(Clone)]
pub enum Weights {
    Unknown,
    Constant(f64),
    Absolute(Vec<f64>),
    Relative(Vec<f64>),
}

/// Result of a fit by any entry.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The reason of termination, or the error of the request.
    pub ended: String,
    pub params: Vec<f64>,
    pub errors: Vec<f64>,
    pub cost: f64,
    pub points: usize,
    pub rank: usize,
    /// Parameters on their bounds, by position.
    pub at_bound: Vec<usize>,
    /// `None` if the entry does not report them.
    pub evaluations: Option<usize>,
    pub warnings: Option<Vec<String>>,
}

/// Allowed difference of two results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Nearness {
    /// The same bits, in as many evaluations.
    Bits,
    /// Parameters to this part of their errors, costs and errors as far as that moves them.
    Part(f64),
}

impl Question {
    pub fn data(&self) -> Result<Data<'_>, Error> {
        let columns: Vec<&[f64]> = self.x.iter().map(Vec::as_slice).collect();
        let data = Data::new(columns, &self.y)?.missing(self.missing);
        let data = match &self.sigma {
            Weights::Unknown => data,
            Weights::Constant(sigma) => data.sigma(Sigma::Constant(*sigma))?,
            Weights::Absolute(sigma) => data.sigma(Sigma::Absolute(sigma))?,
            Weights::Relative(sigma) => data.sigma(Sigma::Relative(sigma))?,
        };
        if self.mask.is_empty() { Ok(data) } else { data.mask(&self.mask) }
    }

    /// The result of a single fit.
    pub fn alone(&self) -> Answer {
        self.by(&self.model)
    }

    /// The result of a single fit of another form of the model.
    pub fn by(&self, model: &CurveFit) -> Answer {
        Answer::of(self.data().and_then(|data| model.fit(data, self.start.clone())))
    }

    /// The result of fit number `place` of a batch of `fits`, the others of similar data; `None` for relative sigmas,
    /// which batches do not support.
    pub fn in_batch(&self, model: &CurveFit, fits: usize, place: usize) -> Option<Answer> {
        let n = self.y.len();
        let mut stack = Vec::with_capacity(fits * n);
        for fit in 0..fits {
            let beside = fit.abs_diff(place) as f64;
            stack.extend(self.y.iter().enumerate().map(|(i, y)| match self.counts {
                _ if fit == place => *y,
                true => (y + beside * ((i + fit) % 3) as f64).abs(),
                false => y * (1.0 + 0.02 * beside * ((i * fit) as f64).sin()),
            }));
        }
        let made = || -> Result<BatchFit, Error> {
            let columns: Vec<&[f64]> = self.x.iter().map(Vec::as_slice).collect();
            let data = BatchData::shared(columns, &stack)?.missing(self.missing);
            let data = match &self.sigma {
                Weights::Unknown => data,
                Weights::Constant(sigma) => data.sigma(Sigma::Constant(*sigma))?,
                Weights::Absolute(sigma) => data.sigma(Sigma::Absolute(sigma))?,
                Weights::Relative(sigma) => data.sigma(Sigma::Relative(sigma))?,
            };
            let data = if self.mask.is_empty() { data } else { data.mask(&self.mask)? };
            model.fit_batch(&data, self.start.clone())
        };
        match made() {
            Ok(batch) => Some(Answer::of_batch(batch.fit(place))),
            Err(error) => Some(Answer::refused(of_error(&error))),
        }
    }

    /// True for a native model: partials by differences, and sums in another order.
    pub fn is_native(&self) -> bool {
        self.model.program().is_err()
    }
}

impl Answer {
    pub fn of(fit: Result<Fit, Error>) -> Answer {
        let fit = match fit {
            Ok(fit) => fit,
            Err(error) => return Answer::refused(of_error(&error)),
        };
        let position = |name: &str| fit.names().iter().position(|n| n == name);
        let undetermined = fit.undetermined().first().and_then(|name| position(name));
        let status = match undetermined {
            Some(i) if fit.converged() => format!("{:?}, {i} undetermined", fit.termination()),
            _ => format!("{:?}", fit.termination()),
        };
        Answer {
            ended: status,
            params: fit.params().to_vec(),
            errors: fit.std_errors(),
            cost: fit.cost(),
            points: fit.points(),
            rank: fit.rank(),
            at_bound: fit.at_bound().iter().filter_map(|(name, _)| position(name)).collect(),
            evaluations: Some(fit.evaluations()),
            warnings: Some(fit.warnings().iter().map(ToString::to_string).collect()),
        }
    }

    /// Of a fit of a batch.
    pub fn of_batch(view: BatchFitView<'_>) -> Answer {
        let ended = match view.status() {
            FitStatus::Ended { termination, undetermined: Some(parameter) } => {
                format!("{termination:?}, {parameter} undetermined")
            }
            FitStatus::NonFinite { point } => not_finite(point),
            FitStatus::BadData { point } => bad_data(point),
            FitStatus::TooFewPoints { points } => too_few(points),
            status => match status.termination() {
                Some(termination) => format!("{termination:?}"),
                None => return Answer::refused(status.to_string()),
            },
        };
        if view.termination().is_none() {
            return Answer::refused(ended);
        }
        Answer {
            ended,
            params: view.params().to_vec(),
            errors: view.std_errors().to_vec(),
            cost: view.cost(),
            points: view.points(),
            rank: view.rank(),
            at_bound: view.at_bound().map(|(i, _)| i).collect(),
            evaluations: None,
            warnings: None,
        }
    }

    pub fn refused(ended: String) -> Answer {
        Answer {
            ended,
            params: Vec::new(),
            errors: Vec::new(),
            cost: f64::NAN,
            points: 0,
            rank: 0,
            at_bound: Vec::new(),
            evaluations: None,
            warnings: None,
        }
    }

    /// The difference of `other`, in words.
    pub fn differs(&self, other: &Answer, near: Nearness) -> Option<String> {
        let told = |what: &str, a: &dyn std::fmt::Debug, b: &dyn std::fmt::Debug| {
            Some(format!("{what}: {a:?} alone, {b:?} here"))
        };
        if self.ended != other.ended {
            return told("end", &self.ended, &other.ended);
        }
        if (self.points, self.rank) != (other.points, other.rank) {
            let of = |answer: &Answer| (answer.points, answer.rank);
            return told("points and rank", &of(self), &of(other));
        }
        if self.at_bound != other.at_bound {
            return told("bounds", &self.at_bound, &other.at_bound);
        }
        if !self.near(other, near) {
            let of = |a: &Answer| (a.params.clone(), a.errors.clone(), a.cost);
            return told("parameters, errors, cost", &of(self), &of(other));
        }
        if let (Nearness::Bits, Some(a), Some(b)) = (near, self.evaluations, other.evaluations)
            && a != b
        {
            return told("evaluations", &a, &b);
        }
        match (&self.warnings, &other.warnings) {
            (Some(a), Some(b)) if a.len() != b.len() || (near == Nearness::Bits && a != b) => {
                told("warnings", a, b)
            }
            _ => None,
        }
    }

    fn near(&self, other: &Answer, near: Nearness) -> bool {
        let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
        let rows =
            || self.params.iter().zip(&other.params).zip(self.errors.iter().zip(&other.errors));
        let Nearness::Part(part) = near else {
            return same(self.cost, other.cost)
                && rows().all(|((&p, &q), (&e, &f))| same(p, q) && same(e, f));
        };
        // The value of an undetermined parameter depends on the path of the iteration, and in a long
        // valley the others' errors depend a little on where in it the fit ended.
        let is_vague = |p: f64, e: f64| e.is_infinite() || e > VAGUE * p.abs();
        let vague = rows().any(|((&p, _), (&e, _))| is_vague(p, e));
        let known = |e: f64| if e.is_finite() { e } else { 0.0 };
        let params = rows().all(|((&p, &q), (&e, &f))| {
            same(p, q)
                || is_vague(p, e) && is_vague(q, f)
                || (p - q).abs() <= part * known(e) + 1e-9 * p.abs()
        });
        let relative = |a: f64, b: f64, part: f64| same(a, b) || (a - b).abs() <= part * a.abs();
        let tiny = self.params.iter().fold(0.0, |m: f64, p| m.max(p.abs())) * 1e-14;
        let errors = rows().all(|((&p, _), (&e, &f))| {
            is_vague(p, e)
                || relative(e, f, if vague { 1e-2 } else { part.max(1e-6) })
                || e.max(f) <= tiny
        });
        // Where the model goes through all points, costs and errors are rounding.
        let exact = self.ended.starts_with("ExactFit");
        let cost = relative(self.cost, other.cost, if vague { 1e-6 } else { part.max(1e-9) });
        params && (exact || errors && cost)
    }
}

/// The error of a request, in the same words for all entries.
pub fn of_error(error: &Error) -> String {
    match error {
        Error::NonFinite { index, .. }
        | Error::SigmaNotPositive { index, .. }
        | Error::NegativeCount { index, .. } => bad_data(*index),
        Error::TooFewPoints { points, .. } => too_few(*points),
        Error::ModelNonFiniteAtStart { index, .. }
        | Error::PartialNonFiniteAtStart { index, .. }
        | Error::ModelNotPositiveAtStart { index, .. } => not_finite(*index),
        Error::OverflowAtStart { .. } => FitStatus::Overflow.to_string(),
        Error::Global(GlobalError::InSet { error, .. }) => of_error(error),
        error => error.to_string(),
    }
}

fn bad_data(point: usize) -> String {
    format!("bad data at point {point}")
}

fn not_finite(point: usize) -> String {
    format!("not finite at the start at point {point}")
}

fn too_few(points: usize) -> String {
    format!("{points} points are too few")
}
