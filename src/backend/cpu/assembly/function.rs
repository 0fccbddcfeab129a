//! Assembler of a function that executes the operations at all points, in blocks.
//!
//! ```text
//! rdi  frame      rdx  uniform numbers                          rcx  index of the present point
//! r8…  arrays     rsi  sums of the halves of a block            r14  sums of the piece     r15  end of the block
//! [rip + …] constants, in front of the code                     [rsp + …] numbers that no register is left for
//! ```
//!
//! One iteration of the inner loop processes eight points, one AVX-512 vector. With AVX2 there are two inner loops, one
//! for each half of the eight points: each loop keeps only its own sums, so that more sums fit into the registers.
//! Uniform numbers and constants are operands in memory. AVX-512 broadcasts them; for AVX2, memory contains one copy
//! per lane.

use super::allocation::Allocation;
use super::operation::{Id, Operation};
use super::pairs::in_pairs;
use super::writer::{ARRAYS, Done, Layout, POINTERS, REFUSED, Writer};
use crate::backend::cpu::code::BLOCK;
use crate::backend::cpu::kernels::Vectors;
use crate::data::validate_stream::PIECE;
use iced_x86::{Code, Encoder, Instruction, MemoryOperand, Register};

/// Points per iteration of the inner loop.
const TURN: i32 = 8;
/// Number of leading `POINTERS` that the calling convention does not preserve.
const FREE_POINTERS: usize = 4;
const TOTALS: Register = Register::R14;
const BLOCK_END: Register = Register::R15;
/// Offsets in the frame, see [`Frame`](super::routine::Frame); arrays follow.
const END: i64 = 0;
const DONE: i64 = 8;
const UNIFORMS: i64 = 16;
const SUMS: i64 = 24;
const TOTAL_SUMS: i64 = 32;

/// Machine code: constants, then instructions from byte `entry` on.
pub(super) struct Machine {
    pub(super) bytes: Vec<u8>,
    pub(super) entry: usize,
}

/// Returns the minimum number of registers for intermediate numbers. If the sums leave fewer registers, the tiles of
/// the interpreter need fewer memory accesses than machine code.
fn left(vectors: Vectors) -> usize {
    match vectors {
        Vectors::Avx2 => 5,
        Vectors::Avx512 => 9,
    }
}

/// Number of operations from which two iterations are interleaved with AVX-512. Shorter iterations overlap anyway. Measured
/// time of a pass: Huber 0.88, Cauchy 0.79, counts 0.82.
const LONG: usize = 64;

/// Operations of one or two iterations of a loop, with the locations of their numbers.
struct Body {
    operations: Id,
    allocation: Allocation,
    /// Offset of each constant in bytes, indexed by operation.
    constants: Vec<usize>,
}

/// Assembles a function. Returns `None` if there are too many sums for the registers, or too many simultaneous truth
/// values for the mask registers.
pub(super) fn assemble(operations: &[Operation], layout: Layout) -> Option<Machine> {
    let Layout { vectors, sums, .. } = layout;
    let refuses = operations.iter().any(|o| matches!(o, Operation::Refuse(_)));
    let all = vectors.registers() - usize::from(refuses && vectors == Vectors::Avx2);
    if sums + left(vectors) > all {
        return None;
    }
    let numbers = all - sums;
    let mut writer = Writer {
        allocation: Allocation::new(&[], numbers),
        constants: Vec::new(),
        jumps: Vec::new(),
        encoder: Encoder::new(64),
        position: 0,
        half: 0,
        numbers,
        refused: all,
        layout,
    };
    let mut bytes = Vec::new();
    let mut body = |operations: &[Operation]| Body {
        operations: operations.len() as Id,
        allocation: Allocation::new(operations, numbers),
        constants: writer.place_constants(operations, &mut bytes),
    };
    let is_long = operations.len() >= LONG && sums > 0 && vectors == Vectors::Avx512;
    let both = is_long.then(|| body(&in_pairs(operations)));
    let single = body(operations);
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    let entry = bytes.len();
    writer.position = entry;
    let mut function = writer.write_function(single, both, refuses)?;
    bytes.append(&mut function);
    Some(Machine { bytes, entry })
}

impl Writer {
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

    fn write_function(
        &mut self,
        mut single: Body,
        mut both: Option<Body>,
        refuses: bool,
    ) -> Option<Vec<u8>> {
        let entry = self.position;
        let kept = self.layout.arrays.min(POINTERS.len()).saturating_sub(FREE_POINTERS);
        let kept = [&[TOTALS, BLOCK_END], &POINTERS[FREE_POINTERS..FREE_POINTERS + kept]].concat();
        self.put(Instruction::with1(Code::Push_r64, Register::RBP).ok()?)?;
        self.move_pointer(Register::RBP, Register::RSP)?;
        for &register in &kept {
            self.put(Instruction::with1(Code::Push_r64, register).ok()?)?;
        }
        self.put(Instruction::with2(Code::And_rm64_imm8, Register::RSP, -64).ok()?)?;
        // A placeholder: the size of the stack frame is known only at the end, and is then written here.
        self.put(Instruction::with2(Code::Sub_rm64_imm32, Register::RSP, 0).ok()?)?;
        let room_end = self.position - entry;
        self.load_pointer(Register::RDX, Register::RDI, UNIFORMS)?;
        self.load_pointer(Register::RSI, Register::RDI, SUMS)?;
        self.load_pointer(TOTALS, Register::RDI, TOTAL_SUMS)?;
        for (array, &register) in POINTERS.iter().enumerate().take(self.layout.arrays) {
            self.load_pointer(register, Register::RDI, ARRAYS + 8 * array as i64)?;
        }
        self.put(Instruction::with2(Code::Xor_r32_rm32, Register::ECX, Register::ECX).ok()?)?;
        self.clear_refused(refuses)?;
        let refused = self.write_loops(&mut single, both.as_mut(), refuses)?;
        refused.into_iter().for_each(|jump| self.arrive(jump));
        let below = MemoryOperand::with_base_displ(Register::RBP, -8 * kept.len() as i64);
        self.put(Instruction::with2(Code::Lea_r64_m, Register::RSP, below).ok()?)?;
        for &register in kept.iter().rev() {
            self.put(Instruction::with1(Code::Pop_r64, register).ok()?)?;
        }
        self.put(Instruction::with1(Code::Pop_r64, Register::RBP).ok()?)?;
        self.put(Instruction::with(Code::VEX_Vzeroupper))?;
        self.put(Instruction::with(Code::Retnq))?;
        let slots = [Some(&single), both.as_ref()].into_iter().flatten();
        let slots = slots.map(|body| body.allocation.room()).max().unwrap_or(0);
        let room = (slots * self.vectors().width()).next_multiple_of(64);
        let mut bytes = self.encoder.take_buffer();
        bytes[room_end - 4..room_end].copy_from_slice(&(room as u32).to_le_bytes());
        for &(from, to) in &self.jumps {
            let distance = (to - from) as u32;
            bytes[from - entry - 4..from - entry].copy_from_slice(&distance.to_le_bytes());
        }
        Some(bytes)
    }

    /// Writes a jump forward and returns the offset of the next instruction. [`arrive`](Self::arrive) sets the target.
    fn jump(&mut self, code: Code) -> Option<usize> {
        self.put(Instruction::with_branch(code, 0).ok()?)?;
        Some(self.position)
    }

    /// Makes the present position the target of a jump.
    fn arrive(&mut self, jump: usize) {
        self.jumps.push((jump, self.position));
    }

    /// Writes the loop over blocks of points, with the loops over the points of a block. Returns the jump whose target is
    /// the code after the loops, if points can be refused.
    fn write_loops(
        &mut self,
        single: &mut Body,
        mut both: Option<&mut Body>,
        refuses: bool,
    ) -> Option<Option<usize>> {
        let mut refused = None;
        let next_block = self.position;
        // The end of the block or the end of the points, whichever is smaller.
        let behind = self.at(Register::RCX, BLOCK as i64);
        self.put(Instruction::with2(Code::Lea_r64_m, BLOCK_END, behind).ok()?)?;
        let end = self.at(Register::RDI, END);
        self.put(Instruction::with2(Code::Cmp_r64_rm64, BLOCK_END, end).ok()?)?;
        self.put(Instruction::with2(Code::Cmova_r64_rm64, BLOCK_END, end).ok()?)?;
        for half in 0..self.vectors().halves() {
            self.half = half;
            if half > 0 {
                // Back to the first point of this block.
                self.load_pointer(Register::RCX, Register::RDI, DONE)?;
            }
            self.clear_sums()?;
            match &mut both {
                None => self.write_loop(single, TURN)?,
                Some(both) => self.write_pairs(single, both)?,
            }
            self.store_sums()?;
        }
        if refuses {
            self.test_refused()?;
            refused = Some(self.jump(Code::Jne_rel32_64)?);
        }
        self.add_to_totals()?;
        self.pass_on_to_next_piece()?;
        let at = self.at(Register::RDI, DONE);
        self.put(Instruction::with2(Code::Mov_rm64_r64, at, Register::RCX).ok()?)?;
        self.put(Instruction::with2(Code::Cmp_r64_rm64, Register::RCX, end).ok()?)?;
        self.put(Instruction::with_branch(Code::Jb_rel32_64, next_block as u64).ok()?)?;
        Some(refused)
    }

    /// Writes the loop over pairs of iterations. If the number of iterations of the block is odd, a single one precedes
    /// the loop.
    fn write_pairs(&mut self, single: &mut Body, both: &mut Body) -> Done {
        let (eax, ecx) = (Register::EAX, Register::ECX);
        self.put(Instruction::with2(Code::Mov_r32_rm32, eax, Register::R15D).ok()?)?;
        self.put(Instruction::with2(Code::Sub_r32_rm32, eax, ecx).ok()?)?;
        self.put(Instruction::with2(Code::Test_rm32_imm32, eax, TURN as u32).ok()?)?;
        let even = self.jump(Code::Je_rel32_64)?;
        self.write_iteration(single, TURN)?;
        let no_more = self.jump(Code::Jae_rel32_64)?;
        self.arrive(even);
        self.write_loop(both, 2 * TURN)?;
        self.arrive(no_more);
        Some(())
    }

    /// Writes a loop over the points of a block, or over half of them.
    fn write_loop(&mut self, body: &mut Body, points: i32) -> Done {
        while !self.position.is_multiple_of(32) {
            self.put(Instruction::with(Code::Nopd))?;
        }
        let top = self.position;
        self.write_iteration(body, points)?;
        self.put(Instruction::with_branch(Code::Jb_rel32_64, top as u64).ok()?)
    }

    /// Writes the operations of a body and the comparison with the end of the block.
    fn write_iteration(&mut self, body: &mut Body, points: i32) -> Done {
        let swap = |writer: &mut Writer, body: &mut Body| {
            std::mem::swap(&mut writer.allocation, &mut body.allocation);
            std::mem::swap(&mut writer.constants, &mut body.constants);
        };
        swap(self, body);
        self.allocation.restart();
        (0..body.operations).try_for_each(|id| self.write(id))?;
        swap(self, body);
        self.put(Instruction::with2(Code::Add_rm64_imm8, Register::RCX, points).ok()?)?;
        self.put(Instruction::with2(Code::Cmp_r64_rm64, Register::RCX, BLOCK_END).ok()?)
    }

    /// Advances to the totals of the next piece, after the last block of a piece.
    fn pass_on_to_next_piece(&mut self) -> Done {
        let next = self.at(TOTALS, 64 * self.layout.sums as i64);
        let in_piece = PIECE as u32 - 1;
        self.put(Instruction::with2(Code::Lea_r64_m, Register::RAX, next).ok()?)?;
        self.put(Instruction::with2(Code::Test_rm32_imm32, Register::ECX, in_piece).ok()?)?;
        self.put(Instruction::with2(Code::Cmove_r64_rm64, TOTALS, Register::RAX).ok()?)
    }

    fn clear_refused(&mut self, refuses: bool) -> Done {
        match (refuses, self.is_wide()) {
            (false, _) => Some(()),
            (true, true) => {
                let mask = Register::K0 + REFUSED;
                self.put(Instruction::with3(Code::VEX_Kxorb_kr_kr_kr, mask, mask, mask).ok()?)
            }
            (true, false) => {
                let v = self.vector(self.refused);
                self.put(Instruction::with3(Code::VEX_Vxorpd_ymm_ymm_ymmm256, v, v, v).ok()?)
            }
        }
    }

    /// Writes the test for lanes that an [`Operation::Refuse`] marked as invalid.
    fn test_refused(&mut self) -> Done {
        let eax = Register::EAX;
        let instruction = match self.is_wide() {
            true => Instruction::with2(Code::VEX_Kmovb_r32_kr, eax, Register::K0 + REFUSED),
            false => {
                Instruction::with2(Code::VEX_Vmovmskpd_r32_ymm, eax, self.vector(self.refused))
            }
        };
        self.put(instruction.ok()?)?;
        self.put(Instruction::with2(Code::Test_rm32_r32, eax, eax).ok()?)
    }

    /// Sets the sums of a block, or of half of its points, to 0.
    fn clear_sums(&mut self) -> Done {
        (0..self.layout.sums).try_for_each(|sum| self.zero(self.sum(sum)))
    }

    /// Stores the sums in memory if AVX2 is used, since the other half of the points needs the same registers.
    fn store_sums(&mut self) -> Done {
        let stored = if self.is_wide() { 0 } else { self.layout.sums };
        (0..stored).try_for_each(|sum| self.store(self.sum_at(Register::RSI, sum), self.sum(sum)))
    }

    /// Adds the sums of a block to the totals.
    fn add_to_totals(&mut self) -> Done {
        let code = match self.is_wide() {
            true => Code::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er,
            false => Code::VEX_Vaddpd_ymm_ymm_ymmm256,
        };
        for sum in 0..self.layout.sums {
            for half in 0..self.vectors().halves() {
                self.half = half;
                let total = self.sum_at(TOTALS, sum);
                let register = self.sum(sum);
                if !self.is_wide() {
                    self.load(register, self.sum_at(Register::RSI, sum))?;
                }
                self.put(Instruction::with3(code, register, register, total).ok()?)?;
                self.store(total, register)?;
            }
        }
        Some(())
    }
}
