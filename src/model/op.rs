//! The operations that a program is made of.
//!
//! Operands and results have the type `f64`. A comparison returns 1 if it is true and 0 if it is
//! false; `And`, `Or`, `Not` and the condition of `Select` have such numbers as operands.

use super::functions::for_each_function;
use super::scalar::Scalar;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Index of a node in its program or tape.
pub(crate) type Id = u32;

/// Properties of an operation other than its value and derivative.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// The sign or name that printed and saved programs use.
    pub(crate) name: &'static str,
    /// Names in a formula; by default `name`, if the operation is a function.
    pub(crate) text: &'static [&'static str],
    /// LaTeX form: a command that precedes the arguments, or a text with `@` for the argument. By
    /// default its name, upright.
    pub(crate) latex: &'static str,
    /// The equivalent function of CUDA or of `kernels/prelude.cuh`; by default the same name.
    pub(crate) cuda: &'static str,
    /// The file of `kernels/` that defines that function, if neither CUDA nor the prelude does.
    pub(crate) cuda_file: Option<&'static str>,
    /// Time in units of one addition; 1 by default.
    pub(crate) cost: f64,
    /// True if the function tends to a finite or infinite limit for an infinite argument, like `exp` and `atan`. If the
    /// argument is infinite, those partials of the argument that are not finite are replaced by 0.
    pub(crate) settles: bool,
}

impl Facts {
    /// Creates the data of an operation with default values except for its name.
    const fn named(name: &'static str) -> Facts {
        let (text, latex, cuda) = (&[], "", name);
        Facts { name, text, latex, cuda, cuda_file: None, cost: 1.0, settles: false }
    }
}

/// Defines an enum of operations and the data of each; one operation may carry a number.
macro_rules! operations {
    (
        $(#[$doc:meta])*
        $kind:ident $(with $numbered:ident = $numbered_facts:expr)?;
        $($variant:ident = $facts:expr,)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum $kind {
            $($variant,)*
            $($numbered(u32),)?
        }

        impl $kind {
            /// All operations without a number.
            pub(crate) const ALL: &[$kind] = &[$($kind::$variant),*];

            pub(crate) fn facts(self) -> Facts {
                match self {
                    $($kind::$variant => $facts,)*
                    $($kind::$numbered(_) => $numbered_facts,)?
                }
            }

            /// Returns the sign or name that printed programs use.
            pub(crate) fn name(self) -> &'static str {
                self.facts().name
            }
        }
    };
}

/// Defines `Unary` and `Binary` from the operators and the table in `functions.rs`, and applies each operation to any
/// scalar. Truth values are numbers here: comparisons return 1 or 0, and `Not` returns 1 for 0 and otherwise 0.
macro_rules! operators_and {
    (
        one { $($(#[$doc:meta])* $one:ident = $One:ident {
            $($fact:ident: $value:expr),* $(; $($derivative:tt)*)?
        })* }
        two { $($(#[$doc2:meta])* $two:ident($other:ident) = $Two:ident {
            $($fact2:ident: $value2:expr),* $(; $($derivatives:tt)*)?
        })* }
    ) => {
        operations! {
            /// An operation on one number.
            Unary with Polygamma = Facts { cost: 100.0, ..Facts::named("polygamma") };
            Neg = Facts::named("-"),
            Not = Facts::named("not"),
            $($One = Facts {
                $($fact: $value,)*
                ..Facts { text: &[stringify!($one)], ..Facts::named(stringify!($one)) }
            },)*
        }

        operations! {
            /// An operation on two numbers.
            Binary;
            Add = Facts::named("+"),
            Sub = Facts::named("-"),
            Mul = Facts::named("*"),
            Div = Facts { cost: 3.0, ..Facts::named("/") },
            Lt = Facts::named("<"),
            Le = Facts::named("<="),
            Eq = Facts::named("=="),
            And = Facts::named("and"),
            Or = Facts::named("or"),
            $($Two = Facts {
                $($fact2: $value2,)*
                ..Facts { text: &[stringify!($two)], ..Facts::named(stringify!($two)) }
            },)*
            Pow = Facts { text: &["pow"], cuda: "power", cost: 40.0, ..Facts::named("pow") },
            Min = Facts { text: &["min"], latex: r"\min", cuda: "minimum", ..Facts::named("min") },
            Max = Facts { text: &["max"], latex: r"\max", cuda: "maximum", ..Facts::named("max") },
        }

        impl Unary {
            /// Applies the operation to any scalar.
            pub(crate) fn apply<S: Scalar>(self, a: S) -> S {
                match self {
                    Unary::Neg => -a,
                    Unary::Not => number(a.eq(0.0)),
                    Unary::Polygamma(order) => a.polygamma(order),
                    $(Unary::$One => a.$one(),)*
                }
            }
        }

        impl Binary {
            /// Applies the operation to any scalars.
            pub(crate) fn apply<S: Scalar>(self, a: S, b: S) -> S {
                match self {
                    Binary::Add => a + b,
                    Binary::Sub => a - b,
                    Binary::Mul => a * b,
                    Binary::Div => a / b,
                    Binary::Lt => number(a.lt(b)),
                    Binary::Le => number(a.le(b)),
                    Binary::Eq => number(a.eq(b)),
                    Binary::And | Binary::Min => a.min(b),
                    Binary::Or | Binary::Max => a.max(b),
                    Binary::Pow => a.powf(b),
                    $(Binary::$Two => a.$two(b),)*
                }
            }
        }
    };
}
for_each_function!(operators_and);

/// One step of a program; operands are indices of earlier nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// A number, stored as its bits: equal numbers share a node, and −0 differs from 0.
    Const(u64),
    /// The independent variable with this index.
    Column(u32),
    /// The parameter with this index.
    Param(u32),
    Unary(Unary, Id),
    Binary(Binary, Id, Id),
    /// The second operand if the first is not 0, else the third.
    Select(Id, Id, Id),
}

impl Node {
    /// Returns the operands, in order.
    pub(crate) fn operands(self) -> impl Iterator<Item = Id> {
        let (count, ids) = match self {
            Node::Const(_) | Node::Column(_) | Node::Param(_) => (0, [0; 3]),
            Node::Unary(_, a) => (1, [a, 0, 0]),
            Node::Binary(_, a, b) => (2, [a, b, 0]),
            Node::Select(m, a, b) => (3, [m, a, b]),
        };
        ids.into_iter().take(count)
    }

    /// Returns the same operation on other operands.
    pub(crate) fn with_operands(self, map: impl Fn(Id) -> Id) -> Node {
        match self {
            Node::Unary(op, a) => Node::Unary(op, map(a)),
            Node::Binary(op, a, b) => Node::Binary(op, map(a), map(b)),
            Node::Select(m, a, b) => Node::Select(map(m), map(a), map(b)),
            leaf => leaf,
        }
    }
}

impl Binary {
    /// Returns true if the operands can be exchanged without changing a bit of the result.
    pub(crate) fn commutes(self) -> bool {
        use Binary::{Add, And, Eq, Mul, Or};
        matches!(self, Add | Mul | Eq | And | Or)
    }

    /// Returns true if the operation is printed between its operands.
    pub(crate) fn is_infix(self) -> bool {
        use Binary::{Add, And, Div, Eq, Le, Lt, Mul, Or, Sub};
        matches!(self, Add | Sub | Mul | Div | Lt | Le | Eq | And | Or)
    }
}

/// Converts a truth value to the number 1 or 0.
pub(crate) fn number<S: Scalar>(mask: S::Mask) -> S {
    use super::scalar::Mask;
    mask.select(1.0, 0.0)
}

/// Nodes in the order of their creation; equal nodes are stored once.
#[derive(Default)]
pub(crate) struct Nodes {
    pub(crate) list: Vec<Node>,
    known: FxHashMap<Node, Id>,
}

impl Nodes {
    /// Creates an empty list with capacity for `nodes` nodes.
    pub(crate) fn with_room(nodes: usize) -> Nodes {
        let known = FxHashMap::with_capacity_and_hasher(nodes, Default::default());
        Nodes { list: Vec::with_capacity(nodes), known }
    }

    /// Appends a node, or returns the existing equal node.
    pub(crate) fn push(&mut self, node: Node) -> Id {
        match self.known.entry(node) {
            Entry::Occupied(there) => *there.get(),
            Entry::Vacant(room) => {
                self.list.push(node);
                *room.insert(self.list.len() as Id - 1)
            }
        }
    }
}
