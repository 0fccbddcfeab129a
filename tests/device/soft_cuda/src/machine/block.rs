//! State of a block: its shared memory, the local memory of its threads, and access to the memory of the device.

use super::clock::Counts;
use super::memory::{ILLEGAL_ADDRESS, Memory};
use super::races::{Place, Races};
use super::{Fault, Settings, Trial};
use crate::mutant::{Mutant, Site};
use crate::program::{Space, Type};
use std::collections::BTreeMap;

/// Generic address of the first byte of shared memory.
const SHARED_WINDOW: u64 = 1 << 40;

/// Generic address of the first byte of local memory, which has [`STACK`] bytes for each thread.
const LOCAL_WINDOW: u64 = 1 << 41;

/// Local memory of a thread, in bytes.
pub(crate) const STACK: usize = 1 << 14;

pub(crate) const ILLEGAL_INSTRUCTION: i32 = 715;
const MISALIGNED: i32 = 716;
const INVALID_SPACE: i32 = 717;
pub(crate) const LAUNCH_FAILED: i32 = 719;

/// The running block, with the memory and the recorders that it uses.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub(crate) number: u32,
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
    pub(crate) shared: Vec<u8>,
    local: Vec<u8>,
    pub(crate) memory: &'a mut Memory,
    pub(crate) races: Option<Races>,
    /// Instruction counts of each function of the module.
    pub(crate) counts: Option<Vec<Counts>>,
    pub(crate) trial: Option<Trial>,
    notes_sites: bool,
    pub(crate) sites: BTreeMap<Site, u32>,
    pub(crate) issued: u64,
    /// Maximum of `issued`.
    pub(crate) most_issued: u64,
}

/// Memory access by a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) thread: usize,
    pub(crate) space: Space,
    pub(crate) address: u64,
    pub(crate) line: u32,
    pub(crate) is_atomic: bool,
}

/// Resolved address: an offset in shared or local memory, or an address in the memory of the device.
enum Target {
    Shared(usize),
    Local(usize),
    Device(u64),
}

fn fault(code: i32, what: String) -> Fault {
    Fault { code, what }
}

impl<'a> Block<'a> {
    pub(crate) fn new(
        blocks: u32,
        threads: u32,
        shared_bytes: usize,
        memory: &'a mut Memory,
        settings: &Settings,
    ) -> Block<'a> {
        let all = threads as usize;
        Block {
            number: 0,
            blocks,
            threads,
            shared: vec![0; shared_bytes],
            local: vec![0xff; all * STACK],
            memory,
            races: settings.finds_races.then(|| Races::new(all)),
            counts: None,
            trial: settings.trial,
            notes_sites: settings.notes_sites,
            sites: BTreeMap::new(),
            issued: 0,
            most_issued: settings.trial.map_or(u64::MAX, |trial| trial.most),
        }
    }

    /// Prepares the next block. All bytes of its shared memory are 0xff, which is NaN in floats.
    pub(crate) fn restart(&mut self, number: u32) {
        self.number = number;
        self.shared.fill(0xff);
        self.races.iter_mut().for_each(|races| races.restart(number));
    }

    /// Returns the mutant of this trial if it concerns the instruction.
    pub(crate) fn mistake_at(&self, site: Site) -> Option<Mutant> {
        self.trial.map(|trial| trial.mutant).filter(|mutant| mutant.site == site)
    }

    /// Returns true if a trial has found a data race and can therefore end.
    pub(crate) fn has_failed(&self) -> bool {
        self.trial.is_some() && self.races.as_ref().is_some_and(|races| !races.found.is_empty())
    }

    /// Records the execution of an instruction that orders threads or waits for lanes. `named`: the intersection of the
    /// lanes' masks.
    pub(crate) fn note(&mut self, site: Site, named: impl FnOnce() -> u32) {
        if self.notes_sites {
            *self.sites.entry(site).or_insert(u32::MAX) &= named();
        }
    }

    /// Converts an address in a state space to a generic address.
    pub(crate) fn generic(&self, space: Space, thread: usize, address: u64) -> u64 {
        match space {
            Space::Shared => address.wrapping_add(SHARED_WINDOW),
            Space::Local => address.wrapping_add(LOCAL_WINDOW + (thread * STACK) as u64),
            _ => address,
        }
    }

    /// Converts a generic address to an address in a state space.
    pub(crate) fn specific(&self, space: Space, thread: usize, address: u64) -> u64 {
        match space {
            Space::Shared => address.wrapping_sub(SHARED_WINDOW),
            Space::Local => address.wrapping_sub(LOCAL_WINDOW + (thread * STACK) as u64),
            _ => address,
        }
    }

    /// Returns the state space of a generic address.
    pub(crate) fn space_of(&self, generic: u64) -> Space {
        match generic {
            LOCAL_WINDOW.. if generic - LOCAL_WINDOW < self.local.len() as u64 => Space::Local,
            SHARED_WINDOW.. if generic - SHARED_WINDOW < self.shared.len() as u64 => Space::Shared,
            _ => Space::Global,
        }
    }

    fn target(&self, access: Access, bytes: usize) -> Result<Target, Fault> {
        let Access { thread, space, address, .. } = access;
        if !address.is_multiple_of(bytes as u64) {
            let what = format!("address {address:#x} of {bytes} bytes is misaligned");
            return Err(fault(MISALIGNED, what));
        }
        let generic = self.generic(space, thread, address);
        let within = |window: u64, length: usize| {
            let offset = usize::try_from(generic.checked_sub(window)?).ok()?;
            (offset.checked_add(bytes)? <= length).then_some(offset)
        };
        if let Some(offset) = within(SHARED_WINDOW, self.shared.len()) {
            return match space {
                Space::Shared | Space::Generic => Ok(Target::Shared(offset)),
                _ => Err(fault(INVALID_SPACE, format!("{address:#x} is shared memory"))),
            };
        }
        if let Some(offset) = within(LOCAL_WINDOW, self.local.len()) {
            return match space {
                _ if offset / STACK != thread => {
                    Err(fault(ILLEGAL_ADDRESS, "local memory of another thread".into()))
                }
                Space::Local | Space::Generic => Ok(Target::Local(offset)),
                _ => Err(fault(INVALID_SPACE, format!("{address:#x} is local memory"))),
            };
        }
        match space {
            Space::Shared | Space::Local => {
                let what = format!("{address:#x} lies outside of {space:?} memory of the block");
                Err(fault(ILLEGAL_ADDRESS, what))
            }
            _ => Ok(Target::Device(address)),
        }
    }

    fn watch(&mut self, access: Access, target: &Target, bytes: usize, writes: bool) {
        let Some(races) = &mut self.races else { return };
        let place = match *target {
            Target::Local(_) => return,
            Target::Shared(offset) => Place::Shared(offset as u64),
            Target::Device(address) => Place::Device(address),
        };
        match place {
            Place::Device(address) if access.is_atomic => races.atomic(access.thread, address),
            _ if access.is_atomic => {}
            _ => races.access(access.thread, place, bytes, writes, access.line),
        }
    }

    /// Loads consecutive values of a type.
    ///
    /// # Errors
    /// If the address is not allocated, is misaligned, or is in another state space or another thread's local memory.
    pub(crate) fn load(
        &mut self,
        access: Access,
        of: Type,
        values: &mut [u64],
    ) -> Result<(), Fault> {
        let (size, bytes) = (of.bytes(), of.bytes() * values.len());
        let mut found = [0; 32];
        let found = &mut found[..bytes];
        let target = self.target(access, bytes)?;
        self.watch(access, &target, bytes, false);
        match target {
            Target::Shared(offset) => found.copy_from_slice(&self.shared[offset..offset + bytes]),
            Target::Local(offset) => found.copy_from_slice(&self.local[offset..offset + bytes]),
            Target::Device(address) => self.memory.read(address, found)?,
        }
        for (value, found) in values.iter_mut().zip(found.chunks_exact(size)) {
            let mut word = [0; 8];
            word[..size].copy_from_slice(found);
            *value = u64::from_le_bytes(word);
        }
        Ok(())
    }

    /// Stores consecutive values of a type.
    ///
    /// # Errors
    /// As [`load`](Block::load).
    pub(crate) fn store(&mut self, access: Access, of: Type, values: &[u64]) -> Result<(), Fault> {
        let (size, bytes) = (of.bytes(), of.bytes() * values.len());
        let mut words = [0; 32];
        for (word, value) in words.chunks_exact_mut(size).zip(values) {
            word.copy_from_slice(&value.to_le_bytes()[..size]);
        }
        let words = &words[..bytes];
        let target = self.target(access, bytes)?;
        self.watch(access, &target, bytes, true);
        match target {
            Target::Shared(offset) => self.shared[offset..offset + bytes].copy_from_slice(words),
            Target::Local(offset) => self.local[offset..offset + bytes].copy_from_slice(words),
            Target::Device(address) => self.memory.write(address, words)?,
        }
        Ok(())
    }
}
