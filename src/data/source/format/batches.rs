//! Rows that a library decodes in groups to arrays of Arrow: what the readers of Arrow and of Parquet files
//! have in common.

use super::file::DataFile;
use super::guard::guarded;
use super::roles::{Roles, Target, expect_chunk};
use crate::data::source::{Chunk, Shape, Source, Width};
use crate::error::changed::SourceChange;
use crate::error::source::SourceError;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType};
use std::fmt;
use std::sync::Arc;

/// Decodes the rows of a group, some at a time.
pub(crate) type Decoder = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// Groups of rows of a file.
pub(crate) trait Groups: Send {
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

/// A file of such groups as a source.
pub(crate) struct Batches<G> {
    file: Arc<DataFile>,
    pub(crate) roles: Roles,
    groups: G,
    /// Rows of each group, and of all.
    rows: Vec<u64>,
    points: u64,
    /// Types of the file's columns.
    kinds: Vec<DataType>,
    /// The group that is read, and the rows of it that have been.
    group: usize,
    row: u64,
    /// Of the group, once it is needed: what has been decoded and not read, and what decodes the rest.
    batch: Option<RecordBatch>,
    decoder: Option<Decoder>,
    /// What was wrong; it stays wrong until the source is rewound.
    failed: Option<SourceError>,
}

impl<G> fmt::Debug for Batches<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = f.debug_struct("Batches");
        parts.field("file", &self.file).field("roles", &self.roles).finish_non_exhaustive()
    }
}

impl<G: Groups> Batches<G> {
    /// `columns`: names and types of the file's columns.
    ///
    /// # Errors
    /// If there are not two columns, or more rows than numbers count.
    pub(crate) fn new(
        file: Arc<DataFile>,
        groups: G,
        columns: impl IntoIterator<Item = (String, DataType)>,
    ) -> Result<Batches<G>, SourceError> {
        let rows = groups.rows();
        let points = rows.iter().try_fold(0_u64, |sum, &rows| sum.checked_add(rows));
        let points = points.ok_or_else(|| file.error("its numbers of rows are damaged"))?;
        let (names, kinds): (Vec<String>, Vec<DataType>) = columns.into_iter().unzip();
        let refused = kinds.iter().map(refusal).collect();
        let roles = Roles::new(names, &file.place())?.refusing(refused);
        let (batch, decoder, failed) = (None, None, None);
        Ok(Batches {
            file,
            roles,
            groups,
            rows,
            points,
            kinds,
            group: 0,
            row: 0,
            batch,
            decoder,
            failed,
        })
    }

    pub(crate) fn place(&self) -> String {
        self.file.place()
    }

    pub(crate) fn restart(&mut self) -> Result<(), SourceError> {
        self.at_group(0);
        self.failed = None;
        Ok(())
    }

    fn at_group(&mut self, group: usize) {
        (self.group, self.row, self.batch, self.decoder) = (group, 0, None, None);
    }

    /// Rows of the group that have not been read; none after the last.
    fn left(&self) -> Option<u64> {
        self.rows.get(self.group).map(|rows| rows.saturating_sub(self.row))
    }

    /// Appends rows of this group, which has some left.
    fn append(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        let columns = self.roles.used();
        let batch = match self.batch.take().filter(|batch| batch.num_rows() > 0) {
            Some(batch) => batch,
            None => self.decode(&columns)?,
        };
        let left = self.left().and_then(|left| usize::try_from(left).ok()).unwrap_or(usize::MAX);
        let count = batch.num_rows().min(most).min(left);
        let mut arrays = Vec::new();
        batch.columns().iter().for_each(|array| flatten(array, None, &mut arrays));
        for (role, column) in self.roles.all() {
            let array = columns.iter().position(|&used| used == column).and_then(|i| arrays.get(i));
            let place = array.zip(Target::of(chunk, role));
            if !place.is_some_and(|((array, nulls), out)| append(array, nulls.as_ref(), count, out))
            {
                let error = self.file.error("it is damaged: its numbers are of another type");
                return Err(error.in_column(self.roles.name(column)));
            }
        }
        self.batch = Some(batch.slice(count, batch.num_rows() - count));
        self.row += count as u64;
        Ok(count)
    }

    /// The next rows of the group.
    fn decode(&mut self, columns: &[usize]) -> Result<RecordBatch, SourceError> {
        for &column in columns {
            if let Some(why) = self.kinds.get(column).and_then(refusal) {
                return Err(self.file.error(why).in_column(self.roles.name(column)));
            }
        }
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            none => none.insert(self.groups.decode(&self.file, self.group, self.row, columns)?),
        };
        match decoder.find(|batch| !matches!(batch, Ok(batch) if batch.num_rows() == 0)) {
            Some(Ok(batch)) => Ok(batch),
            Some(Err(why)) => Err(self.file.error(said(&why))),
            None => Err(self.file.error("it is damaged: a group of rows has fewer than it says")),
        }
    }

    /// An error with the point at which it was met.
    fn here(&self, error: SourceError) -> SourceError {
        error.at_row(self.rows.iter().take(self.group).sum::<u64>() + self.row)
    }
}

impl<G: Groups> Source for Batches<G> {
    fn shape(&self) -> Shape {
        let width = |column: usize| match self.kinds.get(column) {
            Some(DataType::Float32) => Width::F32,
            _ => Width::F64,
        };
        self.roles.shape(width, Some(self.points))
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.restart()
    }

    fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        let place = self.place();
        expect_chunk(chunk, &self.roles, &place)?;
        let before = chunk.len();
        let mut read = 0;
        while read < most
            && let Some(left) = self.left()
        {
            if left == 0 {
                self.at_group(self.group + 1);
                continue;
            }
            let appended = match self.failed.take() {
                Some(error) => Err(error),
                None => {
                    guarded(&place, || self.append(chunk, most - read)).map_err(|e| self.here(e))
                }
            };
            match appended {
                Ok(rows) => read += rows,
                Err(error) => {
                    chunk.truncate(before + read);
                    (self.batch, self.decoder) = (None, None);
                    self.failed = Some(error.clone());
                    return if read > 0 { Ok(read) } else { Err(error) };
                }
            }
        }
        Ok(read)
    }

    /// Groups that are passed over are not decoded.
    fn skip(&mut self, count: u64) -> Result<u64, SourceError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let mut skipped = 0;
        while skipped < count
            && let Some(left) = self.left()
        {
            let rows = left.min(count - skipped);
            skipped += rows;
            if rows == left {
                self.at_group(self.group + 1);
                continue;
            }
            self.row += rows;
            // Beyond what has been decoded it begins anew, there.
            let decoded = self.batch.take().filter(|batch| rows < batch.num_rows() as u64);
            match decoded {
                Some(batch) => {
                    self.batch = Some(batch.slice(rows as usize, batch.num_rows() - rows as usize));
                }
                None => self.decoder = None,
            }
        }
        Ok(skipped)
    }

    fn unchanged(&self) -> Result<(), SourceChange> {
        self.file.unchanged()
    }

    fn fingerprint(&self) -> Result<String, SourceError> {
        Ok(format!("{} {}; {}", G::NAME, self.roles.text(), self.file.fingerprint()?))
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
