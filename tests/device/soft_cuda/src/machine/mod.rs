//! Interpreter of kernels: blocks, their warps and threads, and memory.

mod arithmetic;
mod block;
pub(crate) mod clock;
mod compare;
mod convert;
mod exchange;
mod floats;
pub(crate) mod memory;
mod numbers;
mod races;
mod step;
#[cfg(test)]
mod tests;
mod warp;

use crate::mutant::{Mutant, Site};
use crate::program::{Function, Module, Space};
use block::Block;
use clock::Counts;
use memory::Memory;
use std::collections::BTreeMap;
use std::fmt;
use step::Run;
use warp::{Order, State, Warp};

/// Error code of a launch that does not terminate.
pub(crate) const TIMEOUT: i32 = 702;

/// Failure on the device. All later calls of the driver return its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// A `CUresult`.
    pub(crate) code: i32,
    pub(crate) what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.code)
    }
}

/// Loaded module, whose variables have addresses in memory.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) module: Module,
    /// Address of each variable.
    addresses: Vec<u64>,
}

/// Options of the interpreter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    /// If 0, blocks, warps and lanes run in the order of their indices; otherwise the seed of a random order.
    pub(crate) seed: u64,
    /// If true, data races are detected.
    pub(crate) finds_races: bool,
    /// If true, instructions are counted.
    pub(crate) has_clock: bool,
    /// If true, instructions that order threads or wait for lanes are recorded when they are executed.
    pub(crate) notes_sites: bool,
    pub(crate) trial: Option<Trial>,
}

/// Run with a mistake in one instruction. It ends at the first data race.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    pub(crate) mutant: Mutant,
    /// Maximum number of issued warp instructions; a run that needs more counts as not terminating.
    pub(crate) most: u64,
}

/// Findings of a launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    /// Descriptions of data races.
    pub(crate) races: Vec<String>,
    /// Instruction counts of each function of the module, if [`Settings::has_clock`] is true.
    pub(crate) counts: Option<Vec<Counts>>,
    /// Executed instructions that order threads or wait for lanes, each with the intersection of its masks.
    pub(crate) sites: BTreeMap<Site, u32>,
    /// Number of issued warp instructions.
    pub(crate) issued: u64,
}

impl Loaded {
    /// Allocates and initialises the module's variables. Variables in shared memory keep their offsets.
    pub(crate) fn new(module: Module, memory: &mut Memory) -> Loaded {
        let mut addresses = Vec::new();
        for variable in &module.variables {
            addresses.push(match variable.space {
                Space::Shared => variable.offset as u64,
                _ => {
                    let address = memory.allocate(variable.bytes.max(1), 0);
                    // Cannot fail: the reader has checked that the contents fit.
                    let _ = memory.write(address, &variable.contents);
                    address
                }
            });
        }
        Loaded { module, addresses }
    }

    /// Frees the memory of the variables.
    pub(crate) fn unload(self, memory: &mut Memory) {
        for (variable, address) in self.module.variables.iter().zip(self.addresses) {
            if variable.space != Space::Shared {
                memory.free(address);
            }
        }
    }

    fn address(&self, variable: u32) -> u64 {
        self.addresses.get(variable as usize).copied().unwrap_or_default()
    }
}

/// Runs a kernel. `arguments`: the bytes of each parameter.
///
/// # Errors
/// Returns a [`Fault`] that states the failure, the line of the PTX, the block and the thread.
pub(crate) fn launch(
    loaded: &Loaded,
    kernel: usize,
    blocks: u32,
    threads: u32,
    arguments: &[Vec<u8>],
    memory: &mut Memory,
    settings: &Settings,
) -> Result<Report, Fault> {
    let function = &loaded.module.functions[kernel];
    let shared_bytes = loaded.module.shared_bytes;
    let mut block = Block::new(blocks, threads, shared_bytes, memory, settings);
    block.counts =
        settings.has_clock.then(|| vec![Counts::default(); loaded.module.functions.len()]);
    let mut order = Order::new(settings.seed);
    let mut numbers: Vec<u32> = (0..blocks).collect();
    for left in (1..numbers.len()).rev() {
        if settings.seed != 0 {
            numbers.swap(left, order.pick(left + 1));
        }
    }
    for number in numbers {
        block.restart(number);
        let warps = (0..threads as usize).step_by(32);
        let warps = warps.map(|first| started(kernel, function, first, threads, arguments));
        run(loaded, function, &mut block, &mut warps.collect::<Vec<Warp>>(), &mut order)?;
        if block.has_failed() {
            break;
        }
    }
    let races = block.races.map(|races| races.found).unwrap_or_default();
    Ok(Report { races, counts: block.counts, sites: block.sites, issued: block.issued })
}

/// Creates a warp at the first instruction of a kernel.
fn started(
    kernel: usize,
    function: &Function,
    first: usize,
    threads: u32,
    arguments: &[Vec<u8>],
) -> Warp {
    let count = (threads as usize - first).min(32);
    let mut warp = Warp::new(first, count);
    let frame = warp.call(kernel, function, None, count, 0);
    let values = &mut warp.frames[frame].values;
    for lane in 0..count {
        for (place, argument) in function.parameters.iter().zip(arguments) {
            let begin = lane * function.frame_bytes + place.offset;
            let bytes = place.bytes.min(argument.len());
            values[begin..begin + bytes].copy_from_slice(&argument[..bytes]);
        }
    }
    warp
}

/// Runs the warps of a block until all threads have ended, from one barrier of the block to the next.
fn run(
    loaded: &Loaded,
    function: &Function,
    block: &mut Block<'_>,
    warps: &mut [Warp],
    order: &mut Order,
) -> Result<(), Fault> {
    loop {
        let from = order.pick(warps.len());
        let mut any = false;
        for number in 0..warps.len() {
            let warp = &mut warps[(from + number) % block.threads.div_ceil(32) as usize];
            any |= Run { loaded, block, warp }.run(order)?;
            if block.has_failed() {
                return Ok(());
            }
        }
        let all = |is: fn(State) -> bool| {
            warps.iter().all(|warp| warp.lane.iter().all(|lane| is(lane.state)))
        };
        if all(|state| state == State::Gone) {
            return Ok(());
        }
        if all(|state| matches!(state, State::Gone | State::AtBarrier)) {
            open_barrier(block, warps);
        } else if !any {
            return Err(stuck(loaded, function, block, warps));
        }
    }
}

fn open_barrier(block: &mut Block<'_>, warps: &mut [Warp]) {
    let mut threads = Vec::new();
    for warp in warps {
        for (number, lane) in warp.lane.iter_mut().enumerate() {
            if lane.state == State::AtBarrier {
                (lane.state, lane.at) = (State::Runs, lane.at + 1);
                threads.push(warp.first + number);
            }
        }
    }
    block.races.iter_mut().for_each(|races| races.join(&threads));
}

/// Returns the fault of a deadlock, with the barriers at which threads wait.
fn stuck(loaded: &Loaded, function: &Function, block: &Block<'_>, warps: &[Warp]) -> Fault {
    let mut waiting = Vec::new();
    for warp in warps {
        for (number, lane) in warp.lane.iter().enumerate() {
            let where_to = match lane.state {
                State::AtBarrier => "the block's".to_string(),
                State::AtWarp(named) => format!("its warp's, for lanes {named:#x},"),
                State::Runs | State::Gone => continue,
            };
            let code = &loaded.module.functions[warp.frames[lane.frame].function].code;
            let line = code.get(lane.at).map_or(0, |instruction| instruction.line);
            let thread = warp.first + number;
            waiting.push(format!("thread {thread} at {where_to} barrier in line {line}"));
        }
    }
    waiting.truncate(8);
    let name = &function.name;
    let what = format!(
        "threads of block {} of {name} wait for others that never come: {}",
        block.number,
        waiting.join("; ")
    );
    Fault { code: TIMEOUT, what }
}
