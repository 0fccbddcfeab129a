//! Floating-point arithmetic, as defined by IEEE 754 and PTX.

use super::arithmetic::has;
use super::numbers::{self, Lanes, flushed, kept};
use crate::program::{Arithmetic, Form, Rounding};
use std::array::from_fn;

/// Computes an operation of `f64`. Returns `None` if it is not implemented, for example for roundings other than to the
/// nearest.
pub(crate) fn double(kind: Arithmetic, form: Form, [a, b, c, _]: [&Lanes; 4]) -> Option<Lanes> {
    let is_exact = matches!(kind, Arithmetic::Minimum | Arithmetic::Maximum | Arithmetic::Absolute);
    if form.rounding != Rounding::Nearest && !is_exact {
        return None;
    }
    let x = |l: usize| numbers::double(a[l]);
    let y = |l: usize| numbers::double(b[l]);
    let all = |value: &dyn Fn(usize) -> f64| from_fn(|l| value(l).to_bits());
    Some(match kind {
        Arithmetic::Add => from_fn(|l| (x(l) + y(l)).to_bits()),
        Arithmetic::Subtract => from_fn(|l| (x(l) - y(l)).to_bits()),
        Arithmetic::Multiply => from_fn(|l| (x(l) * y(l)).to_bits()),
        Arithmetic::MultiplyAdd => fused(a, b, c),
        Arithmetic::Divide => from_fn(|l| (x(l) / y(l)).to_bits()),
        Arithmetic::SquareRoot => from_fn(|l| x(l).sqrt().to_bits()),
        Arithmetic::Reciprocal if form.approximate => from_fn(|l| rough(1.0 / normal(x(l)))),
        Arithmetic::Reciprocal => from_fn(|l| (1.0 / x(l)).to_bits()),
        Arithmetic::ReciprocalRoot if form.approximate => {
            from_fn(|l| rough(1.0 / normal(x(l)).sqrt()))
        }
        Arithmetic::Minimum => all(&|l| x(l).min(y(l))),
        Arithmetic::Maximum => all(&|l| x(l).max(y(l))),
        Arithmetic::Absolute => from_fn(|l| x(l).abs().to_bits()),
        Arithmetic::Negate => from_fn(|l| (-x(l)).to_bits()),
        Arithmetic::CopySign => all(&|l| y(l).copysign(x(l))),
        Arithmetic::Test(property) => from_fn(|l| has(property, x(l), x(l).is_subnormal()).into()),
        _ => return None,
    })
}

/// Returns the result of an approximate `f64` instruction: the high 32 bits, with zeros below.
fn rough(value: f64) -> u64 {
    value.to_bits() & 0xffff_ffff_0000_0000
}

/// Replaces a subnormal number by zero of the same sign.
fn normal(value: f64) -> f64 {
    if value.is_subnormal() { 0.0_f64.copysign(value) } else { value }
}

fn fused(a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: FMA was detected; AVX2, which the function enables too, is assumed with it.
        return unsafe { fused_by_hardware(a, b, c) };
    }
    fused_lane_by_lane(a, b, c)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn fused_by_hardware(a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
    fused_lane_by_lane(a, b, c)
}

#[inline(always)]
fn fused_lane_by_lane(a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
    let number = numbers::double;
    from_fn(|l| number(a[l]).mul_add(number(b[l]), number(c[l])).to_bits())
}

/// Computes an operation of `f32`. Returns `None` if it is not implemented.
pub(crate) fn single(kind: Arithmetic, form: Form, [a, b, c, _]: [&Lanes; 4]) -> Option<Lanes> {
    let read = |from: &Lanes, l: usize| flushed(numbers::single(from[l]), form.flush);
    let x = |l: usize| read(a, l);
    let y = |l: usize| read(b, l);
    let z = |l: usize| read(c, l);
    let finished = |value: f32| {
        let value = flushed(value, form.flush);
        kept(if form.saturate { saturated(value) } else { value })
    };
    let all = |value: &dyn Fn(usize) -> f32| from_fn(|l| finished(value(l)));
    let wide = |value: f32| f64::from(value);
    Some(match kind {
        Arithmetic::Add => all(&|l| exact_sum(wide(x(l)), wide(y(l)), form.rounding)),
        Arithmetic::Subtract => all(&|l| exact_sum(wide(x(l)), -wide(y(l)), form.rounding)),
        Arithmetic::Multiply => all(&|l| exact_sum(wide(x(l)) * wide(y(l)), 0.0, form.rounding)),
        Arithmetic::MultiplyAdd => {
            all(&|l| exact_sum(wide(x(l)) * wide(y(l)), wide(z(l)), form.rounding))
        }
        Arithmetic::Divide => all(&|l| x(l) / y(l)),
        Arithmetic::SquareRoot => all(&|l| x(l).sqrt()),
        Arithmetic::Reciprocal => all(&|l| 1.0 / x(l)),
        Arithmetic::ReciprocalRoot => all(&|l| 1.0 / x(l).sqrt()),
        Arithmetic::Exponential => all(&|l| x(l).exp2()),
        Arithmetic::Logarithm => all(&|l| x(l).log2()),
        Arithmetic::Sine => all(&|l| x(l).sin()),
        Arithmetic::Cosine => all(&|l| x(l).cos()),
        Arithmetic::Minimum => all(&|l| x(l).min(y(l))),
        Arithmetic::Maximum => all(&|l| x(l).max(y(l))),
        Arithmetic::Absolute => all(&|l| x(l).abs()),
        Arithmetic::Negate => all(&|l| -x(l)),
        Arithmetic::CopySign => {
            from_fn(|l| kept(numbers::single(b[l]).copysign(numbers::single(a[l]))))
        }
        Arithmetic::Test(property) => from_fn(|l| {
            let value = numbers::single(a[l]);
            has(property, value.into(), value.is_subnormal()).into()
        }),
        _ => return None,
    })
}

/// Clamps a value to 0..=1; NaN becomes 0.
pub(crate) fn saturated(value: f32) -> f32 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

/// Returns `a` + `b`, rounded once to `f32`.
fn exact_sum(a: f64, b: f64, rounding: Rounding) -> f32 {
    let sum = a + b;
    let of_b = sum - a;
    let error = (a - (sum - of_b)) + (b - of_b);
    if !sum.is_finite() || !error.is_finite() {
        return sum as f32;
    }
    rounded(sum, error, rounding)
}

/// Rounds `sum` + `error` once. `error` is below the last digit of `sum`.
fn rounded(sum: f64, error: f64, rounding: Rounding) -> f32 {
    let near = sum as f32;
    // Comparisons of a single with the exact sum.
    let above = |single: f32| f64::from(single) - sum > error;
    let below = |single: f32| f64::from(single) - sum < error;
    match rounding {
        Rounding::Nearest => nearest(sum, error, near),
        Rounding::Down if above(near) => near.next_down(),
        Rounding::Up if below(near) => near.next_up(),
        Rounding::TowardZero if sum > 0.0 && above(near) => near.next_down(),
        Rounding::TowardZero if sum < 0.0 && below(near) => near.next_up(),
        _ => near,
    }
}

/// Rounds to the nearest single. `near`, the rounded `sum`, is wrong if `sum` is halfway between two singles and
/// `error` decides for the other one.
fn nearest(sum: f64, error: f64, near: f32) -> f32 {
    let distance = (f64::from(near) - sum).abs();
    let other = if f64::from(near) > sum { near.next_down() } else { near.next_up() };
    let is_tie = error != 0.0 && (f64::from(other) - sum).abs() == distance;
    let toward_other = (f64::from(other) > sum) == (error > 0.0);
    if is_tie && toward_other { other } else { near }
}
