//! Cost of a launch: the instructions that warps issue, by execution unit, and the memory traffic.
//!
//! PTX instructions are counted. A division is one PTX instruction but about ten machine instructions. An elementary
//! function counts with all instructions of its PTX code. With seed 0, a warp issues an instruction once for all lanes
//! that are at it, as hardware does.

use super::numbers::{Lanes, lanes};
use crate::program::{Arithmetic, Function, Operation, Space, Type};
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// Execution unit of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Sums, products, comparisons and conversions of `f64`.
    Double,
    /// Quotients, square roots and reciprocals of `f64`, each about ten machine instructions.
    DoubleQuotient,
    Single,
    /// Quotients, elementary functions and conversions of `f32`.
    SingleFunction,
    /// Products of matrices.
    Matrix,
    /// Integers, bits, moves.
    Integer,
    SharedMemory,
    DeviceMemory,
    LocalMemory,
    /// Shuffles and votes.
    Exchange,
    /// Barriers of warps and blocks, and fences.
    Order,
    /// Branches, calls, returns.
    Control,
}

/// Names of the units in a report, in the order of [`Unit`].
pub(crate) const UNITS: [&str; 12] = [
    "double",
    "double_quotient",
    "single",
    "single_function",
    "matrix",
    "integer",
    "shared",
    "device",
    "local",
    "exchange",
    "order",
    "control",
];

/// Size of one transfer from device memory, in bytes.
const SECTOR: u64 = 32;

/// Width of a bank of shared memory in bytes, and the number of banks.
const BANK: u64 = 4;
const BANKS: u64 = 32;

/// Counts of one function of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Issued warp instructions, by unit.
    pub(crate) issued: [u64; UNITS.len()],
    /// Sum of the active lanes of these instructions, by unit.
    pub(crate) lanes: [u64; UNITS.len()],
    /// Transfers of 32 bytes from or to device memory, without caches.
    pub(crate) sectors: u64,
    /// Cycles of shared memory: more than one for an instruction whose lanes access different words of one bank.
    pub(crate) turns: u64,
}

/// Counts of one or more launches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    pub(crate) launches: u64,
    pub(crate) warps: u64,
    /// Counts by the name of the function.
    pub(crate) functions: BTreeMap<String, Counts>,
}

impl Clock {
    /// Adds a launch of `warps` warps. `counts`: the counts of each function of the module.
    pub(crate) fn add(&mut self, warps: u64, functions: &[Function], counts: &[Counts]) {
        self.launches += 1;
        self.warps += warps;
        for (function, counts) in functions.iter().zip(counts) {
            if *counts != Counts::default() {
                *self.functions.entry(function.name.clone()).or_default() += counts;
            }
        }
    }

    /// Returns the lines of a report, each `clock KERNEL FUNCTION WHAT COUNT`. Functions' counts of 0 are omitted.
    pub(crate) fn lines(&self, kernel: &str) -> String {
        let mut text = format!(
            "clock {kernel} {kernel} launches {}\nclock {kernel} {kernel} warps {}\n",
            self.launches, self.warps
        );
        for (function, counts) in &self.functions {
            for (what, count) in counts.named().filter(|(_, count)| *count > 0) {
                text += &format!("clock {kernel} {function} {what} {count}\n");
            }
        }
        text
    }
}

impl AddAssign<&Counts> for Counts {
    fn add_assign(&mut self, more: &Counts) {
        self.issued.iter_mut().zip(more.issued).for_each(|(sum, more)| *sum += more);
        self.lanes.iter_mut().zip(more.lanes).for_each(|(sum, more)| *sum += more);
        self.sectors += more.sectors;
        self.turns += more.turns;
    }
}

impl Counts {
    fn add(&mut self, unit: Unit, active: u32) {
        self.issued[unit as usize] += 1;
        self.lanes[unit as usize] += u64::from(active.count_ones());
    }

    /// Counts an instruction that the lanes of `active` execute together. Loads and stores are counted by
    /// [`access`](Counts::access).
    pub(crate) fn issue(&mut self, operation: &Operation, active: u32) {
        if let Some(unit) = unit_of(operation) {
            self.add(unit, active);
        }
    }

    /// Counts a load, a store or an atomic operation of `bytes` bytes per lane. `at`: generic addresses.
    pub(crate) fn access(&mut self, space: Space, at: &Lanes, bytes: usize, active: u32) {
        match space {
            Space::Shared => {
                self.add(Unit::SharedMemory, active);
                self.turns += turns(at, bytes, active);
            }
            Space::Local => self.add(Unit::LocalMemory, active),
            _ => {
                self.add(Unit::DeviceMemory, active);
                self.sectors += distinct(words(at, bytes, active, SECTOR));
            }
        }
    }

    fn named(&self) -> impl Iterator<Item = (String, u64)> {
        let issued = UNITS.iter().zip(self.issued).map(|(unit, count)| (unit.to_string(), count));
        let lanes = UNITS.iter().zip(self.lanes);
        let lanes = lanes.map(|(unit, count)| (format!("{unit}_lanes"), count));
        let moved = [("sectors", self.sectors), ("turns", self.turns)];
        issued.chain(lanes).chain(moved.map(|(what, count)| (what.into(), count)))
    }
}

/// Returns the indices of the words of `size` bytes that the lanes access.
fn words(at: &Lanes, bytes: usize, active: u32, size: u64) -> Vec<u64> {
    let of_lane = |l: usize| at[l] / size..=(at[l] + bytes as u64 - 1) / size;
    lanes(active).flat_map(of_lane).collect()
}

fn distinct(mut words: Vec<u64>) -> u64 {
    words.sort_unstable();
    words.dedup();
    words.len() as u64
}

/// Returns the cycles of shared memory: the maximum, over all banks, of the distinct words that are accessed.
fn turns(at: &Lanes, bytes: usize, active: u32) -> u64 {
    let mut words = words(at, bytes, active, BANK);
    words.sort_unstable();
    words.dedup();
    let mut of_bank = [0; BANKS as usize];
    words.iter().for_each(|word| of_bank[(word % BANKS) as usize] += 1);
    of_bank.into_iter().max().unwrap_or_default()
}

fn unit_of(operation: &Operation) -> Option<Unit> {
    let of_type = |of: Type| match of {
        Type::F64 => Unit::Double,
        Type::F32 => Unit::Single,
        _ => Unit::Integer,
    };
    Some(match operation {
        Operation::Arithmetic { kind, of, .. } => match (kind, of) {
            // These only move or test bits, also of floats.
            (Arithmetic::Absolute | Arithmetic::Negate | Arithmetic::Select, _)
            | (Arithmetic::CopySign | Arithmetic::Test(_), _) => Unit::Integer,
            (
                Arithmetic::Divide
                | Arithmetic::SquareRoot
                | Arithmetic::ReciprocalRoot
                | Arithmetic::Reciprocal
                | Arithmetic::Exponential
                | Arithmetic::Logarithm
                | Arithmetic::Sine
                | Arithmetic::Cosine,
                Type::F64 | Type::F32,
            ) => match of {
                Type::F64 => Unit::DoubleQuotient,
                _ => Unit::SingleFunction,
            },
            _ => of_type(*of),
        },
        Operation::Compare { of, .. } => of_type(*of),
        Operation::Convert { into, of, .. } => match (into, of) {
            (Type::F64, _) | (_, Type::F64) => Unit::Double,
            (Type::F32, _) | (_, Type::F32) => Unit::SingleFunction,
            _ => Unit::Integer,
        },
        Operation::Move { .. }
        | Operation::Pack { .. }
        | Operation::Unpack { .. }
        | Operation::ToGeneric { .. }
        | Operation::FromGeneric { .. }
        | Operation::ActiveLanes { .. } => Unit::Integer,
        // Counted by `access`; parameters are registers or constants of the launch and are not counted.
        Operation::Load { .. } | Operation::Store { .. } | Operation::Atomic { .. } => return None,
        Operation::Matrix { .. } => Unit::Matrix,
        Operation::Shuffle { .. } | Operation::Vote { .. } => Unit::Exchange,
        Operation::Barrier | Operation::WarpBarrier { .. } | Operation::Fence { .. } => Unit::Order,
        Operation::Branch { .. } | Operation::Call { .. } | Operation::Return | Operation::Trap => {
            Unit::Control
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::array::from_fn;

    #[test]
    fn memory_is_counted_by_what_lanes_touch_together() {
        let mut clock = Counts::default();
        let neighbours = from_fn(|l| 4096 + 8 * l as u64);
        clock.access(Space::Global, &neighbours, 8, u32::MAX);
        assert_eq!((clock.sectors, clock.turns), (8, 0));
        clock.access(Space::Global, &[4096; 32], 8, u32::MAX);
        assert_eq!(clock.sectors, 9);
        // 256 bytes take two cycles of 128 bytes. Different words of one bank take a cycle per lane, one common word
        // takes one.
        clock.access(Space::Shared, &neighbours, 8, u32::MAX);
        assert_eq!(clock.turns, 2);
        clock.access(Space::Shared, &from_fn(|l| 128 * l as u64), 4, u32::MAX);
        assert_eq!(clock.turns, 34);
        clock.access(Space::Shared, &[64; 32], 4, 0xff);
        assert_eq!(clock.turns, 35);
        assert_eq!(clock.issued[Unit::SharedMemory as usize], 3);
        assert_eq!(clock.lanes[Unit::SharedMemory as usize], 72);
        // The access begins at the end of one sector and ends in the next.
        clock.access(Space::Global, &from_fn(|_| 24), 16, 1);
        assert_eq!(clock.sectors, 11);
    }

    #[test]
    fn each_unit_has_a_name() {
        assert_eq!(UNITS[Unit::Double as usize], "double");
        assert_eq!(UNITS[Unit::Control as usize], "control");
        assert_eq!(Unit::Control as usize + 1, UNITS.len());
    }
}
