//! Rows that a library decodes in groups to arrays of Arrow: what the readers of Arrow and of Parquet files
//! have in common.

use super::cell::Cell;
use super::file::DataFile;
use super::guard::guarded;
use super::roles::{Roles, Target};
use super::source::{FileSource, Format};
use crate::data::moment::{Clock, Moment};
use crate::data::source::{Chunk, Width, side_by_side};
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

/// Rows from which parts of them are decoded on threads of their own.
const WORTH_A_THREAD: usize = 1 << 15;

/// Decodes the rows of a group, some at a time.
pub(crate) type Decoder = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// Groups of rows of a file.
pub(crate) trait Groups: Clone + Send + Sync {
    /// The format's name.
    const NAME: &'static str;

    /// Whether a column is read without those beside it.
    const COLUMNS_LIE_APART: bool;

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
    rows: Rows<G>,
    /// Types of the file's columns.
    kinds: Vec<DataType>,
    /// The columns that are wanted.
    parts: Vec<Part>,
}

/// Where the rows of a file are.
#[derive(Clone)]
struct Rows<G> {
    file: Arc<DataFile>,
    groups: G,
    /// The number of the row behind each group.
    ends: Vec<u64>,
}

/// Columns that are decoded together, and beside others.
struct Part {
    columns: Vec<usize>,
    open: Option<Open>,
}

/// What has been decoded, and what decodes the rest of the group.
struct Open {
    /// The number of the first row of the batch, and of the row behind the group.
    at: u64,
    end: u64,
    batch: Option<RecordBatch>,
    decoder: Decoder,
}

/// A part and, for each place of its values in a point, which of its columns goes where.
struct Filling<'a> {
    part: &'a mut Part,
    places: Vec<(usize, Target<'a>)>,
}

impl<G: Groups> Clone for Batches<G> {
    fn clone(&self) -> Batches<G> {
        Batches { rows: self.rows.clone(), kinds: self.kinds.clone(), parts: Vec::new() }
    }
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
        let rows = Rows { file, groups, ends };
        Ok(FileSource::new(Batches { rows, kinds, parts: Vec::new() }, roles))
    }
}

/// The parts with the places of their values in the points of a chunk.
fn fillings<'a>(parts: &'a mut [Part], roles: &Roles, chunk: &'a mut Chunk) -> Vec<Filling<'a>> {
    let empty = |part| Filling { part, places: Vec::new() };
    let mut fillings: Vec<Filling<'a>> = parts.iter_mut().map(empty).collect();
    for ((_, column), target) in roles.all().zip(Target::all(chunk)) {
        for filling in &mut fillings {
            if let Ok(place) = filling.part.columns.binary_search(&column) {
                filling.places.push((place, target));
                break;
            }
        }
    }
    fillings
}

impl<G: Groups> Rows<G> {
    fn count(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Appends rows from number `next` on, at most `most`. Returns how many, and what was wrong with the one behind
    /// them.
    fn fill(
        &self,
        roles: &Roles,
        filling: &mut Filling<'_>,
        next: u64,
        most: usize,
    ) -> (usize, Option<SourceError>) {
        let (mut row, end) = (next, self.count().min(next.saturating_add(most as u64)));
        let mut failed = None;
        while row < end && failed.is_none() {
            let left = (end - row) as usize;
            match guarded(&self.file, || self.append(roles, filling, row, left)) {
                Ok(rows) => row += rows as u64,
                Err(error) => failed = Some(filling.part.named(roles, error.at_row(row))),
            }
        }
        ((row - next) as usize, failed)
    }

    /// Appends rows of one batch.
    fn append(
        &self,
        roles: &Roles,
        Filling { part, places }: &mut Filling<'_>,
        next: u64,
        most: usize,
    ) -> Result<usize, SourceError> {
        let (batch, end) = self.batch(part, next)?;
        let left = usize::try_from(end - next).unwrap_or(usize::MAX);
        let count = batch.num_rows().min(most).min(left);
        let mut arrays = Vec::new();
        batch.columns().iter().for_each(|array| flatten(array, None, &mut arrays));
        for (place, target) in places {
            let array = arrays.get(*place);
            if !array.is_some_and(|(array, nulls)| append(array, nulls.as_ref(), count, target)) {
                let error = self.file.error("it is damaged: its numbers are of another type");
                return Err(error.in_column(roles.name(part.columns[*place])));
            }
        }
        Ok(count)
    }

    /// Some rows of the group of row `next`, from that on, and the number of the row behind the group.
    fn batch(&self, part: &mut Part, next: u64) -> Result<(RecordBatch, u64), SourceError> {
        let mut open = match part.open.take() {
            Some(open) if open.has(next) => open,
            _ => self.open(&part.columns, next)?,
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
        part.open = Some(Open { at: next, batch: Some(batch.clone()), ..open });
        Ok((batch, end))
    }

    /// The group of row `next`, decoded from there on.
    fn open(&self, columns: &[usize], next: u64) -> Result<Open, SourceError> {
        let group = self.ends.partition_point(|&end| end <= next);
        let begin = group.checked_sub(1).map_or(0, |before| self.ends[before]);
        let decoder = self.groups.decode(&self.file, group, next - begin, columns)?;
        Ok(Open { at: next, end: self.ends[group], batch: None, decoder })
    }
}

impl Part {
    /// An error in which its column is named, where it has one alone.
    fn named(&self, roles: &Roles, error: SourceError) -> SourceError {
        match self.columns[..] {
            [column] => error.in_column(roles.name(column)),
            _ => error,
        }
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
        vec![&self.rows.file]
    }

    fn width(&self, column: usize) -> Width {
        match self.kinds.get(column) {
            Some(DataType::Float32) => Width::F32,
            _ => Width::F64,
        }
    }

    fn points(&self) -> Option<u64> {
        Some(self.rows.count())
    }

    fn rewind(&mut self, roles: &Roles) -> Result<(), SourceError> {
        let part = |columns: &[usize]| Part { columns: columns.to_vec(), open: None };
        let used = roles.used();
        let together = if G::COLUMNS_LIE_APART { 1 } else { used.len() };
        self.parts = used.chunks(together).map(part).collect();
        used.iter().try_for_each(|column| roles.find(column).map(drop))
    }

    /// Reads the parts side by side, each as far as it can be read.
    fn read(
        &mut self,
        roles: &Roles,
        next: u64,
        chunk: &mut Chunk,
        most: usize,
    ) -> Result<usize, SourceError> {
        let (Batches { rows, parts, .. }, before) = (self, chunk.len());
        let fill = |mut filling: Filling<'_>| rows.fill(roles, &mut filling, next, most);
        let fillings = fillings(parts, roles, chunk);
        let filled = match most < WORTH_A_THREAD {
            true => fillings.into_iter().map(fill).collect(),
            false => side_by_side::each(fillings, fill),
        };
        let fewest = filled.into_iter().min_by_key(|&(rows, _)| rows);
        match fewest {
            Some((0, Some(error))) => Err(error),
            Some((rows, _)) => {
                chunk.truncate(before + rows);
                Ok(rows)
            }
            None => Ok(0),
        }
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
            let error = self.rows.file.error(format!("it has values of type {kind}; {what}"));
            error.in_column(roles.name(column))
        };
        let Rows { file, groups, ends } = &self.rows;
        guarded(file, || {
            for group in 0..ends.len() {
                for batch in groups.decode(file, group, 0, &[column])? {
                    let batch = batch.map_err(|why| file.error(said(&why)))?;
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
fn append(
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
