//! Copies through page-locked memory: two buffers in turn, so that the device fetches one while the
//! host fills the other. The copies of one pair go to one stream.
//!
//! The driver copies from ordinary memory too, but with one thread and a wait. Here all cores of the
//! host fill a buffer, which one core does at a third of the speed of the bus.

use super::context::Context;
use super::pinned::Pinned;
use crate::backend::cuda::driver::{Address, DriverError, Queue};
use crate::threads;

/// Bytes that one thread copies at a time: they stay in its cache, and take longer than handing them
/// out does.
const PIECE: usize = 128 << 10;

/// Two buffers of one size.
#[derive(Debug)]
pub(super) struct Staging {
    buffers: [Pinned; 2],
    next: usize,
}

impl Staging {
    /// Two buffers of `bytes` bytes, unless the host has not that much to spare.
    pub(super) fn new(context: &Context, bytes: usize) -> Option<Staging> {
        let first = context.pinned(bytes).ok()?;
        match context.pinned(bytes) {
            Ok(second) => Some(Staging { buffers: [first, second], next: 0 }),
            Err(_) => {
                context.free_pinned(first);
                None
            }
        }
    }

    /// Bytes of a buffer.
    pub(super) fn bytes(&self) -> usize {
        self.buffers[0].bytes()
    }

    /// Starts copies; `bytes` may be reused when this returns.
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
            let staged = &mut context.claim(buffer)?[..chunk.len()];
            if chunk.len() < 2 * PIECE {
                staged.copy_from_slice(chunk);
            } else {
                let pieces = staged.chunks_mut(PIECE).zip(chunk.chunks(PIECE));
                threads::map(pieces, |(staged, piece)| staged.copy_from_slice(piece));
            }
            context.upload_pinned(to, buffer, chunk.len(), queue)?;
            to = Address(to.0 + chunk.len() as u64);
        }
        Ok(())
    }

    /// Waits for all work and copies what fits into one buffer.
    pub(super) fn download(
        &mut self,
        context: &Context,
        from: Address,
        bytes: &mut [u8],
    ) -> Result<(), DriverError> {
        let length = bytes.len();
        bytes.copy_from_slice(context.download_pinned(from, self.turn(), length)?);
        Ok(())
    }

    /// Gives the buffers back, when all work has been waited for.
    pub(super) fn free(self, context: &Context) {
        self.buffers.into_iter().for_each(|buffer| context.free_pinned(buffer));
    }

    fn turn(&mut self) -> &mut Pinned {
        self.next = 1 - self.next;
        &mut self.buffers[self.next]
    }
}
