//! Serialisation of arrays of numbers as their bytes, little-endian, without conversion of the number type.

use super::values::Values;
use bytemuck::Pod;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// Number types that can be serialised as their bytes.
pub(crate) trait Number: Pod {
    /// Converts between the byte order of this processor and little-endian order, in both directions.
    fn little(self) -> Self;
}

macro_rules! whole {
    ($($number:ty),*) => {$(
        impl Number for $number {
            fn little(self) -> Self {
                self.to_le()
            }
        }
    )*};
}

whole!(u8, u16, i16, u32, i32, u64);

impl Number for f64 {
    fn little(self) -> Self {
        f64::from_bits(self.to_bits().to_le())
    }
}

impl Number for f32 {
    fn little(self) -> Self {
        f32::from_bits(self.to_bits().to_le())
    }
}

/// An array: borrowed for serialisation, owned after deserialisation. It needs no more memory than its bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Raw<'a, T: Number>(pub(crate) Cow<'a, [T]>);

impl<'a, T: Number> From<&'a [T]> for Raw<'a, T> {
    fn from(values: &'a [T]) -> Self {
        Raw(Cow::Borrowed(values))
    }
}

impl<T: Number> Serialize for Raw<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match cfg!(target_endian = "little") {
            true => to.serialize_bytes(bytemuck::cast_slice(&self.0)),
            false => {
                let turned: Vec<T> = self.0.iter().map(|v| v.little()).collect();
                to.serialize_bytes(bytemuck::cast_slice(&turned))
            }
        }
    }
}

impl<'de, T: Number> Deserialize<'de> for Raw<'_, T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Bytes<T>(PhantomData<T>);

        impl<T: Number> Visitor<'_> for Bytes<T> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "numbers of {} bytes each", size_of::<T>())
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<T>, E> {
                if !bytes.len().is_multiple_of(size_of::<T>()) {
                    return Err(E::invalid_length(bytes.len(), &self));
                }
                let mut values = vec![T::zeroed(); bytes.len() / size_of::<T>()];
                bytemuck::cast_slice_mut::<T, u8>(&mut values).copy_from_slice(bytes);
                if cfg!(target_endian = "big") {
                    values.iter_mut().for_each(|v| *v = v.little());
                }
                Ok(values)
            }
        }
        from.deserialize_bytes(Bytes(PhantomData)).map(|values| Raw(Cow::Owned(values)))
    }
}

/// Generates `RawValues`: [`Values`] that are serialised in their number type.
macro_rules! kinds {
    ($($kind:ident: $number:ty),*) => {
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub(crate) enum RawValues<'a> {
            $($kind(Raw<'a, $number>)),*
        }

        impl<'a> From<Values<'a>> for RawValues<'a> {
            fn from(values: Values<'a>) -> Self {
                match values {
                    $(Values::$kind(v) => RawValues::$kind(v.into())),*
                }
            }
        }

        impl RawValues<'_> {
            pub(crate) fn values(&self) -> Values<'_> {
                match self {
                    $(RawValues::$kind(v) => Values::$kind(&v.0)),*
                }
            }
        }
    };
}

kinds!(F64: f64, F32: f32, U8: u8, U16: u16, I16: i16, U32: u32, I32: i32);
