//! A fit on the emulated device that has its sums from the CPU: the solver's kernels alone.

use crate::backend::cuda::device::Compiler;
use crate::backend::cuda::driver::{Address, Driver, DriverError, Geometry, Module, Queue};
use crate::backend::cuda::emulated::Emulator;
use crate::backend::cuda::interface::{Code, Layout, Request, ScratchLayout, Size, words};
use crate::backend::cuda::resident_run::ResidentFit;
use crate::backend::cuda::source::{SOLVER, STEP, WARP, head, include};
use crate::normal::{Normal, RFactor};
use crate::solver::evaluator::Evaluator;
use crate::solver::outcome::{BadPoint, Fault};
use crate::solver::task::Problem;
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// Who takes the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Warp,
    Solo,
}

/// The solver of the kernels, to be run by a warp or by one thread.
fn solver_text(size: Size, by: By) -> String {
    let (group, kernel) = match by {
        By::Warp => (WARP, "take_step(state, factor);"),
        By::Solo => (
            "struct Solo;\ntypedef Solo Group;\n",
            "Solo g;
             Scratch& w = *reinterpret_cast<Scratch*>(state + 1);
             if (state->request == FACTOR) factored(g, *state, factor);
             else if (state->stopped != NONE) stop(g, *state);
             else evaluated(g, *state);
             advance(g, *state, w);",
        ),
    };
    let mut text = head(size, group);
    include(&mut text, SOLVER);
    if by == By::Warp {
        include(&mut text, STEP);
    }
    text + &format!(
        "#line 1 \"tests.rs\"
         static_assert(sizeof(State) == {} && sizeof(Scratch) == {}, \"layout\");
         extern \"C\" __global__ void go_on(State* state, const double* factor) {{ {kernel} }}",
        8 * words::<Layout>(size),
        8 * words::<ScratchLayout>(size)
    )
}

/// A fit on the emulated device that has its sums from the CPU.
pub(super) struct Stepped<'a> {
    device: Arc<Emulator>,
    module: Module,
    evaluator: &'a mut dyn Evaluator,
    layout: Layout,
    state: Address,
    factor: Address,
    by: By,
    /// Steps taken: each has its lanes in another order.
    steps: Cell<u64>,
}

impl<'a> Stepped<'a> {
    pub(super) fn new(
        device: &Arc<Emulator>,
        evaluator: &'a mut dyn Evaluator,
        problem: &Problem,
        by: By,
    ) -> Self {
        let size = Size { columns: 0, params: problem.start.len(), free: problem.free.len() };
        let layout = Layout::new(size);
        let image = device.compile(&solver_text(size, by), (9, 0)).expect("an image");
        let module = device.load(&image.bytes).expect("a module");
        let state =
            device.allocate(8 * (layout.words + words::<ScratchLayout>(size))).expect("memory");
        let factor = device.allocate(8 * (size.free + 1).pow(2)).expect("memory");
        Stepped {
            device: device.clone(),
            module,
            evaluator,
            layout,
            state,
            factor,
            by,
            steps: Cell::new(0),
        }
    }

    fn words(&self, at: Range<usize>) -> Vec<u64> {
        let mut bytes = vec![0; 8 * at.len()];
        self.device
            .download(Address(self.state.0 + 8 * at.start as u64), &mut bytes)
            .expect("words");
        bytes.chunks(8).map(|b| u64::from_ne_bytes(b.try_into().expect("8 bytes"))).collect()
    }

    fn numbers(&self, at: &Range<usize>) -> Vec<f64> {
        self.words(at.clone()).into_iter().map(f64::from_bits).collect()
    }

    fn step(&self, factor: Option<Address>) -> Result<(), DriverError> {
        let threads = if self.by == By::Warp { 32 } else { 1 };
        let arguments = [self.state.0.to_ne_bytes(), factor.map_or(0, |f| f.0).to_ne_bytes()];
        self.steps.set(self.steps.get() + 1);
        self.device.set_seed(self.steps.get());
        let geometry = Geometry { blocks: 1, threads };
        self.device.launch(self.module, "go_on", geometry, &[&arguments[0], &arguments[1]])
    }
}

impl Drop for Stepped<'_> {
    fn drop(&mut self) {
        self.device.release(self.state);
        self.device.release(self.factor);
        self.device.unload(self.module);
    }
}

fn bytes(words: impl IntoIterator<Item = u64>) -> Vec<u8> {
    words.into_iter().flat_map(u64::to_ne_bytes).collect()
}

impl ResidentFit for Stepped<'_> {
    fn write(&mut self, at: usize, words: &[u64]) -> Result<(), DriverError> {
        self.device.upload(
            Address(self.state.0 + 8 * at as u64),
            &bytes(words.iter().copied()),
            Queue::Work,
        )
    }

    fn read(&mut self, at: Range<usize>, words: &mut [u64]) -> Result<(), DriverError> {
        words.copy_from_slice(&self.words(at));
        Ok(())
    }

    fn iterate(&mut self, launches: usize) -> Result<(), DriverError> {
        for _ in 0..launches {
            let request = self.words(self.layout.request.clone())[0];
            if Request::from_word(request) != Some(Request::Evaluate) {
                continue;
            }
            let params = self.numbers(&self.layout.trial.params);
            let columns = self.numbers(&self.layout.columns);
            let mut normal = Normal::zero(self.layout.z.len());
            self.evaluator.normal(&params, &columns, &mut normal).expect("no fault");
            let sums = normal.products.iter().copied().chain([normal.cost]).map(f64::to_bits);
            let words: Vec<u64> = sums.collect();
            self.write(self.layout.trial.sums.start, &words)?;
            self.step(None)?;
        }
        Ok(())
    }

    fn factor(&mut self) -> Result<(), DriverError> {
        let params = self.numbers(&self.layout.present.params);
        let columns = self.numbers(&self.layout.columns);
        let mut factor = RFactor::zero(self.layout.z.len());
        self.evaluator.factor(&params, &columns, &mut factor).expect("no fault");
        self.device.upload(
            self.factor,
            &bytes(factor.r.iter().map(|v| v.to_bits())),
            Queue::Work,
        )?;
        self.step(Some(self.factor))
    }

    fn stop(&mut self) -> Result<(), DriverError> {
        self.step(None)
    }

    fn first_bad_point(&mut self, params: &[f64]) -> Option<BadPoint> {
        self.evaluator.first_bad_point(params)
    }

    fn magnitudes(&mut self, params: &[f64], out: &mut [f64]) -> Result<(), Fault> {
        self.evaluator.magnitudes(params, out)
    }
}
