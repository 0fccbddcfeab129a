//! Common part of the readers of Arrow and Parquet files: a library decodes groups of rows to Arrow arrays.

use super::arrays::{append, flatten, refusal, show};
use super::cell::Cell;
use super::file::DataFile;
use super::guard::guarded;
use super::roles::{Roles, Target};
use super::source::{FileSource, Format};
use crate::side_by_side;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType};
use dualfit::error::SourceError;
use dualfit::source::{Chunk, Width, decoding_threads};
use std::fmt;
use std::sync::Arc;

/// Minimum number of rows of a read for which its parts are decoded on several threads.
const WORTH_A_THREAD: usize = 1 << 15;

/// Decoder of the rows of a group.
pub(crate) struct Decoder {
    /// Iterator over the decoded rows, some rows per batch.
    pub(crate) batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>,
    /// Tasks that can run in parallel before the rows are needed.
    pub(crate) ahead: Vec<Arc<dyn Ahead>>,
}

/// Work of a decoder that can be done in advance by other threads.
pub(crate) trait Ahead: Send + Sync {
    /// Prepares the rows of the group before row `end`, counted in the group. Errors are reported when the rows are
    /// decoded.
    fn prepare(&self, file: &DataFile, end: u64);
}

/// File format with rows in groups.
pub(crate) trait Groups: Clone + Send + Sync {
    /// Name of the format.
    const NAME: &'static str;

    /// True if each column can be read without the others.
    const COLUMNS_LIE_APART: bool;

    /// Returns the number of rows of each group.
    fn rows(&self) -> Vec<u64>;

    /// Decodes a group, starting at row `row` of the group. `columns`: the selected columns, in the order of the file.
    ///
    /// # Errors
    /// Errors in the file.
    fn decode(
        &self,
        file: &Arc<DataFile>,
        group: usize,
        row: u64,
        columns: &[usize],
    ) -> Result<Decoder, SourceError>;
}

/// Format of a file with rows in groups.
pub(crate) struct Batches<G> {
    rows: Rows<G>,
    /// Types of the file's columns.
    kinds: Vec<DataType>,
    /// The selected columns.
    parts: Vec<Part>,
}

/// Positions of the rows in a file.
#[derive(Clone)]
struct Rows<G> {
    file: Arc<DataFile>,
    groups: G,
    /// Number of the row after each group.
    ends: Vec<u64>,
}

/// Columns that one decoder decodes. Parts are decoded in parallel.
struct Part {
    columns: Vec<usize>,
    open: Option<Open>,
}

/// Decoded rows, and the decoder of the remaining rows of the group.
struct Open {
    /// Number of the first row of the group, of the first row of the batch, and of the row after the group.
    begin: u64,
    at: u64,
    end: u64,
    batch: Option<RecordBatch>,
    decoder: Decoder,
}

/// A part and the targets of its columns: pairs of the index of a column in the part and its target.
struct Filling<'a> {
    part: &'a mut Part,
    places: Vec<(usize, Target<'a>)>,
}

/// The next task of a thread.
enum Turn<'a> {
    /// Decodes the rows of a part.
    Fill(Filling<'a>),
    /// Does work of a decoder in advance, for the rows of its group before this row, counted in the group.
    Help(Arc<dyn Ahead>, u64),
}

impl<G: Groups> Clone for Batches<G> {
    fn clone(&self) -> Batches<G> {
        Batches { rows: self.rows.clone(), kinds: self.kinds.clone(), parts: Vec::new() }
    }
}

impl<G: Groups> Batches<G> {
    /// Creates the source of a file. `columns`: names and types of the file's columns.
    ///
    /// # Errors
    /// If there are fewer than two columns, or if the number of rows overflows u64.
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

/// Returns the parts with the targets of their columns in a chunk.
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

    /// Appends at most `most` rows, starting at row `next`. Returns the number of appended rows, and the error if the
    /// row after them cannot be read.
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

    /// Appends rows of one batch. Returns their number.
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

    /// Returns a batch of rows that begins with row `next`, and the number of the row after its group.
    fn batch(&self, part: &mut Part, next: u64) -> Result<(RecordBatch, u64), SourceError> {
        let mut open = self.opened(part, next)?;
        let passed = (next - open.at) as usize;
        let rest = open.batch.take().map(|batch| batch.slice(passed, batch.num_rows() - passed));
        let batch = match rest.filter(|rest| rest.num_rows() > 0).map(Ok) {
            Some(rest) => Some(rest),
            None => open.decoder.batches.find(|found| !matches!(found, Ok(b) if b.num_rows() == 0)),
        };
        let few = || self.file.error("it is damaged: a group of rows has fewer than it says");
        let batch = batch.ok_or_else(few)?.map_err(|why| self.file.error(said(&why)))?;
        let end = open.end;
        part.open = Some(Open { at: next, batch: Some(batch.clone()), ..open });
        Ok((batch, end))
    }

    /// Returns the decoder of the group of row `next`, positioned at this row. An open group is taken from the part.
    fn opened(&self, part: &mut Part, next: u64) -> Result<Open, SourceError> {
        if let Some(open) = part.open.take().filter(|open| open.has(next)) {
            return Ok(open);
        }
        let group = self.ends.partition_point(|&end| end <= next);
        let begin = group.checked_sub(1).map_or(0, |before| self.ends[before]);
        let decoder = self.groups.decode(&self.file, group, next - begin, &part.columns)?;
        Ok(Open { begin, at: next, end: self.ends[group], batch: None, decoder })
    }

    /// Opens the parts at row `next`. Returns the number of rows to read in parallel: at most `most`, and at most the
    /// rest of the group for a decoder with work in advance, which is possible only within one group.
    fn open(&self, parts: &mut [Part], next: u64, most: usize) -> usize {
        let mut rows = most;
        for part in parts {
            // An error is ignored here: it occurs again when the row is read.
            part.open = guarded(&self.file, || self.opened(part, next)).ok();
            if let Some(open) = part.open.as_ref().filter(|open| !open.decoder.ahead.is_empty()) {
                rows = rows.min(usize::try_from(open.end - next).unwrap_or(usize::MAX));
            }
        }
        rows
    }
}

impl Part {
    /// Returns tasks that help to decode the rows before row `end`.
    fn ahead<'a>(&self, end: u64) -> Vec<Turn<'a>> {
        let help = |open: &Open| {
            let end = end.saturating_sub(open.begin);
            open.decoder.ahead.iter().map(|ahead| Turn::Help(ahead.clone(), end)).collect()
        };
        self.open.as_ref().map(help).unwrap_or_default()
    }

    /// Adds the name of the column to an error if the part has only one column.
    fn named(&self, roles: &Roles, error: SourceError) -> SourceError {
        match self.columns[..] {
            [column] => error.in_column(roles.name(column)),
            _ => error,
        }
    }
}

impl Open {
    /// Returns true if a row is in the group, and in the batch or directly after it.
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

    /// Reads the parts in parallel, each up to its first error. Threads without a part help to decode the others.
    fn read(
        &mut self,
        roles: &Roles,
        next: u64,
        chunk: &mut Chunk,
        most: usize,
    ) -> Result<usize, SourceError> {
        let (Batches { rows, parts, .. }, before) = (self, chunk.len());
        let alone = most < WORTH_A_THREAD || next >= rows.count() || decoding_threads() == 1;
        let most = if alone { most } else { rows.open(parts, next, most) };
        let end = next.saturating_add(most as u64);
        let ahead: Vec<_> =
            parts.iter().filter(|_| !alone).flat_map(|part| part.ahead(end)).collect();
        let turns = fillings(parts, roles, chunk).into_iter().map(Turn::Fill);
        let turns: Vec<Turn<'_>> = turns.chain(ahead).collect();
        let turn = |turn| match turn {
            Turn::Fill(mut filling) => Some(rows.fill(roles, &mut filling, next, most)),
            Turn::Help(ahead, end) => {
                ahead.prepare(&rows.file, end);
                None
            }
        };
        let filled: Vec<_> = match alone {
            true => turns.into_iter().filter_map(turn).collect(),
            false => side_by_side::each(turns, turn).into_iter().flatten().collect(),
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
                for batch in groups.decode(file, group, 0, &[column])?.batches {
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

/// Formats an error of the Arrow or Parquet library. If it wraps an error of dualfit's own reader, only that message
/// is returned.
pub(crate) fn said(error: &dyn fmt::Display) -> String {
    let text = error.to_string();
    match text.split_once("External: ") {
        Some((_, ours)) => ours.to_string(),
        None => format!("it cannot be decoded: {text}"),
    }
}
