//! Which number is in which register: straight-line code read from the front, where the number that is needed last
//! leaves first.

use super::operation::{Id, Operation};

/// Where a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Nowhere,
    Register(usize),
    Mask(usize),
    /// On the stack.
    Slot(usize),
    /// Among the constants or the uniform numbers.
    Table,
}

/// Mask registers from 1 on that truths may have.
const MASKS: usize = 6;
const NEVER: Id = Id::MAX;

pub(super) struct Allocation {
    operations: Vec<Operation>,
    /// Of each number the operations that read it, in order.
    uses: Vec<Vec<Id>>,
    /// Of each number the next of these.
    next_use: Vec<usize>,
    places: Vec<Place>,
    /// The number of each register.
    held: Vec<Option<Id>>,
    /// Registers that the present operation reads or writes.
    pinned: Vec<bool>,
    masks: [Option<Id>; MASKS + 1],
    /// Where a number was stored before, which it still is.
    stored: Vec<Option<usize>>,
    free_slots: Vec<usize>,
    slots: usize,
    most_slots: usize,
    now: Id,
}

impl Allocation {
    pub(super) fn new(operations: &[Operation], registers: usize) -> Allocation {
        let n = operations.len();
        let mut uses = vec![Vec::new(); n];
        for (i, operation) in operations.iter().enumerate() {
            operation.for_each_operand(|id| {
                let uses: &mut Vec<Id> = &mut uses[id as usize];
                if uses.last() != Some(&(i as Id)) {
                    uses.push(i as Id);
                }
            });
        }
        Allocation {
            operations: operations.to_vec(),
            uses,
            next_use: vec![0; n],
            places: vec![Place::Nowhere; n],
            held: vec![None; registers],
            pinned: vec![false; registers],
            masks: [None; MASKS + 1],
            stored: vec![None; n],
            free_slots: Vec::new(),
            slots: 0,
            most_slots: 0,
            now: 0,
        }
    }

    /// Begins with the first operation again.
    pub(super) fn restart(&mut self) {
        self.next_use.fill(0);
        self.places.fill(Place::Nowhere);
        self.held.fill(None);
        self.pinned.fill(false);
        self.masks.fill(None);
        self.stored.fill(None);
        self.free_slots.clear();
        self.slots = 0;
    }

    /// Slots of the stack that were in use at a time.
    pub(super) fn room(&self) -> usize {
        self.most_slots
    }

    /// Goes to an operation.
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

    /// The register of a number, which it keeps during the present operation.
    pub(super) fn pin(&mut self, id: Id) -> Option<usize> {
        let register = self.register(id)?;
        self.pinned[register] = true;
        Some(register)
    }

    /// The register of a number that the present operation is the last to read.
    pub(super) fn last_register(&self, id: Id) -> Option<usize> {
        self.register(id).filter(|_| self.is_last_use(id))
    }

    fn is_last_use(&self, id: Id) -> bool {
        self.uses[id as usize].last().is_none_or(|&last| last <= self.now)
    }

    /// The next operation that reads a number, the present one included.
    fn next_use(&mut self, id: Id) -> Id {
        let (uses, next) = (&self.uses[id as usize], &mut self.next_use[id as usize]);
        while uses.get(*next).is_some_and(|&at| at < self.now) {
            *next += 1;
        }
        uses.get(*next).copied().unwrap_or(NEVER)
    }

    /// A register for the present operation, and the slot that its number has to be stored in.
    pub(super) fn grab(&mut self) -> Option<(usize, Option<usize>)> {
        let free = (0..self.held.len()).find(|&r| self.held[r].is_none() && !self.pinned[r]);
        if let Some(register) = free {
            self.pinned[register] = true;
            return Some((register, None));
        }
        let (mut last, mut found) = (0, None);
        for register in 0..self.held.len() {
            let Some(id) = self.held[register].filter(|_| !self.pinned[register]) else { continue };
            let next = self.next_use(id);
            // Of numbers that are needed next at the same place, one in a table costs nothing.
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

    /// A number that was loaded stays in its register as long as there is room.
    pub(super) fn hold(&mut self, id: Id, register: usize) {
        self.held[register] = Some(id);
        self.places[id as usize] = Place::Register(register);
    }

    pub(super) fn is_in_table(&mut self, id: Id) {
        self.places[id as usize] = Place::Table;
    }

    /// A mask register for the present operation.
    pub(super) fn grab_mask(&mut self) -> Option<usize> {
        (1..=MASKS).find(|&mask| self.masks[mask].is_none())
    }

    /// Ends an operation: operands that nothing reads any more leave, and its result is in a register.
    pub(super) fn finish(&mut self, operands: &[Id], result: Option<(Id, usize)>) {
        for &id in operands {
            if self.is_last_use(id) {
                self.leave(id);
            }
        }
        self.pinned.fill(false);
        if let Some((id, register)) = result {
            self.held[register] = None;
            if !self.uses[id as usize].is_empty() {
                self.hold(id, register);
            }
        }
    }

    /// As [`finish`](Allocation::finish), with the result in a mask register.
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
