//! Numbers that are saved to the last bit. JSON has no infinities and no NaN; text formats store
//! them as the words `inf`, `-inf` and `nan`.

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A number that may be an infinity or NaN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact(pub(crate) f64);

pub(crate) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    match *value {
        finite if finite.is_finite() || !to.is_human_readable() => to.serialize_f64(finite),
        nan if nan.is_nan() => to.serialize_str("nan"),
        infinite if infinite > 0.0 => to.serialize_str("inf"),
        _ => to.serialize_str("-inf"),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    match from.is_human_readable() {
        true => from.deserialize_any(Number),
        false => from.deserialize_f64(Number),
    }
}

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, to)
    }
}

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Exact, D::Error> {
        deserialize(from).map(Exact)
    }
}

/// Wraps numbers for saving.
#[cfg(feature = "json")]
pub(crate) fn exact(values: &[f64]) -> Vec<Exact> {
    values.iter().copied().map(Exact).collect()
}

/// Unwraps saved numbers.
#[cfg(feature = "json")]
pub(crate) fn plain(values: &[Exact]) -> Vec<f64> {
    values.iter().map(|value| value.0).collect()
}

struct Number;

impl Visitor<'_> for Number {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, \"inf\", \"-inf\" or \"nan\"")
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<f64, E> {
        match text {
            "inf" => Ok(f64::INFINITY),
            "-inf" => Ok(f64::NEG_INFINITY),
            "nan" => Ok(f64::NAN),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }
}
