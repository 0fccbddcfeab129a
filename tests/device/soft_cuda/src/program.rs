//! A module of PTX as it is run: functions, their instructions, and the variables of the module.

use std::collections::HashMap;

/// A type of PTX: what bits an operation takes, and how it reads them.
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
    /// Bytes in memory; a predicate has none there and counts as one.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Type::B8 | Type::U8 | Type::S8 | Type::Pred => 1,
            Type::B16 | Type::U16 | Type::S16 => 2,
            Type::B32 | Type::U32 | Type::S32 | Type::F32 => 4,
            Type::B64 | Type::U64 | Type::S64 | Type::F64 => 8,
        }
    }

    /// Whether it is a whole number with a sign.
    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S32 | Type::S64)
    }

    /// Whether it is a floating-point number.
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

/// The number of a register in its function.
pub(crate) type Register = u32;

/// A register that the hardware sets. Those of the second and third dimension are 0 (`%tid.y`) or 1 (`%ntid.y`).
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

/// What an instruction reads. Every value is kept in 64 bits: a number of fewer bits in the low ones, those above it 0;
/// a predicate as 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operand {
    Register(Register),
    /// The bits of a constant, of `f32` in the low 32.
    Constant(u64),
    Special(Special),
    /// The address of a variable of the module, by its number in [`Module::variables`], and what is added to it. The
    /// address is one within the variable's own space.
    Variable(u32, i64),
    /// An address in the function's part of local memory.
    Local(i64),
}

/// An address: what a register or a constant says, and what is added to it. In the space of parameters they are
/// places in the frame of the function that runs: see [`Function::parameters`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Address {
    pub(crate) base: Operand,
    pub(crate) offset: i64,
}

/// What an operation makes of one to four values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    /// The product of the first two plus the third: `mad` and `fma`, which for floats are one.
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
    /// 2 to that power.
    Exponential,
    /// To base 2.
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
    /// `bfind`, with the shift amount where the form says `high`.
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

/// What `testp` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Property {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// What is kept of a product of whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Low,
    High,
    /// All of it: the result has twice the bits, and so has what is added.
    Wide,
}

/// How a result is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To the nearest, ties to even.
    Nearest,
    TowardZero,
    Down,
    Up,
}

/// The suffixes of an instruction of arithmetic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Form {
    pub(crate) part: Part,
    /// Reads the carry: `addc`, `subc`, `madc`.
    pub(crate) carry_in: bool,
    /// Writes the carry: `.cc`.
    pub(crate) carry_out: bool,
    pub(crate) saturate: bool,
    /// Subnormal numbers of f32 are 0: `.ftz`.
    pub(crate) flush: bool,
    /// `.approx`.
    pub(crate) approximate: bool,
    pub(crate) rounding: Rounding,
}

impl Form {
    /// Without suffixes.
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

/// How two values compare. The unordered ones are true of NaN.
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
    /// Neither is NaN.
    Ordered,
    /// One is NaN.
    Unordered,
}

/// What a comparison is combined with: `setp.lt.and.f64 p, a, b, q`.
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
    /// Writes the second operand where the first is found.
    CompareAndSwap,
}

/// Which lane a shuffle reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// What a vote answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    Any,
    All,
    Uniform,
    Ballot,
}

/// What a fence orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Block,
    Device,
    System,
}

/// What an instruction does.
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
        /// Where the answer goes, and where its opposite, if anywhere.
        to: Register,
        opposite: Option<Register>,
        left: Operand,
        right: Operand,
        combination: Option<Combination>,
        flush: bool,
    },
    /// `cvt`. `to_integral`: a float is rounded to a whole one (`rni`, `rzi`, `rmi`, `rpi`).
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
    /// `mov.b64 d, {a, b}`: the first in the low bits. `of`: of the whole.
    Pack {
        of: Type,
        to: Register,
        from: Vec<Operand>,
    },
    /// `mov.b64 {a, b}, d`; nothing for `_`.
    Unpack {
        of: Type,
        to: Vec<Option<Register>>,
        from: Operand,
    },
    /// `cvta.SPACE`: an address of a space as a generic one.
    ToGeneric {
        space: Space,
        to: Register,
        from: Operand,
    },
    /// `cvta.to.SPACE`: the way back.
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
    /// `atom` and `red`, which has no register for what was there.
    Atomic {
        kind: Atomic,
        space: Space,
        of: Type,
        to: Option<Register>,
        address: Address,
        operand: Operand,
        second: Option<Operand>,
    },
    /// To the instruction of that number in its function.
    Branch {
        target: usize,
    },
    /// `arguments` and `result`: places in the caller's frame, which are copied to the callee's parameters, in their
    /// order, and from its result.
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
    ActiveLanes {
        to: Register,
    },
    /// `membar` and `fence`.
    Fence {
        scope: Scope,
    },
    Trap,
}

/// A line of a source: the file's number in [`Module::files`], and the line.
pub(crate) type Line = (usize, usize);

/// An instruction, the predicate under which it is done, and its line in the text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Instruction {
    /// A register, and whether it must be false.
    pub(crate) guard: Option<(Register, bool)>,
    pub(crate) operation: Operation,
    pub(crate) line: u32,
    /// Of what orders threads or waits for lanes: where the source has it, behind the calls through which it was inlined.
    pub(crate) source: Vec<Line>,
}

/// Some bytes of a function's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

/// A kernel or a function.
///
/// A frame holds, for each thread, the parameters of the function, its result, and those that it passes to others
/// (`.param` within a body), each aligned as it says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) is_kernel: bool,
    pub(crate) parameters: Vec<Place>,
    pub(crate) result: Option<Place>,
    pub(crate) frame_bytes: usize,
    /// Bytes of local memory of a thread.
    pub(crate) local_bytes: usize,
    pub(crate) registers: u32,
    /// Threads of a block at most (`.maxntid`), where it says so.
    pub(crate) most_threads: Option<u32>,
    pub(crate) code: Vec<Instruction>,
}

/// A variable of the module: in shared memory at an offset that the module chose, in the spaces of globals and constants
/// wherever it is put when it is loaded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) space: Space,
    /// Its offset in shared memory; 0 elsewhere.
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
    /// The first bytes; those that are not named are 0.
    pub(crate) contents: Vec<u8>,
}

/// What was read of a text of PTX.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Module {
    pub(crate) functions: Vec<Function>,
    pub(crate) variables: Vec<Variable>,
    /// Bytes of shared memory of a block.
    pub(crate) shared_bytes: usize,
    /// The names of sources.
    pub(crate) files: HashMap<usize, String>,
}

impl Module {
    /// The number of a kernel.
    pub(crate) fn kernel(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|function| function.is_kernel && function.name == name)
    }
}
