//! A fit whose loop runs on the device: launches of its passes and of the steps between them.

use super::driver::{DriverError, Geometry};
use super::evaluator::{Cuda, Place};
use super::memory::Buffer;
use super::passes::{factor_geometry, geometry, with_data};
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
        let passes = &self.passes;
        let data = points.data(passes.loss_scale);
        let words = [self.state()?.address(), passes.partial.address(), passes.ticket.address()];
        let arguments = with_data(&data, &words);
        for _ in 0..launches {
            let geometry = self.geometry(points.points);
            passes.kernels.passes.launch("evaluate", geometry, &arguments)?;
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
        let (passes, out) = (&self.passes, self.slots.first());
        let no_floor = 0f64.to_bits();
        let (partial, ticket) = (passes.partial.address(), passes.ticket.address());
        let words = [params, columns, no_floor, partial, ticket, out];
        let data = points.data(passes.loss_scale);
        let multiprocessors = passes.kernels.passes.driver.properties().multiprocessors;
        let geometry = factor_geometry(multiprocessors, passes.free, points.points);
        passes.kernels.factor()?.launch("factor", geometry, &with_data(&data, &words))?;
        self.step(out)
    }

    /// Queues a step; `factor`: the address of a factor to go on with, or 0 for an evaluation, or for
    /// a state that the host has stopped.
    pub(super) fn step(&self, factor: u64) -> Result<(), DriverError> {
        let state = self.state()?.address();
        let arguments = [bytemuck::bytes_of(&state), bytemuck::bytes_of(&factor)];
        self.passes
            .kernels
            .solver
            .as_ref()
            .ok_or_else(no_loop)?
            .launch("step", ONE_WARP, &arguments)
    }

    fn geometry(&self, points: usize) -> Geometry {
        let multiprocessors = self.passes.kernels.passes.driver.properties().multiprocessors;
        geometry(multiprocessors, self.passes.free, points)
    }

    fn state(&self) -> Result<&Buffer, DriverError> {
        self.state.as_ref().ok_or_else(no_loop)
    }
}

const ONE_WARP: Geometry = Geometry { blocks: 1, threads: 32 };

/// The error of a loop that there is not, which no caller asks for.
pub(super) fn no_loop() -> DriverError {
    DriverError::Failed {
        call: "iterate",
        code: 0,
        text: "the fit has no loop on the device".into(),
    }
}
