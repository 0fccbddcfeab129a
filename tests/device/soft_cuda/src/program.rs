//! The form of a PTX module that is executed: functions, their instructions, and the variables of the module.

use std::collections::HashMap;

/// PTX type: the size of a value, and the interpretation of its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    B8,
    B16,
    B32,
    B64,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F32,
    F64,
    Pred,
}

impl Type {
    /// Returns the size in memory, in bytes. Predicates are never in memory; their size is 1.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Type::B8 | Type::U8 | Type::S8 | Type::Pred => 1,
            Type::B16 | Type::U16 | Type::S16 => 2,
            Type::B32 | Type::U32 | Type::S32 | Type::F32 => 4,
            Type::B64 | Type::U64 | Type::S64 | Type::F64 => 8,
        }
    }

    /// Returns true if the type is a signed integer.
    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S32 | Type::S64)
    }

    /// Returns true if the type is a floating-point number.
    pub(crate) fn is_float(self) -> bool {
        matches!(self, Type::F32 | Type::F64)
    }
}

/// A state space of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Generic,
    Global,
    Shared,
    Local,
    Parameter,
    Constant,
}

/// Index of a register in its function.
pub(crate) type Register = u32;

/// Special register, set by the hardware. Registers of other dimensions than x are 0 (`%tid.y`) or 1 (`%ntid.y`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Thread,
    Threads,
    Block,
    Blocks,
    Lane,
    Zero,
    One,
    Clock,
}

/// Operand that an instruction reads. Every value occupies 64 bits: a narrower number is in the low bits, and the bits
/// above it are 0. A predicate is 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operand {
    Register(Register),
    /// The bits of a constant; an `f32` is in the low 32 bits.
    Constant(u64),
    Special(Special),
    /// Address of a variable of the module: its index in [`Module::variables`], and an offset in bytes. The address is
    /// in the variable's own state space.
    Variable(u32, i64),
    /// Address in the function's part of local memory: the offset in bytes.
    Local(i64),
}

/// Address: a base operand plus an offset in bytes. In the parameter space, addresses are offsets in the frame of the
/// current function: see [`Function::parameters`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Address {
    pub(crate) base: Operand,
    pub(crate) offset: i64,
}

/// Arithmetic operation on one to four values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    /// The product of the first two plus the third: `mad` and `fma`, which are the same operation for floats.
    MultiplyAdd,
    Divide,
    Remainder,
    Minimum,
    Maximum,
    Absolute,
    Negate,
    SquareRoot,
    /// 1 / square root.
    ReciprocalRoot,
    Reciprocal,
    /// 2 to the power of the value.
    Exponential,
    /// Logarithm to base 2.
    Logarithm,
    Sine,
    Cosine,
    /// The second value with the sign of the first.
    CopySign,
    And,
    Or,
    Xor,
    Not,
    ShiftLeft,
    ShiftRight,
    CountOnes,
    LeadingZeros,
    ReverseBits,
    /// `bfe`: value, position, length.
    ExtractBits,
    /// `bfi`: bits, value, position, length.
    InsertBits,
    /// `bfind`; [`Part::High`] in the form stands for the suffix `.shiftamt`.
    FindBit,
    /// `prmt` in its plain mode.
    PermuteBytes,
    /// `shf`: low word, high word, amount; left or right, wrapped or clamped.
    FunnelLeft {
        clamp: bool,
    },
    FunnelRight {
        clamp: bool,
    },
    /// `lop3`: three values and a constant, the table.
    Table,
    /// The first value if the third, a predicate, is true, else the second.
    Select,
    /// `testp`.
    Test(Property),
}

/// Property that `testp` tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Property {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// Part of a product of integers that is the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Low,
    High,
    /// The whole product: the result and the addend of `mad` have twice the bits of the factors.
    Wide,
}

/// Rounding mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To the nearest, ties to even.
    Nearest,
    TowardZero,
    Down,
    Up,
}

/// Suffixes of an arithmetic instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Form {
    pub(crate) part: Part,
    /// If true, the carry is read: `addc`, `subc`, `madc`.
    pub(crate) carry_in: bool,
    /// If true, the carry is written: `.cc`.
    pub(crate) carry_out: bool,
    pub(crate) saturate: bool,
    /// If true, subnormal numbers of `f32` are replaced by 0: `.ftz`.
    pub(crate) flush: bool,
    /// True for `.approx`, and for `.full` of `div`.
    pub(crate) approximate: bool,
    pub(crate) rounding: Rounding,
}

impl Form {
    /// Form without suffixes.
    pub(crate) const PLAIN: Form = Form {
        part: Part::Low,
        carry_in: false,
        carry_out: false,
        saturate: false,
        flush: false,
        approximate: false,
        rounding: Rounding::Nearest,
    };
}

/// Comparison operator. The `Unordered` variants are true if an operand is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    EqualUnordered,
    NotEqualUnordered,
    LessUnordered,
    LessEqualUnordered,
    GreaterUnordered,
    GreaterEqualUnordered,
    /// True if neither operand is NaN.
    Ordered,
    /// True if an operand is NaN.
    Unordered,
}

/// Predicate that the result of a comparison is combined with: `setp.lt.and.f64 p, a, b, q`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Combination {
    /// One of [`Arithmetic::And`], [`Arithmetic::Or`] and [`Arithmetic::Xor`].
    pub(crate) with: Arithmetic,
    pub(crate) predicate: Operand,
    pub(crate) negated: bool,
}

/// An atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atomic {
    Add,
    Exchange,
    Minimum,
    Maximum,
    And,
    Or,
    /// Writes the second operand if the memory contains the first.
    CompareAndSwap,
}

/// Mode of a shuffle, which determines the lane that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// Kind of a vote, which determines its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    Any,
    All,
    Uniform,
    Ballot,
}

/// Scope of a fence: the threads for which it orders memory accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Block,
    Device,
    System,
}

/// Operation of an instruction, with its operands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operation {
    Arithmetic {
        kind: Arithmetic,
        of: Type,
        to: Register,
        from: Vec<Operand>,
        form: Form,
    },
    Compare {
        relation: Relation,
        of: Type,
        /// Register of the result. `opposite`: the optional register of the result of the negated comparison.
        to: Register,
        opposite: Option<Register>,
        left: Operand,
        right: Operand,
        combination: Option<Combination>,
        flush: bool,
    },
    /// `cvt`. `to_integral`: if true, a float is rounded to an integral value (`rni`, `rzi`, `rmi`, `rpi`).
    Convert {
        into: Type,
        of: Type,
        to: Register,
        from: Operand,
        rounding: Option<Rounding>,
        to_integral: bool,
        saturate: bool,
        flush: bool,
    },
    Move {
        of: Type,
        to: Register,
        from: Operand,
    },
    /// `mov.b64 d, {a, b}`: `a` is in the low bits. `of`: the type of `d`.
    Pack {
        of: Type,
        to: Register,
        from: Vec<Operand>,
    },
    /// `mov.b64 {a, b}, d`; `None` for `_`. `of`: the type of `d`.
    Unpack {
        of: Type,
        to: Vec<Option<Register>>,
        from: Operand,
    },
    /// `cvta.SPACE`: converts an address in a state space to a generic address.
    ToGeneric {
        space: Space,
        to: Register,
        from: Operand,
    },
    /// `cvta.to.SPACE`: converts a generic address to an address in a state space.
    FromGeneric {
        space: Space,
        to: Register,
        from: Operand,
    },
    Load {
        space: Space,
        of: Type,
        to: Vec<Register>,
        address: Address,
    },
    Store {
        space: Space,
        of: Type,
        from: Vec<Operand>,
        address: Address,
    },
    /// `atom` and `red`. `to`: the register of the previous value; `None` for `red` and for `_`.
    Atomic {
        kind: Atomic,
        space: Space,
        of: Type,
        to: Option<Register>,
        address: Address,
        operand: Operand,
        second: Option<Operand>,
    },
    /// `target`: the index of the next instruction in the function's code.
    Branch {
        target: usize,
    },
    /// `arguments`: offsets in the caller's frame, copied to the callee's parameters in order. `result`: the offset in
    /// the caller's frame to which the callee's result is copied.
    Call {
        function: usize,
        arguments: Vec<usize>,
        result: Option<usize>,
    },
    Return,
    /// `bar.sync 0`.
    Barrier,
    /// `bar.warp.sync`.
    WarpBarrier {
        lanes: Operand,
    },
    Shuffle {
        kind: Shuffle,
        to: Register,
        in_range: Option<Register>,
        value: Operand,
        lane: Operand,
        clamp: Operand,
        lanes: Operand,
    },
    Vote {
        kind: Vote,
        to: Register,
        predicate: Operand,
        negated: bool,
        lanes: Operand,
    },
    /// `mma.m8n8k4` of `f64`: each lane has one number of either factor and two numbers of the sums.
    Matrix {
        to: [Register; 2],
        left: Operand,
        right: Operand,
        sums: [Operand; 2],
    },
    ActiveLanes {
        to: Register,
    },
    /// `membar` and `fence`.
    Fence {
        scope: Scope,
    },
    Trap,
}

/// Source line: the key of the file in [`Module::files`], and the line number.
pub(crate) type Line = (usize, usize);

/// Instruction, with its guard predicate and its line in the PTX text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Instruction {
    /// Predicate register; the flag is true if the predicate must be false for the instruction to run.
    pub(crate) guard: Option<(Register, bool)>,
    pub(crate) operation: Operation,
    pub(crate) line: u32,
    /// Source lines of an instruction that orders threads or waits for lanes: the calls through which it was inlined,
    /// outermost first, then its own line. Empty for other instructions.
    pub(crate) source: Vec<Line>,
}

/// Range of bytes in a function's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

/// Kernel or function.
///
/// For each thread, a frame contains the function's parameters, its result, and the arguments and results of its calls
/// (`.param` within a body). Each has at least its declared alignment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) is_kernel: bool,
    pub(crate) parameters: Vec<Place>,
    pub(crate) result: Option<Place>,
    pub(crate) frame_bytes: usize,
    /// Local memory of the function per thread, in bytes.
    pub(crate) local_bytes: usize,
    pub(crate) registers: u32,
    /// Maximum number of threads per block, if declared (`.maxntid`, `.reqntid`).
    pub(crate) most_threads: Option<u32>,
    pub(crate) code: Vec<Instruction>,
}

/// Variable of the module. In shared memory its offset is fixed by the module; in the global and constant spaces its
/// address is chosen when the module is loaded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) space: Space,
    /// Offset in shared memory, in bytes; 0 in other spaces.
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
    /// Initial values of the first bytes; all other bytes are 0.
    pub(crate) contents: Vec<u8>,
}

/// Module that was read from a PTX text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Module {
    pub(crate) functions: Vec<Function>,
    pub(crate) variables: Vec<Variable>,
    /// Shared memory of a block, in bytes.
    pub(crate) shared_bytes: usize,
    /// Names of source files, by their number in `.file`.
    pub(crate) files: HashMap<usize, String>,
}

impl Module {
    /// Returns the index of a kernel in `functions`.
    pub(crate) fn kernel(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|function| function.is_kernel && function.name == name)
    }
}
