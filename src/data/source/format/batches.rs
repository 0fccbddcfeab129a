//! Rows that a library decodes in groups to arrays of Arrow: what the readers of Arrow and of Parquet files
//! have in common.

use super::cell::Cell;
use super::file::DataFile;
use super::guard::guarded;
use super::roles::{Roles, Target};
use super::source::{FileSource, Format};
use crate::data::moment::{Clock, Moment};
use crate::data::source::{Chunk, Width};
use crate::error::source::SourceError;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, TimeUnit};
use std::fmt;
use std::sync::Arc;

/// Decodes the rows of a group, some at a time.
pub(crate) type Decoder = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// Groups of rows of a file.
pub(crate) trait Groups: Clone + Send {
    /// The format's name.
    const NAME: &'static str;

    /// Rows of each group.
    fn rows(&self) -> Vec<u64>;

    /// Decodes a group from row `row` of it on. `columns`: those that are wanted, in the file's order.
    ///
    /// # Errors
    /// What is wrong with the file.
    fn decode(
        &self,
        file: &Arc<DataFile>,
        group: usize,
        row: u64,
        columns: &[usize],
    ) -> Result<Decoder, SourceError>;
}

/// A file of such groups.
pub(crate) struct Batches<G> {
    file: Arc<DataFile>,
    groups: G,
    /// The number of the row behind each group.
    ends: Vec<u64>,
    /// Types of the file's columns.
    kinds: Vec<DataType>,
    open: Option<Open>,
}

impl<G: Groups> Clone for Batches<G> {
    fn clone(&self) -> Batches<G> {
        let Batches { file, groups, ends, kinds, .. } = self;
        let (file, groups) = (file.clone(), groups.clone());
        Batches { file, groups, ends: ends.clone(), kinds: kinds.clone(), open: None }
    }
}

/// What has been decoded, and what decodes the rest of the group.
struct Open {
    /// The number of the first row of the batch, and of the row behind the group.
    at: u64,
    end: u64,
    batch: Option<RecordBatch>,
    decoder: Decoder,
}

impl<G: Groups> Batches<G> {
    /// `columns`: names and types of the file's columns.
    ///
    /// # Errors
    /// If there are not two columns, or more rows than numbers count.
    pub(crate) fn source(
        file: Arc<DataFile>,
        groups: G,
        columns: impl IntoIterator<Item = (String, DataType)>,
    ) -> Result<FileSource<Batches<G>>, SourceError> {
        let mut ends = groups.rows();
        let mut end = 0_u64;
        for rows in &mut ends {
            let sum = end.checked_add(*rows);
            end = sum.ok_or_else(|| file.error("its numbers of rows are damaged"))?;
            *rows = end;
        }
        let (names, kinds): (Vec<String>, Vec<DataType>) = columns.into_iter().unzip();
        let refused = kinds.iter().map(refusal).collect();
        let roles = Roles::new(names, &file.place())?.refusing(refused);
        Ok(FileSource::new(Batches { file, groups, ends, kinds, open: None }, roles))
    }

    /// Appends rows from number `next` on, which is one of the file's.
    fn append(
        &mut self,
        roles: &Roles,
        next: u64,
        chunk: &mut Chunk,
        most: usize,
    ) -> Result<usize, SourceError> {
        let columns = roles.used();
        let (batch, end) = self.batch(roles, &columns, next)?;
        let left = usize::try_from(end - next).unwrap_or(usize::MAX);
        let count = batch.num_rows().min(most).min(left);
        let mut arrays = Vec::new();
        batch.columns().iter().for_each(|array| flatten(array, None, &mut arrays));
        for (role, column) in roles.all() {
            let array = columns.iter().position(|&used| used == column).and_then(|i| arrays.get(i));
            let place = array.zip(Target::of(chunk, role));
            if !place.is_some_and(|((array, nulls), out)| append(array, nulls.as_ref(), count, out))
            {
                let error = self.file.error("it is damaged: its numbers are of another type");
                return Err(error.in_column(roles.name(column)));
            }
        }
        Ok(count)
    }

    /// Some rows of the group of row `next`, from that on, and the number of the row behind the group.
    fn batch(
        &mut self,
        roles: &Roles,
        columns: &[usize],
        next: u64,
    ) -> Result<(RecordBatch, u64), SourceError> {
        let mut open = match self.open.take() {
            Some(open) if open.has(next) => open,
            _ => self.open(roles, columns, next)?,
        };
        let passed = (next - open.at) as usize;
        let rest = open.batch.take().map(|batch| batch.slice(passed, batch.num_rows() - passed));
        let batch = match rest.filter(|rest| rest.num_rows() > 0).map(Ok) {
            Some(rest) => Some(rest),
            None => open.decoder.find(|found| !matches!(found, Ok(b) if b.num_rows() == 0)),
        };
        let few = || self.file.error("it is damaged: a group of rows has fewer than it says");
        let batch = batch.ok_or_else(few)?.map_err(|why| self.file.error(said(&why)))?;
        let end = open.end;
        self.open = Some(Open { at: next, batch: Some(batch.clone()), ..open });
        Ok((batch, end))
    }

    /// The group of row `next`, decoded from there on.
    fn open(&self, roles: &Roles, columns: &[usize], next: u64) -> Result<Open, SourceError> {
        columns.iter().try_for_each(|column| roles.find(column).map(drop))?;
        let group = self.ends.partition_point(|&end| end <= next);
        let begin = group.checked_sub(1).map_or(0, |before| self.ends[before]);
        let decoder = self.groups.decode(&self.file, group, next - begin, columns)?;
        Ok(Open { at: next, end: self.ends[group], batch: None, decoder })
    }
}

impl Open {
    /// Whether a row is in the batch, or the first behind it, and in the group.
    fn has(&self, row: u64) -> bool {
        let rows = self.batch.as_ref().map_or(0, |batch| batch.num_rows() as u64);
        row < self.end && (self.at..=self.at + rows).contains(&row)
    }
}

impl<G: Groups> Format for Batches<G> {
    fn layout(&self) -> String {
        G::NAME.into()
    }

    fn files(&self) -> Vec<&DataFile> {
        vec![&self.file]
    }

    fn width(&self, column: usize) -> Width {
        match self.kinds.get(column) {
            Some(DataType::Float32) => Width::F32,
            _ => Width::F64,
        }
    }

    fn points(&self) -> Option<u64> {
        Some(self.ends.last().copied().unwrap_or(0))
    }

    fn rewind(&mut self, _: &Roles) -> Result<(), SourceError> {
        self.open = None;
        Ok(())
    }

    fn read(
        &mut self,
        roles: &Roles,
        next: u64,
        chunk: &mut Chunk,
        most: usize,
    ) -> Result<usize, SourceError> {
        if self.ends.last().is_none_or(|&end| next >= end) {
            return Ok(0);
        }
        let file = self.file.clone();
        guarded(&file, || self.append(roles, next, chunk, most)).map_err(|e| e.at_row(next))
    }

    fn has_no_numbers(&mut self, columns: &[usize]) -> Result<Vec<bool>, SourceError> {
        Ok(columns.iter().map(|&column| refusal(&self.kinds[column]).is_some()).collect())
    }

    fn cells(
        &mut self,
        roles: &Roles,
        column: usize,
        each: &mut dyn FnMut(Cell<'_>) -> bool,
    ) -> Result<bool, SourceError> {
        let kind = &self.kinds[column];
        let is_exact = matches!(kind, DataType::Int64 | DataType::UInt64);
        if refusal(kind).is_none() && !is_exact {
            return Ok(false);
        }
        let unread = || {
            let what = "numbers, text, dates and times can be read: convert it";
            let error = self.file.error(format!("it has values of type {kind}; {what}"));
            error.in_column(roles.name(column))
        };
        guarded(&self.file, || {
            for group in 0..self.ends.len() {
                for batch in self.groups.decode(&self.file, group, 0, &[column])? {
                    let batch = batch.map_err(|why| self.file.error(said(&why)))?;
                    let mut arrays = Vec::new();
                    batch.columns().iter().for_each(|array| flatten(array, None, &mut arrays));
                    let (array, nulls) = arrays.first().ok_or_else(unread)?;
                    if !show(array, nulls.as_ref(), each).ok_or_else(unread)? {
                        return Ok(true);
                    }
                }
            }
            Ok(true)
        })
    }
}

/// What a library says. What a reader of ours said to it comes back as a part of its text.
pub(crate) fn said(error: &dyn fmt::Display) -> String {
    let text = error.to_string();
    match text.split_once("External: ") {
        Some((_, ours)) => ours.to_string(),
        None => format!("it cannot be decoded: {text}"),
    }
}

/// Why a column of this type cannot be read, if it cannot.
fn refusal(kind: &DataType) -> Option<String> {
    use DataType::{Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    match kind {
        Float32 | Float64 | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => None,
        other => Some(format!(
            "it has values of type {other}; floating-point numbers and integers can be read: convert it"
        )),
    }
}

/// Shows the values of an array of words or times until `each` wants no more; whether it wants more. `None` for
/// an array of another type.
fn show<'a>(
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
    // All of them are whole numbers of 4 or of 8 bytes.
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

/// The columns within a column, where it is a structure, or itself, and where they have no values. What is
/// within a structure is null where the structure is.
fn flatten(
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

/// Appends the first `count` values of an array, nulls as NaN; false if they are no numbers, or wider than
/// the column.
fn append(array: &ArrayRef, nulls: Option<&NullBuffer>, count: usize, out: Target<'_>) -> bool {
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
