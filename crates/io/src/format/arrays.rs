//! Arrow arrays as columns of points: supported types, and conversion of values.

use super::cell::Cell;
use super::roles::Target;
use crate::moment::{Clock, Moment};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};

/// Returns the reason why a column of this type cannot be read; `None` if it can be read.
pub(crate) fn refusal(kind: &DataType) -> Option<String> {
    use DataType::{Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    match kind {
        Float32 | Float64 | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => None,
        other => Some(format!(
            "it has values of type {other}; floating-point numbers and integers can be read: convert it"
        )),
    }
}

/// Passes the values of an array of texts, times or 64-bit integers to `each` until `each` returns false. Returns the
/// last result of `each`; `None` for an array of another type.
pub(crate) fn show<'a>(
    array: &'a ArrayRef,
    nulls: Option<&NullBuffer>,
    each: &mut dyn FnMut(Cell<'_>) -> bool,
) -> Option<bool> {
    use DataType::{Date32, Date64, LargeUtf8, Time32, Time64, Timestamp, Utf8, Utf8View};
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let there = |row| nulls.is_none_or(|nulls| nulls.is_valid(row));
    let mut cells = |cell: &dyn Fn(usize) -> Cell<'a>| {
        Some((0..array.len()).all(|row| each(if there(row) { cell(row) } else { Cell::Missing })))
    };
    let unit = |unit: &TimeUnit| match unit {
        Second => 1_000_000_000,
        Millisecond => 1_000_000,
        Microsecond => 1_000,
        Nanosecond => 1,
    };
    let data = array.to_data();
    let (clock, nanoseconds) = match array.data_type() {
        DataType::Int64 => return cells(&|row| Cell::Whole(data.buffer::<i64>(0)[row].into())),
        DataType::UInt64 => return cells(&|row| Cell::Whole(data.buffer::<u64>(0)[row].into())),
        Utf8 => return cells(&|row| Cell::Text(array.as_string::<i32>().value(row).trim())),
        LargeUtf8 => return cells(&|row| Cell::Text(array.as_string::<i64>().value(row).trim())),
        Utf8View => return cells(&|row| Cell::Text(array.as_string_view().value(row).trim())),
        Date32 => (Clock::Calendar, 86_400_000_000_000),
        Date64 => (Clock::Calendar, unit(&Millisecond)),
        Time32(each) | Time64(each) => (Clock::OfDay, unit(each)),
        Timestamp(each, None) => (Clock::Local, unit(each)),
        Timestamp(each, Some(_)) => (Clock::Universal, unit(each)),
        _ => return None,
    };
    // All these types are integers of 4 or 8 bytes.
    let narrow = matches!(array.data_type(), Date32 | Time32(_));
    let (short, long) = match narrow {
        true => (data.buffer::<i32>(0), &[][..]),
        false => (&[][..], data.buffer::<i64>(0)),
    };
    cells(&|row| {
        let whole = if narrow { i128::from(short[row]) } else { i128::from(long[row]) };
        Cell::Time(Moment { clock, nanoseconds: whole * nanoseconds })
    })
}

/// Appends the fields of a structure column, or the column itself if it is not a structure, each with its nulls. A
/// field is null if its structure is null.
pub(crate) fn flatten(
    array: &ArrayRef,
    outer: Option<&NullBuffer>,
    out: &mut Vec<(ArrayRef, Option<NullBuffer>)>,
) {
    let nulls = NullBuffer::union(outer, array.nulls());
    match array.as_struct_opt() {
        Some(fields) => {
            fields.columns().iter().for_each(|field| flatten(field, nulls.as_ref(), out))
        }
        None => out.push((array.clone(), nulls)),
    }
}

/// Appends the first `count` values of an array, nulls as NaN. Returns false if the values are not numbers or do not
/// fit into the type of the target.
pub(crate) fn append(
    array: &ArrayRef,
    nulls: Option<&NullBuffer>,
    count: usize,
    out: &mut Target<'_>,
) -> bool {
    let out = match (out, array.as_primitive_opt::<Float32Type>()) {
        (Target::F64(out), _) => out,
        (Target::F32(out), Some(array)) => {
            extend(out, array, nulls, count, f32::NAN, |value| value);
            return true;
        }
        (Target::F32(_), None) => return false,
    };
    macro_rules! widened {
        ($kind:ty) => {
            extend(out, array.as_primitive::<$kind>(), nulls, count, f64::NAN, |value| value as f64)
        };
    }
    match array.data_type() {
        DataType::Float64 => widened!(Float64Type),
        DataType::Float32 => widened!(Float32Type),
        DataType::Int8 => widened!(Int8Type),
        DataType::Int16 => widened!(Int16Type),
        DataType::Int32 => widened!(Int32Type),
        DataType::Int64 => widened!(Int64Type),
        DataType::UInt8 => widened!(UInt8Type),
        DataType::UInt16 => widened!(UInt16Type),
        DataType::UInt32 => widened!(UInt32Type),
        DataType::UInt64 => widened!(UInt64Type),
        _ => return false,
    }
    true
}

fn extend<T: ArrowPrimitiveType, V: Copy>(
    out: &mut Vec<V>,
    array: &PrimitiveArray<T>,
    nulls: Option<&NullBuffer>,
    count: usize,
    null: V,
    convert: impl Fn(T::Native) -> V,
) {
    let values = array.values().iter().take(count);
    match nulls.filter(|nulls| nulls.null_count() > 0) {
        None => out.extend(values.map(|&value| convert(value))),
        Some(nulls) => {
            let value = |(&value, there)| if there { convert(value) } else { null };
            out.extend(values.zip(nulls.iter()).map(value));
        }
    }
}
