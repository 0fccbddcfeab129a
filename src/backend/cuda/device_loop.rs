//! A fit whose loop runs on the device: launches of the kernels that hold pass and solver in one.

use super::driver::{DriverError, Geometry};
use super::evaluator::{Cuda, Place, geometry};
use super::memory::Buffer;
use super::source::THREADS;
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

    /// Queues evaluations at the state's trial with the steps that follow them.
    pub(super) fn iterate(&mut self, launches: usize) -> Result<(), DriverError> {
        let Place::Whole(points) = &self.place else { return Err(no_loop()) };
        let multiprocessors = self.kernels.driver.properties().multiprocessors;
        let geometry = geometry(multiprocessors, self.free, points.points);
        (0..launches).try_for_each(|_| self.step(geometry, 0))
    }

    /// Queues the factor at the state's present parameters and the step that waits for it.
    pub(super) fn factor_and_step(&mut self) -> Result<(), DriverError> {
        let Place::Whole(points) = &self.place else { return Err(no_loop()) };
        let state = self.state()?.address();
        let at = |place: &Range<usize>| state + (place.start * size_of::<u64>()) as u64;
        let multiprocessors = self.kernels.driver.properties().multiprocessors;
        let geometry = geometry(multiprocessors, self.free, points.points);
        let data = points.data(self.loss_scale);
        let (params, columns) = (at(&self.layout.present_params), at(&self.layout.columns));
        let out = self.out.address();
        let words = [params, columns, 0f64.to_bits(), self.partial.address()];
        let tail = [self.ticket.address(), out];
        let arguments: Vec<&[u8]> = std::iter::once(data.as_slice())
            .chain(words.iter().chain(&tail).map(bytemuck::bytes_of))
            .collect();
        self.kernels.launch("factor", geometry, &arguments)?;
        self.step(ONE_BLOCK, out)
    }

    /// Queues a step without an evaluation, for a state that the host has stopped.
    pub(super) fn step_alone(&mut self) -> Result<(), DriverError> {
        self.step(ONE_BLOCK, 0)
    }

    /// One launch of `iterate`; `factor`: the address of a factor to go on with, or 0.
    fn step(&self, geometry: Geometry, factor: u64) -> Result<(), DriverError> {
        let Place::Whole(points) = &self.place else { return Err(no_loop()) };
        let data = points.data(self.loss_scale);
        let words =
            [self.state()?.address(), self.partial.address(), self.ticket.address(), factor];
        let arguments: Vec<&[u8]> =
            std::iter::once(data.as_slice()).chain(words.iter().map(bytemuck::bytes_of)).collect();
        self.kernels.launch("iterate", geometry, &arguments)
    }

    fn state(&self) -> Result<&Buffer, DriverError> {
        self.state.as_ref().ok_or_else(no_loop)
    }
}

const ONE_BLOCK: Geometry = Geometry { blocks: 1, threads: THREADS as u32 };

/// The error of a loop that there is not, which no caller asks for.
pub(super) fn no_loop() -> DriverError {
    DriverError::Failed {
        call: "iterate",
        code: 0,
        text: "the fit has no loop on the device".into(),
    }
}
