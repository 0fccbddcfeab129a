//! The operations that a program is made of.
//!
//! Every operation takes and gives `f64`. A comparison gives 1 where it holds and 0 where it does
//! not; `And`, `Or`, `Not` and `Select` take such numbers.

use super::scalar::Scalar;

/// Index of a node in its program or tape.
pub(crate) type Id = u32;

/// One list for the enum, the names under which a program prints its operations, and all of them.
macro_rules! operations {
    (
        $(#[$doc:meta])*
        $kind:ident $(with $indexed:ident $indexed_name:literal)?:
        $($variant:ident $name:literal),+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum $kind {
            $($variant,)+
            $($indexed(u32),)?
        }

        impl $kind {
            /// Those that a name alone tells apart.
            #[cfg(feature = "serde")]
            pub(crate) const NAMED: &[$kind] = &[$($kind::$variant),+];

            /// The sign or name under which a program prints it.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $($kind::$variant => $name,)+
                    $($kind::$indexed(_) => $indexed_name,)?
                }
            }
        }
    };
}

operations! {
    /// A function of one number.
    Unary with Polygamma "polygamma":
    Neg "-",
    Abs "abs",
    Floor "floor",
    Sqrt "sqrt",
    Cbrt "cbrt",
    Exp "exp",
    ExpM1 "exp_m1",
    Ln "ln",
    Ln1p "ln_1p",
    Log2 "log2",
    Log10 "log10",
    Sin "sin",
    Cos "cos",
    Tan "tan",
    Asin "asin",
    Acos "acos",
    Atan "atan",
    Sinh "sinh",
    Cosh "cosh",
    Tanh "tanh",
    Erf "erf",
    Erfc "erfc",
    Erfcx "erfcx",
    WrightOmega "wright_omega",
    LnGamma "ln_gamma",
    Not "not"
}

operations! {
    /// A function of two numbers.
    Binary:
    Add "+",
    Sub "-",
    Mul "*",
    Div "/",
    Pow "pow",
    Atan2 "atan2",
    Hypot "hypot",
    FaddeevaRe "faddeeva_re",
    FaddeevaIm "faddeeva_im",
    FaddeevaSlopeRe "faddeeva_slope_re",
    FaddeevaSlopeIm "faddeeva_slope_im",
    Min "min",
    Max "max",
    Lt "<",
    Le "<=",
    Eq "==",
    And "and",
    Or "or"
}

/// One step of a program; operands are indices of earlier nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// A number, as its bits, so that equal numbers are one node and −0 is not 0.
    Const(u64),
    /// An independent variable, by its column.
    Column(u32),
    /// A parameter, by its position.
    Param(u32),
    Unary(Unary, Id),
    Binary(Binary, Id, Id),
    /// The second operand where the first is not 0, else the third.
    Select(Id, Id, Id),
}

impl Node {
    /// The operands, in order.
    pub(crate) fn operands(self) -> impl Iterator<Item = Id> {
        let (count, ids) = match self {
            Node::Const(_) | Node::Column(_) | Node::Param(_) => (0, [0; 3]),
            Node::Unary(_, a) => (1, [a, 0, 0]),
            Node::Binary(_, a, b) => (2, [a, b, 0]),
            Node::Select(m, a, b) => (3, [m, a, b]),
        };
        ids.into_iter().take(count)
    }

    /// The same operation on other operands.
    pub(crate) fn with_operands(self, map: impl Fn(Id) -> Id) -> Node {
        match self {
            Node::Unary(op, a) => Node::Unary(op, map(a)),
            Node::Binary(op, a, b) => Node::Binary(op, map(a), map(b)),
            Node::Select(m, a, b) => Node::Select(map(m), map(a), map(b)),
            leaf => leaf,
        }
    }
}

impl Unary {
    /// The operation on any scalar. Masks are numbers here, so `Not` compares with 0.
    pub(crate) fn apply<S: Scalar>(self, a: S) -> S {
        match self {
            Unary::Neg => -a,
            Unary::Abs => a.abs(),
            Unary::Floor => a.floor(),
            Unary::Sqrt => a.sqrt(),
            Unary::Cbrt => a.cbrt(),
            Unary::Exp => a.exp(),
            Unary::ExpM1 => a.exp_m1(),
            Unary::Ln => a.ln(),
            Unary::Ln1p => a.ln_1p(),
            Unary::Log2 => a.log2(),
            Unary::Log10 => a.log10(),
            Unary::Sin => a.sin(),
            Unary::Cos => a.cos(),
            Unary::Tan => a.tan(),
            Unary::Asin => a.asin(),
            Unary::Acos => a.acos(),
            Unary::Atan => a.atan(),
            Unary::Sinh => a.sinh(),
            Unary::Cosh => a.cosh(),
            Unary::Tanh => a.tanh(),
            Unary::Erf => a.erf(),
            Unary::Erfc => a.erfc(),
            Unary::Erfcx => a.erfcx(),
            Unary::WrightOmega => a.wright_omega(),
            Unary::LnGamma => a.ln_gamma(),
            Unary::Polygamma(order) => a.polygamma(order),
            Unary::Not => number(a.eq(0.0)),
        }
    }
}

impl Binary {
    /// The operation on any scalar. Comparisons give 1 or 0.
    pub(crate) fn apply<S: Scalar>(self, a: S, b: S) -> S {
        match self {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => a / b,
            Binary::Pow => a.powf(b),
            Binary::Atan2 => a.atan2(b),
            Binary::Hypot => a.hypot(b),
            Binary::FaddeevaRe => a.faddeeva_re(b),
            Binary::FaddeevaIm => a.faddeeva_im(b),
            Binary::FaddeevaSlopeRe => a.faddeeva_slope_re(b),
            Binary::FaddeevaSlopeIm => a.faddeeva_slope_im(b),
            Binary::Min => a.min(b),
            Binary::Max => a.max(b),
            Binary::Lt => number(a.lt(b)),
            Binary::Le => number(a.le(b)),
            Binary::Eq => number(a.eq(b)),
            Binary::And => a.min(b),
            Binary::Or => a.max(b),
        }
    }

    /// Whether the operands may be exchanged without changing a bit of the result.
    pub(crate) fn commutes(self) -> bool {
        use Binary::{Add, And, Eq, Mul, Or};
        matches!(self, Add | Mul | Eq | And | Or)
    }

    /// Whether it is a part of Faddeeva's function or of its derivative.
    pub(crate) fn is_faddeeva(self) -> bool {
        use Binary::{FaddeevaIm, FaddeevaRe, FaddeevaSlopeIm, FaddeevaSlopeRe};
        matches!(self, FaddeevaRe | FaddeevaIm | FaddeevaSlopeRe | FaddeevaSlopeIm)
    }

    /// Whether it prints between its operands.
    pub(crate) fn is_infix(self) -> bool {
        use Binary::{Add, And, Div, Eq, Le, Lt, Mul, Or, Sub};
        matches!(self, Add | Sub | Mul | Div | Lt | Le | Eq | And | Or)
    }
}

/// A truth value as the number 1 or 0.
pub(crate) fn number<S: Scalar>(mask: S::Mask) -> S {
    use super::scalar::Mask;
    mask.select(1.0, 0.0)
}
