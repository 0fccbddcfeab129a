//! Detection of data races by vector clocks.
//!
//! A barrier orders all earlier accesses of the threads that meet at it before their later accesses. If a thread
//! executes a fence of device scope and then an atomic operation, its accesses before the fence come before the
//! accesses of another thread that follow an atomic operation at the same address and then a fence. Votes and shuffles
//! order nothing, as PTX specifies.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Granularity of the detection, in bytes.
const GRAIN: u64 = 4;

/// Maximum number of remembered readers of a grain.
const MOST_READERS: usize = 64;

/// Maximum number of described races.
const MOST_TOLD: usize = 60;

/// Vector clock: the time of each thread of a block.
type Clock = Vec<u32>;

/// Vector clocks of other blocks, by block.
type Others = HashMap<u32, Rc<Clock>>;

/// Location of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// An offset in the shared memory of the block that runs.
    Shared(u64),
    /// An address in the memory of the device.
    Device(u64),
}

/// Time of an access by a thread. Times begin with 1.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    block: u32,
    thread: usize,
    time: u32,
}

/// Last accesses of [`GRAIN`] bytes.
#[derive(Debug, Default)]
struct Grain {
    /// The last write; its time is 0 if there was no write. `line`: the line of this write.
    written: Moment,
    line: u32,
    /// The last read of each thread since the last write.
    read: Vec<Moment>,
}

/// Happens-before knowledge of one thread of the running block.
#[derive(Clone, Debug, Default)]
struct Knowledge {
    /// Vector clock of the thread's own block, which includes the thread itself.
    own: Clock,
    others: Others,
    /// Knowledge at the thread's last fence, which its atomic operations publish.
    fenced: Option<Others>,
    /// Knowledge received by the thread's atomic operations, which takes effect at its next fence.
    told: Others,
}

/// State of the detection: the knowledge of each thread, and the last accesses of each grain of memory.
#[derive(Debug)]
pub(crate) struct Races {
    block: u32,
    threads: Vec<Knowledge>,
    grains: HashMap<Place, Grain>,
    /// Knowledge published by atomic operations, by address.
    atomics: HashMap<u64, Others>,
    /// Pairs of lines that were reported already.
    said: HashSet<(u32, u32)>,
    pub(crate) found: Vec<String>,
}

impl Knowledge {
    fn has(&self, block: u32, moment: Moment) -> bool {
        let clock = match moment.block == block {
            true => Some(&self.own),
            false => self.others.get(&moment.block).map(Rc::as_ref),
        };
        clock.is_some_and(|clock| clock[moment.thread] >= moment.time)
    }
}

/// Merges `from` into `to`: the maximum of each time.
fn learn(to: &mut Others, from: &Others) {
    for (&block, clock) in from {
        match to.get_mut(&block) {
            Some(known) if Rc::ptr_eq(known, clock) => {}
            Some(known) => raise(Rc::make_mut(known), clock),
            None => drop(to.insert(block, clock.clone())),
        }
    }
}

fn raise(to: &mut Clock, from: &Clock) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = (*to).max(*from);
    }
}

impl Races {
    pub(crate) fn new(threads: usize) -> Races {
        let mut races = Races {
            block: 0,
            threads: vec![Knowledge::default(); threads],
            grains: HashMap::new(),
            atomics: HashMap::new(),
            said: HashSet::new(),
            found: Vec::new(),
        };
        races.restart(0);
        races
    }

    /// Prepares the next block. Its threads know nothing of the blocks before it.
    pub(crate) fn restart(&mut self, block: u32) {
        self.block = block;
        self.grains.retain(|place, _| matches!(place, Place::Device(_)));
        let count = self.threads.len();
        for (number, thread) in self.threads.iter_mut().enumerate() {
            let own = (0..count).map(|of| u32::from(of == number)).collect();
            *thread = Knowledge { own, ..Knowledge::default() };
        }
    }

    /// Records a read or write of `bytes` bytes, and reports a race if it is unordered with an earlier access.
    pub(crate) fn access(
        &mut self,
        thread: usize,
        place: Place,
        bytes: usize,
        writes: bool,
        line: u32,
    ) {
        let (begin, name): (u64, fn(u64) -> Place) = match place {
            Place::Shared(offset) => (offset, Place::Shared),
            Place::Device(address) => (address, Place::Device),
        };
        let known = &self.threads[thread];
        let now = Moment { block: self.block, thread, time: known.own[thread] };
        for number in begin / GRAIN..(begin + bytes as u64).div_ceil(GRAIN) {
            let place = name(number * GRAIN);
            let grain = self.grains.entry(place).or_default();
            let unseen = |moment: &Moment| moment.time > 0 && !known.has(self.block, *moment);
            let written = Some(grain.written).filter(unseen);
            let read = grain.read.iter().copied().find(|moment| writes && unseen(moment));
            if let Some(other) = written.or(read)
                && self.said.insert((line, grain.line))
                && self.found.len() < MOST_TOLD
            {
                let how = if writes { "writes" } else { "reads" };
                let before = if written.is_some() { "wrote" } else { "read" };
                self.found.push(format!(
                    "thread {thread} of block {} {how} {place:x?} in line {line}, which thread {} of block {} {before} (last written in line {})",
                    self.block, other.thread, other.block, grain.line
                ));
            }
            if writes {
                *grain = Grain { written: now, line, read: Vec::new() };
                continue;
            }
            let same = |moment: &Moment| (moment.block, moment.thread) == (now.block, thread);
            match grain.read.iter().position(same) {
                Some(before) => grain.read[before] = now,
                None if grain.read.len() < MOST_READERS => grain.read.push(now),
                None => grain.read[thread % MOST_READERS] = now,
            }
        }
    }

    /// Orders all past accesses of these threads before all of their future accesses.
    pub(crate) fn join(&mut self, threads: &[usize]) {
        let mut all = Knowledge { own: vec![0; self.threads.len()], ..Knowledge::default() };
        for &thread in threads {
            raise(&mut all.own, &self.threads[thread].own);
            learn(&mut all.others, &self.threads[thread].others);
        }
        for &thread in threads {
            let known = &mut self.threads[thread];
            known.own.clone_from(&all.own);
            known.others.clone_from(&all.others);
            known.own[thread] += 1;
        }
    }

    /// Records a fence of device scope.
    pub(crate) fn fence(&mut self, thread: usize) {
        let known = &mut self.threads[thread];
        let told = std::mem::take(&mut known.told);
        learn(&mut known.others, &told);
        let mut fenced = known.others.clone();
        fenced.insert(self.block, Rc::new(known.own.clone()));
        known.fenced = Some(fenced);
        known.own[thread] += 1;
    }

    /// Records an atomic operation at an address of the device.
    pub(crate) fn atomic(&mut self, thread: usize, address: u64) {
        let place = self.atomics.entry(address).or_default();
        let known = &mut self.threads[thread];
        learn(&mut known.told, place);
        if let Some(fenced) = &known.fenced {
            learn(place, fenced);
        }
    }
}
