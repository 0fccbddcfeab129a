//! Arrow arrays as values of a column, nulls as NaN.

use crate::data::source::chunk::Column;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// Why a column of this type cannot be read, if it cannot.
pub(super) fn refusal(kind: &DataType) -> Option<String> {
    use DataType::{Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    match kind {
        Float32 | Float64 | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => None,
        other => Some(format!(
            "it has values of type {other}; floating-point numbers and integers can be read: convert it"
        )),
    }
}

/// Appends the values `start..start + count` of an array; false if it has none such.
pub(super) fn append(array: &ArrayRef, start: usize, count: usize, out: &mut Column) -> bool {
    match out {
        Column::F64(out) => append_f64(array, start, count, out),
        Column::F32(out) => {
            let floats = array.as_primitive_opt::<Float32Type>();
            floats
                .is_some_and(|_| typed::<Float32Type, _>(array, start, count, out, f32::NAN, |v| v))
        }
    }
}

pub(super) fn append_f64(array: &ArrayRef, start: usize, count: usize, out: &mut Vec<f64>) -> bool {
    macro_rules! numbers {
        ($kind:ty) => {
            typed::<$kind, f64>(array, start, count, out, f64::NAN, |value| value as f64)
        };
    }
    match array.data_type() {
        DataType::Float64 => numbers!(Float64Type),
        DataType::Float32 => numbers!(Float32Type),
        DataType::Int8 => numbers!(Int8Type),
        DataType::Int16 => numbers!(Int16Type),
        DataType::Int32 => numbers!(Int32Type),
        DataType::Int64 => numbers!(Int64Type),
        DataType::UInt8 => numbers!(UInt8Type),
        DataType::UInt16 => numbers!(UInt16Type),
        DataType::UInt32 => numbers!(UInt32Type),
        DataType::UInt64 => numbers!(UInt64Type),
        _ => false,
    }
}

fn typed<T: ArrowPrimitiveType, V: Copy>(
    array: &ArrayRef,
    start: usize,
    count: usize,
    out: &mut Vec<V>,
    null: V,
    convert: impl Fn(T::Native) -> V,
) -> bool {
    let Some(array) = array.as_primitive_opt::<T>() else { return false };
    let Some(values) = array.values().get(start..start.saturating_add(count)) else { return false };
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => out.extend(values.iter().map(|&value| convert(value))),
        Some(nulls) => {
            let value = |(i, &value)| if nulls.is_null(start + i) { null } else { convert(value) };
            out.extend(values.iter().enumerate().map(value));
        }
    }
    true
}
