//! Memory of a device: regions at addresses of their own, and page-locked memory of the host at the host's addresses.

use super::Fault;
use std::collections::BTreeMap;

/// First address of the first device. Small numbers and addresses of the host are below it and are therefore invalid.
const FIRST: u64 = 1 << 44;

/// Alignment of regions in bytes, as in the CUDA driver.
const ALIGNMENT: u64 = 256;

/// Number of unused addresses after each region, in bytes.
const GAP: u64 = 4096;

/// Error code of an access outside of all regions.
pub(crate) const ILLEGAL_ADDRESS: i32 = 700;

/// Size of the address range of one device, in bytes. The range of the next device follows.
const ROOM: u64 = 1 << 42;

/// Memory of a device.
#[derive(Debug)]
pub(crate) struct Memory {
    /// First address of the device's own regions.
    first: u64,
    regions: BTreeMap<u64, Region>,
    /// Total size of the device's own regions, in bytes.
    used: usize,
    /// Number of addresses that were assigned, counted from `first`. No address is assigned twice, therefore each use
    /// after `free` is detected.
    given: u64,
}

#[derive(Debug)]
enum Region {
    Own(Vec<u8>),
    /// Memory of the host: pointer and size in bytes.
    Host(*mut u8, usize),
}

// SAFETY: pointers to host memory are only used with exclusive access, by `&mut` or under the driver's lock.
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
    /// Creates the memory of device `number`, in an address range of its own.
    pub(crate) fn of_device(number: usize) -> Memory {
        let first = FIRST + number as u64 * ROOM;
        Memory { first, regions: BTreeMap::new(), used: 0, given: 0 }
    }

    /// Allocates a region of `bytes` bytes with the value `fill`. Returns its address.
    pub(crate) fn allocate(&mut self, bytes: usize, fill: u8) -> u64 {
        let address = self.first + self.given;
        self.given += (bytes as u64).next_multiple_of(ALIGNMENT) + GAP;
        self.regions.insert(address, Region::Own(vec![fill; bytes]));
        self.used += bytes;
        address
    }

    /// Adds memory of the host as a region, at its own address.
    ///
    /// # Safety
    /// `at` is valid for `bytes` bytes until [`forget_host`](Memory::forget_host), and no other code accesses them
    /// while the device does.
    pub(crate) unsafe fn map_host(&mut self, at: *mut u8, bytes: usize) {
        self.regions.insert(at as u64, Region::Host(at, bytes));
    }

    /// Removes a region of the host. Returns false if no such region begins at `address`.
    pub(crate) fn forget_host(&mut self, address: u64) -> bool {
        let is_host = matches!(self.regions.get(&address), Some(Region::Host(..)));
        is_host && self.regions.remove(&address).is_some()
    }

    /// Frees a region of the device. Returns false if no such region begins at `address`.
    pub(crate) fn free(&mut self, address: u64) -> bool {
        let Some(Region::Own(bytes)) = self.regions.get(&address) else { return false };
        self.used -= bytes.len();
        self.regions.remove(&address).is_some()
    }

    /// Returns the total size of the device's own regions, in bytes.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Returns true if `bytes` bytes from `address` on are in one region.
    pub(crate) fn contains(&self, address: u64, bytes: usize) -> bool {
        self.region(address, bytes).is_some()
    }

    /// Returns the bytes of each region, in the order of addresses.
    pub(crate) fn contents(&self) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        for (&address, region) in &self.regions {
            let mut bytes = vec![0; region.bytes()];
            // Cannot fail: the range is a region.
            let _ = self.read(address, &mut bytes);
            all.push(bytes);
        }
        all
    }

    /// Writes the result of [`contents`](Memory::contents) back. The regions must be the same.
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
    /// If the bytes are not in one region.
    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        let (region, offset) =
            self.region(address, bytes.len()).ok_or_else(|| outside(address, bytes.len()))?;
        match region {
            Region::Own(all) => bytes.copy_from_slice(&all[offset..offset + bytes.len()]),
            // SAFETY: the bytes are in memory of the host that is valid by the contract of `map_host`.
            Region::Host(at, _) => unsafe {
                at.add(offset).copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len());
            },
        }
        Ok(())
    }

    /// # Errors
    /// If the bytes are not in one region.
    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.with(address, bytes.len(), |to| to.copy_from_slice(bytes))
    }

    /// Sets `bytes` bytes to `fill`.
    ///
    /// # Errors
    /// If the bytes are not in one region.
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
