//! Writer of x86-64 instructions with AVX2 and FMA, or AVX-512.

use super::allocation::{Allocation, Place};
use super::operation::{Id, Operation};
use crate::backend::cpu::assembly::request::Elements;
use crate::backend::cpu::kernels::Vectors;
use crate::data::values::Storage;
use iced_x86::{Code, Encoder, Instruction, MemoryOperand, Register};

/// Memory layout of the uniform numbers, which are the same at every point of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// One number after the other. With AVX2, each number is repeated for every lane.
    Once,
    /// Eight values of each number, one per fit.
    ByLane,
}

impl Vectors {
    /// Returns the width of a vector in bytes.
    pub(super) fn width(self) -> usize {
        match self {
            Vectors::Avx2 => 32,
            Vectors::Avx512 => 64,
        }
    }

    /// Returns the number of vectors per eight points.
    pub(super) fn halves(self) -> usize {
        64 / self.width()
    }

    pub(super) fn registers(self) -> usize {
        match self {
            Vectors::Avx2 => 16,
            Vectors::Avx512 => 32,
        }
    }
}

/// Registers with the addresses of the first arrays.
pub(super) const POINTERS: [Register; 6] =
    [Register::R8, Register::R9, Register::R10, Register::R11, Register::RBX, Register::R12];
/// Register with the address of the current row.
pub(super) const ROW: Register = Register::R13;
/// Mask register of the refused lanes: lanes of points that the interpreter must evaluate.
pub(super) const REFUSED: u32 = 7;
/// Offset of the addresses of the arrays in the frame, in bytes.
pub(super) const ARRAYS: i64 = 48;

/// Vectors, memory layout and numbers of arrays and sums of a generated function.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub(super) vectors: Vectors,
    pub(super) spread: Spread,
    /// Number of columns, the first arrays. y or the outputs follow.
    pub(super) columns: usize,
    pub(super) elements: Elements,
    /// Index of the array of flags, which are bytes.
    pub(super) flags: Option<usize>,
    pub(super) arrays: usize,
    pub(super) sums: usize,
}

/// Writes instructions and keeps track of the registers.
pub(super) struct Writer {
    pub(super) layout: Layout,
    pub(super) allocation: Allocation,
    /// Offset of each constant in bytes, indexed by operation.
    pub(super) constants: Vec<usize>,
    /// Jumps forward: the offset of the next instruction, and the offset of the target.
    pub(super) jumps: Vec<(usize, usize)>,
    pub(super) encoder: Encoder,
    /// Offset of the next instruction in bytes.
    pub(super) position: usize,
    /// Index of the half of the eight points that is being processed, if a vector has four lanes; else 0.
    pub(super) half: usize,
    /// Number of registers for intermediate numbers. The registers of the sums follow.
    pub(super) numbers: usize,
    /// Numbers of a row.
    pub(super) row_numbers: usize,
    /// Register of the refused lanes with AVX2, which has no mask registers.
    pub(super) refused: usize,
}

/// Instructions that convert numbers of 32 bits to f64, for AVX2 and for AVX-512.
const FLOATS: (Code, Code) =
    (Code::VEX_Vcvtps2pd_ymm_xmmm128, Code::EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae);
const INTEGERS: (Code, Code) =
    (Code::VEX_Vcvtdq2pd_ymm_xmmm128, Code::EVEX_Vcvtdq2pd_zmm_k1z_ymmm256b32_er);
const UNSIGNED: (Code, Code) = (Code::INVALID, Code::EVEX_Vcvtudq2pd_zmm_k1z_ymmm256b32_er);
/// Instructions that convert integers of 8 or 16 bits to 32 bits.
const BYTES: (Code, Code) = (Code::VEX_Vpmovzxbd_xmm_xmmm32, Code::EVEX_Vpmovzxbd_ymm_k1z_xmmm64);
const WORDS: (Code, Code) = (Code::VEX_Vpmovzxwd_xmm_xmmm64, Code::EVEX_Vpmovzxwd_ymm_k1z_xmmm128);
const SIGNED_WORDS: (Code, Code) =
    (Code::VEX_Vpmovsxwd_xmm_xmmm64, Code::EVEX_Vpmovsxwd_ymm_k1z_xmmm128);

/// `None` if an instruction cannot be written.
pub(super) type Done = Option<()>;

impl Writer {
    pub(super) fn vectors(&self) -> Vectors {
        self.layout.vectors
    }

    pub(super) fn is_wide(&self) -> bool {
        self.vectors() == Vectors::Avx512
    }

    pub(super) fn vector(&self, register: usize) -> Register {
        let first = if self.is_wide() { Register::ZMM0 } else { Register::YMM0 };
        first + register as u32
    }

    pub(super) fn put(&mut self, instruction: Instruction) -> Done {
        self.position += self.encoder.encode(&instruction, self.position as u64).ok()?;
        Some(())
    }

    pub(super) fn move_pointer(&mut self, to: Register, from: Register) -> Done {
        self.put(Instruction::with2(Code::Mov_r64_rm64, to, from).ok()?)
    }

    pub(super) fn load_pointer(&mut self, to: Register, base: Register, offset: i64) -> Done {
        let from = self.at(base, offset);
        self.put(Instruction::with2(Code::Mov_r64_rm64, to, from).ok()?)
    }

    pub(super) fn at(&self, base: Register, offset: i64) -> MemoryOperand {
        MemoryOperand::with_base_displ_size(base, offset, 1)
    }

    pub(super) fn sum_at(&self, base: Register, sum: usize) -> MemoryOperand {
        self.at(base, (64 * sum + 32 * self.half) as i64)
    }

    /// Returns the register of a sum.
    pub(super) fn sum(&self, sum: usize) -> Register {
        self.vector(self.numbers + sum)
    }

    pub(super) fn zero(&mut self, register: Register) -> Done {
        let code = match self.is_wide() {
            true => Code::EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64,
            false => Code::VEX_Vpxor_ymm_ymm_ymmm256,
        };
        self.put(Instruction::with3(code, register, register, register).ok()?)
    }

    pub(super) fn load(&mut self, to: Register, from: MemoryOperand) -> Done {
        let code = match self.is_wide() {
            true => Code::EVEX_Vmovupd_zmm_k1z_zmmm512,
            false => Code::VEX_Vmovupd_ymm_ymmm256,
        };
        self.put(Instruction::with2(code, to, from).ok()?)
    }

    pub(super) fn store(&mut self, to: MemoryOperand, from: Register) -> Done {
        let code = match self.is_wide() {
            true => Code::EVEX_Vmovupd_zmmm512_k1z_zmm,
            false => Code::VEX_Vmovupd_ymmm256_ymm,
        };
        self.put(Instruction::with2(code, to, from).ok()?)
    }

    pub(super) fn copy(&mut self, to: Register, from: Register) -> Done {
        let code = match self.is_wide() {
            true => Code::EVEX_Vmovapd_zmm_k1z_zmmm512,
            false => Code::VEX_Vmovapd_ymm_ymmm256,
        };
        self.put(Instruction::with2(code, to, from).ok()?)
    }

    /// Returns true if an instruction broadcasts this operand from memory to all lanes.
    fn is_broadcast(&self, operation: Operation) -> bool {
        let once = self.layout.spread == Spread::Once;
        self.is_wide()
            && match operation {
                Operation::Constant(_) => true,
                Operation::Uniform { .. } => once,
                _ => false,
            }
    }

    /// Returns the memory operand of a number that is not in a register.
    pub(super) fn memory(&self, id: Id) -> Option<MemoryOperand> {
        let operation = self.allocation.operation(id);
        let half = 32 * self.half as i64;
        let operand = match (operation, self.allocation.place(id)) {
            (Operation::Constant(_), _) => {
                let offset = self.constants[id as usize] as i64;
                MemoryOperand::with_base_displ_size(Register::RIP, offset, 8)
            }
            (Operation::Uniform { number, ahead }, _) => {
                let index = i64::from(number);
                self.at(
                    Register::RDX,
                    match (self.layout.spread, self.is_wide()) {
                        (Spread::ByLane, _) => 64 * index + half + 32 * i64::from(ahead),
                        (Spread::Once, true) => 8 * index,
                        (Spread::Once, false) => 32 * index,
                    },
                )
            }
            (_, Place::Slot(slot)) => {
                self.at(Register::RSP, (slot * self.vectors().width()) as i64)
            }
            _ => return None,
        };
        Some(MemoryOperand { is_broadcast: self.is_broadcast(operation), ..operand })
    }

    /// Returns the number type of an array.
    fn storage(&self, array: u16) -> Storage {
        let Layout { columns, elements, flags, .. } = self.layout;
        match usize::from(array) {
            array if flags == Some(array) => Storage::U8,
            array if array < columns => elements.columns,
            array if array == columns => elements.y,
            _ => Storage::F64,
        }
    }

    /// Returns the memory operand of a number of a row; see [`Operation::Keep`].
    pub(super) fn row(&self, number: u16, ahead: u8) -> MemoryOperand {
        let vector = self.half + usize::from(ahead);
        let (turn, half) = (vector / self.vectors().halves(), vector % self.vectors().halves());
        self.at(ROW, self.row_size() * turn as i64 + 64 * i64::from(number) + 32 * half as i64)
    }

    /// Returns the size of the rows of eight points in bytes.
    pub(super) fn row_size(&self) -> i64 {
        64 * self.row_numbers as i64
    }

    /// Returns the memory operand of an array at the points of a vector.
    pub(super) fn array(&mut self, array: u16, ahead: u8) -> Option<MemoryOperand> {
        let base = match POINTERS.get(usize::from(array)) {
            Some(&register) => register,
            None => {
                self.load_pointer(Register::RAX, Register::RDI, ARRAYS + 8 * i64::from(array))?;
                Register::RAX
            }
        };
        let size = self.storage(array).bytes();
        let first = 4 * self.half + self.vectors().width() / 8 * usize::from(ahead);
        let offset = (size * first) as i64;
        Some(MemoryOperand::new(base, Register::RCX, size as u32, offset, 1, false, Register::None))
    }

    /// Loads the numbers of an array, converted to f64; see [`array`](Writer::array).
    pub(super) fn load_array(&mut self, array: u16, ahead: u8, to: usize) -> Done {
        let from = self.array(array, ahead)?;
        let vector = self.vector(to);
        // Vector of half the width, with the numbers in 32 bits.
        let narrow = if self.is_wide() { Register::YMM0 } else { Register::XMM0 } + to as u32;
        let (widening, conversion) = match self.storage(array) {
            Storage::F64 => return self.load(vector, from),
            Storage::F32 => (None, self.either(FLOATS)?),
            Storage::I32 => (None, self.either(INTEGERS)?),
            Storage::U32 => (None, self.either(UNSIGNED)?),
            Storage::U8 => (Some(self.either(BYTES)?), self.either(INTEGERS)?),
            Storage::U16 => (Some(self.either(WORDS)?), self.either(INTEGERS)?),
            Storage::I16 => (Some(self.either(SIGNED_WORDS)?), self.either(INTEGERS)?),
        };
        match widening {
            None => self.put(Instruction::with2(conversion, vector, from).ok()?),
            Some(widening) => {
                self.put(Instruction::with2(widening, narrow, from).ok()?)?;
                self.put(Instruction::with2(conversion, vector, narrow).ok()?)
            }
        }
    }

    /// Returns the instruction for the vectors of the function, from those for AVX2 and for AVX-512.
    fn either(&self, (avx2, avx512): (Code, Code)) -> Option<Code> {
        let code = if self.is_wide() { avx512 } else { avx2 };
        (code != Code::INVALID).then_some(code)
    }

    pub(super) fn load_number(&mut self, id: Id, to: usize) -> Done {
        let (to, from) = (self.vector(to), self.memory(id)?);
        match from.is_broadcast {
            true => {
                let from = MemoryOperand { is_broadcast: false, ..from };
                let code = Code::EVEX_Vbroadcastsd_zmm_k1z_xmmm64;
                self.put(Instruction::with2(code, to, from).ok()?)
            }
            false => self.load(to, from),
        }
    }

    /// Returns a register for a new number. Stores the previous number of the register on the stack, if necessary.
    pub(super) fn grab(&mut self) -> Option<usize> {
        let (register, spilled) = self.allocation.grab()?;
        if let Some(slot) = spilled {
            let at = self.at(Register::RSP, (slot * self.vectors().width()) as i64);
            self.store(at, self.vector(register))?;
        }
        Some(register)
    }

    /// Returns the register of a number. Loads the number if it is not in a register.
    pub(super) fn register(&mut self, id: Id) -> Option<usize> {
        if let Some(register) = self.allocation.pin(id) {
            return Some(register);
        }
        let register = self.grab()?;
        self.load_number(id, register)?;
        self.allocation.hold(id, register);
        Some(register)
    }

    /// Returns the register of a result: the register of an operand that is read for the last time, or a new one.
    pub(super) fn result(&mut self, operands: &[Id]) -> Option<usize> {
        match operands.iter().find_map(|&id| self.allocation.last_register(id)) {
            Some(register) => Some(register),
            None => self.grab(),
        }
    }
}
