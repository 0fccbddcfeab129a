//! Fits by the host's solver and by the solver of the kernels, for comparison.

use super::stepped::{By, minimise_stepped};
use crate::backend::cpu::{Cpu, Prepared};
use crate::backend::cuda::emulated::Emulator;
use crate::data::Data;
use crate::data::loss::Loss;
use crate::data::points::Points;
use crate::model::Expression;
use crate::model::program::Program;
use crate::normal::{Normal, RFactor, pair};
use crate::solver::evaluator::Evaluator;
use crate::solver::minimise::minimise_by_the_loop;
use crate::solver::options::Options;
use crate::solver::outcome::{BadPoint, Failure, Fault, Outcome};
use crate::solver::task::{Problem, Task};
use std::sync::Arc;

/// A model of one or more variables as text, with data.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) program: Program,
    pub(super) columns: Vec<Vec<f64>>,
    pub(super) y: Vec<f64>,
    pub(super) start: Vec<f64>,
    pub(super) bounds: Vec<(f64, f64)>,
    pub(super) fixed: Vec<usize>,
    pub(super) loss: Loss,
    pub(super) options: Options,
    /// Number that is added to the first element of Jᵀr, so that the derivatives are wrong.
    pub(super) skew: f64,
}

impl Case {
    pub(super) fn new(
        model: &str,
        variables: &[&str],
        columns: Vec<Vec<f64>>,
        y: Vec<f64>,
    ) -> Case {
        let expression = Expression::parse(model, variables).expect("a model");
        let params = expression.parameters().to_vec();
        let trace = |x: &[_], p: &[_]| expression.evaluate(x, p);
        let mut program = Program::trace(variables.len(), params.len(), trace).expect("a trace");
        program.params = params;
        Case::traced(program, columns, y)
    }

    pub(super) fn traced(program: Program, columns: Vec<Vec<f64>>, y: Vec<f64>) -> Case {
        Case {
            bounds: vec![(f64::NEG_INFINITY, f64::INFINITY); program.params.len()],
            start: Vec::new(),
            program,
            columns,
            y,
            fixed: Vec::new(),
            loss: Loss::Linear,
            options: Options::default(),
            skew: 0.0,
        }
    }

    pub(super) fn of(
        model: &str,
        x: impl Fn(usize) -> f64,
        y: impl Fn(f64, usize) -> f64,
        n: usize,
    ) -> Case {
        let x: Vec<f64> = (0..n).map(x).collect();
        let y = x.iter().enumerate().map(|(i, &x)| y(x, i)).collect();
        Case::new(model, &["x"], vec![x], y)
    }

    /// Calls `go` with the evaluator of the host, skewed by `skew`, and the problem.
    fn with<T>(&self, go: impl FnOnce(&mut dyn Evaluator, &Problem) -> T) -> T {
        self.with_points(|_, _, evaluator, problem| {
            go(&mut Skewed { evaluator, skew: self.skew }, problem)
        })
    }

    /// Calls `go` with the points, the program of value and partials, the evaluator of the host, and the problem.
    pub(super) fn with_points<T>(
        &self,
        go: impl FnOnce(&Points<'_>, &Program, &mut dyn Evaluator, &Problem) -> T,
    ) -> T {
        let columns: Vec<&[f64]> = self.columns.iter().map(Vec::as_slice).collect();
        let points = Points::validate(&Data::new(columns, &self.y).expect("data")).expect("points");
        let free: Vec<usize> = (0..self.start.len()).filter(|k| !self.fixed.contains(k)).collect();
        let partials = self.program.with_partials(&free).expect("partials");
        let prepared = Prepared::traced(partials.clone().into(), &free);
        let problem = Problem {
            unused: free.iter().map(|&k| !self.program.uses(k)).collect(),
            opaque: false,
            shape: crate::normal::arrow::full(free.len()),
            free,
            start: self.start.clone(),
            bounds: self.bounds.clone(),
            square: points.summary.square,
            scatter: points.summary.scatter,
            signal: points.summary.signal(false),
            points: points.used,
            absolute: points.is_absolute(),
            loss: self.loss,
            row_unit: 1.0,
        };
        let mut cpu = Cpu::new(&prepared, &points, self.loss, &self.start);
        go(&points, &partials, &mut cpu, &problem)
    }

    pub(super) fn on_host(&self) -> Result<Outcome, Failure> {
        self.with(|evaluator, problem| {
            minimise_by_the_loop(evaluator, &Task::new(problem, &self.options))
        })
    }

    pub(super) fn on_device(&self, device: &Arc<Emulator>, by: By) -> Result<Outcome, Failure> {
        self.with(|evaluator, problem| {
            minimise_stepped(device, evaluator, &Task::new(problem, &self.options), by)
        })
    }

    pub(super) fn start(mut self, start: &[f64]) -> Case {
        self.start = start.to_vec();
        self
    }

    pub(super) fn bound(mut self, k: usize, lower: f64, upper: f64) -> Case {
        self.bounds[k] = (lower, upper);
        self
    }

    pub(super) fn fixed(mut self, k: usize) -> Case {
        self.fixed.push(k);
        self
    }

    pub(super) fn loss(mut self, loss: Loss) -> Case {
        self.loss = loss;
        self
    }

    pub(super) fn options(mut self, options: Options) -> Case {
        self.options = options;
        self
    }

    /// Checks the step of the slim kernel as [`Case::check`]. Returns `None` if the fit leaves this kernel.
    #[track_caller]
    pub(super) fn check_slim(&self, device: &Arc<Emulator>, name: &str) -> Option<Outcome> {
        match self.on_device(device, By::Slim) {
            Ok(found) => Some(self.assert_same(found, name)),
            Err(Failure::Overflow) => None,
            Err(other) => panic!("{name}: {other:?}"),
        }
    }

    /// Checks that both solvers take the same steps to the same point; all of their sums have the same order.
    #[track_caller]
    pub(super) fn check(&self, device: &Arc<Emulator>, by: By, name: &str) -> Outcome {
        let found = self.on_device(device, by).expect("an outcome");
        self.assert_same(found, name)
    }

    #[track_caller]
    fn assert_same(&self, found: Outcome, name: &str) -> Outcome {
        let host = self.on_host().expect("an outcome");
        assert_eq!(found.termination, host.termination, "{name}");
        assert_eq!(found.work, host.work, "{name}");
        assert_eq!(found.retried, host.retried, "{name}");
        assert_eq!(found.columns, host.columns, "{name}");
        assert_eq!(found.params, host.params, "{name}");
        assert_eq!(found.cost, host.cost, "{name}");
        assert_eq!(found.normal, host.normal, "{name}");
        host
    }
}

/// An evaluator whose gradient is wrong by a constant.
struct Skewed<'a> {
    evaluator: &'a mut dyn Evaluator,
    skew: f64,
}

impl Evaluator for Skewed<'_> {
    fn normal(&mut self, params: &[f64], columns: &[f64], out: &mut Normal) -> Result<(), Fault> {
        self.evaluator.normal(params, columns, out)?;
        let n = out.n;
        out.products[pair(0, n)] += self.skew;
        Ok(())
    }

    fn factor(&mut self, params: &[f64], columns: &[f64], out: &mut RFactor) -> Result<(), Fault> {
        self.evaluator.factor(params, columns, out)
    }

    fn magnitudes(&mut self, params: &[f64], out: &mut [f64]) -> Result<(), Fault> {
        self.evaluator.magnitudes(params, out)
    }

    fn threads(&self) -> usize {
        self.evaluator.threads()
    }

    fn scratch_bytes(&self) -> usize {
        self.evaluator.scratch_bytes()
    }

    fn first_bad_point(&mut self, params: &[f64]) -> Option<BadPoint> {
        self.evaluator.first_bad_point(params)
    }
}
