//! Arithmetic on the values of a warp: integers and bits here, floats in [`floats`].

use super::floats;
use super::numbers::{Lanes, extended, lanes, low};
use crate::program::{Arithmetic, Atomic, Form, Part, Property, Type};
use std::array::from_fn;

/// Computes the results of all lanes; results of lanes outside of `active` are meaningless. `carry`: the carry of each
/// lane, changed only in the lanes of `active`. Returns `None` if the operation is not implemented.
pub(crate) fn arithmetic(
    kind: Arithmetic,
    of: Type,
    form: Form,
    from: [&Lanes; 4],
    carry: &mut Lanes,
    active: u32,
) -> Option<Lanes> {
    let [a, b, c, _] = from;
    match (kind, of) {
        (Arithmetic::Select, _) => Some(from_fn(|l| if c[l] & 1 == 1 { a[l] } else { b[l] })),
        (_, Type::F64) => floats::double(kind, form, from),
        (_, Type::F32) => floats::single(kind, form, from),
        (Arithmetic::Add | Arithmetic::Subtract, _) if form.carry_in || form.carry_out => {
            Some(with_carry(kind, of, form, [a, b], carry, active))
        }
        (Arithmetic::Multiply | Arithmetic::MultiplyAdd, _) => {
            Some(products(kind, of, form, from, carry, active))
        }
        _ => whole(kind, of, form, from),
    }
}

/// Returns the value that an atomic operation stores if the memory contains `before`, or `None` if the operation is not
/// implemented.
pub(crate) fn exchanged(
    kind: Atomic,
    of: Type,
    before: u64,
    first: u64,
    second: u64,
) -> Option<u64> {
    let kind = match kind {
        Atomic::Exchange => return Some(first),
        Atomic::CompareAndSwap => {
            let is_it = low(before, of.bytes()) == low(first, of.bytes());
            return Some(if is_it { second } else { before });
        }
        Atomic::Add => Arithmetic::Add,
        Atomic::Minimum => Arithmetic::Minimum,
        Atomic::Maximum => Arithmetic::Maximum,
        Atomic::And => Arithmetic::And,
        Atomic::Or => Arithmetic::Or,
    };
    let (before, first, none) = ([before; 32], [first; 32], [0; 32]);
    let from = [&before, &first, &none, &none];
    Some(arithmetic(kind, of, Form::PLAIN, from, &mut [0; 32], 1)?[0])
}

fn with_carry(
    kind: Arithmetic,
    of: Type,
    form: Form,
    [a, b]: [&Lanes; 2],
    carry: &mut Lanes,
    active: u32,
) -> Lanes {
    let (bytes, mut out) = (of.bytes(), [0; 32]);
    for l in lanes(active) {
        let (x, y) = (u128::from(low(a[l], bytes)), u128::from(low(b[l], bytes)));
        let third = if form.carry_in { u128::from(carry[l]) } else { 0 };
        let sum = match kind {
            Arithmetic::Add => x + y + third,
            _ => x.wrapping_sub(y).wrapping_sub(third),
        };
        if form.carry_out {
            carry[l] = (sum >> (8 * bytes)) as u64 & 1;
        }
        out[l] = low(sum as u64, bytes);
    }
    out
}

fn products(
    kind: Arithmetic,
    of: Type,
    form: Form,
    [a, b, c, _]: [&Lanes; 4],
    carry: &mut Lanes,
    active: u32,
) -> Lanes {
    let (bytes, mut out) = (of.bytes(), [0; 32]);
    let width = if form.part == Part::Wide { 2 * bytes } else { bytes };
    for l in lanes(active) {
        let (x, y) = (extended(a[l], of), extended(b[l], of));
        let product = match of.is_signed() {
            true => (i128::from(x as i64) * i128::from(y as i64)) as u128,
            false => u128::from(x) * u128::from(y),
        };
        let part = if form.part == Part::High { product >> (8 * bytes) } else { product };
        let mut result = low(part as u64, width);
        if kind == Arithmetic::MultiplyAdd {
            let third = if form.carry_in { u128::from(carry[l]) } else { 0 };
            let sum = u128::from(result) + u128::from(low(c[l], width)) + third;
            if form.carry_out {
                carry[l] = (sum >> (8 * width)) as u64 & 1;
            }
            result = low(sum as u64, width);
        }
        out[l] = result;
    }
    out
}

fn whole(kind: Arithmetic, of: Type, form: Form, [a, b, c, d]: [&Lanes; 4]) -> Option<Lanes> {
    let (bytes, bits) = (of.bytes(), 8 * of.bytes() as u32);
    let signed = of.is_signed();
    let x = |l: usize| extended(a[l], of);
    let y = |l: usize| extended(b[l], of);
    let less = |l: usize| match signed {
        true => (x(l) as i64) < y(l) as i64,
        false => x(l) < y(l),
    };
    let cut = |value: u64| low(value, bytes);
    Some(match kind {
        Arithmetic::Add => from_fn(|l| cut(a[l].wrapping_add(b[l]))),
        Arithmetic::Subtract => from_fn(|l| cut(a[l].wrapping_sub(b[l]))),
        Arithmetic::Divide => from_fn(|l| match (y(l), signed) {
            (0, _) => cut(u64::MAX),
            (y, true) => cut((x(l) as i64).wrapping_div(y as i64) as u64),
            (y, false) => cut(x(l) / y),
        }),
        Arithmetic::Remainder => from_fn(|l| match (y(l), signed) {
            (0, _) => cut(x(l)),
            (y, true) => cut((x(l) as i64).wrapping_rem(y as i64) as u64),
            (y, false) => cut(x(l) % y),
        }),
        Arithmetic::Minimum => from_fn(|l| cut(if less(l) { x(l) } else { y(l) })),
        Arithmetic::Maximum => from_fn(|l| cut(if less(l) { y(l) } else { x(l) })),
        Arithmetic::Absolute => from_fn(|l| cut((x(l) as i64).unsigned_abs())),
        Arithmetic::Negate => from_fn(|l| cut(a[l].wrapping_neg())),
        Arithmetic::And => from_fn(|l| a[l] & b[l]),
        Arithmetic::Or => from_fn(|l| a[l] | b[l]),
        Arithmetic::Xor => from_fn(|l| a[l] ^ b[l]),
        Arithmetic::Not if of == Type::Pred => from_fn(|l| !a[l] & 1),
        Arithmetic::Not => from_fn(|l| cut(!a[l])),
        Arithmetic::ShiftLeft => from_fn(|l| match b[l] as u32 {
            by if by >= bits => 0,
            by => cut(a[l] << by),
        }),
        Arithmetic::ShiftRight => from_fn(|l| match (b[l] as u32, signed) {
            (by, true) => cut((x(l) as i64 >> by.min(63)) as u64),
            (by, false) if by >= bits => 0,
            (by, false) => x(l) >> by,
        }),
        Arithmetic::CountOnes => from_fn(|l| cut(a[l]).count_ones().into()),
        Arithmetic::LeadingZeros => from_fn(|l| (cut(a[l]).leading_zeros() - (64 - bits)).into()),
        Arithmetic::ReverseBits => from_fn(|l| cut(a[l]).reverse_bits() >> (64 - bits)),
        Arithmetic::ExtractBits => from_fn(|l| extract(x(l), b[l] & 255, c[l] & 255, of)),
        Arithmetic::InsertBits => {
            from_fn(|l| insert([cut(a[l]), cut(b[l])], c[l] & 255, d[l] & 255, bits.into()))
        }
        Arithmetic::FindBit => from_fn(|l| {
            let value = if signed && (x(l) as i64) < 0 { cut(!x(l)) } else { cut(x(l)) };
            match value.checked_ilog2() {
                None => u32::MAX.into(),
                Some(bit) if form.part == Part::High => (bits - 1 - bit).into(),
                Some(bit) => bit.into(),
            }
        }),
        Arithmetic::PermuteBytes => from_fn(|l| permuted(a[l] as u32, b[l] as u32, c[l] as u32)),
        Arithmetic::FunnelLeft { clamp } => from_fn(|l| {
            let both = (b[l] << 32) | u64::from(a[l] as u32);
            match amount(c[l], clamp) {
                32 => a[l] & 0xffff_ffff,
                by => ((both << by) >> 32) & 0xffff_ffff,
            }
        }),
        Arithmetic::FunnelRight { clamp } => from_fn(|l| {
            let both = (b[l] << 32) | u64::from(a[l] as u32);
            (both >> amount(c[l], clamp)) & 0xffff_ffff
        }),
        Arithmetic::Table => from_fn(|l| table([a[l], b[l], c[l]], d[l])),
        _ => return None,
    })
}

fn amount(of: u64, clamp: bool) -> u32 {
    match clamp {
        true => (of as u32).min(32),
        false => of as u32 & 31,
    }
}

fn extract(value: u64, at: u64, count: u64, of: Type) -> u64 {
    let bits = 8 * of.bytes() as u64;
    let is_negative = of.is_signed() && (value as i64) < 0;
    if count == 0 {
        return 0;
    }
    if at >= bits {
        return low(if is_negative { u64::MAX } else { 0 }, of.bytes());
    }
    let moved = if of.is_signed() { (value as i64 >> at) as u64 } else { value >> at };
    if at + count >= bits {
        return low(moved, of.bytes());
    }
    let kept = moved & ((1 << count) - 1);
    let sign = of.is_signed() && kept >> (count - 1) & 1 == 1;
    low(if sign { kept | !((1 << count) - 1) } else { kept }, of.bytes())
}

fn insert([value, into]: [u64; 2], at: u64, count: u64, bits: u64) -> u64 {
    if at >= bits || count == 0 {
        return into;
    }
    let ones = if count >= 64 { u64::MAX } else { (1 << count) - 1 };
    let mask = low(ones << at, bits as usize / 8);
    (into & !mask) | ((value << at) & mask)
}

fn permuted(first: u32, second: u32, selectors: u32) -> u64 {
    let both = u64::from(second) << 32 | u64::from(first);
    let byte = |k: u32| {
        let selector = selectors >> (4 * k) & 15;
        let byte = both >> (8 * (selector & 7)) & 255;
        let byte = match selector & 8 {
            0 => byte,
            _ if byte & 128 != 0 => 255,
            _ => 0,
        };
        byte << (8 * k)
    };
    (0..4).map(byte).sum()
}

fn table(of: [u64; 3], table: u64) -> u64 {
    let [a, b, c] = of.map(|value| value as u32);
    let pick = |value: u32, wanted: bool| if wanted { value } else { !value };
    let term = |k: u32| match table >> k & 1 {
        0 => 0,
        _ => pick(a, k & 4 != 0) & pick(b, k & 2 != 0) & pick(c, k & 1 != 0),
    };
    (0..8).map(term).fold(0, |all, term| all | term).into()
}

/// Returns true if `value` has the property.
pub(crate) fn has(property: Property, value: f64, is_subnormal: bool) -> bool {
    match property {
        Property::Finite => value.is_finite(),
        Property::Infinite => value.is_infinite(),
        Property::Number => !value.is_nan(),
        Property::NotANumber => value.is_nan(),
        Property::Normal => value.is_finite() && value != 0.0 && !is_subnormal,
        Property::Subnormal => is_subnormal,
    }
}
