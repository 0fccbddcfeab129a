//! A fit whose loop runs on the device: launches of its passes and of the steps between them.

use super::driver::{DriverError, Geometry};
use super::evaluator::{Cuda, Place, factor_geometry, geometry};
use super::memory::Buffer;
use super::state::Layout;
use std::ops::Range;

impl Cuda<'_> {
    /// Whether all points are on the device and the parameters few enough for a loop there.
    pub(super) fn has_loop(&self) -> bool {
        self.state.is_some()
    }

    /// The state that such a loop works on.
    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn write_state(&mut self, at: usize, words: &[u64]) -> Result<(), DriverError> {
        self.state()?.write(at, words)
    }

    pub(super) fn read_state(
        &mut self,
        at: Range<usize>,
        words: &mut [u64],
    ) -> Result<(), DriverError> {
        self.state()?.read(at.start, words)
    }

    /// Queues evaluations at the state's trial, each with the step that follows it.
    pub(super) fn iterate(&mut self, launches: usize) -> Result<(), DriverError> {
        let Place::Whole(points) = &self.place else { return Err(no_loop()) };
        let data = points.data(self.loss_scale);
        let words = [self.state()?.address(), self.partial.address(), self.ticket.address()];
        let arguments = with_data(&data, &words);
        for _ in 0..launches {
            let geometry = self.geometry(points.points);
            self.kernels.passes.launch("evaluate", geometry, &arguments)?;
            self.step(0)?;
        }
        Ok(())
    }

    /// Queues the factor at the state's present parameters and the step that waits for it.
    pub(super) fn factor_and_step(&mut self) -> Result<(), DriverError> {
        let Place::Whole(points) = &self.place else { return Err(no_loop()) };
        let state = self.state()?.address();
        let at = |place: &Range<usize>| state + (place.start * size_of::<u64>()) as u64;
        let (params, columns) = (at(&self.layout.present_params), at(&self.layout.columns));
        let out = self.out.address();
        let no_floor = 0f64.to_bits();
        let words = [params, columns, no_floor, self.partial.address(), self.ticket.address(), out];
        let data = points.data(self.loss_scale);
        let multiprocessors = self.kernels.passes.driver.properties().multiprocessors;
        let geometry = factor_geometry(multiprocessors, self.free, points.points);
        self.kernels.factor()?.launch("factor", geometry, &with_data(&data, &words))?;
        self.step(out)
    }

    /// Queues a step; `factor`: the address of a factor to go on with, or 0 for an evaluation, or for
    /// a state that the host has stopped.
    pub(super) fn step(&self, factor: u64) -> Result<(), DriverError> {
        let state = self.state()?.address();
        let arguments = [bytemuck::bytes_of(&state), bytemuck::bytes_of(&factor)];
        self.kernels.solver.as_ref().ok_or_else(no_loop)?.launch("step", ONE_WARP, &arguments)
    }

    fn geometry(&self, points: usize) -> Geometry {
        geometry(self.kernels.passes.driver.properties().multiprocessors, self.free, points)
    }

    fn state(&self) -> Result<&Buffer, DriverError> {
        self.state.as_ref().ok_or_else(no_loop)
    }
}

const ONE_WARP: Geometry = Geometry { blocks: 1, threads: 32 };

/// The bytes of a kernel's parameters: the points, then words.
fn with_data<'a>(data: &'a [u8], words: &'a [u64]) -> Vec<&'a [u8]> {
    std::iter::once(data).chain(words.iter().map(bytemuck::bytes_of)).collect()
}

/// The error of a loop that there is not, which no caller asks for.
pub(super) fn no_loop() -> DriverError {
    DriverError::Failed {
        call: "iterate",
        code: 0,
        text: "the fit has no loop on the device".into(),
    }
}
