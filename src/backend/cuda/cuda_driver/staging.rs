//! Copies through page-locked buffers in turn. The device reads some buffers while the host fills another, or writes
//! one while the host empties another. All copies through one set of buffers use one stream.
//!
//! The driver can copy from ordinary memory, but with one thread and a wait. Here all cores of the
//! host fill a buffer; one core alone reaches a third of the speed of the bus.

use super::context::Context;
use super::pinned::Pinned;
use crate::backend::cuda::driver::{Address, DriverError, Queue};
use crate::threads;

/// Bytes that one thread copies at a time. They fit into its cache, and the copy takes longer than the scheduling
/// of the task.
const PIECE: usize = 128 << 10;

/// Copies `from` to `to`, with all threads if there are at least two pieces.
fn copy(from: &[u8], to: &mut [u8]) {
    if from.len() < 2 * PIECE {
        to.copy_from_slice(from);
    } else {
        let pieces = to.chunks_mut(PIECE).zip(from.chunks(PIECE));
        threads::map(pieces, |(to, from)| to.copy_from_slice(from));
    }
}

/// At least two buffers of one size.
#[derive(Debug)]
pub(super) struct Staging {
    buffers: Vec<Pinned>,
    /// Index of the buffer that was used last.
    last: usize,
}

impl Staging {
    /// Allocates `count` buffers of `bytes` bytes. Returns `None` if the host does not have enough memory.
    pub(super) fn new(context: &Context, count: usize, bytes: usize) -> Option<Staging> {
        let buffers = (0..count).map_while(|_| context.pinned(bytes).ok()).collect();
        let staging = Staging { buffers, last: 0 };
        if staging.buffers.len() == count {
            return Some(staging);
        }
        staging.free(context);
        None
    }

    /// Returns the size of a buffer, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.buffers[0].bytes()
    }

    /// Starts copies to the device. The caller may reuse `bytes` when this returns.
    pub(super) fn upload(
        &mut self,
        context: &Context,
        to: Address,
        bytes: &[u8],
        queue: Queue,
    ) -> Result<(), DriverError> {
        let mut to = to;
        for chunk in bytes.chunks(self.bytes()) {
            let buffer = self.turn();
            copy(chunk, &mut context.claim(buffer)?[..chunk.len()]);
            context.upload_pinned(to, buffer, chunk.len(), queue)?;
            to = Address(to.0 + chunk.len() as u64);
        }
        Ok(())
    }

    /// Copies from the device when the work of a queue is complete. The host empties one buffer while the device fills
    /// the other.
    pub(super) fn download(
        &mut self,
        context: &Context,
        from: Address,
        bytes: &mut [u8],
        queue: Queue,
    ) -> Result<(), DriverError> {
        let mut from = from;
        let mut under_way: Option<&mut [u8]> = None;
        for chunk in bytes.chunks_mut(self.bytes()) {
            context.download_pinned(from, self.turn(), chunk.len(), queue)?;
            from = Address(from.0 + chunk.len() as u64);
            if let Some(before) = under_way.replace(chunk) {
                let count = self.buffers.len();
                let before_last = &mut self.buffers[(self.last + count - 1) % count];
                copy(&context.claim(before_last)?[..before.len()], before);
            }
        }
        if let Some(chunk) = under_way {
            copy(&context.claim(&mut self.buffers[self.last])?[..chunk.len()], chunk);
        }
        Ok(())
    }

    /// Releases the buffers. The caller must have waited for all work.
    pub(super) fn free(self, context: &Context) {
        self.buffers.into_iter().for_each(|buffer| context.free_pinned(buffer));
    }

    fn turn(&mut self) -> &mut Pinned {
        self.last = (self.last + 1) % self.buffers.len();
        &mut self.buffers[self.last]
    }
}
