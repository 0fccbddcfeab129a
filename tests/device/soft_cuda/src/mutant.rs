//! Mutations of instructions that order threads: the instruction is removed, or its lane mask is changed.
//!
//! One line of the sources becomes several PTX instructions: one for each call through which it was inlined, for each
//! unrolled iteration, and for each module that contains it. Mutations are counted per source line with its chain of
//! inlined calls. Therefore the removal of a barrier that is written once must be detected once, with any model that
//! reaches it. A barrier in a function with several callers counts once for each caller that it is inlined into.

use crate::program::{Line, Module, Operand, Operation, Scope};
use std::collections::BTreeSet;
use std::fmt;

/// Mistake that is put into an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mistake {
    /// The instruction is removed.
    Absent,
    /// The highest lane is removed from the mask.
    Fewer,
    /// The mask of each lane contains only that lane.
    Alone,
    /// The mask contains all lanes of the warp.
    All,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mistake::Absent => "absent",
            Mistake::Fewer => "fewer",
            Mistake::Alone => "alone",
            Mistake::All => "all",
        })
    }
}

/// Location of an instruction: the index of its function, and its index in the function's code.
pub(crate) type Site = (usize, usize);

/// A mistake at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mutant {
    pub(crate) site: Site,
    pub(crate) mistake: Mistake,
}

impl Mutant {
    /// Returns the mask that `lane` uses in place of the correct mask `named`.
    pub(crate) fn mask(self, lane: usize, named: u32) -> u32 {
        match self.mistake {
            Mistake::Absent => named,
            Mistake::Fewer => named & !(1 << named.checked_ilog2().unwrap_or(0)),
            Mistake::Alone => 1 << lane,
            Mistake::All => u32::MAX,
        }
    }
}

impl Operation {
    /// Returns true if the operation orders memory accesses of the threads of a block or of the device.
    pub(crate) fn orders(&self) -> bool {
        let fence = matches!(self, Operation::Fence { scope: Scope::Device | Scope::System });
        fence || matches!(self, Operation::Barrier | Operation::WarpBarrier { .. })
    }

    /// Returns the lane mask if the operation waits for lanes.
    pub(crate) fn mask(&self) -> Option<Operand> {
        match *self {
            Operation::WarpBarrier { lanes }
            | Operation::Shuffle { lanes, .. }
            | Operation::Vote { lanes, .. } => Some(lanes),
            Operation::Matrix { .. } => Some(Operand::Constant(u32::MAX.into())),
            _ => None,
        }
    }

    /// Returns the mistakes to try. `named`: the intersection of all masks that were observed.
    ///
    /// A barrier whose mask contains one lane equals a removed barrier, therefore `Alone` is not tried for barriers.
    /// `All` is not tried if the mask contains all lanes already.
    pub(crate) fn mistakes(&self, named: u32) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        if self.orders() {
            mistakes.push(Mistake::Absent);
        }
        // A matrix instruction always names all lanes.
        if self.mask().is_some() && !matches!(self, Operation::Matrix { .. }) {
            mistakes.push(Mistake::Fewer);
            if !self.orders() {
                mistakes.push(Mistake::Alone);
            }
            if named != u32::MAX {
                mistakes.push(Mistake::All);
            }
        }
        mistakes
    }
}

impl Module {
    /// Returns the instructions that order threads or wait for lanes, in a kernel and in all functions that it calls.
    pub(crate) fn sites(&self, kernel: usize) -> Vec<Site> {
        let (mut sites, mut seen, mut open) = (Vec::new(), BTreeSet::from([kernel]), vec![kernel]);
        while let Some(function) = open.pop() {
            for (at, instruction) in self.functions[function].code.iter().enumerate() {
                let operation = &instruction.operation;
                if let Operation::Call { function, .. } = *operation
                    && seen.insert(function)
                {
                    open.push(function);
                }
                if operation.orders() || operation.mask().is_some() {
                    sites.push((function, at));
                }
            }
        }
        sites
    }

    /// Returns the source line of an instruction, or its function and PTX line if the PTX has no source line for it.
    pub(crate) fn place(&self, (function, at): Site) -> String {
        let function = &self.functions[function];
        let instruction = &function.code[at];
        let line = |&(file, line): &Line| match self.files.get(&file) {
            Some(name) => format!("{}:{line}", name.rsplit('/').next().unwrap_or(name)),
            None => format!("{file}:{line}"),
        };
        match instruction.source.is_empty() {
            true => format!("{}_line_{}", function.name, instruction.line),
            false => instruction.source.iter().map(line).collect::<Vec<_>>().join(">"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::parse;

    #[test]
    fn places_are_lines_behind_the_calls_that_led_there() {
        let text = ".version 7.5\n.target sm_75\n.address_size 64
            .func f() { bar.warp.sync -1; ret; }
            .func apart() { bar.sync 0; ret; }
            .entry k() { .loc 1 7 2
                bar.sync 0;
                .loc 2 3 2, function_name $L__info_string0, inlined_at 1 7 2
                .loc 2 1 61, function_name $L__info_string1, inlined_at 2 3 2
                membar.cta; membar.gl; call.uni f, (); ret; }
            .file 1 \"/a/top.cu\"\n.file 2 \"below.cuh\"\n";
        let module = parse(text).unwrap();
        let kernel = module.kernel("k").unwrap();
        let places: Vec<String> =
            module.sites(kernel).into_iter().map(|site| module.place(site)).collect();
        assert_eq!(places, ["top.cu:7", "top.cu:7>below.cuh:3>below.cuh:1", "f_line_4"]);
    }

    #[test]
    fn masks_lose_a_lane_or_name_one_or_all() {
        let of = |mistake| Mutant { site: (0, 0), mistake }.mask(9, 0xff00);
        assert_eq!(of(Mistake::Fewer), 0x7f00);
        assert_eq!(of(Mistake::Alone), 0x200);
        assert_eq!(of(Mistake::All), u32::MAX);
        let barrier = Operation::WarpBarrier { lanes: Operand::Constant(0xff00) };
        assert_eq!(barrier.mistakes(0xff00), [Mistake::Absent, Mistake::Fewer, Mistake::All]);
        assert_eq!(Operation::Barrier.mistakes(u32::MAX), [Mistake::Absent]);
    }
}
