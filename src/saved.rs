//! Saved results: JSON and other formats of `serde`, with numbers to the last bit.
//!
//! A result is saved through its mirror, a struct with the fields of the document, which [`saved!`] defines. A mirror
//! has a version, and a reader rejects other versions. All fields are checked before they become a result, so that a
//! damaged file is an error. A field that a later version adds gets `#[serde(default)]` if old documents do not need
//! it; otherwise the version is raised.
//!
//! The methods that write and read JSON are marked `#[inline]`, so that their code is compiled in the crates that call
//! them: a program that only fits does not contain it, and the Python package optimises it for size.

use crate::error::saved::SavedError;
use crate::error::{self, Error};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A result with a saved form.
pub(crate) trait Saved: Sized {
    /// The mirror, which is checked when it is converted to the result.
    type Mirror: de::DeserializeOwned + TryInto<Self, Error = Error>;
    /// Name of the kind in messages.
    const KIND: &'static str;
    /// Version of the mirror.
    const VERSION: u32 = 1;

    /// Checks the version of a document.
    ///
    /// # Errors
    /// Returns [`SavedError::Version`] if the version `found` is unknown.
    fn check_version(found: u32) -> error::Result<()> {
        let (what, known) = (Self::KIND, Self::VERSION);
        match found == known {
            true => Ok(()),
            false => Err(SavedError::Version { what, found, known }.into()),
        }
    }

    /// Checks the number of values of the array `what`.
    ///
    /// # Errors
    /// Returns [`SavedError::Length`] if `got` is not `expected`.
    fn expect(what: &'static str, got: usize, expected: usize) -> error::Result<()> {
        match got == expected {
            true => Ok(()),
            false => Err(SavedError::Length { what, of: Self::KIND, expected, got }.into()),
        }
    }

    /// Returns the error of a document that is damaged or not of this kind.
    #[cfg(feature = "json")]
    fn malformed(message: impl ToString) -> Error {
        SavedError::Malformed { what: Self::KIND, message: message.to_string() }.into()
    }

    /// Returns the mirror as JSON.
    #[cfg(feature = "json")]
    fn write(&self) -> error::Result<String>
    where
        Self: Serialize,
    {
        serde_json::to_string(self).map_err(Self::malformed)
    }

    /// Reads the text that [`write`](Saved::write) returned. The version is checked first, because the fields depend on
    /// it.
    #[cfg(feature = "json")]
    fn read(text: &str) -> error::Result<Self> {
        #[derive(Deserialize)]
        struct Header {
            version: u32,
        }
        let header: Header = serde_json::from_str(text).map_err(Self::malformed)?;
        Self::check_version(header.version)?;
        serde_json::from_str::<Self::Mirror>(text).map_err(Self::malformed)?.try_into()
    }
}

/// Checks an index in a saved document.
///
/// # Errors
/// Returns [`SavedError::Reference`] if `index` is not less than `count`, the number of objects of the kind `what`.
/// `place`: location of the index in the document, for the message.
pub(crate) fn check_index(
    place: impl fmt::Display,
    what: &'static str,
    index: usize,
    count: usize,
) -> error::Result<()> {
    match index < count {
        true => Ok(()),
        false => Err(SavedError::Reference { place: place.to_string(), what, index, count }.into()),
    }
}

/// Defines the mirror of a type, and the conversion to it. Each field has its type and its source, an expression of
/// the original; the default source is the field of the same name. If the definition begins with a kind (a text for
/// messages), the mirror has a version, the original implements [`Saved`], and the method `checked` of the mirror
/// restores the original.
macro_rules! saved {
    (
        $(#[$attribute:meta])*
        $kind:literal: struct $mirror:ident of $original:ident: $type:ident { $($fields:tt)* }
    ) => {
        $crate::saved::saved! {
            $(#[$attribute])*
            struct $mirror of $original: $type {
                version: u32 = <$type as $crate::saved::Saved>::VERSION,
                $($fields)*
            }
        }

        impl $crate::saved::Saved for $type {
            type Mirror = $mirror;
            const KIND: &'static str = $kind;
        }

        impl TryFrom<$mirror> for $type {
            type Error = $crate::error::Error;
            fn try_from(saved: $mirror) -> $crate::error::Result<$type> {
                <$type as $crate::saved::Saved>::check_version(saved.version)?;
                saved.checked()
            }
        }
    };
    (
        $(#[$attribute:meta])*
        struct $mirror:ident of $original:ident: $type:ident {
            $($(#[$of_field:meta])* $field:ident: $saved:ty $(= $source:expr)?,)*
        }
    ) => {
        #[derive(Clone, serde::Serialize, serde::Deserialize)]
        $(#[$attribute])*
        pub(crate) struct $mirror {
            $($(#[$of_field])* $field: $saved,)*
        }

        impl From<$type> for $mirror {
            fn from($original: $type) -> $mirror {
                $mirror { $($field: $crate::saved::saved!(@source $original.$field $(, $source)?),)* }
            }
        }
    };
    (@source $field:expr, $source:expr) => { $source };
    (@source $field:expr) => { $field };
}
pub(crate) use saved;

/// Creates a struct from the fields in the first braces and from fields of the same names of another struct.
#[cfg(feature = "json")]
macro_rules! move_fields {
    ($type:ident { $($own:tt)* } from $other:ident { $($same:ident),+ }) => {
        $type { $($own)* $($same: $other.$same),+ }
    };
}
#[cfg(feature = "json")]
pub(crate) use move_fields;

/// A number that may be an infinity or NaN. JSON has no such numbers; text formats contain `inf`, `-inf` and `nan` as
/// words.
#[derive(Clone)]
pub(crate) struct Number(pub(crate) f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            finite if finite.is_finite() || !to.is_human_readable() => to.serialize_f64(finite),
            nan if nan.is_nan() => to.serialize_str("nan"),
            infinite if infinite > 0.0 => to.serialize_str("inf"),
            _ => to.serialize_str("-inf"),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Number, D::Error> {
        match from.is_human_readable() {
            true => from.deserialize_any(NumberOrWord),
            false => from.deserialize_f64(NumberOrWord),
        }
    }
}

struct NumberOrWord;

impl Visitor<'_> for NumberOrWord {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, \"inf\", \"-inf\" or \"nan\"")
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Number, E> {
        Ok(Number(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Number, E> {
        Ok(Number(value as f64))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Number, E> {
        Ok(Number(value as f64))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Number, E> {
        match text {
            "inf" => Ok(Number(f64::INFINITY)),
            "-inf" => Ok(Number(f64::NEG_INFINITY)),
            "nan" => Ok(Number(f64::NAN)),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }
}

/// Saves fields that contain numbers: `#[serde(with = "exact")]`.
#[cfg(feature = "json")]
pub(crate) mod exact {
    use super::Number;
    use serde::de::DeserializeOwned;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// A value whose numbers are saved as [`Number`]s.
    pub(crate) trait Exact {
        type Form: Serialize + DeserializeOwned;
        fn form(&self) -> Self::Form;
        fn restored(form: Self::Form) -> Self;
    }

    pub(crate) fn serialize<T: Exact, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        value.form().serialize(to)
    }

    pub(crate) fn deserialize<'de, T: Exact, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        T::Form::deserialize(from).map(T::restored)
    }

    /// Implements [`Exact`] for types: `[parameters] type as form => (conversion to the form, conversion back);`.
    macro_rules! exact_as {
        ($([$($t:ident),*] $type:ty as $form:ty => ($to:expr, $back:expr);)+) => {$(
            impl<$($t: $crate::saved::exact::Exact),*> $crate::saved::exact::Exact for $type {
                type Form = $form;
                fn form(&self) -> $form {
                    let to: fn(&$type) -> $form = $to;
                    to(self)
                }
                fn restored(form: $form) -> $type {
                    let back: fn($form) -> $type = $back;
                    back(form)
                }
            }
        )+};
    }
    pub(crate) use exact_as;

    exact_as! {
        [] f64 as Number => (|value| Number(*value), |number| number.0);
        [] usize as usize => (|index| *index, |index| index);
        [T] Vec<T> as Vec<T::Form> => (
            |all| all.iter().map(T::form).collect(),
            |all| all.into_iter().map(T::restored).collect()
        );
        [T] Option<T> as Option<T::Form> => (|one| one.as_ref().map(T::form), |one| one.map(T::restored));
        [T] [T; 2] as [T::Form; 2] => (|pair| pair.each_ref().map(T::form), |pair| pair.map(T::restored));
        [A, B] (A, B) as (A::Form, B::Form) => (
            |(a, b)| (a.form(), b.form()),
            |(a, b)| (A::restored(a), B::restored(b))
        );
    }
}
