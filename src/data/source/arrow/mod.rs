//! Arrow IPC files and streams as a source.

mod messages;
mod values;

use super::format::file::DataFile;
use super::format::guard::guarded;
use super::format::roles::{Role, Roles, choosing_columns, expect_chunk};
use super::{Chunk, Shape, Source, Width};
use crate::error::changed::SourceChange;
use crate::error::source::SourceError;
use arrow_array::RecordBatch;
use arrow_schema::DataType;
use messages::Messages;
use std::path::Path;
use std::sync::Arc;

/// A file in Arrow's IPC format (`.arrow`, `.feather` of version 2) or of its stream format
/// (`.arrows`) as a source. Columns go by name or by number; x is the first and y the second until
/// something else is said. They are floating-point numbers (f64 and f32) or integers; a null is NaN,
/// with which the fit does as [`Missing`](crate::Missing) says. Batches may be packed with LZ4 or
/// Zstandard.
///
/// A batch is read as a whole, so that batches should be small beside the memory that there is.
///
/// ```no_run
/// use dualfit::ArrowSource;
/// let source = ArrowSource::open("run7.arrow")?.x(["t"])?.y("signal")?.sigma("error")?;
/// # Ok::<(), dualfit::SourceError>(())
/// ```
#[derive(Debug)]
pub struct ArrowSource {
    file: Arc<DataFile>,
    messages: Messages,
    roles: Roles,
    points: u64,
    /// The batch that is read, and the rows of it that have been.
    batch: usize,
    row: u64,
    /// The batch, once it is needed, with the columns that are used.
    read: Option<RecordBatch>,
}

choosing_columns!(ArrowSource);

impl ArrowSource {
    /// # Errors
    /// If the file cannot be opened, is damaged, or has not two columns.
    pub fn open(path: impl AsRef<Path>) -> Result<ArrowSource, SourceError> {
        let file = Arc::new(DataFile::open(path.as_ref())?);
        let place = file.place();
        let messages = guarded(&place, || Messages::find(&file))?;
        let rows = messages.batches.iter().map(|batch| batch.rows);
        let points = rows.into_iter().try_fold(0_u64, |sum, rows| sum.checked_add(rows));
        let points = points.ok_or_else(|| file.error("its numbers of rows are damaged"))?;
        let fields = messages.schema.fields();
        let names = fields.iter().map(|field| field.name().clone()).collect();
        let refused = fields.iter().map(|field| values::refusal(field.data_type())).collect();
        let roles = Roles::new(names, &place)?.refusing(refused);
        Ok(ArrowSource { file, messages, roles, points, batch: 0, row: 0, read: None })
    }

    fn place(&self) -> String {
        self.file.place()
    }

    fn restart(&mut self) -> Result<(), SourceError> {
        self.at_batch(0);
        Ok(())
    }

    fn at_batch(&mut self, batch: usize) {
        (self.batch, self.row, self.read) = (batch, 0, None);
    }

    /// Rows of the batch that have not been read; none after the last.
    fn left(&self) -> Option<u64> {
        self.messages.batches.get(self.batch).map(|batch| batch.rows.saturating_sub(self.row))
    }

    /// Appends rows of this batch, all or none.
    fn append(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        let used = self.roles.used();
        let read = match self.read.take() {
            Some(read) => read,
            None => {
                let Some(&batch) = self.messages.batches.get(self.batch) else { return Ok(0) };
                self.messages.read(&self.file, batch, &used)?
            }
        };
        let (before, start) = (chunk.len(), self.row as usize);
        let count = read.num_rows().saturating_sub(start).min(most);
        for (role, column) in self.roles.all() {
            let place = used.iter().position(|used| *used == column);
            let array = place.and_then(|place| read.columns().get(place));
            let appended = array.is_some_and(|array| match role {
                Role::X(i) => {
                    chunk.x.get_mut(i).is_some_and(|x| values::append(array, start, count, x))
                }
                Role::Y => values::append(array, start, count, &mut chunk.y),
                Role::Sigma => {
                    let sigma = chunk.sigma.as_mut();
                    sigma.is_some_and(|sigma| values::append_f64(array, start, count, sigma))
                }
            });
            if !appended {
                chunk.truncate(before);
                let kind = self.messages.schema.fields().get(column).map(|field| field.data_type());
                let why = kind.and_then(values::refusal).unwrap_or_else(|| "it is damaged".into());
                return Err(self.file.error(why).in_column(self.roles.name(column)));
            }
        }
        self.read = Some(read);
        self.row += count as u64;
        Ok(count)
    }

    /// An error with the point at which it was met.
    fn here(&self, error: SourceError) -> SourceError {
        let before: u64 =
            self.messages.batches.iter().take(self.batch).map(|batch| batch.rows).sum();
        error.at_row(before + self.row)
    }
}

impl Source for ArrowSource {
    fn shape(&self) -> Shape {
        let fields = self.messages.schema.fields();
        let kind = |column: usize| fields.get(column).map(|field| field.data_type());
        let width = |column| match kind(column) {
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
        while read < most {
            match self.left() {
                None => break,
                Some(0) => self.at_batch(self.batch + 1),
                Some(_) => match guarded(&place, || self.append(chunk, most - read)) {
                    Ok(0) => return Err(self.here(self.file.error("a batch has too few rows"))),
                    Ok(rows) => read += rows,
                    Err(error) => {
                        self.read = None;
                        chunk.truncate(before + read);
                        return if read > 0 { Ok(read) } else { Err(self.here(error)) };
                    }
                },
            }
        }
        Ok(read)
    }

    fn skip(&mut self, count: u64) -> Result<u64, SourceError> {
        let mut skipped = 0;
        while let Some(left) = self.left().filter(|_| skipped < count) {
            let rows = left.min(count - skipped);
            skipped += rows;
            self.row += rows;
            if rows == left {
                self.at_batch(self.batch + 1);
            }
        }
        Ok(skipped)
    }

    fn unchanged(&self) -> Result<(), SourceChange> {
        self.file.unchanged()
    }

    fn fingerprint(&self) -> Result<String, SourceError> {
        Ok(format!("arrow {}; {}", self.roles.text(), self.file.fingerprint()?))
    }
}
