//! Values of 32 lanes, and the interpretation of their bits as numbers.

use crate::program::Type;

/// The value of each lane of a warp.
pub(crate) type Lanes = [u64; 32];

/// Returns the low `bytes` bytes of a value.
pub(crate) fn low(value: u64, bytes: usize) -> u64 {
    match bytes {
        8.. => value,
        _ => value & ((1 << (8 * bytes)) - 1),
    }
}

/// Extends an integer to 64 bits, with its sign if the type is signed.
pub(crate) fn extended(value: u64, of: Type) -> u64 {
    match of {
        Type::S8 => value as i8 as u64,
        Type::S16 => value as i16 as u64,
        Type::S32 => value as i32 as u64,
        _ => low(value, of.bytes()),
    }
}

pub(crate) fn double(bits: u64) -> f64 {
    f64::from_bits(bits)
}

pub(crate) fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// Returns the register bits of an `f32`.
pub(crate) fn kept(value: f32) -> u64 {
    value.to_bits().into()
}

/// Replaces a subnormal number by zero of the same sign if `flush` is true.
pub(crate) fn flushed(value: f32, flush: bool) -> f32 {
    match flush && value.is_subnormal() {
        true => 0.0_f32.copysign(value),
        false => value,
    }
}

/// Returns the indices of the lanes in a mask, in ascending order.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros();
        rest &= rest.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}
