//! Random models: expression trees with every function of `Scalar`, evaluated over any scalar.
//!
//! The file that includes this has `Mask` and `Scalar` in scope.

#![allow(dead_code, reason = "each test takes its own part of this")]
#![allow(unreachable_pub, reason = "a test includes this as a private module")]

use super::functions::for_each_function;
use dualfit::{Mask, Scalar};
use proptest::prelude::*;

/// Independent variables of every tree.
pub const COLUMNS: usize = 2;
/// Parameters of every tree.
pub const PARAMS: usize = 3;

/// An expression.
#[derive(Clone, Debug)]
pub enum Tree {
    X(usize),
    P(usize),
    Number(f64),
    Unary(Unary, Box<Tree>),
    Binary(Binary, Box<[Tree; 2]>),
    /// The operation on one value twice, so that it dies as both operands.
    Twice(Binary, Box<Tree>),
    Powi(Box<Tree>, i32),
    Clamp(Box<[Tree; 3]>),
    Select(Box<Condition>, Box<[Tree; 2]>),
}

/// A truth value.
#[derive(Clone, Debug)]
pub enum Condition {
    Compare(Compare, [Tree; 2]),
    Not(Box<Condition>),
    And(Box<[Condition; 2]>),
    Or(Box<[Condition; 2]>),
}

macro_rules! kinds {
    ($name:ident: $($kind:ident),*) => {
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum $name {
            $($kind),*
        }

        impl $name {
            pub const ALL: &[$name] = &[$($name::$kind),*];
        }
    };
}
kinds!(Compare: Lt, Le, Eq, Gt, Ge);

macro_rules! operations {
    (one { $($one:ident $One:ident),* } two { $($two:ident $Two:ident),* }) => {
        kinds!(Unary: Neg, Digamma, Trigamma, Recip, $($One),*);
        kinds!(Binary: Add, Sub, Mul, Div, AddAssign, SubAssign, MulAssign, DivAssign, $($Two),*);

        impl Unary {
            pub fn apply<T: Scalar>(self, a: T) -> T {
                match self {
                    Unary::Neg => -a,
                    Unary::Digamma => a.polygamma(0),
                    Unary::Trigamma => a.polygamma(1),
                    Unary::Recip => a.recip(),
                    $(Unary::$One => a.$one(),)*
                }
            }
        }

        impl Binary {
            pub fn apply<T: Scalar>(self, mut a: T, b: T) -> T {
                match self {
                    Binary::Add => a + b,
                    Binary::Sub => a - b,
                    Binary::Mul => a * b,
                    Binary::Div => a / b,
                    Binary::AddAssign => {
                        a += b;
                        a
                    }
                    Binary::SubAssign => {
                        a -= b;
                        a
                    }
                    Binary::MulAssign => {
                        a *= b;
                        a
                    }
                    Binary::DivAssign => {
                        a /= b;
                        a
                    }
                    $(Binary::$Two => a.$two(b),)*
                }
            }
        }
    };
}
for_each_function!(operations);

impl Binary {
    /// The operation with a number on the right, which scalars take without conversion.
    fn with_number<T: Scalar>(self, a: T, number: f64) -> T {
        match self {
            Binary::Add => a + number,
            Binary::Sub => a - number,
            Binary::Mul => a * number,
            Binary::Div => a / number,
            _ => self.apply(a, T::from(number)),
        }
    }
}

impl Tree {
    /// The value at `x` (one per column) and `p` (one per parameter).
    pub fn evaluate<T: Scalar>(&self, x: &[T], p: &[T]) -> T {
        let at = |tree: &Tree| tree.evaluate(x, p);
        match self {
            Tree::X(i) => x[*i],
            Tree::P(i) => p[*i],
            Tree::Number(v) => T::from(*v),
            Tree::Unary(op, a) => op.apply(at(a)),
            Tree::Binary(op, operands) => match &**operands {
                [a, Tree::Number(v)] => op.with_number(at(a), *v),
                [a, b] => op.apply(at(a), at(b)),
            },
            Tree::Twice(op, a) => {
                let a = at(a);
                op.apply(a, a)
            }
            Tree::Powi(a, exponent) => at(a).powi(*exponent),
            Tree::Clamp(operands) => {
                let [a, low, high] = &**operands;
                at(a).clamp(at(low), at(high))
            }
            Tree::Select(condition, branches) => {
                let [yes, no] = &**branches;
                condition.evaluate(x, p).select(at(yes), at(no))
            }
        }
    }
}

impl Condition {
    fn evaluate<T: Scalar>(&self, x: &[T], p: &[T]) -> T::Mask {
        match self {
            Condition::Compare(op, [a, b]) => {
                let (a, b) = (a.evaluate(x, p), b.evaluate(x, p));
                match op {
                    Compare::Lt => a.lt(b),
                    Compare::Le => a.le(b),
                    Compare::Eq => a.eq(b),
                    Compare::Gt => a.gt(b),
                    Compare::Ge => a.ge(b),
                }
            }
            Condition::Not(a) => a.evaluate(x, p).not(),
            Condition::And(both) => both[0].evaluate(x, p).and(both[1].evaluate(x, p)),
            Condition::Or(both) => both[0].evaluate(x, p).or(both[1].evaluate(x, p)),
        }
    }
}

/// Values at which functions have borders, and numbers with identities of their own.
pub const SPECIAL: [f64; 26] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    -2.0,
    0.5,
    -0.5,
    3.0,
    0.25,
    1024.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    5e-324,
    -1e-310,
    1e-300,
    -1e300,
    8.98846567431158e307, // 2^1023, whose reciprocal is subnormal
    710.5,
    -745.2,
    2e9, // angles from here on are reduced in integers
    -1e22,
];

/// A number of ordinary size.
pub fn ordinary() -> impl Strategy<Value = f64> + Clone {
    prop_oneof![(-4.0..4.0f64), (0.01..1.0f64), (-40.0..40.0f64)]
}

/// An ordinary or a special number.
pub fn any_number() -> impl Strategy<Value = f64> + Clone {
    prop_oneof![3 => ordinary(), 1 => proptest::sample::select(&SPECIAL[..])]
}

/// Trees up to `depth` operations deep, with constants from `number`.
pub fn tree(
    depth: u32,
    number: impl Strategy<Value = f64> + Clone + 'static,
) -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        3 => (0..COLUMNS).prop_map(Tree::X),
        4 => (0..PARAMS).prop_map(Tree::P),
        2 => number.prop_map(Tree::Number),
    ];
    leaf.prop_recursive(depth, 40, 3, |inner| {
        let boxed = inner.clone().prop_map(Box::new).boxed();
        let pair = [inner.clone(), inner.clone()];
        let unary = proptest::sample::select(Unary::ALL);
        let binary = proptest::sample::select(Binary::ALL);
        prop_oneof![
            4 => (unary, boxed.clone()).prop_map(|(op, a)| Tree::Unary(op, a)),
            6 => (binary.clone(), pair.clone()).prop_map(|(op, ab)| Tree::Binary(op, Box::new(ab))),
            1 => (binary, boxed.clone()).prop_map(|(op, a)| Tree::Twice(op, a)),
            1 => (boxed, -5..=9i32).prop_map(|(a, e)| Tree::Powi(a, e)),
            1 => [inner.clone(), inner.clone(), inner.clone()].prop_map(|abc| Tree::Clamp(Box::new(abc))),
            1 => (condition(inner), pair).prop_map(|(c, ab)| Tree::Select(Box::new(c), Box::new(ab))),
        ]
    })
}

fn condition(
    tree: impl Strategy<Value = Tree> + Clone + 'static,
) -> impl Strategy<Value = Condition> {
    let compare = (proptest::sample::select(Compare::ALL), [tree.clone(), tree])
        .prop_map(|(op, ab)| Condition::Compare(op, ab));
    compare.prop_recursive(2, 4, 2, |inner| {
        let pair = [inner.clone(), inner.clone()].prop_map(Box::new).boxed();
        prop_oneof![
            inner.prop_map(|c| Condition::Not(Box::new(c))),
            pair.clone().prop_map(Condition::And),
            pair.prop_map(Condition::Or),
        ]
    })
}

/// Equal bits, or both NaN.
pub fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}
