//! Register allocation for straight-line code, in one pass over the operations. If no register is free, the number with
//! the farthest next use leaves its register (Belady's algorithm).

use super::operation::{Id, Operation};
use crate::backend::cpu::costs::PRODUCT_NUMBERS;

/// Location of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Nowhere,
    Register(usize),
    Mask(usize),
    /// On the stack.
    Slot(usize),
    /// In memory, among the constants or the uniform numbers (numbers that are the same at every point).
    Table,
}

/// Number of mask registers for truth values, k1 to k6.
const MASKS: usize = 6;
const NEVER: Id = Id::MAX;

pub(super) struct Allocation {
    operations: Vec<Operation>,
    /// The operations that read each number, in order, one number after the other.
    uses: Vec<Id>,
    /// For each number, the start of its operations in `uses`; then the end of the last.
    starts: Vec<u32>,
    /// For each number, the place in `uses` of the next operation that reads it.
    next_use: Vec<u32>,
    places: Vec<Place>,
    /// The number in each register. The last registers are those of a product; see [`Operation::InProduct`].
    held: Vec<Option<Id>>,
    /// True for registers that the current operation reads or writes.
    pinned: Vec<bool>,
    /// Number of registers for the results of operations.
    free: usize,
    masks: [Option<Id>; MASKS + 1],
    /// Stack slot of each number that has a copy on the stack.
    stored: Vec<Option<usize>>,
    free_slots: Vec<usize>,
    slots: usize,
    most_slots: usize,
    now: Id,
}

impl Allocation {
    pub(super) fn new(operations: Vec<Operation>, registers: usize) -> Allocation {
        let n = operations.len();
        let for_each_use = |visit: &mut dyn FnMut(usize, Id)| {
            for (i, operation) in (0..).zip(&operations) {
                operation.for_each_operand(|id| visit(id as usize, i));
            }
        };
        let mut starts = vec![0_u32; n + 1];
        for_each_use(&mut |id, _| starts[id + 1] += 1);
        (0..n).for_each(|id| starts[id + 1] += starts[id]);
        let mut uses = vec![0; starts[n] as usize];
        // While `uses` is filled, the place of the next entry of each number. `restart` sets it to the starts again.
        let mut next_use = starts[..n].to_vec();
        for_each_use(&mut |id, i| {
            uses[next_use[id] as usize] = i;
            next_use[id] += 1;
        });
        Allocation {
            operations,
            uses,
            starts,
            next_use,
            places: vec![Place::Nowhere; n],
            held: vec![None; registers + PRODUCT_NUMBERS],
            pinned: vec![false; registers + PRODUCT_NUMBERS],
            free: registers,
            masks: [None; MASKS + 1],
            stored: vec![None; n],
            free_slots: Vec::new(),
            slots: 0,
            most_slots: 0,
            now: 0,
        }
    }

    /// Restarts at the first operation.
    pub(super) fn restart(&mut self) {
        self.next_use.copy_from_slice(&self.starts[..self.operations.len()]);
        self.places.fill(Place::Nowhere);
        self.held.fill(None);
        self.pinned.fill(false);
        self.masks.fill(None);
        self.stored.fill(None);
        self.free_slots.clear();
        self.slots = 0;
    }

    /// Returns the maximum number of stack slots in use at the same time.
    pub(super) fn room(&self) -> usize {
        self.most_slots
    }

    /// Makes an operation the current one.
    pub(super) fn advance(&mut self, id: Id) {
        self.now = id;
    }

    pub(super) fn operation(&self, id: Id) -> Operation {
        self.operations[id as usize]
    }

    pub(super) fn place(&self, id: Id) -> Place {
        self.places[id as usize]
    }

    pub(super) fn register(&self, id: Id) -> Option<usize> {
        match self.place(id) {
            Place::Register(register) => Some(register),
            _ => None,
        }
    }

    pub(super) fn mask(&self, id: Id) -> Option<usize> {
        match self.place(id) {
            Place::Mask(mask) => Some(mask),
            _ => None,
        }
    }

    /// Returns the register of a number, and keeps the number there during the current operation.
    pub(super) fn pin(&mut self, id: Id) -> Option<usize> {
        let register = self.register(id)?;
        self.pinned[register] = true;
        Some(register)
    }

    /// Returns the register of a number if it may be overwritten: if no later operation reads the number.
    pub(super) fn last_register(&self, id: Id) -> Option<usize> {
        self.register(id).filter(|&register| register < self.free && self.is_last_use(id))
    }

    /// Returns the operations that read a number, in order.
    fn uses(&self, id: Id) -> &[Id] {
        let i = id as usize;
        &self.uses[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    fn is_last_use(&self, id: Id) -> bool {
        self.uses(id).last().is_none_or(|&last| last <= self.now)
    }

    /// Returns the next operation that reads a number: the current operation or a later one.
    fn next_use(&mut self, id: Id) -> Id {
        let i = id as usize;
        let (next, end) = (&mut self.next_use[i], self.starts[i + 1]);
        while *next < end && self.uses[*next as usize] < self.now {
            *next += 1;
        }
        if *next < end { self.uses[*next as usize] } else { NEVER }
    }

    /// Returns a register for the current operation, and the slot in which the caller must store the register's
    /// previous number, if any.
    pub(super) fn grab(&mut self) -> Option<(usize, Option<usize>)> {
        let free = (0..self.free).find(|&r| self.held[r].is_none() && !self.pinned[r]);
        if let Some(register) = free {
            self.pinned[register] = true;
            return Some((register, None));
        }
        let (mut last, mut found) = (0, None);
        for register in 0..self.free {
            let Some(id) = self.held[register].filter(|_| !self.pinned[register]) else { continue };
            let next = self.next_use(id);
            // If two numbers have the same next use, a number from a table leaves, since it need not be stored.
            let cheap = self.operations[id as usize].lies_in_memory();
            if found.is_none() || next > last || (next == last && cheap) {
                (last, found) = (next, Some((register, id)));
            }
        }
        let (register, id) = found?;
        let i = id as usize;
        self.held[register] = None;
        self.pinned[register] = true;
        if self.operations[i].lies_in_memory() {
            self.places[i] = Place::Table;
            return Some((register, None));
        }
        if let Some(slot) = self.stored[i] {
            self.places[i] = Place::Slot(slot);
            return Some((register, None));
        }
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        });
        self.most_slots = self.most_slots.max(self.slots);
        (self.places[i], self.stored[i]) = (Place::Slot(slot), Some(slot));
        Some((register, Some(slot)))
    }

    /// Records that a register contains a number.
    pub(super) fn hold(&mut self, id: Id, register: usize) {
        self.held[register] = Some(id);
        self.places[id as usize] = Place::Register(register);
    }

    pub(super) fn is_in_table(&mut self, id: Id) {
        self.places[id as usize] = Place::Table;
    }

    /// Returns a free mask register for the current operation.
    pub(super) fn grab_mask(&mut self) -> Option<usize> {
        (1..=MASKS).find(|&mask| self.masks[mask].is_none())
    }

    /// Ends an operation: frees the registers of operands that no later operation reads, and records the register of
    /// the result.
    pub(super) fn finish(&mut self, operands: &[Id], result: Option<(Id, usize)>) {
        for &id in operands {
            if self.is_last_use(id) {
                self.leave(id);
            }
        }
        self.pinned.fill(false);
        if let Some((id, register)) = result {
            self.held[register] = None;
            if !self.uses(id).is_empty() {
                self.hold(id, register);
            }
        }
    }

    /// Like [`finish`](Allocation::finish), with the result in a mask register.
    pub(super) fn finish_mask(&mut self, operands: &[Id], id: Id, mask: usize) {
        self.finish(operands, None);
        self.masks[mask] = Some(id);
        self.places[id as usize] = Place::Mask(mask);
    }

    fn leave(&mut self, id: Id) {
        let i = id as usize;
        match self.places[i] {
            Place::Register(register) => self.held[register] = None,
            Place::Mask(mask) => self.masks[mask] = None,
            _ => {}
        }
        self.free_slots.extend(self.stored[i].take());
        self.places[i] = Place::Nowhere;
    }
}
