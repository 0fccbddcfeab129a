//! A warp: 32 threads, each with a program counter of its own. Lanes at the same instruction execute it together.

use super::numbers::{Lanes, lanes};
use crate::program::Function;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::array::from_fn;
use std::collections::HashMap;

/// State of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Runs,
    /// Waits at a barrier of the block.
    AtBarrier,
    /// Waits for the lanes of its warp in this mask.
    AtWarp(u32),
    Gone,
}

/// Position and state of a lane: its frame, and the index of its instruction in the frame's function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    pub(crate) frame: usize,
    pub(crate) at: usize,
    pub(crate) state: State,
}

/// Call of a function by some lanes.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) function: usize,
    /// The frame of the caller, and its call instruction. `None` for a kernel.
    pub(crate) caller: Option<(usize, usize)>,
    pub(crate) depth: usize,
    /// Number of lanes in the frame.
    pub(crate) live: usize,
    pub(crate) registers: Vec<Lanes>,
    /// Parameters, result, and arguments and results of calls: [`Function::frame_bytes`] bytes for each lane.
    pub(crate) values: Vec<u8>,
    /// Offset of its part of a thread's local memory, in bytes.
    pub(crate) local: usize,
}

/// Threads that execute instructions together if they are at the same one.
#[derive(Debug)]
pub(crate) struct Warp {
    /// Index of its first thread in the block.
    pub(crate) first: usize,
    pub(crate) lane: [Lane; 32],
    pub(crate) carry: Lanes,
    pub(crate) frames: Vec<Frame>,
    /// Unused frames, by function.
    idle: HashMap<usize, Vec<usize>>,
}

/// Lanes that execute together, all at one instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) lanes: u32,
    /// Instruction at which other lanes of the frame are. The group stops there to continue with them.
    pub(crate) end: usize,
    /// Maximum number of instructions before other lanes are selected.
    pub(crate) turns: usize,
}

/// Order in which blocks, warps and lanes are executed.
#[derive(Debug)]
pub(crate) struct Order(Option<SmallRng>);

impl Order {
    /// Creates the order of the indices for seed 0, otherwise a random order.
    pub(crate) fn new(seed: u64) -> Order {
        Order((seed != 0).then(|| SmallRng::seed_from_u64(seed)))
    }

    /// Returns a random number below `count`; 0 in the order of the indices.
    pub(crate) fn pick(&mut self, count: usize) -> usize {
        self.0.as_mut().map_or(0, |random| random.random_range(0..count.max(1)))
    }

    fn is_random(&self) -> bool {
        self.0.is_some()
    }
}

impl Warp {
    /// Creates a warp of `threads` threads, at most 32. They begin in frame 0, which the caller creates by
    /// [`call`](Warp::call).
    pub(crate) fn new(first: usize, threads: usize) -> Warp {
        let lane = |number: usize| {
            let state = if number < threads { State::Runs } else { State::Gone };
            Lane { frame: 0, at: 0, state }
        };
        let (frames, idle) = (Vec::new(), HashMap::new());
        Warp { first, lane: from_fn(lane), carry: [0; 32], frames, idle }
    }

    /// Returns the mask of the lanes whose state satisfies `is`.
    pub(crate) fn with(&self, is: impl Fn(State) -> bool) -> u32 {
        (0..32).filter(|&l| is(self.lane[l].state)).map(|l| 1 << l).sum()
    }

    pub(crate) fn gone(&self) -> u32 {
        self.with(|state| state == State::Gone)
    }

    /// Returns a new or reused frame for a call of function `number` by `live` lanes.
    pub(crate) fn call(
        &mut self,
        number: usize,
        function: &Function,
        caller: Option<(usize, usize)>,
        live: usize,
        local: usize,
    ) -> usize {
        let depth = caller.map_or(0, |(frame, _)| self.frames[frame].depth + 1);
        let found = self.idle.get_mut(&number).and_then(Vec::pop);
        if let Some(frame) = found {
            let reused = &mut self.frames[frame];
            (reused.caller, reused.live, reused.local, reused.depth) = (caller, live, local, depth);
            return frame;
        }
        self.frames.push(Frame {
            function: number,
            caller,
            depth,
            live,
            registers: vec![[0xdead_beef_dead_beef; 32]; function.registers as usize],
            values: vec![0xff; 32 * function.frame_bytes],
            local,
        });
        self.frames.len() - 1
    }

    /// Removes a lane from a frame.
    pub(crate) fn leave(&mut self, frame: usize) {
        let left = &mut self.frames[frame];
        left.live -= 1;
        if left.live == 0 {
            self.idle.entry(left.function).or_default().push(frame);
        }
    }

    /// Selects lanes that can execute together, or `None` if no lane runs. With seed 0 these are the lanes in the
    /// deepest call, and among them those at the lowest instruction. Therefore diverged lanes reconverge.
    pub(crate) fn pick(&self, order: &mut Order) -> Option<Group> {
        let running = self.with(|state| state == State::Runs);
        if running == 0 {
            return None;
        }
        let leader = match order.is_random() {
            true => lanes(running).nth(order.pick(running.count_ones() as usize)),
            false => lanes(running).min_by_key(|&l| {
                let Lane { frame, at, .. } = self.lane[l];
                (usize::MAX - self.frames[frame].depth, at)
            }),
        };
        let leader = self.lane[leader?];
        let (mut group, mut end) = (0, usize::MAX);
        for l in lanes(running) {
            let Lane { frame, at, .. } = self.lane[l];
            if frame == leader.frame {
                match at == leader.at {
                    true => group |= 1 << l,
                    false => end = end.min(at),
                }
            }
        }
        if group != running && order.is_random() {
            return Some(Group { lanes: group, end: usize::MAX, turns: 1 + order.pick(40) });
        }
        let end = if end > leader.at { end } else { usize::MAX };
        Some(Group { lanes: group, end, turns: usize::MAX })
    }
}
