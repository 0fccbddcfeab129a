//! Conversions between types.

use super::floats::saturated;
use super::numbers::{double, extended, flushed, kept, low, single};
use crate::program::{Rounding, Type};

/// Conversion by `cvt`, with its suffixes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversion {
    pub(crate) into: Type,
    pub(crate) of: Type,
    pub(crate) rounding: Option<Rounding>,
    pub(crate) to_integral: bool,
    pub(crate) saturate: bool,
    pub(crate) flush: bool,
}

fn integral(value: f64, rounding: Option<Rounding>) -> f64 {
    match rounding {
        Some(Rounding::TowardZero) => value.trunc(),
        Some(Rounding::Down) => value.floor(),
        Some(Rounding::Up) => value.ceil(),
        Some(Rounding::Nearest) | None => value.round_ties_even(),
    }
}

impl Conversion {
    pub(crate) fn of(self, value: u64) -> u64 {
        match (self.of.is_float(), self.into.is_float()) {
            (true, true) => self.float(value),
            (true, false) => self.float_to_whole(value),
            (false, true) => self.whole_to_float(value),
            (false, false) => self.whole(value),
        }
    }

    fn read(self, value: u64) -> f64 {
        match self.of {
            Type::F64 => double(value),
            _ => flushed(single(value), self.flush).into(),
        }
    }

    fn float(self, value: u64) -> u64 {
        let value = self.read(value);
        let value = if self.to_integral { integral(value, self.rounding) } else { value };
        match self.into {
            Type::F64 => value.to_bits(),
            _ => {
                let near = value as f32;
                let near = match self.rounding {
                    Some(Rounding::TowardZero) if f64::from(near).abs() > value.abs() => {
                        if near > 0.0 { near.next_down() } else { near.next_up() }
                    }
                    Some(Rounding::Down) if f64::from(near) > value => near.next_down(),
                    Some(Rounding::Up) if f64::from(near) < value => near.next_up(),
                    _ => near,
                };
                let near = if self.saturate { saturated(near) } else { near };
                kept(flushed(near, self.flush))
            }
        }
    }

    /// Converts a float to an integer. Values out of range are clamped. NaN becomes 0, in 64 bits it becomes 1 << 63.
    fn float_to_whole(self, value: u64) -> u64 {
        let value = integral(self.read(value), self.rounding);
        let bytes = self.into.bytes();
        if value.is_nan() {
            return if bytes == 8 { 1 << 63 } else { 0 };
        }
        let bits = 8 * bytes as i32;
        if self.into.is_signed() {
            let (least, most) = (-(2.0_f64.powi(bits - 1)), 2.0_f64.powi(bits - 1));
            let most_whole = (1_u64 << (bits - 1)) - 1;
            return match value {
                value if value >= most => most_whole,
                value => low(value.max(least) as i64 as u64, bytes),
            };
        }
        low(if value >= 2.0_f64.powi(bits) { u64::MAX } else { value as u64 }, bytes)
    }

    fn whole_to_float(self, value: u64) -> u64 {
        let value = extended(value, self.of);
        let to_single = |double: f64, single: f32| match self.into {
            Type::F64 => double.to_bits(),
            _ => kept(single),
        };
        match self.of.is_signed() {
            true => to_single(value as i64 as f64, value as i64 as f32),
            false => to_single(value as f64, value as f32),
        }
    }

    fn whole(self, value: u64) -> u64 {
        let value = extended(value, self.of);
        let bytes = self.into.bytes();
        if !self.saturate {
            return low(value, bytes);
        }
        let value = if self.of.is_signed() { i128::from(value as i64) } else { i128::from(value) };
        let bits = 8 * bytes as u32;
        let (least, most) = match self.into.is_signed() {
            true => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
            false => (0, (1_i128 << bits) - 1),
        };
        low(value.clamp(least, most) as u64, bytes)
    }
}
