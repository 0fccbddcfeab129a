//! Accesses of memory that nothing orders, by vector clocks. Barriers join the threads that meet at them; what a thread
//! did before a fence of the device and then an atomic operation comes before what another does after an atomic operation
//! at the same place and then a fence. Votes and shuffles order nothing, as PTX says.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Bytes that are watched as one.
const GRAIN: u64 = 4;

/// Readers of a grain that are remembered.
const MOST_READERS: usize = 64;

/// What is told in words at most.
const MOST_TOLD: usize = 60;

/// Times of the threads of a block.
type Clock = Vec<u32>;

/// What is known of other blocks.
type Others = HashMap<u32, Rc<Clock>>;

/// Where an access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// An offset in the shared memory of the block that runs.
    Shared(u64),
    /// An address of the device.
    Device(u64),
}

/// When a thread did something. Times begin with 1.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    block: u32,
    thread: usize,
    time: u32,
}

/// What is known of a few bytes.
#[derive(Debug, Default)]
struct Grain {
    /// The last write, and its line; time 0 if there was none.
    written: Moment,
    line: u32,
    /// The last read of each thread since then.
    read: Vec<Moment>,
}

/// What one thread of the block that runs knows.
#[derive(Clone, Debug, Default)]
struct Knowledge {
    /// Of the threads of its block, itself among them.
    own: Clock,
    others: Others,
    /// What it knew at its last fence, which its atomic operations tell.
    fenced: Option<Others>,
    /// What atomic operations told, which it knows after its next fence.
    told: Others,
}

/// What is known of each thread, and of each grain of memory.
#[derive(Debug)]
pub(crate) struct Races {
    block: u32,
    threads: Vec<Knowledge>,
    grains: HashMap<Place, Grain>,
    /// What atomic operations at an address tell.
    atomics: HashMap<u64, Others>,
    /// Pairs of lines that were told.
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

/// Adds what `from` knows.
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

    /// For the next block, which knows nothing of those before it.
    pub(crate) fn restart(&mut self, block: u32) {
        self.block = block;
        self.grains.retain(|place, _| matches!(place, Place::Device(_)));
        let count = self.threads.len();
        for (number, thread) in self.threads.iter_mut().enumerate() {
            let own = (0..count).map(|of| u32::from(of == number)).collect();
            *thread = Knowledge { own, ..Knowledge::default() };
        }
    }

    /// An access of `bytes` bytes by a thread at a line.
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

    /// What each of these threads has done comes before what each of them does next.
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

    /// A fence of the device.
    pub(crate) fn fence(&mut self, thread: usize) {
        let known = &mut self.threads[thread];
        let told = std::mem::take(&mut known.told);
        learn(&mut known.others, &told);
        let mut fenced = known.others.clone();
        fenced.insert(self.block, Rc::new(known.own.clone()));
        known.fenced = Some(fenced);
        known.own[thread] += 1;
    }

    /// An atomic operation at an address of the device.
    pub(crate) fn atomic(&mut self, thread: usize, address: u64) {
        let place = self.atomics.entry(address).or_default();
        let known = &mut self.threads[thread];
        learn(&mut known.told, place);
        if let Some(fenced) = &known.fenced {
            learn(place, fenced);
        }
    }
}
