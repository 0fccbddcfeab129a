//! Assembler of a function that executes the operations at all points, in blocks.
//!
//! ```text
//! rdi  frame      rdx  uniform numbers                          rcx  index of the present point
//! r8…  arrays     rsi  sums of the block  r14  sums of the piece     r15  end of the block or round
//! r13  row of the present point
//! [rip + …] constants, in front of the code                     [rsp + …] numbers that no register is left for
//! ```
//!
//! One iteration of the inner loop processes eight points, one AVX-512 vector. With AVX2 there are two inner loops, one
//! for each half of the eight points: each loop keeps only its own sums, so that more sums fit into the registers. Long
//! iterations, those with more sums than registers, and those whose costs are computed from products are divided into rounds
//! ([`super::rounds`]).
//! Uniform numbers and constants are operands in memory. AVX-512 broadcasts them; for AVX2, memory contains one copy
//! per lane.

use super::allocation::Allocation;
use super::loops::{Body, END, STOP, TURN};
use super::operation::Operation;
use super::rounds::{OfProduct, Rounds};
use super::writer::{ARRAYS, Done, Layout, POINTERS, REFUSED, ROW, Writer};
use crate::backend::cpu::code::BLOCK;
use crate::backend::cpu::kernels::Vectors;
use crate::data::validate_stream::PIECE;
use iced_x86::{Code, Encoder, Instruction, MemoryOperand, Register};

/// Number of leading `POINTERS` that the calling convention does not preserve.
const FREE_POINTERS: usize = 4;
const TOTALS: Register = Register::R14;
/// Offsets in the frame, see [`Frame`](super::routine::Frame); arrays follow.
const DONE: i64 = 8;
const UNIFORMS: i64 = 16;
const SUMS: i64 = 24;
const TOTAL_SUMS: i64 = 32;

/// Machine code: constants, then instructions from byte `entry` on.
pub(super) struct Machine {
    pub(super) bytes: Vec<u8>,
    pub(super) entry: usize,
}

/// Returns the minimum number of registers for intermediate numbers.
fn left(vectors: Vectors) -> usize {
    match vectors {
        Vectors::Avx2 => 5,
        Vectors::Avx512 => 9,
    }
}

/// Number of operations from which the iterations are divided into rounds. Shorter iterations overlap anyway.
const LONG: usize = 64;

/// Loops over the points.
enum Loops {
    /// One loop computes the rows and sums their products, which remain in registers.
    InOne(Box<Body>),
    InRounds(Box<Rounds>),
}

/// Operations of a function.
pub(super) struct Operations {
    /// Operations of an iteration over the points.
    pub(super) of_points: Vec<Operation>,
    /// Operations on the product of a round, if costs are computed from products.
    pub(super) of_product: Option<OfProduct>,
}

/// Assembles a function. Returns `None` if there are too many simultaneous truth values for the mask registers.
pub(super) fn assemble(operations: Operations, layout: Layout) -> Option<Machine> {
    let Layout { vectors, sums, .. } = layout;
    let Operations { of_points, of_product } = operations;
    let of_costs = of_product.iter().flat_map(|product| &product.add_sums);
    let refuses = of_points.iter().chain(of_costs).any(|o| matches!(o, Operation::Refuse(_)));
    let all = vectors.registers() - usize::from(refuses && vectors == Vectors::Avx2);
    let mut writer = Writer {
        allocation: Allocation::new(Vec::new(), all),
        constants: Vec::new(),
        jumps: Vec::new(),
        encoder: Encoder::new(64),
        position: 0,
        half: 0,
        numbers: all,
        row_numbers: 0,
        refused: all,
        layout,
    };
    let mut bytes = Vec::new();
    let is_long = sums + left(vectors) > all || of_points.len() >= LONG;
    let in_rounds = sums > 0 && (is_long || of_product.is_some());
    let loops = match in_rounds {
        true => Loops::InRounds(Box::new(writer.rounds(&of_points, of_product, all, &mut bytes))),
        false => Loops::InOne(Box::new(writer.body(of_points, all - sums, &mut bytes))),
    };
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    let entry = bytes.len();
    writer.position = entry;
    let mut function = writer.write_function(loops, refuses)?;
    bytes.append(&mut function);
    Some(Machine { bytes, entry })
}

impl Writer {
    fn write_function(&mut self, mut loops: Loops, refuses: bool) -> Option<Vec<u8>> {
        let entry = self.position;
        let kept = self.layout.arrays.min(POINTERS.len()).saturating_sub(FREE_POINTERS);
        let kept = [&[TOTALS, STOP, ROW], &POINTERS[FREE_POINTERS..FREE_POINTERS + kept]].concat();
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
        let refused = self.write_blocks(&mut loops, refuses)?;
        refused.into_iter().for_each(|jump| self.arrive(jump));
        let below = MemoryOperand::with_base_displ(Register::RBP, -8 * kept.len() as i64);
        self.put(Instruction::with2(Code::Lea_r64_m, Register::RSP, below).ok()?)?;
        for &register in kept.iter().rev() {
            self.put(Instruction::with1(Code::Pop_r64, register).ok()?)?;
        }
        self.put(Instruction::with1(Code::Pop_r64, Register::RBP).ok()?)?;
        self.put(Instruction::with(Code::VEX_Vzeroupper))?;
        self.put(Instruction::with(Code::Retnq))?;
        let slots = match &loops {
            Loops::InOne(body) => body.slots(),
            Loops::InRounds(rounds) => rounds.bodies().map(Body::slots).max().unwrap_or(0),
        };
        let room = (slots * self.vectors().width()).next_multiple_of(64);
        let mut bytes = self.encoder.take_buffer();
        bytes[room_end - 4..room_end].copy_from_slice(&(room as u32).to_le_bytes());
        for &(from, to) in &self.jumps {
            let distance = (to - from) as u32;
            bytes[from - entry - 4..from - entry].copy_from_slice(&distance.to_le_bytes());
        }
        Some(bytes)
    }

    /// Writes the loop over blocks of points, with the loops over the points of a block. Returns the jump whose target is
    /// the code after the loops, if points can be refused.
    fn write_blocks(&mut self, loops: &mut Loops, refuses: bool) -> Option<Option<usize>> {
        let mut refused = None;
        let next_block = self.position;
        match loops {
            Loops::InOne(body) => self.write_block(body)?,
            Loops::InRounds(rounds) => self.write_rounds(rounds)?,
        }
        if refuses {
            self.test_refused()?;
            refused = Some(self.jump(Code::Jne_rel32_64)?);
        }
        let in_registers = match loops {
            Loops::InOne(body) if self.is_wide() => Some(body.numbers()),
            _ => None,
        };
        self.add_to_totals(in_registers)?;
        self.pass_on_to_next_piece()?;
        let at = self.at(Register::RDI, DONE);
        self.put(Instruction::with2(Code::Mov_rm64_r64, at, Register::RCX).ok()?)?;
        let end = self.at(Register::RDI, END);
        self.put(Instruction::with2(Code::Cmp_r64_rm64, Register::RCX, end).ok()?)?;
        self.put(Instruction::with_branch(Code::Jb_rel32_64, next_block as u64).ok()?)?;
        Some(refused)
    }

    /// Writes the loop over the points of a block, or one loop for each half of the eight points of an iteration.
    fn write_block(&mut self, body: &mut Body) -> Done {
        self.stop_after(BLOCK)?;
        for half in 0..self.vectors().halves() {
            self.half = half;
            if half > 0 {
                // Back to the first point of this block.
                self.load_pointer(Register::RCX, Register::RDI, DONE)?;
            }
            (0..self.layout.sums).try_for_each(|sum| {
                let register = self.vector(body.numbers() + sum);
                self.zero(register)
            })?;
            self.write_loop(body, &[(Register::RCX, TURN)], STOP)?;
            // The other half needs the same registers.
            let stored = if self.is_wide() { 0 } else { self.layout.sums };
            (0..stored).try_for_each(|sum| {
                self.store(self.sum_at(Register::RSI, sum), self.vector(body.numbers() + sum))
            })?;
        }
        Some(())
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

    /// Adds the sums of a block to the totals. `in_registers`: the register of the first sum; `None` if the sums are in
    /// memory.
    fn add_to_totals(&mut self, in_registers: Option<usize>) -> Done {
        let code = match self.is_wide() {
            true => Code::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er,
            false => Code::VEX_Vaddpd_ymm_ymm_ymmm256,
        };
        for sum in 0..self.layout.sums {
            for half in 0..self.vectors().halves() {
                self.half = half;
                let total = self.sum_at(TOTALS, sum);
                let register = self.vector(in_registers.map_or(0, |first| first + sum));
                if in_registers.is_none() {
                    self.load(register, self.sum_at(Register::RSI, sum))?;
                }
                self.put(Instruction::with3(code, register, register, total).ok()?)?;
                self.store(total, register)?;
            }
        }
        self.half = 0;
        Some(())
    }
}
