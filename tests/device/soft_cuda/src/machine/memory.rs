//! The memory of a device: regions at addresses of its own, and page-locked memory of the host at the host's addresses.

use super::Fault;
use std::collections::BTreeMap;

/// Where the device's own regions lie: neither small numbers nor addresses of the host are addresses there.
const FIRST: u64 = 1 << 44;

/// Addresses of regions are whole multiples of it, as the driver's are.
const ALIGNMENT: u64 = 256;

/// Addresses behind a region that belong to none.
const GAP: u64 = 4096;

/// The code of an access outside of all regions.
pub(crate) const ILLEGAL_ADDRESS: i32 = 700;

/// Addresses of one device: those of the next lie behind them.
const ROOM: u64 = 1 << 42;

/// The memory of a device.
#[derive(Debug)]
pub(crate) struct Memory {
    /// Where its regions begin.
    first: u64,
    regions: BTreeMap<u64, Region>,
    /// Bytes of the regions that are the device's own.
    used: usize,
    /// Addresses that were given away, from the first on. None is given twice, so that what is used after it was freed is
    /// found.
    given: u64,
}

#[derive(Debug)]
enum Region {
    Own(Vec<u8>),
    /// Memory of the host, and its bytes.
    Host(*mut u8, usize),
}

// SAFETY: the pointers of host memory are used by whoever has the memory for itself, by `&mut` or under the driver's lock.
unsafe impl Send for Memory {}

impl Default for Memory {
    fn default() -> Memory {
        Memory::of_device(0)
    }
}

impl Region {
    fn bytes(&self) -> usize {
        match self {
            Region::Own(bytes) => bytes.len(),
            Region::Host(_, bytes) => *bytes,
        }
    }
}

impl Memory {
    /// Of the device of that number, at addresses that no other has.
    pub(crate) fn of_device(number: usize) -> Memory {
        let first = FIRST + number as u64 * ROOM;
        Memory { first, regions: BTreeMap::new(), used: 0, given: 0 }
    }

    /// A new region of that many bytes, each of which is `fill`.
    pub(crate) fn allocate(&mut self, bytes: usize, fill: u8) -> u64 {
        let address = self.first + self.given;
        self.given += (bytes as u64).next_multiple_of(ALIGNMENT) + GAP;
        self.regions.insert(address, Region::Own(vec![fill; bytes]));
        self.used += bytes;
        address
    }

    /// Makes memory of the host a region, at its own address.
    ///
    /// # Safety
    /// It is that many bytes until [`forget_host`](Memory::forget_host), and nobody else uses it while the device does.
    pub(crate) unsafe fn map_host(&mut self, at: *mut u8, bytes: usize) {
        self.regions.insert(at as u64, Region::Host(at, bytes));
    }

    /// Removes a region of the host. False if none begins there.
    pub(crate) fn forget_host(&mut self, address: u64) -> bool {
        let is_host = matches!(self.regions.get(&address), Some(Region::Host(..)));
        is_host && self.regions.remove(&address).is_some()
    }

    /// Frees a region of the device. False if none begins there.
    pub(crate) fn free(&mut self, address: u64) -> bool {
        let Some(Region::Own(bytes)) = self.regions.get(&address) else { return false };
        self.used -= bytes.len();
        self.regions.remove(&address).is_some()
    }

    /// Bytes of all regions of the device.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Whether so many bytes from there on lie in one region.
    pub(crate) fn contains(&self, address: u64, bytes: usize) -> bool {
        self.region(address, bytes).is_some()
    }

    /// What all regions hold, one after the other.
    pub(crate) fn contents(&self) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        for (&address, region) in &self.regions {
            let mut bytes = vec![0; region.bytes()];
            // The bytes are those of a region.
            let _ = self.read(address, &mut bytes);
            all.push(bytes);
        }
        all
    }

    /// Gives the same regions what they held.
    pub(crate) fn restore(&mut self, contents: &[Vec<u8>]) {
        let addresses: Vec<u64> = self.regions.keys().copied().collect();
        for (address, bytes) in addresses.into_iter().zip(contents) {
            let _ = self.write(address, bytes);
        }
    }

    fn region(&self, address: u64, bytes: usize) -> Option<(&Region, usize)> {
        let (&begin, region) = self.regions.range(..=address).next_back()?;
        let offset = usize::try_from(address - begin).ok()?;
        let end = offset.checked_add(bytes)?;
        (end <= region.bytes()).then_some((region, offset))
    }

    /// # Errors
    /// If the bytes do not lie in one region.
    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        let (region, offset) =
            self.region(address, bytes.len()).ok_or_else(|| outside(address, bytes.len()))?;
        match region {
            Region::Own(all) => bytes.copy_from_slice(&all[offset..offset + bytes.len()]),
            // SAFETY: the bytes lie in memory of the host that is the device's by the contract of `map_host`.
            Region::Host(at, _) => unsafe {
                at.add(offset).copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len());
            },
        }
        Ok(())
    }

    /// # Errors
    /// If the bytes do not lie in one region.
    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.with(address, bytes.len(), |to| to.copy_from_slice(bytes))
    }

    /// Makes each of so many bytes `fill`.
    ///
    /// # Errors
    /// If the bytes do not lie in one region.
    pub(crate) fn fill(&mut self, address: u64, fill: u8, bytes: usize) -> Result<(), Fault> {
        self.with(address, bytes, |to| to.fill(fill))
    }

    fn with(
        &mut self,
        address: u64,
        bytes: usize,
        work: impl FnOnce(&mut [u8]),
    ) -> Result<(), Fault> {
        let found = self.regions.range_mut(..=address).next_back();
        let (&begin, region) = found.ok_or_else(|| outside(address, bytes))?;
        let offset = usize::try_from(address - begin).unwrap_or(usize::MAX);
        let end = offset.saturating_add(bytes);
        match region {
            Region::Own(all) if end <= all.len() => work(&mut all[offset..end]),
            Region::Host(at, length) if end <= *length => {
                // SAFETY: as in `read`.
                work(unsafe { std::slice::from_raw_parts_mut(at.add(offset), bytes) });
            }
            _ => return Err(outside(address, bytes)),
        }
        Ok(())
    }
}

fn outside(address: u64, bytes: usize) -> Fault {
    let what = format!("an access of {bytes} bytes at {address:#x}, which is not allocated");
    Fault { code: ILLEGAL_ADDRESS, what }
}
