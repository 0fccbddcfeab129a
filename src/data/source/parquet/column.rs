//! A column of a row group: its values in order, nulls as NaN.

use super::pages::{CheckedPages, Pages};
use crate::data::source::Width;
use crate::data::source::format::file::DataFile;
use crate::data::values::Values;
use parquet::basic::{ConvertedType, Type};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{DataType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::SerializedPageReader;
use parquet::schema::types::ColumnDescriptor;
use std::sync::Arc;

/// What numbers a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    F64,
    F32,
    I32,
    U32,
    I64,
    U64,
}

impl Kind {
    pub(super) fn of(column: &ColumnDescriptor) -> Result<Kind, String> {
        use ConvertedType as C;
        if column.max_rep_level() > 0 {
            return Err("it has lists; a column of a fit has one number per row".into());
        }
        let (physical, converted) = (column.physical_type(), column.converted_type());
        let plain = converted == C::NONE && column.logical_type_ref().is_none();
        Ok(match (physical, converted) {
            (Type::DOUBLE, _) if plain => Kind::F64,
            (Type::FLOAT, _) if plain => Kind::F32,
            (Type::INT32, C::UINT_8 | C::UINT_16 | C::UINT_32) => Kind::U32,
            (Type::INT64, C::UINT_64) => Kind::U64,
            (Type::INT32, C::INT_8 | C::INT_16 | C::INT_32) => Kind::I32,
            (Type::INT64, C::INT_64) => Kind::I64,
            (Type::INT32, _) if plain => Kind::I32,
            (Type::INT64, _) if plain => Kind::I64,
            _ => {
                let logical = column.logical_type_ref().map(|logical| format!(" ({logical:?})"));
                let logical = logical.unwrap_or_default();
                return Err(format!(
                    "it has values of type {physical}{logical}; floating-point numbers and integers can be read: convert it"
                ));
            }
        })
    }

    pub(super) fn width(self) -> Width {
        if self == Kind::F32 { Width::F32 } else { Width::F64 }
    }
}

/// Reads one column of one row group.
pub(super) struct ColumnReader {
    number: usize,
    decoder: Decoder,
    /// Whether there may be nulls, and at which level a value is none.
    value_level: i16,
    levels: Vec<i16>,
    f64: Vec<f64>,
    f32: Vec<f32>,
}

enum Decoder {
    F64(Typed<DoubleType>),
    F32(Typed<FloatType>),
    I32(Typed<Int32Type>),
    U32(Typed<Int32Type>),
    I64(Typed<Int64Type>),
    U64(Typed<Int64Type>),
}

/// A decoder with room for what it decodes.
struct Typed<T: DataType> {
    reader: ColumnReaderImpl<T>,
    values: Vec<T::T>,
}

impl ColumnReader {
    /// Column `number` of a row group.
    pub(super) fn open(
        file: Arc<DataFile>,
        chunk: &ColumnChunkMetaData,
        kind: Kind,
        number: usize,
    ) -> Result<ColumnReader, String> {
        Ok(ColumnReader {
            number,
            decoder: match kind {
                Kind::F64 => Decoder::F64(Typed::open(file, chunk)?),
                Kind::F32 => Decoder::F32(Typed::open(file, chunk)?),
                Kind::I32 => Decoder::I32(Typed::open(file, chunk)?),
                Kind::U32 => Decoder::U32(Typed::open(file, chunk)?),
                Kind::I64 => Decoder::I64(Typed::open(file, chunk)?),
                Kind::U64 => Decoder::U64(Typed::open(file, chunk)?),
            },
            value_level: chunk.column_descr().max_def_level(),
            levels: Vec::new(),
            f64: Vec::new(),
            f32: Vec::new(),
        })
    }

    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// The rows that were decoded last.
    pub(super) fn values(&self) -> Values<'_> {
        match self.decoder {
            Decoder::F32(_) => Values::F32(&self.f32),
            _ => Values::F64(&self.f64),
        }
    }

    pub(super) fn append_to(&self, out: &mut Vec<f64>) {
        match self.values() {
            Values::F64(values) => out.extend_from_slice(values),
            Values::F32(values) => out.extend(values.iter().map(|&value| f64::from(value))),
        }
    }

    /// Decodes the next `rows` rows.
    pub(super) fn decode(&mut self, rows: usize) -> Result<(), String> {
        let (levels, level) = (&mut self.levels, self.value_level);
        let (f64s, f32s) = (&mut self.f64, &mut self.f32);
        match &mut self.decoder {
            Decoder::F64(typed) => typed.decode(rows, levels, level, f64s, f64::NAN, |v| v),
            Decoder::F32(typed) => typed.decode(rows, levels, level, f32s, f32::NAN, |v| v),
            Decoder::I32(typed) => typed.decode(rows, levels, level, f64s, f64::NAN, f64::from),
            Decoder::U32(typed) => {
                typed.decode(rows, levels, level, f64s, f64::NAN, |v| f64::from(v as u32))
            }
            Decoder::I64(typed) => typed.decode(rows, levels, level, f64s, f64::NAN, |v| v as f64),
            Decoder::U64(typed) => {
                typed.decode(rows, levels, level, f64s, f64::NAN, |v| v as u64 as f64)
            }
        }
    }

    pub(super) fn skip(&mut self, rows: u64) -> Result<(), String> {
        match &mut self.decoder {
            Decoder::F64(typed) => typed.skip(rows),
            Decoder::F32(typed) => typed.skip(rows),
            Decoder::I32(typed) | Decoder::U32(typed) => typed.skip(rows),
            Decoder::I64(typed) | Decoder::U64(typed) => typed.skip(rows),
        }
    }
}

impl<T: DataType> Typed<T> {
    fn open(file: Arc<DataFile>, chunk: &ColumnChunkMetaData) -> Result<Typed<T>, String> {
        if chunk.column_type() != T::get_physical_type() {
            return Err("it is damaged: a row group has another type than the file".into());
        }
        let rows = usize::try_from(chunk.num_values()).map_err(|_| "it is damaged".to_string())?;
        let pages = SerializedPageReader::new(Arc::new(Pages::of_columns(file)), chunk, rows, None);
        let pages = CheckedPages { pages: pages.map_err(said)?, value_bytes: size_of::<T::T>() };
        let reader = ColumnReaderImpl::new(chunk.column_descr_ptr(), Box::new(pages));
        Ok(Typed { reader, values: Vec::new() })
    }

    fn decode<V: Copy>(
        &mut self,
        rows: usize,
        levels: &mut Vec<i16>,
        value_level: i16,
        out: &mut Vec<V>,
        null: V,
        convert: impl Fn(T::T) -> V,
    ) -> Result<(), String> {
        self.values.clear();
        levels.clear();
        out.clear();
        while self.values.len().max(levels.len()) < rows {
            let missing = rows - self.values.len().max(levels.len());
            let read = self.reader.read_records(missing, Some(levels), None, &mut self.values);
            let (read, ..) = read.map_err(said)?;
            if read == 0 {
                return Err("it is damaged: a row group has fewer rows than it says".into());
            }
        }
        let mut values = self.values.iter().map(|value| convert(value.clone()));
        if value_level == 0 {
            out.extend(values);
        } else {
            let value = |&level| if level == value_level { values.next() } else { None };
            out.extend(levels.iter().map(value).map(|value| value.unwrap_or(null)));
        }
        if out.len() == rows { Ok(()) } else { Err("it is damaged".into()) }
    }

    fn skip(&mut self, rows: u64) -> Result<(), String> {
        let mut left = rows;
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX);
            match self.reader.skip_records(most).map_err(said)? {
                0 => return Err("it is damaged: a row group has fewer rows than it says".into()),
                skipped => left = left.saturating_sub(skipped as u64),
            }
        }
        Ok(())
    }
}

fn said(error: ParquetError) -> String {
    match error {
        ParquetError::External(error) => error.to_string(),
        error => format!("it cannot be decoded: {error}"),
    }
}
