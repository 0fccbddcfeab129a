//! Sums of several launches that wait in the memory of a device, so that the host need not wait for each.

use super::driver::{Address, Driver, DriverError};
use super::memory::Buffer;
use super::passes::Summed;
use std::sync::Arc;

/// Room for the sums of a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) at: Address,
    pub(super) bytes: usize,
}

/// Sums in the order of their launches.
pub(super) struct Slots {
    out: Buffer,
    /// Numbers of a slot.
    width: usize,
    count: usize,
    /// Slots that were handed out.
    taken: usize,
    staged: Vec<f64>,
}

impl Slots {
    pub(super) fn new(
        driver: &Arc<dyn Driver>,
        width: usize,
        count: usize,
    ) -> Result<Slots, DriverError> {
        let out = Buffer::of::<f64>(driver, width * count)?;
        Ok(Slots { out, width, count, taken: 0, staged: vec![0.0; width * count] })
    }

    pub(super) fn bytes(&self) -> usize {
        self.out.bytes()
    }

    pub(super) fn is_full(&self) -> bool {
        self.taken == self.count
    }

    /// The first slot, for work that does not take one after the other.
    pub(super) fn first(&self) -> u64 {
        self.out.address()
    }

    /// Forgets what was left there.
    pub(super) fn clear(&mut self) {
        self.taken = 0;
    }

    /// The next slot, of those that are not full.
    pub(super) fn next(&mut self) -> Slot {
        debug_assert!(!self.is_full());
        let bytes = self.width * size_of::<f64>();
        let at = Address(self.out.address() + (self.taken * bytes) as u64);
        self.taken += 1;
        Slot { at, bytes }
    }

    /// Waits for the launches, adds what they left to `sum` in their order, and empties all slots.
    /// `part` is room for one of them.
    pub(super) fn collect<S: Summed>(
        &mut self,
        part: &mut S,
        sum: &mut S,
    ) -> Result<(), DriverError> {
        let found = &mut self.staged[..self.taken * self.width];
        self.taken = 0;
        if found.is_empty() {
            return Ok(());
        }
        self.out.read(0, found)?;
        for numbers in found.chunks_exact(self.width) {
            part.take(numbers);
            sum.merge(part);
        }
        Ok(())
    }
}
