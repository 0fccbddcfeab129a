//! Recording of the steps of a program as operations.

use super::operation::Operation;
use super::recorder::{Holds, Number};
use super::rounds::OfProduct;
use crate::backend::cpu::assembly::request::{Estimate, Shared, Weighted};
use crate::backend::cpu::code::{Code, Instruction, Operand};
use crate::backend::cpu::costs::{Product, ProductNumbers};
use crate::backend::cpu::poisson;
use crate::backend::cpu::robust::ITERATION_FLOOR;
use crate::math::arithmetic::{Lane, Truth};
use crate::math::lane;
use crate::model::op::{Binary, Unary};
use crate::normal::pair;

/// Use of the outputs of a program in a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The routine writes the outputs to arrays.
    Outputs,
    /// The routine sums the products of partials and residuals and, unless they are squares, the costs. If `has_flags`,
    /// rows whose flag is 0 are left out.
    Sums { weighted: Weighted, estimate: Estimate, has_flags: bool },
}

impl Purpose {
    pub(super) const COUNT: usize = 1 + 2 * Weighted::COUNT * Estimate::COUNT;

    pub(super) fn index(self) -> usize {
        match self {
            Purpose::Outputs => 0,
            Purpose::Sums { weighted, estimate, has_flags } => {
                let kind = weighted as usize + Weighted::COUNT * estimate.index();
                1 + 2 * kind + usize::from(has_flags)
            }
        }
    }

    /// Returns the number of sums for `outputs` outputs of the program.
    pub(super) fn sums(self, outputs: usize) -> usize {
        match self {
            Purpose::Outputs => 0,
            Purpose::Sums { estimate, .. } => estimate.sums(outputs),
        }
    }

    /// Returns the index of the array of flags for a program with this number of columns, if there is one.
    pub(super) fn flags(self, columns: usize) -> Option<usize> {
        match self {
            Purpose::Sums { weighted, has_flags: true, .. } => {
                Some(columns + 1 + usize::from(weighted.has_array()))
            }
            _ => None,
        }
    }
}

/// Records the computation of a program at a point, and the use of its outputs. Returns `None` if the program has a
/// step that is not supported.
///
/// Order of the arrays: the columns, then the response, the weights and the flags for sums, or the outputs. Order of the
/// uniform numbers (equal at all points): the numbers of the program, then those of [`Shared`].
pub(super) fn write(code: &Code, purpose: Purpose) -> Option<()> {
    let columns = code.columns;
    let array = |index: usize| Number::array(index as u16);
    let mut registers: Vec<Option<Number>> = vec![None; code.registers];
    for &(uniform, register) in &code.broadcasts {
        registers[register] = Some(Number::uniform(uniform));
    }
    let source = |registers: &[Option<Number>], operand: Operand| match operand {
        Operand::Column(column) => Some(array(column)),
        Operand::Register(register) => registers[register],
    };
    let used = purpose.flags(columns).map(|flags| array(flags).gt(0.5));
    for &step in &code.steps {
        let at = |operand: Operand| source(&registers, operand);
        let value = match step {
            Instruction::Unary { op, a, .. } => unary(op, at(a)?, used)?,
            Instruction::Binary { op, a, b, .. } => binary(op, at(a)?, at(b)?)?,
            Instruction::WithRight { op, a, uniform, .. } => {
                binary(op, at(a)?, Number::uniform(uniform))?
            }
            Instruction::WithLeft { op, uniform, b, .. } => {
                binary(op, Number::uniform(uniform), at(b)?)?
            }
            Instruction::Select { mask, yes, no, .. } => {
                at(mask)?.is_true().select(at(yes)?, at(no)?)
            }
        };
        registers[step.out()] = Some(value);
    }
    match purpose {
        Purpose::Outputs => {
            for (i, register) in code.computed.iter().enumerate() {
                registers[*register]?.store((columns + i) as u16);
            }
        }
        Purpose::Sums { weighted, estimate, .. } => {
            let outputs: Option<Vec<Number>> =
                code.outputs.iter().map(|&output| source(&registers, output)).collect();
            let shared = |position: usize| Number::uniform(code.constants.len() + position);
            let factor = match weighted {
                Weighted::Not => None,
                Weighted::Alike => Some(shared(Shared::WEIGHT)),
                Weighted::Each => Some(array(columns + 1)),
                Weighted::BySigma => Some(shared(Shared::WEIGHT) / array(columns + 1)),
            };
            sums(&outputs?, array(columns), (factor, used), (estimate, shared));
        }
    }
    Some(())
}

/// Records the sums of products of a row's columns, and of its cost.
fn sums(
    outputs: &[Number],
    y: Number,
    (factor, used): (Option<Number>, Option<Holds>),
    (estimate, shared): (Estimate, impl Fn(usize) -> Number),
) {
    let Some((&value, partials)) = outputs.split_first() else { return };
    // The rows of points to leave out are 0; their count is 1 with the expectation 1, so that its cost is 0.
    let replaced_by =
        |by: f64| move |number: Number| used.map_or(number, |used| used.select(number, by));
    let factored = |number: Number| factor.map_or(number, |factor| number * factor);
    let weighted = |number: Number| replaced_by(0.0)(factored(number));
    let costs = pair(0, outputs.len()) as u16;
    // For a loss and for counts, the product of the last columns is 0, or NaN if the gradient of the point is not finite.
    let (mut left, mut right): (Vec<Number>, Vec<Number>);
    match estimate {
        Estimate::Squares => {
            left = partials.iter().map(|&partial| weighted(partial)).collect();
            left.push(weighted(value - y));
            right = left.clone();
        }
        Estimate::Robust(shape) => {
            left = partials.iter().map(|&partial| weighted(partial)).collect();
            let residual = weighted(value - y);
            let terms = shape.terms(residual * shared(Shared::UNIT));
            let square = terms.square(ITERATION_FLOOR);
            right = left.iter().map(|&partial| partial * square).collect();
            left.push(Number::from(0.0));
            right.push(residual * terms.gradient);
            match shape.product() {
                Some(_) => terms.cost.factor(),
                None => terms.cost.sum(shared(Shared::HALF_SQUARE), costs),
            }
        }
        Estimate::Counts => {
            left = partials.iter().copied().map(replaced_by(0.0)).collect();
            let terms =
                poisson::terms(replaced_by(1.0)(value), replaced_by(1.0)(y), shared(Shared::UNIT));
            let [first, second] = terms.factors;
            let second = factored(second);
            right = left.iter().map(|&partial| partial * first * second).collect();
            left.push(Number::from(0.0));
            right.push(factored(terms.score));
            factored(terms.cost).sum(Number::from(1.0), costs);
        }
    }
    for (j, right) in right.iter().enumerate() {
        for (i, left) in left[..=j].iter().enumerate() {
            left.sum(*right, pair(i, j) as u16);
        }
    }
}

/// Returns the operations on the product of a round, if costs are computed from products ([`BlockCosts`]). If a product
/// overflows, the block is refused, and the interpreter evaluates it.
///
/// [`BlockCosts`]: crate::backend::cpu::costs::BlockCosts
pub(super) fn of_product(
    code: &Code,
    purpose: Purpose,
    record: impl Fn(&dyn Fn()) -> Vec<Operation>,
) -> Option<OfProduct> {
    let Purpose::Sums { estimate: Estimate::Robust(shape), .. } = purpose else { return None };
    let product = shape.product()?;
    let used = match product {
        Product::Real => 1,
        Product::Complex => 3,
    };
    let numbers = || std::array::from_fn(Number::in_product);
    let set = |numbers: ProductNumbers<Number>| {
        numbers.iter().enumerate().take(used).for_each(|(i, number)| number.set_in_product(i));
    };
    let add_sums = || {
        if product == Product::Real {
            Number::in_product(0).eq(f64::INFINITY).refuse();
        }
        let half_square = Number::uniform(code.constants.len() + Shared::HALF_SQUARE);
        product.sum(numbers()).sum(half_square, used as u16);
    };
    Some(OfProduct {
        numbers: used,
        costs: pair(0, code.outputs.len()),
        start: record(&|| set(product.empty())),
        multiply: record(&|| set(product.times(numbers(), Number::of_factor()))),
        add_sums: record(&add_sums),
    })
}

fn unary(op: Unary, x: Number, used: Option<Holds>) -> Option<Number> {
    // The interpreter evaluates huge angles, except at points to leave out.
    let angle = |function: fn(Number) -> Number| {
        let is_huge = lane::is_huge(x);
        used.map_or(is_huge, |used| is_huge & used).refuse();
        function(x)
    };
    Some(match op {
        Unary::Neg => -x,
        Unary::Not => Number::of(x.eq(0.0)),
        Unary::Abs => x.abs(),
        Unary::Sqrt => x.sqrt(),
        Unary::Floor => x.floor(),
        Unary::Ceil => x.ceil(),
        Unary::Signum => x.is_nan().select(x, Number::from(1.0).copysign(x)),
        Unary::Sin => angle(lane::sin_fast),
        Unary::Cos => angle(lane::cos_fast),
        Unary::Tan => angle(lane::tan_fast),
        Unary::Exp => lane::exp(x),
        Unary::Exp2 => lane::exp2(x),
        Unary::ExpM1 => lane::exp_m1(x),
        Unary::Ln => lane::ln(x),
        Unary::Ln1p => lane::ln_1p(x),
        Unary::Log2 => lane::log2(x),
        Unary::Log10 => lane::log10(x),
        Unary::Cbrt => lane::cbrt(x),
        Unary::Asin => lane::asin(x),
        Unary::Acos => lane::acos(x),
        Unary::Atan => lane::atan(x),
        Unary::Sinh => lane::sinh(x),
        Unary::Cosh => lane::cosh(x),
        Unary::Tanh => lane::tanh(x),
        Unary::Asinh => lane::asinh(x),
        Unary::Acosh => lane::acosh(x),
        Unary::Atanh => lane::atanh(x),
        Unary::Erf => lane::erf(x),
        Unary::Erfc => lane::erfc(x),
        Unary::Erfcx => lane::erfcx(x),
        _ => return None,
    })
}

fn binary(op: Binary, a: Number, b: Number) -> Option<Number> {
    Some(match op {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::Lt => Number::of(a.lt(b)),
        Binary::Le => Number::of(a.le(b)),
        Binary::Eq => Number::of(a.eq(b)),
        Binary::Min | Binary::And => (a.lt(b) | a.is_nan()).select(a, b),
        Binary::Max | Binary::Or => (a.gt(b) | a.is_nan()).select(a, b),
        Binary::Pow => b.eq(2.0).select(a * a, lane::pow(a, b)),
        Binary::Atan2 => lane::atan2(a, b),
        Binary::Hypot => lane::hypot(a, b),
        _ => return None,
    })
}
