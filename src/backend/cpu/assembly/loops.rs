//! Loops over the points: their bodies, ends and jumps.

use super::allocation::Allocation;
use super::operation::{Id, Operation};
use super::writer::{Done, Writer};
use iced_x86::{Code, Instruction, Register};

/// Points per iteration of the inner loop.
pub(super) const TURN: i64 = 8;
/// End of the block or, in rounds, of the round.
pub(super) const STOP: Register = Register::R15;
/// Offset of the number of points in the frame, see [`Frame`](super::routine::Frame).
pub(super) const END: i64 = 0;

/// Operations of a loop, with the locations of their numbers.
pub(super) struct Body {
    operations: Id,
    allocation: Allocation,
    /// Number of registers for intermediate numbers. The registers of the sums follow.
    numbers: usize,
    /// Offset of each constant in bytes, indexed by operation.
    constants: Vec<usize>,
}

impl Body {
    /// Returns the number of registers for intermediate numbers.
    pub(super) fn numbers(&self) -> usize {
        self.numbers
    }

    /// Returns the number of stack slots.
    pub(super) fn slots(&self) -> usize {
        self.allocation.room()
    }
}

impl Writer {
    /// Returns the body of a loop. Appends its constants to `bytes`.
    pub(super) fn body(
        &self,
        operations: Vec<Operation>,
        numbers: usize,
        bytes: &mut Vec<u8>,
    ) -> Body {
        Body {
            operations: operations.len() as Id,
            constants: self.place_constants(&operations, bytes),
            allocation: Allocation::new(operations, numbers),
            numbers,
        }
    }

    /// Appends the constants of these operations to `bytes`, in their layout before the function, and returns their
    /// offsets.
    fn place_constants(&self, operations: &[Operation], bytes: &mut Vec<u8>) -> Vec<usize> {
        let copies = if self.is_wide() { 1 } else { 4 };
        let mut place = |operation: &Operation| {
            let offset = bytes.len();
            if let Operation::Constant(bits) = operation {
                (0..copies).for_each(|_| bytes.extend_from_slice(&bits.to_le_bytes()));
            }
            offset
        };
        operations.iter().map(&mut place).collect()
    }

    /// Writes a jump forward and returns the offset of the next instruction. [`arrive`](Self::arrive) sets the target.
    pub(super) fn jump(&mut self, code: Code) -> Option<usize> {
        self.put(Instruction::with_branch(code, 0).ok()?)?;
        Some(self.position)
    }

    /// Makes the present position the target of a jump.
    pub(super) fn arrive(&mut self, jump: usize) {
        self.jumps.push((jump, self.position));
    }

    /// Sets `STOP` to the end of these points or of all points, whichever is smaller.
    pub(super) fn stop_after(&mut self, points: usize) -> Done {
        let behind = self.at(Register::RCX, points as i64);
        self.put(Instruction::with2(Code::Lea_r64_m, STOP, behind).ok()?)?;
        let end = self.at(Register::RDI, END);
        self.put(Instruction::with2(Code::Cmp_r64_rm64, STOP, end).ok()?)?;
        self.put(Instruction::with2(Code::Cmova_r64_rm64, STOP, end).ok()?)
    }

    /// Writes a loop; see [`write_iteration`](Self::write_iteration).
    pub(super) fn write_loop(
        &mut self,
        body: &mut Body,
        steps: &[(Register, i64)],
        stop: Register,
    ) -> Done {
        while !self.position.is_multiple_of(32) {
            self.put(Instruction::with(Code::Nopd))?;
        }
        let top = self.position;
        self.write_iteration(body, steps, stop)?;
        self.put(Instruction::with_branch(Code::Jb_rel32_64, top as u64).ok()?)
    }

    /// Writes the operations of a body, adds its step to each register, and compares the last of them with `stop`.
    pub(super) fn write_iteration(
        &mut self,
        body: &mut Body,
        steps: &[(Register, i64)],
        stop: Register,
    ) -> Done {
        self.write_operations(body)?;
        for &(register, step) in steps {
            self.put(Instruction::with2(Code::Add_rm64_imm32, register, step as i32).ok()?)?;
        }
        let &(last, _) = steps.last()?;
        self.put(Instruction::with2(Code::Cmp_r64_rm64, last, stop).ok()?)
    }

    /// Writes the operations of a body.
    pub(super) fn write_operations(&mut self, body: &mut Body) -> Done {
        let swap = |writer: &mut Writer, body: &mut Body| {
            std::mem::swap(&mut writer.allocation, &mut body.allocation);
            std::mem::swap(&mut writer.constants, &mut body.constants);
            std::mem::swap(&mut writer.numbers, &mut body.numbers);
        };
        swap(self, body);
        self.allocation.restart();
        (0..body.operations).try_for_each(|id| self.write(id))?;
        swap(self, body);
        Some(())
    }
}
