//! Minimisation by the kernels' solver on the emulated device, with sums from the CPU. A test kernel takes the steps.
//! The host serves the requests of the state, which the kernel of batches serves itself.

use crate::backend::cpu::ITERATION_FLOOR;
use crate::backend::cuda::batch::chunk::termination_of;
use crate::backend::cuda::batch::unit::SLIM_STEP;
use crate::backend::cuda::driver::Compiler;
use crate::backend::cuda::driver::{Address, Driver, Geometry, Module, Queue};
use crate::backend::cuda::emulated::Emulator;
use crate::backend::cuda::interface::{
    self, Code, Filled, Layout, Reason, Request, ScratchLayout, Size, words,
};
use crate::backend::cuda::source::{SOLVER, head, include};
use crate::data::unit_of;
use crate::normal::{Normal, RFactor};
use crate::solver::evaluator::Evaluator;
use crate::solver::outcome::{Failure, Outcome};
use crate::solver::runs::{Ends, Run, best_of_runs};
use crate::solver::state::Scaling;
use crate::solver::task::{Task, Work};
use crate::solver::termination::Termination;
use std::ops::Range;
use std::sync::Arc;

/// Lanes that take the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Sixteen,
    One,
    /// One lane with the step of the slim kernel. Fits that leave this kernel are [`Failure::Overflow`].
    Slim,
}

impl By {
    fn lanes(self) -> u32 {
        match self {
            By::Sixteen => 16,
            By::One | By::Slim => 1,
        }
    }
}

/// Declares that the steps are those of f64.
const NOT_ROUGH: &str = "constexpr bool ROUGH = false;\n";

/// Returns the source of the kernels' solver with a kernel that continues with the factor if there is one, otherwise
/// with the sums at the trial.
fn solver_text(size: Size, by: By) -> String {
    if by == By::Slim {
        return slim_text(size);
    }
    let lanes = by.lanes();
    let group = format!("template <int N> struct Lanes;\ntypedef Lanes<{lanes}> Group;\n");
    let mut text = head(size, &(group + NOT_ROUGH));
    include(&mut text, SOLVER);
    let (state, scratch) = (8 * words::<Layout>(size), 8 * words::<ScratchLayout>(size));
    text + &format!(
        "#line 1 \"stepped.rs\"
         static_assert(sizeof(State) == {state} && sizeof(Scratch) == {scratch}, \"layout\");
         extern \"C\" __global__ void go_on(State* state, const double* factor) {{
             const Group g;
             if (factor) factored(g, *state, factor);
             else evaluated(g, *state);
             advance(g, *state, *reinterpret_cast<Scratch*>(state + 1));
         }}"
    )
}

/// Returns the source of the slim kernel's step, which continues with the sums at the trial.
fn slim_text(size: Size) -> String {
    let positions = "template <int N> struct Lanes;\ntypedef Lanes<1> Group;
         __device__ __forceinline__ constexpr int free_at(int j) { return j; }\n";
    let mut text = "#define SLIM\n".to_owned() + &head(size, &(positions.to_owned() + NOT_ROUGH));
    include(&mut text, SOLVER);
    include(&mut text, SLIM_STEP);
    text + "#line 1 \"stepped.rs\"
         extern \"C\" __global__ void go_on(State* state, const double*) {
             State s = *state;
             Scratch w;
             double& highest = *reinterpret_cast<double*>(state + 1);
             if (s.phase == BEGIN) {
                 for (int k = 0; k < PARAMS; ++k) s.present.params[k] = s.trial.params[k];
                 for (int j = 0; j < FREE; ++j) s.trial.q[j] = s.trial.params[s.free[j]];
                 s.moving = ALL;
             }
             const Next next = take_step({s.lower, s.upper}, s, s.mixing, w, highest);
             for (int j = 0; j < FREE; ++j) {
                 s.trial.params[s.free[j]] = s.trial.q[j];
                 s.present.params[s.free[j]] = s.present.q[j];
             }
             s.request = next == PASS ? EVALUATE : next == ENDED ? DONE : HOST;
             *state = s;
         }"
}

/// As [`minimise_by_the_loop`](crate::solver::minimise::minimise_by_the_loop), but with the kernels' solver.
pub(super) fn minimise_stepped(
    device: &Arc<Emulator>,
    evaluator: &mut dyn Evaluator,
    task: &Task<'_>,
    by: By,
) -> Result<Outcome, Failure> {
    let mut run = Stepped::new(device, evaluator, task, by);
    let mut ends = Ends::new(task.problem.start.len(), &task.problem.shape);
    best_of_runs(&mut run, task.problem, &mut ends)?;
    Ok(ends.best)
}

struct Stepped<'a> {
    device: Arc<Emulator>,
    module: Module,
    evaluator: &'a mut dyn Evaluator,
    task: &'a Task<'a>,
    by: By,
    /// Address of the state on the device; the scratch memory follows the state.
    place: Address,
    factor: Address,
    /// The last state that was read from the device.
    state: Filled<Layout>,
    /// Number of factorisations of the rows at a point, in this run.
    factorisations: usize,
    /// Work before this run and outside the device's counts.
    work: Work,
    /// Number of steps taken. Each step has another order of lanes.
    steps: u64,
}

impl Run for Stepped<'_> {
    fn begin(&mut self, start: &[f64], scaling: Scaling) -> Result<(), Failure> {
        self.work = self.work();
        self.factorisations = 0;
        self.fill(start, scaling);
        self.write(0..self.state.layout.words);
        self.evaluate()?;
        if self.request() == Request::Host && self.by != By::Slim {
            self.see_to_the_start(start)?;
            self.evaluate()?;
        }
        if self.request() == Request::Host { Err(Failure::Overflow) } else { Ok(()) }
    }

    fn run(&mut self) -> Result<Termination, Failure> {
        loop {
            match self.request() {
                Request::Evaluate => self.evaluate()?,
                Request::Factor => self.take_factor()?,
                Request::Host if self.by == By::Slim => return Err(Failure::Overflow),
                Request::Done | Request::Host | Request::Continue => break,
            }
        }
        let word = self.state.words[self.state.layout.termination.start];
        Ok(termination_of(Reason::from_word(word).unwrap_or(Reason::None)))
    }

    fn report(&self, termination: Termination, out: &mut Outcome) {
        let layout = &self.state.layout;
        let mut sums = self.numbers(&layout.present.sums);
        let cost = sums.pop().unwrap_or(f64::NAN);
        *out = Outcome {
            params: self.numbers(&layout.present.params),
            cost,
            normal: Normal::of(layout.z.len(), sums, cost),
            termination,
            work: self.work(),
            columns: self.ones(),
            effects: Vec::new(),
            unused: Vec::new(),
            retried: false,
            most_weight: f64::INFINITY,
        };
    }

    fn is_interrupted(&self) -> bool {
        self.work().evaluations >= self.limit()
    }
}

impl<'a> Stepped<'a> {
    fn new(
        device: &Arc<Emulator>,
        evaluator: &'a mut dyn Evaluator,
        task: &'a Task<'a>,
        by: By,
    ) -> Self {
        let (params, free) = (task.problem.start.len(), task.problem.free.len());
        let size = Size { columns: 0, params, free };
        let state = Filled::<Layout>::new(size);
        let image = device.compile(&solver_text(size, by), (9, 0)).expect("an image");
        let module = device.load(&image.bytes).expect("a module");
        let bytes = 8 * (state.layout.words + words::<ScratchLayout>(size));
        Stepped {
            device: device.clone(),
            module,
            evaluator,
            task,
            by,
            place: device.allocate(bytes).expect("memory"),
            factor: device.allocate(8 * (free + 1).pow(2)).expect("memory"),
            state,
            factorisations: 0,
            work: task.work,
            steps: 0,
        }
    }

    /// Fills in the state at the beginning of a run.
    fn fill(&mut self, start: &[f64], scaling: Scaling) {
        let Task { problem, options, .. } = *self.task;
        let limit = self.limit();
        let layout = self.state.layout.clone();
        let state = &mut self.state;
        state.words.fill(0);
        state.set(&layout.request, [Request::Evaluate]);
        state.set(&layout.evaluations, [self.work.evaluations]);
        state.set(&layout.iterations, [self.work.iterations]);
        state.set(&layout.trial.params, start.iter().copied());
        state.set(&layout.limit, [limit]);
        state.set(&layout.earlier, [self.work.iterations]);
        let scaling = match scaling {
            Scaling::Monotone => interface::Scaling::Monotone,
            Scaling::Present => interface::Scaling::Present,
        };
        state.set(&layout.scaling, [scaling]);
        state.set(&layout.points_counted, [problem.points]);
        state.set(&layout.ftol, [options.ftol]);
        state.set(&layout.xtol, [options.xtol]);
        state.set(&layout.gtol, [options.gtol]);
        state.set(&layout.etol, [options.etol]);
        let row_error = if problem.absolute { problem.row_unit } else { 0.0 };
        state.set(&layout.row_error, [row_error]);
        state.set(&layout.initial_radius, [options.initial_radius]);
        state.set(&layout.rounding, [problem.rounding()]);
        state.set(&layout.signal, [problem.signal]);
        state.set(&layout.square, [problem.square]);
        state.set(&layout.bulk, [problem.bulk()]);
        state.set(&layout.floor, [ITERATION_FLOOR]);
        state.set(&layout.lower, problem.free.iter().map(|&k| problem.bounds[k].0));
        state.set(&layout.upper, problem.free.iter().map(|&k| problem.bounds[k].1));
        state.set(&layout.free, problem.free.iter().copied());
        let unused = problem.unused.iter().enumerate().filter(|&(_, &unused)| unused);
        state.set(&layout.unused, [unused.fold(0_usize, |bits, (j, _)| bits | 1 << j)]);
    }

    fn numbers(&self, at: &Range<usize>) -> Vec<f64> {
        self.state.words[at.clone()].iter().map(|&word| f64::from_bits(word)).collect()
    }

    fn count(&self, at: &Range<usize>) -> usize {
        self.state.words[at.start] as usize
    }

    /// Returns the factors of the columns, all 1.
    fn ones(&self) -> Vec<f64> {
        vec![1.0; self.state.layout.z.len()]
    }

    fn request(&self) -> Request {
        let word = self.state.words[self.state.layout.request.start];
        Request::from_word(word).unwrap_or(Request::Done)
    }

    /// Returns the work of all runs so far.
    fn work(&self) -> Work {
        let layout = &self.state.layout;
        Work {
            evaluations: self.count(&layout.evaluations),
            other_passes: self.work.other_passes + self.factorisations,
            iterations: self.count(&layout.iterations),
        }
    }

    fn limit(&self) -> usize {
        self.task.options.evaluations(self.ones().len())
    }

    fn upload(&self, to: Address, words: &[u64]) {
        self.device.upload(to, bytemuck::cast_slice(words), Queue::Work).expect("an upload");
    }

    fn write(&self, at: Range<usize>) {
        self.upload(Address(self.place.0 + 8 * at.start as u64), &self.state.words[at]);
    }

    /// Uploads the sums at the trial and continues the fit on the device.
    fn evaluate(&mut self) -> Result<(), Failure> {
        let layout = self.state.layout.clone();
        let params = self.numbers(&layout.trial.params);
        let mut normal = Normal::zero(layout.z.len());
        self.evaluator.normal(&params, &self.ones(), &mut normal)?;
        let sums = normal.products.iter().copied().chain([normal.cost]);
        self.state.set(&layout.trial.sums, sums);
        self.write(layout.trial.sums);
        self.step(None);
        Ok(())
    }

    /// Uploads the factor at the present point and continues the fit on the device.
    fn take_factor(&mut self) -> Result<(), Failure> {
        let layout = &self.state.layout;
        let params = self.numbers(&layout.present.params);
        let mut factor = RFactor::zero(layout.z.len());
        self.evaluator.factor(&params, &self.ones(), &mut factor)?;
        self.factorisations += 1;
        let words: Vec<u64> = factor.r.iter().map(|v| v.to_bits()).collect();
        self.upload(self.factor, &words);
        self.step(Some(self.factor));
        Ok(())
    }

    fn step(&mut self, factor: Option<Address>) {
        self.steps += 1;
        self.device.set_seed(self.steps);
        let arguments = [self.place.0.to_ne_bytes(), factor.map_or(0, |f| f.0).to_ne_bytes()];
        let geometry = Geometry { blocks: 1, threads: self.by.lanes() };
        let (device, at) = (&self.device, [&arguments[0][..], &arguments[1][..]]);
        device.launch(self.module, "go_on", geometry, &at).expect("a step");
        let words = bytemuck::cast_slice_mut(&mut self.state.words);
        device.download(self.place, words, Queue::Work).expect("the state");
    }

    /// Handles a start whose sums are not finite or not safe, as the host does. Fails if columns need units of their own,
    /// which the kernels' solver does not support.
    fn see_to_the_start(&mut self, start: &[f64]) -> Result<(), Failure> {
        self.work.other_passes += 1;
        if let Some(point) = self.evaluator.first_bad_point(start) {
            return Err(Failure::Start(point));
        }
        let mut largest = self.ones();
        self.evaluator.magnitudes(start, &mut largest)?;
        self.work.other_passes += 1;
        if largest.into_iter().any(|most| unit_of(most) != 1.0) {
            return Err(Failure::Overflow);
        }
        let layout = self.state.layout.clone();
        self.state.set(&layout.without_effect, [true]);
        self.state.set(&layout.request, [Request::Evaluate]);
        self.write(0..layout.words);
        Ok(())
    }
}

impl Drop for Stepped<'_> {
    fn drop(&mut self) {
        self.device.release(self.place);
        self.device.release(self.factor);
        self.device.unload(self.module);
    }
}
