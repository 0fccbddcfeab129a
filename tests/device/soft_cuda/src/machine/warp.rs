//! A warp: 32 threads, each with a place of its own in the program; those that are at the same one go on together.

use super::numbers::{Lanes, lanes};
use crate::program::Function;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::array::from_fn;
use std::collections::HashMap;

/// What a lane does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Runs,
    /// Waits for all threads of the block.
    AtBarrier,
    /// Waits for these lanes of its warp.
    AtWarp(u32),
    Gone,
}

/// Where a lane is: in which call of which function, and at which instruction of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    pub(crate) frame: usize,
    pub(crate) at: usize,
    pub(crate) state: State,
}

/// A call of a function by some lanes.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) function: usize,
    /// The frame of the caller, and the instruction there. Nothing for a kernel.
    pub(crate) caller: Option<(usize, usize)>,
    pub(crate) depth: usize,
    /// Lanes that are in it.
    pub(crate) live: usize,
    pub(crate) registers: Vec<Lanes>,
    /// Parameters, result and those of calls: [`Function::frame_bytes`] of each lane.
    pub(crate) values: Vec<u8>,
    /// Where its part of local memory begins.
    pub(crate) local: usize,
}

/// Threads that run in step where they can.
#[derive(Debug)]
pub(crate) struct Warp {
    /// The number of its first thread in the block.
    pub(crate) first: usize,
    pub(crate) lane: [Lane; 32],
    pub(crate) carry: Lanes,
    pub(crate) frames: Vec<Frame>,
    /// Frames that are not used, by function.
    idle: HashMap<usize, Vec<usize>>,
}

/// Lanes that go on together from one instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) lanes: u32,
    /// They stop where others of their frame wait, to go on with them.
    pub(crate) end: usize,
    /// Instructions after which others have a turn.
    pub(crate) turns: usize,
}

/// In which order blocks, warps and lanes go on.
#[derive(Debug)]
pub(crate) struct Order(Option<SmallRng>);

impl Order {
    /// Their own order of seed 0, otherwise one that is drawn.
    pub(crate) fn new(seed: u64) -> Order {
        Order((seed != 0).then(|| SmallRng::seed_from_u64(seed)))
    }

    /// A number below `count`; the first in the plain order.
    pub(crate) fn pick(&mut self, count: usize) -> usize {
        self.0.as_mut().map_or(0, |random| random.random_range(0..count.max(1)))
    }

    fn is_random(&self) -> bool {
        self.0.is_some()
    }
}

impl Warp {
    /// `threads`: how many there are, at most 32. They begin in frame 0, which is made by [`call`](Warp::call).
    pub(crate) fn new(first: usize, threads: usize) -> Warp {
        let lane = |number: usize| {
            let state = if number < threads { State::Runs } else { State::Gone };
            Lane { frame: 0, at: 0, state }
        };
        let (frames, idle) = (Vec::new(), HashMap::new());
        Warp { first, lane: from_fn(lane), carry: [0; 32], frames, idle }
    }

    /// The lanes in a state.
    pub(crate) fn with(&self, is: impl Fn(State) -> bool) -> u32 {
        (0..32).filter(|&l| is(self.lane[l].state)).map(|l| 1 << l).sum()
    }

    pub(crate) fn gone(&self) -> u32 {
        self.with(|state| state == State::Gone)
    }

    /// A frame for a call by some lanes.
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

    /// A lane has left a frame.
    pub(crate) fn leave(&mut self, frame: usize) {
        let left = &mut self.frames[frame];
        left.live -= 1;
        if left.live == 0 {
            self.idle.entry(left.function).or_default().push(frame);
        }
    }

    /// Lanes that can go on together: in the plain order those in the deepest call, and there the first in the program,
    /// so that those that took another way meet them again.
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
