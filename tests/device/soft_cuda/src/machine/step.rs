//! Execution of a warp: instruction by instruction, until its lanes diverge, wait or end.

use super::arithmetic::{arithmetic, exchanged};
use super::block::{Access, Block, ILLEGAL_INSTRUCTION, LAUNCH_FAILED, STACK};
use super::clock::Counts;
use super::compare::{Comparison, compare};
use super::convert::Conversion;
use super::exchange;
use super::memory::ILLEGAL_ADDRESS;
use super::numbers::{Lanes, lanes, low};
use super::warp::{Group, Order, State, Warp};
use super::{Fault, Loaded, TIMEOUT};
use crate::mutant::{Mistake, Site};
use crate::program::{
    Address, Function, Instruction, Module, Operand, Operation, Register, Scope, Space, Special,
    Type,
};

/// A running warp with its module and block.
pub(crate) struct Run<'a, 'm> {
    pub(crate) loaded: &'a Loaded,
    pub(crate) block: &'a mut Block<'m>,
    pub(crate) warp: &'a mut Warp,
}

impl<'a> Run<'a, '_> {
    /// Executes instructions until no lane can continue. Returns true if at least one instruction was executed.
    ///
    /// # Errors
    /// Returns the failure of a lane, with the line, function, block and thread.
    pub(crate) fn run(&mut self, order: &mut Order) -> Result<bool, Fault> {
        let mut any = false;
        while let Some(group) = self.warp.pick(order) {
            any = true;
            self.group(group)?;
            if self.block.has_failed() {
                break;
            }
        }
        Ok(any)
    }

    fn module(&self) -> &'a Module {
        &self.loaded.module
    }

    fn group(&mut self, Group { lanes: mut mask, end, turns }: Group) -> Result<(), Fault> {
        let leader = self.warp.lane[mask.trailing_zeros() as usize];
        let (frame, mut at) = (leader.frame, leader.at);
        let number = self.warp.frames[frame].function;
        let function = &self.module().functions[number];
        for turn in 0..turns {
            if turn > 0 && at >= end {
                break;
            }
            let Some(instruction) = function.code.get(at) else {
                return Err(self.fault(ILLEGAL_INSTRUCTION, "the function has no end", 0, mask));
            };
            self.block.issued += 1;
            if self.block.issued > self.block.most_issued {
                return Err(self.fault(TIMEOUT, "there is no end", instruction.line, mask));
            }
            let active = self.active(frame, instruction, mask);
            if instruction.operation.orders() || instruction.operation.mask().is_some() {
                if self.is_absent((number, at)) {
                    at += 1;
                    continue;
                }
                if active != 0 {
                    self.note((number, at), frame, instruction, active);
                }
            }
            if let Some(counts) = self.counts(frame).filter(|_| active != 0) {
                counts.issue(&instruction.operation, active);
            }
            let parts = matches!(
                instruction.operation,
                Operation::Branch { .. }
                    | Operation::Call { .. }
                    | Operation::Return
                    | Operation::Barrier
                    | Operation::WarpBarrier { .. }
                    | Operation::Shuffle { .. }
                    | Operation::Vote { .. }
                    | Operation::Matrix { .. }
                    | Operation::Trap
            );
            if !parts || active == 0 {
                if active != 0 {
                    self.work(frame, function, instruction, active)?;
                }
                at += 1;
                continue;
            }
            if let (Operation::Branch { target }, true) = (&instruction.operation, active == mask) {
                at = *target;
                continue;
            }
            // Inactive lanes continue at the next instruction.
            self.place(mask & !active, at + 1);
            self.place(active, at);
            mask = active;
            return self.depart(frame, at, instruction, mask);
        }
        self.place(mask, at);
        Ok(())
    }

    /// Executes an instruction that moves lanes to another place, or makes them wait.
    fn depart(
        &mut self,
        frame: usize,
        at: usize,
        instruction: &'a Instruction,
        mask: u32,
    ) -> Result<(), Fault> {
        match &instruction.operation {
            Operation::Branch { target } => self.place(mask, *target),
            Operation::Return => self.leave(frame, mask),
            Operation::Call { function, arguments, .. } => {
                self.call((frame, at), *function, arguments, mask, instruction.line)?;
            }
            Operation::Barrier => {
                lanes(mask).for_each(|l| self.warp.lane[l].state = State::AtBarrier);
            }
            operation => match operation.mask() {
                Some(named) => exchange::arrive(self, (frame, at), instruction, named, mask)?,
                None => return Err(self.fault(LAUNCH_FAILED, "a trap", instruction.line, mask)),
            },
        }
        Ok(())
    }

    fn is_absent(&self, site: Site) -> bool {
        self.block.mistake_at(site).is_some_and(|mutant| mutant.mistake == Mistake::Absent)
    }

    fn note(&mut self, site: Site, frame: usize, instruction: &Instruction, active: u32) {
        let named = instruction.operation.mask().map(|named| self.values(frame, named));
        let all = |named: Lanes| lanes(active).fold(u32::MAX, |all, l| all & named[l] as u32);
        self.block.note(site, || named.map_or(u32::MAX, all));
    }

    pub(crate) fn place(&mut self, mask: u32, at: usize) {
        lanes(mask).for_each(|l| self.warp.lane[l].at = at);
    }

    /// Creates the fault of the first lane in `mask`.
    pub(crate) fn fault(&self, code: i32, what: &str, line: u32, mask: u32) -> Fault {
        let lane = mask.trailing_zeros().min(31) as usize;
        let frame = self.warp.lane[lane].frame;
        let name = &self.module().functions[self.warp.frames[frame].function].name;
        let (block, thread) = (self.block.number, self.warp.first + lane);
        Fault {
            code,
            what: format!("{what}, in line {line} in {name}, block {block}, thread {thread}"),
        }
    }

    /// Returns the lanes of `mask` for which the instruction's guard predicate holds.
    fn active(&self, frame: usize, instruction: &Instruction, mask: u32) -> u32 {
        let Some((register, negated)) = instruction.guard else { return mask };
        let predicate = &self.warp.frames[frame].registers[register as usize];
        let holds = |l: &usize| (predicate[*l] & 1 == 1) != negated;
        lanes(mask).filter(holds).map(|l| 1 << l).sum()
    }

    fn leave(&mut self, frame: usize, mask: u32) {
        let (function, caller) = (self.warp.frames[frame].function, self.warp.frames[frame].caller);
        for l in lanes(mask) {
            match caller {
                None => self.warp.lane[l].state = State::Gone,
                Some((caller, site)) => {
                    self.give_result(frame, function, (caller, site), l);
                    (self.warp.lane[l].frame, self.warp.lane[l].at) = (caller, site + 1);
                }
            }
            self.warp.leave(frame);
        }
    }

    fn give_result(&mut self, frame: usize, number: usize, site: (usize, usize), lane: usize) {
        let functions = &self.module().functions;
        let (callee, caller) = (&functions[number], &functions[self.warp.frames[site.0].function]);
        let operation = &caller.code[site.1].operation;
        let (Operation::Call { result: Some(to), .. }, Some(from)) = (operation, callee.result)
        else {
            return;
        };
        let begin = lane * callee.frame_bytes + from.offset;
        let result = self.warp.frames[frame].values[begin..begin + from.bytes].to_vec();
        let begin = lane * caller.frame_bytes + to;
        self.warp.frames[site.0].values[begin..begin + from.bytes].copy_from_slice(&result);
    }

    fn call(
        &mut self,
        site: (usize, usize),
        number: usize,
        arguments: &[usize],
        mask: u32,
        line: u32,
    ) -> Result<(), Fault> {
        let functions = &self.module().functions;
        let calling = &self.warp.frames[site.0];
        let (caller, callee) = (&functions[calling.function], &functions[number]);
        let local = (calling.local + caller.local_bytes).next_multiple_of(16);
        if local + callee.local_bytes > STACK {
            return Err(self.fault(LAUNCH_FAILED, "the stack is full", line, mask));
        }
        let live = mask.count_ones() as usize;
        let frame = self.warp.call(number, callee, Some(site), live, local);
        for l in lanes(mask) {
            for (from, to) in arguments.iter().zip(&callee.parameters) {
                let begin = l * caller.frame_bytes + from;
                let value = self.warp.frames[site.0].values[begin..begin + to.bytes].to_vec();
                let begin = l * callee.frame_bytes + to.offset;
                self.warp.frames[frame].values[begin..begin + to.bytes].copy_from_slice(&value);
            }
            (self.warp.lane[l].frame, self.warp.lane[l].at) = (frame, 0);
        }
        Ok(())
    }

    /// Returns the value of an operand in each lane.
    pub(crate) fn values(&self, frame: usize, operand: Operand) -> Lanes {
        let frame = &self.warp.frames[frame];
        match operand {
            Operand::Register(register) => frame.registers[register as usize],
            Operand::Constant(value) => [value; 32],
            Operand::Variable(number, offset) => {
                [self.loaded.address(number).wrapping_add_signed(offset); 32]
            }
            Operand::Local(offset) => [(frame.local as u64).wrapping_add_signed(offset); 32],
            Operand::Special(special) => {
                let value = |lane: usize| match special {
                    Special::Thread => (self.warp.first + lane) as u64,
                    Special::Threads => self.block.threads.into(),
                    Special::Block => self.block.number.into(),
                    Special::Blocks => self.block.blocks.into(),
                    Special::Lane => lane as u64,
                    Special::Zero | Special::Clock => 0,
                    Special::One => 1,
                };
                std::array::from_fn(value)
            }
        }
    }

    pub(crate) fn set(&mut self, frame: usize, to: Register, values: &Lanes, active: u32) {
        let register = &mut self.warp.frames[frame].registers[to as usize];
        match active {
            u32::MAX => *register = *values,
            _ => lanes(active).for_each(|l| register[l] = values[l]),
        }
    }

    /// Executes an instruction after which all lanes continue at the next one.
    fn work(
        &mut self,
        frame: usize,
        function: &Function,
        instruction: &Instruction,
        active: u32,
    ) -> Result<(), Fault> {
        let line = instruction.line;
        match &instruction.operation {
            Operation::Arithmetic { kind, of, to, from, form } => {
                let mut values = [[0; 32]; 4];
                for (value, operand) in values.iter_mut().zip(from) {
                    *value = self.values(frame, *operand);
                }
                let carry = &mut self.warp.carry;
                let result = arithmetic(*kind, *of, *form, values.each_ref(), carry, active);
                let Some(result) = result else {
                    let what = format!("{kind:?} of {of:?} is not implemented");
                    return Err(self.fault(ILLEGAL_INSTRUCTION, &what, line, active));
                };
                self.set(frame, *to, &result, active);
            }
            Operation::Compare { relation, of, to, opposite, left, right, combination, flush } => {
                let (left, right) = (self.values(frame, *left), self.values(frame, *right));
                let with = combination.map(|with| (with, self.values(frame, with.predicate)));
                let comparison = Comparison { relation: *relation, of: *of, flush: *flush };
                let (yes, no) = compare(comparison, &left, &right, with);
                self.set(frame, *to, &yes, active);
                if let Some(opposite) = opposite {
                    self.set(frame, *opposite, &no, active);
                }
            }
            Operation::Convert { into, of, to, from, rounding, to_integral, saturate, flush } => {
                let conversion = Conversion {
                    into: *into,
                    of: *of,
                    rounding: *rounding,
                    to_integral: *to_integral,
                    saturate: *saturate,
                    flush: *flush,
                };
                let values = self.values(frame, *from).map(|value| conversion.of(value));
                self.set(frame, *to, &values, active);
            }
            Operation::Move { of, to, from } => {
                let values = self.values(frame, *from).map(|value| low(value, of.bytes()));
                self.set(frame, *to, &values, active);
            }
            Operation::Pack { of, to, from } => {
                let bits = 8 * of.bytes() / from.len();
                let mut all = [0; 32];
                for (part, operand) in from.iter().enumerate() {
                    let values = self.values(frame, *operand);
                    let part = |l: usize| low(values[l], bits / 8) << (part * bits);
                    (0..32).for_each(|l| all[l] |= part(l));
                }
                self.set(frame, *to, &all, active);
            }
            Operation::Unpack { of, to, from } => {
                let bits = 8 * of.bytes() / to.len();
                let values = self.values(frame, *from);
                for (part, register) in to.iter().enumerate() {
                    if let Some(register) = register {
                        let values = values.map(|value| low(value >> (part * bits), bits / 8));
                        self.set(frame, *register, &values, active);
                    }
                }
            }
            Operation::ToGeneric { space, to, from } => {
                let values = self.values(frame, *from);
                let thread = |l: usize| self.warp.first + l;
                let generic = |l| self.block.generic(*space, thread(l), values[l]);
                let values = std::array::from_fn(generic);
                self.set(frame, *to, &values, active);
            }
            Operation::FromGeneric { space, to, from } => {
                let values = self.values(frame, *from);
                let thread = |l: usize| self.warp.first + l;
                let specific = |l| self.block.specific(*space, thread(l), values[l]);
                let values = std::array::from_fn(specific);
                self.set(frame, *to, &values, active);
            }
            Operation::ActiveLanes { to } => {
                self.set(frame, *to, &[active.into(); 32], active);
            }
            Operation::Fence { scope } => {
                if let Some(races) = self.block.races.as_mut().filter(|_| *scope != Scope::Block) {
                    lanes(active).for_each(|l| races.fence(self.warp.first + l));
                }
            }
            Operation::Load { space: Space::Parameter, of, to, address } => {
                self.load_parameter(frame, (function, line), (*of, to, *address), active)?;
            }
            Operation::Store { space: Space::Parameter, of, from, address } => {
                self.store_parameter(frame, (function, line), (*of, from, *address), active)?;
            }
            Operation::Load { space, of, to, address } => {
                let at = self.addresses(frame, *address);
                self.count_access(frame, (*space, &at), of.bytes() * to.len(), active);
                for l in lanes(active) {
                    let access = self.access(l, *space, at[l], line);
                    let mut values = [0; 4];
                    let values = &mut values[..to.len()];
                    let found = self.block.load(access, *of, values);
                    found.map_err(|fault| self.fault(fault.code, &fault.what, line, 1 << l))?;
                    for (register, value) in to.iter().zip(values) {
                        self.warp.frames[frame].registers[*register as usize][l] = *value;
                    }
                }
            }
            Operation::Store { space, of, from, address } => {
                let at = self.addresses(frame, *address);
                self.count_access(frame, (*space, &at), of.bytes() * from.len(), active);
                let mut columns = [[0; 32]; 4];
                for (column, operand) in columns.iter_mut().zip(from) {
                    *column = self.values(frame, *operand);
                }
                for l in lanes(active) {
                    let access = self.access(l, *space, at[l], line);
                    let values = columns.map(|column| column[l]);
                    let stored = self.block.store(access, *of, &values[..from.len()]);
                    stored.map_err(|fault| self.fault(fault.code, &fault.what, line, 1 << l))?;
                }
            }
            Operation::Atomic { kind, space, of, to, address, operand, second } => {
                let at = self.addresses(frame, *address);
                self.count_access(frame, (*space, &at), of.bytes(), active);
                let first = self.values(frame, *operand);
                let second = second.map_or([0; 32], |second| self.values(frame, second));
                for l in lanes(active) {
                    let access = Access { is_atomic: true, ..self.access(l, *space, at[l], line) };
                    let mut before = [0];
                    let done = self.block.load(access, *of, &mut before).and_then(|()| {
                        let after = exchanged(*kind, *of, before[0], first[l], second[l]);
                        let what = || format!("{kind:?} of {of:?} is not implemented");
                        let unknown = || Fault { code: ILLEGAL_INSTRUCTION, what: what() };
                        self.block.store(access, *of, &[after.ok_or_else(unknown)?])
                    });
                    done.map_err(|fault| self.fault(fault.code, &fault.what, line, 1 << l))?;
                    if let Some(to) = to {
                        self.warp.frames[frame].registers[*to as usize][l] = before[0];
                    }
                }
            }
            _ => return Err(self.fault(ILLEGAL_INSTRUCTION, "not implemented", line, active)),
        }
        Ok(())
    }

    /// Returns the counts of a frame's function if instructions are counted.
    fn counts(&mut self, frame: usize) -> Option<&mut Counts> {
        self.block.counts.as_mut()?.get_mut(self.warp.frames[frame].function)
    }

    fn count_access(
        &mut self,
        frame: usize,
        (space, at): (Space, &Lanes),
        bytes: usize,
        active: u32,
    ) {
        if self.block.counts.is_none() {
            return;
        }
        let generic = |l: usize| self.block.generic(space, self.warp.first + l, at[l]);
        let generic: Lanes = std::array::from_fn(generic);
        let space = self.block.space_of(generic[active.trailing_zeros() as usize % 32]);
        let counts = self.counts(frame);
        counts.into_iter().for_each(|counts| counts.access(space, &generic, bytes, active));
    }

    fn addresses(&self, frame: usize, address: Address) -> Lanes {
        self.values(frame, address.base).map(|base| base.wrapping_add_signed(address.offset))
    }

    fn access(&self, lane: usize, space: Space, address: u64, line: u32) -> Access {
        Access { thread: self.warp.first + lane, space, address, line, is_atomic: false }
    }

    fn load_parameter(
        &mut self,
        frame: usize,
        (function, line): (&Function, u32),
        (of, to, address): (Type, &[Register], Address),
        active: u32,
    ) -> Result<(), Fault> {
        let (at, size) = (self.addresses(frame, address), of.bytes());
        for l in lanes(active) {
            let begin = self.in_frame((function, line), l, at[l], size * to.len())?;
            let frame = &mut self.warp.frames[frame];
            for (number, register) in to.iter().enumerate() {
                let from = begin + number * size;
                let mut word = [0; 8];
                word[..size].copy_from_slice(&frame.values[from..from + size]);
                frame.registers[*register as usize][l] = u64::from_le_bytes(word);
            }
        }
        Ok(())
    }

    fn store_parameter(
        &mut self,
        frame: usize,
        (function, line): (&Function, u32),
        (of, from, address): (Type, &[Operand], Address),
        active: u32,
    ) -> Result<(), Fault> {
        let (at, size) = (self.addresses(frame, address), of.bytes());
        for (number, operand) in from.iter().enumerate() {
            let values = self.values(frame, *operand);
            for l in lanes(active) {
                let begin = self.in_frame((function, line), l, at[l], size * from.len())?;
                let to = begin + number * size;
                let to = &mut self.warp.frames[frame].values[to..to + size];
                to.copy_from_slice(&values[l].to_le_bytes()[..size]);
            }
        }
        Ok(())
    }

    /// Returns the index in [`Frame::values`](super::warp::Frame::values) of the address `at` of a lane. Fails unless
    /// all `bytes` bytes are in the lane's frame.
    fn in_frame(
        &self,
        (function, line): (&Function, u32),
        lane: usize,
        at: u64,
        bytes: usize,
    ) -> Result<usize, Fault> {
        let inside = usize::try_from(at)
            .ok()
            .filter(|at| at.checked_add(bytes).is_some_and(|end| end <= function.frame_bytes));
        let outside = || {
            let what = format!("{bytes} bytes at {at:#x}, where no parameter is");
            self.fault(ILLEGAL_ADDRESS, &what, line, 1 << lane)
        };
        inside.map(|at| lane * function.frame_bytes + at).ok_or_else(outside)
    }
}
