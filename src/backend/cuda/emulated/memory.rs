//! Memory of the emulated device. Every buffer ends at a protected page, and allocations are counted.
//!
//! A buffer costs three system calls, which is negligible compared with a launch. Every read or write past
//! its end faults at once; checked margins would detect only writes, and later. The few bytes between a
//! buffer's end and the next multiple of the alignment, and the bytes before the buffer in its first page,
//! contain a pattern that is checked at the release.

use std::collections::{BTreeMap, VecDeque};
use std::ptr::NonNull;

/// Alignment of buffers in bytes, sufficient for every type of CUDA C++.
const ALIGNMENT: usize = 16;
const MARGIN: u8 = 0xA5;
/// Byte of fresh memory; every floating-point number of such bytes is NaN.
const FRESH: u8 = 0xFF;

/// One allocation: margin, buffer, margin, and then a protected page.
struct Buffer {
    mapping: NonNull<u8>,
    /// Number of accessible bytes.
    open: usize,
    page: usize,
    /// Distance of the buffer from the start of the mapping, in bytes.
    offset: usize,
    bytes: usize,
}

// SAFETY: a buffer owns its mapping, and any thread may use its address.
unsafe impl Send for Buffer {}

impl Buffer {
    fn new(bytes: usize) -> Option<Buffer> {
        // SAFETY: a query without arguments in memory.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
        let padded = bytes.checked_next_multiple_of(ALIGNMENT)?.max(ALIGNMENT);
        let open = padded.checked_next_multiple_of(page)?;
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address that the system chooses; its last page is protected.
        let mapping = unsafe {
            let at = libc::mmap(std::ptr::null_mut(), open + page, protection, flags, -1, 0);
            if at == libc::MAP_FAILED {
                return None;
            }
            libc::mprotect(at.byte_add(open), page, libc::PROT_NONE);
            NonNull::new(at.cast::<u8>())?
        };
        let mut buffer = Buffer { mapping, open, page, offset: open - padded, bytes };
        let range = buffer.offset..buffer.offset + bytes;
        buffer.opened().fill(MARGIN);
        buffer.opened()[range].fill(FRESH);
        Some(buffer)
    }

    fn opened(&mut self) -> &mut [u8] {
        // SAFETY: the first `open` bytes of the mapping are accessible and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.mapping.as_ptr(), self.open) }
    }

    fn address(&self) -> u64 {
        (self.mapping.as_ptr() as usize + self.offset) as u64
    }

    /// Releases the memory but keeps its addresses reserved, therefore a late access faults.
    fn close(&mut self) {
        let at = self.mapping.as_ptr().cast();
        // SAFETY: the mapping belongs to this buffer, and its bytes are not read again.
        unsafe {
            libc::madvise(at, self.open, libc::MADV_DONTNEED);
            libc::mprotect(at, self.open, libc::PROT_NONE);
        }
    }

    fn margins_are_whole(&mut self) -> bool {
        let range = self.offset..self.offset + self.bytes;
        let all = self.opened();
        all[..range.start].iter().chain(&all[range.end..]).all(|&b| b == MARGIN)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping was created with this length, and nothing borrows it.
        unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.open + self.page) };
    }
}

/// Number of released buffers whose addresses stay reserved.
const QUARANTINE: usize = 256;

/// Live buffers by address, and the last released buffers.
#[derive(Default)]
pub(super) struct Heap {
    buffers: BTreeMap<u64, Buffer>,
    released: VecDeque<Buffer>,
    pub(super) live_bytes: usize,
    pub(super) peak_bytes: usize,
}

impl Heap {
    pub(super) fn live(&self) -> usize {
        self.buffers.len()
    }

    pub(super) fn allocate(&mut self, bytes: usize) -> Option<u64> {
        let buffer = Buffer::new(bytes)?;
        let address = buffer.address();
        self.buffers.insert(address, buffer);
        self.live_bytes += bytes;
        self.peak_bytes = self.peak_bytes.max(self.live_bytes);
        Some(address)
    }

    /// Releases a buffer.
    ///
    /// # Errors
    /// Returns a message if `address` is not the address of a buffer, or if bytes next to the buffer were written.
    pub(super) fn release(&mut self, address: u64) -> Result<(), String> {
        let Some(mut buffer) = self.buffers.remove(&address) else {
            return Err(format!("{address:#x} is no buffer: {}", self.describe(address)));
        };
        let (bytes, whole) = (buffer.bytes, buffer.margins_are_whole());
        self.live_bytes -= bytes;
        buffer.close();
        self.released.push_back(buffer);
        if self.released.len() > QUARANTINE {
            self.released.pop_front();
        }
        if whole {
            return Ok(());
        }
        Err(format!(
            "something was written just outside the buffer of {bytes} bytes at {address:#x}"
        ))
    }

    /// Returns the `count` bytes from `address` on, which must be inside one buffer.
    pub(super) fn bytes(&mut self, address: u64, count: usize) -> Result<&mut [u8], String> {
        let described = self.describe(address);
        let outside = || format!("{count} bytes at {address:#x} leave a buffer: {described}");
        let (&start, buffer) =
            self.buffers.range_mut(..=address).next_back().ok_or_else(outside)?;
        let first = (address - start) as usize;
        if first.checked_add(count).is_none_or(|end| end > buffer.bytes) {
            return Err(outside());
        }
        let offset = buffer.offset + first;
        Ok(&mut buffer.opened()[offset..offset + count])
    }

    /// Returns a text with the position of an address relative to the buffers.
    pub(super) fn describe(&self, address: u64) -> String {
        let before = self.buffers.range(..=address).next_back();
        let after = self.buffers.range(address..).next();
        let past = before.map(|(start, buffer)| {
            let (inside, bytes) = (address - start, buffer.bytes as u64);
            match inside.checked_sub(bytes) {
                None => (0, format!("byte {inside} of a buffer of {bytes} bytes")),
                Some(past) => {
                    (past, format!("{past} bytes past the end of a buffer of {bytes} bytes"))
                }
            }
        });
        let ahead = after.map(|(start, buffer)| {
            let ahead = start - address;
            (ahead, format!("{ahead} bytes before a buffer of {} bytes", buffer.bytes))
        });
        let near = past.into_iter().chain(ahead).min_by_key(|(distance, _)| *distance);
        match near {
            Some((distance, text)) if distance < 1 << 20 => text,
            _ => "far from every buffer".into(),
        }
    }
}
