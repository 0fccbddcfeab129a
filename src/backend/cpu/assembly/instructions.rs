//! Instructions of each operation.

use super::codes::{form, fused_forms};
use super::operation::{Comparison, Id, Operation, Rounding};
use super::writer::{Done, REFUSED, Writer};
use iced_x86::{Code, Instruction, Register};

impl Writer {
    /// Writes the instructions of an operation. All earlier operations must have been written.
    pub(super) fn write(&mut self, id: Id) -> Done {
        use Operation::{
            Array, Both, Compare, Constant, Either, Fused, InProduct, Keep, Kept, Not, Refuse,
            Root, Scale, Select, SetInProduct, ShiftLeft, ShiftRight, Store, Sum, Uniform, Whole,
        };
        self.allocation.advance(id);
        let operation = self.allocation.operation(id);
        match operation {
            Constant(_) | Uniform { .. } => self.allocation.is_in_table(id),
            Array { array, ahead } => {
                let to = self.grab()?;
                self.load_array(array, ahead, to)?;
                self.allocation.finish(&[], Some((id, to)));
            }
            Fused { negated, less, factors, term } => {
                self.fused(id, [factors[0], factors[1], term], (negated, less))?;
            }
            Root(a) => self.one(id, a, None)?,
            Whole(Rounding::Down, a) => self.one(id, a, Some(9))?,
            Whole(Rounding::Up, a) => self.one(id, a, Some(10))?,
            ShiftLeft(a, by) | ShiftRight(a, by) => self.one(id, a, Some(by))?,
            Scale(a, b) => self.two(id, [a, b])?,
            Compare(comparison, a, b) => self.compare(id, comparison, [a, b])?,
            Both(a, b) | Either(a, b) if self.is_wide() => self.masks(id, [a, b])?,
            Not(a) if self.is_wide() => self.masks(id, [a, a])?,
            Not(a) => {
                // Sets all bits of the lanes in which `a` is false, that is, equal to 0 as an integer.
                let from = self.register(a)?;
                let to = self.grab()?;
                let (to_v, from) = (self.vector(to), self.vector(from));
                let zero = Instruction::with3(Code::VEX_Vpxor_ymm_ymm_ymmm256, to_v, to_v, to_v);
                self.put(zero.ok()?)?;
                let code = Code::VEX_Vpcmpeqq_ymm_ymm_ymmm256;
                self.put(Instruction::with3(code, to_v, to_v, from).ok()?)?;
                self.allocation.finish(&[a], Some((id, to)));
            }
            Select { truth, yes, no } => self.select(id, [truth, yes, no])?,
            Store(array, a) => {
                let from = self.register(a)?;
                let to = self.array(array, 0)?;
                self.store(to, self.vector(from))?;
                self.allocation.finish(&[a], None);
            }
            Keep { number, ahead, value } => {
                let from = self.register(value)?;
                let to = self.row(number, ahead);
                self.store(to, self.vector(from))?;
                self.allocation.finish(&[value], None);
            }
            Kept(number) => {
                let to = self.grab()?;
                self.load(self.vector(to), self.row(number, 0))?;
                self.allocation.finish(&[], Some((id, to)));
            }
            Sum(sum, factors) => self.add_product(usize::from(sum), factors)?,
            InProduct(number) => {
                self.allocation.hold(id, self.numbers + usize::from(number));
            }
            SetInProduct(number, a) => {
                let from = self.register(a)?;
                self.copy(self.sum(usize::from(number)), self.vector(from))?;
                self.allocation.finish(&[a], None);
            }
            Refuse(a) => self.refuse(a)?,
            _ => self.ordinary(id, operation)?,
        }
        Some(())
    }

    /// Writes an operation on two numbers.
    fn ordinary(&mut self, id: Id, operation: Operation) -> Done {
        use Operation::{
            Add, AddBits, And, Both, Divide, Either, ExclusiveOr, Least, Most, Multiply, Or,
            Subtract, SubtractBits,
        };
        let commutes = !matches!(
            operation,
            Subtract(..) | Divide(..) | SubtractBits(..) | Least(..) | Most(..)
        );
        let (Add(a, b)
        | Subtract(a, b)
        | Multiply(a, b)
        | Divide(a, b)
        | Least(a, b)
        | Most(a, b)
        | And(a, b)
        | Or(a, b)
        | ExclusiveOr(a, b)
        | AddBits(a, b)
        | SubtractBits(a, b)
        | Both(a, b)
        | Either(a, b)) = operation
        else {
            return None;
        };
        let swapped = commutes
            && self.allocation.register(a).is_none()
            && self.allocation.register(b).is_some();
        self.two(id, if swapped { [b, a] } else { [a, b] })
    }

    fn two(&mut self, id: Id, [a, b]: [Id; 2]) -> Done {
        let code = form(self.allocation.operation(id), self.vectors())?;
        let first = self.register(a)?;
        self.allocation.pin(b);
        let to = self.result(&[a, b])?;
        let instruction = self.three(code, self.vector(to), self.vector(first), b)?;
        self.put(instruction)?;
        self.allocation.finish(&[a, b], Some((id, to)));
        Some(())
    }

    /// Returns an instruction with three operands. The last operand is read from memory if it is not in a register.
    fn three(&self, code: Code, to: Register, first: Register, last: Id) -> Option<Instruction> {
        match self.allocation.register(last) {
            Some(last) => Instruction::with3(code, to, first, self.vector(last)),
            None => Instruction::with3(code, to, first, self.memory(last)?),
        }
        .ok()
    }

    fn one(&mut self, id: Id, a: Id, number: Option<u8>) -> Done {
        let code = form(self.allocation.operation(id), self.vectors())?;
        let from = self.register(a)?;
        let to = self.result(&[a])?;
        let (to_v, from) = (self.vector(to), self.vector(from));
        let instruction = match number {
            Some(number) => Instruction::with3(code, to_v, from, u32::from(number)),
            None => Instruction::with2(code, to_v, from),
        };
        self.put(instruction.ok()?)?;
        self.allocation.finish(&[a], Some((id, to)));
        Some(())
    }

    /// Writes ±(a b) ± c. One of the three operands is overwritten, and one may be in memory.
    fn fused(&mut self, id: Id, operands: [Id; 3], signs: (bool, bool)) -> Done {
        const TERM: usize = 2;
        for operand in operands {
            self.allocation.pin(operand);
        }
        // A number that occurs twice must be in a register, and is not overwritten.
        let is_once = |i: &usize| operands.iter().filter(|&&o| o == operands[*i]).count() == 1;
        let is_outside = |i: &usize| self.allocation.register(operands[*i]).is_none();
        let in_memory = (0..3).rev().filter(is_once).find(is_outside);
        for i in (0..3).filter(|&i| Some(i) != in_memory) {
            self.register(operands[i])?;
        }
        let is_free =
            |i: &usize| is_once(i) && self.allocation.last_register(operands[*i]).is_some();
        let overwritten = (0..3).filter(|i| Some(*i) != in_memory).find(is_free);
        let (overwritten, to, in_memory) = match (overwritten, in_memory) {
            (Some(i), _) => (i, self.allocation.last_register(operands[i])?, in_memory),
            (None, Some(i)) => {
                let to = self.grab()?;
                self.load_number(operands[i], to)?;
                (i, to, None)
            }
            (None, None) => {
                let to = self.grab()?;
                let from = self.allocation.register(operands[TERM])?;
                self.copy(self.vector(to), self.vector(from))?;
                (TERM, to, None)
            }
        };
        let others: [usize; 2] = match overwritten {
            0 => [1, TERM],
            1 => [0, TERM],
            _ => [0, 1],
        };
        // The last operand of an instruction may be in memory.
        let [second, third] = match in_memory {
            Some(i) if i == others[0] => [others[1], others[0]],
            _ => others,
        };
        let forms = fused_forms(signs, self.vectors());
        let code = match (overwritten, third) {
            (TERM, _) => forms.into_term,
            (_, TERM) => forms.with_term_last,
            _ => forms.with_factor_last,
        };
        let second = self.vector(self.allocation.register(operands[second])?);
        let instruction = self.three(code, self.vector(to), second, operands[third])?;
        self.put(instruction)?;
        self.allocation.finish(&operands, Some((id, to)));
        Some(())
    }

    fn compare(&mut self, id: Id, comparison: Comparison, [a, b]: [Id; 2]) -> Done {
        let code = form(self.allocation.operation(id), self.vectors())?;
        let first = self.register(a)?;
        let second = self.allocation.pin(b);
        // Quiet predicates, which do not signal an exception for NaN.
        let predicate: Option<u32> = match comparison {
            Comparison::Less => Some(17),
            Comparison::NotMore => Some(18),
            Comparison::Equal => Some(0),
            Comparison::SameBits => None,
        };
        let (to, to_v) = match self.is_wide() {
            true => {
                let mask = self.allocation.grab_mask()?;
                (mask, Register::K0 + mask as u32)
            }
            false => {
                let to = self.grab()?;
                (to, self.vector(to))
            }
        };
        let first = self.vector(first);
        let instruction = match (second, predicate) {
            (_, None) => self.three(code, to_v, first, b),
            (Some(second), Some(p)) => {
                Instruction::with4(code, to_v, first, self.vector(second), p).ok()
            }
            (None, Some(p)) => Instruction::with4(code, to_v, first, self.memory(b)?, p).ok(),
        };
        self.put(instruction?)?;
        match self.is_wide() {
            true => self.allocation.finish_mask(&[a, b], id, to),
            false => self.allocation.finish(&[a, b], Some((id, to))),
        }
        Some(())
    }

    /// Writes an operation on mask registers.
    fn masks(&mut self, id: Id, [a, b]: [Id; 2]) -> Done {
        let code = form(self.allocation.operation(id), self.vectors())?;
        let [first, second] = [a, b].map(|id| self.allocation.mask(id));
        let to = self.allocation.grab_mask()?;
        let k = |mask: usize| Register::K0 + mask as u32;
        let (to_k, first, second) = (k(to), k(first?), k(second?));
        let instruction = match self.allocation.operation(id) {
            Operation::Not(_) => Instruction::with2(code, to_k, first),
            _ => Instruction::with3(code, to_k, first, second),
        };
        self.put(instruction.ok()?)?;
        self.allocation.finish_mask(&[a, b], id, to);
        Some(())
    }

    fn select(&mut self, id: Id, [truth, yes, no]: [Id; 3]) -> Done {
        let else_zero = self.allocation.operation(no) == Operation::Constant(0);
        if self.is_wide() {
            // With zeroing-masking, the instruction does not read the first operand.
            let first = if else_zero { 0 } else { self.register(no)? };
            self.allocation.pin(yes);
            let operands = [yes, no];
            let read = if else_zero { &operands[..1] } else { &operands };
            let to = self.result(read)?;
            let mask = Register::K0 + self.allocation.mask(truth)? as u32;
            let code = Code::EVEX_Vblendmpd_zmm_k1z_zmm_zmmm512b64;
            let mut instruction = self.three(code, self.vector(to), self.vector(first), yes)?;
            instruction.set_op_mask(mask);
            instruction.set_zeroing_masking(else_zero);
            self.put(instruction)?;
            self.allocation.finish(&[yes, no, truth], Some((id, to)));
            return Some(());
        }
        let mask = self.register(truth)?;
        let first = if else_zero { mask } else { self.register(no)? };
        let second = self.allocation.pin(yes);
        let to = self.result(&[no, yes, truth])?;
        let [to_v, first, mask] = [to, first, mask].map(|register| self.vector(register));
        let blend = Code::VEX_Vblendvpd_ymm_ymm_ymmm256_ymm;
        let instruction = match second {
            _ if else_zero => self.three(Code::VEX_Vandpd_ymm_ymm_ymmm256, to_v, mask, yes),
            Some(second) => Instruction::with4(blend, to_v, first, self.vector(second), mask).ok(),
            None => Instruction::with4(blend, to_v, first, self.memory(yes)?, mask).ok(),
        };
        self.put(instruction?)?;
        self.allocation.finish(&[yes, no, truth], Some((id, to)));
        Some(())
    }

    fn add_product(&mut self, sum: usize, [a, b]: [Id; 2]) -> Done {
        let code = fused_forms((false, false), self.vectors()).into_term;
        let first = self.register(a)?;
        self.allocation.pin(b);
        let instruction = self.three(code, self.sum(sum), self.vector(first), b)?;
        self.put(instruction)?;
        self.allocation.finish(&[a, b], None);
        Some(())
    }

    fn refuse(&mut self, a: Id) -> Done {
        let instruction = match self.is_wide() {
            true => {
                let all = Register::K0 + REFUSED;
                let mask = Register::K0 + self.allocation.mask(a)? as u32;
                Instruction::with3(Code::VEX_Korb_kr_kr_kr, all, all, mask)
            }
            false => {
                let from = self.register(a)?;
                let (all, from) = (self.vector(self.refused), self.vector(from));
                Instruction::with3(Code::VEX_Vorpd_ymm_ymm_ymmm256, all, all, from)
            }
        };
        self.put(instruction.ok()?)?;
        self.allocation.finish(&[a], None);
        Some(())
    }
}
