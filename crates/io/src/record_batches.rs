//! Arrow record batches as a source, from an iterator of the caller: for query engines, table formats and object
//! stores.

use crate::format::arrays::{append, refusal};
use crate::format::file::DataFile;
use crate::format::roles::{Roles, Target};
use crate::format::source::{FileSource, Format, file_source};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, SchemaRef};
use dualfit::error::SourceError;
use dualfit::source::{Chunk, Fingerprint, Width};
use std::fmt::Display;
use std::iter;
use std::sync::Arc;

/// Name of the source in error messages.
const PLACE: &str = "record batches";

type Batches<'a> = Box<dyn Iterator<Item = Result<RecordBatch, String>> + Send + 'a>;

/// Arrow record batches as a source. An iterator of the caller returns the batches, for example from a query engine,
/// table format, object store or memory. It is opened again for each pass. Columns are selected by name or by number;
/// by default x is the first column and y the second. Supported types are floating-point numbers (f64 and f32) and
/// integers. A null is read as NaN; [`Missing`](dualfit::Missing) selects its treatment. Batches may have any number of
/// rows, including 0. The type of a batch is defined in [`arrow_array`](crate::arrow_array). An engine with another
/// major version of that crate can pass batches as bytes, written by its `StreamWriter` and read by the `StreamReader`
/// of the version here (crate `arrow-ipc`).
///
/// For files on a disk, [`ParquetSource`](crate::ParquetSource) and [`ArrowSource`](crate::ArrowSource) are simpler and
/// faster; for folders, [`DirectorySource`](crate::DirectorySource).
///
/// ```
/// use dualfit_io::{arrow_array::ArrayRef, arrow_array::Float64Array, arrow_array::RecordBatch};
/// use dualfit_io::RecordBatchSource;
/// use dualfit::{CurveFit, Stream};
/// use std::{convert::Infallible, sync::Arc};
///
/// let batch = |number: u32| {
///     let t: Vec<f64> = (0..1000).map(|i| 1e-3 * f64::from(1000 * number + i)).collect();
///     let signal = Float64Array::from_iter_values(t.iter().map(|t| 2.0 * (-0.5 * t).exp()));
///     let t: ArrayRef = Arc::new(Float64Array::from(t));
///     RecordBatch::try_from_iter([("t", t), ("signal", Arc::new(signal) as ArrayRef)])
/// };
/// let schema = batch(0)?.schema();
/// // Replace this by code that opens files, runs a query or reads a store.
/// let open = || Ok::<_, Infallible>((0..5).map(batch));
/// let source = RecordBatchSource::new(schema, open)?;
/// let source = source.x(["t"])?.y("signal")?.points(5000);
///
/// let fit = CurveFit::new(|t, [a, b]| a * (-b * t).exp()).fit_stream(Stream::new(source), [1.0, 1.0])?;
/// assert!((fit.params()[1] - 0.5).abs() < 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Requirements on the rows
///
/// The rows and their order must be the same in each pass: a query needs an `ORDER BY` if its engine works in parallel.
/// A pass with another number of rows, or with different first rows, ends the fit with
/// [`Error::SourceChanged`](dualfit::Error::SourceChanged). All batches must have the columns of the schema, in its
/// order, and the selected columns must have its types. Project to the selected columns to save the decoding of the
/// others.
///
/// # Errors during reading
///
/// Reading fails with the errors of the closure and of the iterator, and if a batch has other columns. Errors contain
/// the number of the row, counted from 0 over all batches. If the closure or the iterator panics, the fit ends with
/// [`Error::SourcePanicked`](dualfit::Error::SourcePanicked).
#[derive(Debug)]
pub struct RecordBatchSource<'a> {
    reader: FileSource<Handed<'a>>,
}

file_source!(RecordBatchSource<'_>);

impl<'a> RecordBatchSource<'a> {
    /// Creates a source. `schema`: the columns of the batches. `open` returns a new iterator over all batches. It is
    /// called on the reading thread when the first row of a pass is read, and for the
    /// [fingerprint](dualfit::source::Source::fingerprint).
    ///
    /// # Errors
    /// If the schema has fewer than two columns. `open` is not called yet.
    pub fn new<I, T, E>(
        schema: impl Into<SchemaRef>,
        open: impl Fn() -> Result<I, E> + Send + 'a,
    ) -> Result<RecordBatchSource<'a>, SourceError>
    where
        I: IntoIterator<Item = Result<RecordBatch, T>>,
        I::IntoIter: Send + 'a,
        T: Display,
        E: Display,
    {
        let schema = schema.into();
        let (names, refused) =
            schema.fields().iter().map(|f| (f.name().clone(), refusal(f.data_type()))).unzip();
        let roles = Roles::new(names, PLACE)?.refusing(refused);
        let open = move || -> Result<Batches<'a>, SourceError> {
            let batches =
                open().map_err(|why| refused_at(0, format!("they cannot be opened: {why}")))?;
            let told = |batch: Result<RecordBatch, T>| batch.map_err(|why| why.to_string());
            Ok(Box::new(batches.into_iter().map(told)))
        };
        let columns = Columns { schema, used: Vec::new() };
        let handed = Handed {
            open: Box::new(open),
            columns,
            points: None,
            known: None,
            is_slow: true,
            rows: None,
        };
        Ok(RecordBatchSource { reader: FileSource::new(handed, roles) })
    }

    /// Sets the total number of rows, if it is known, for the progress of the fit. A different number of rows in the
    /// batches is then an error.
    pub fn points(mut self, points: u64) -> Self {
        self.reader.format.points = Some(points);
        self
    }

    /// Sets a fingerprint of the rows: a text that changes when the rows change, such as the version of a table. A
    /// checkpoint is resumed only with the same text. Without a text, `open` is called additionally before the first
    /// pass and at the end of each pass, and the first 4096 rows are compared; set a text if this takes long.
    pub fn identity(mut self, text: impl Into<String>) -> Self {
        self.reader.format.known = Some(text.into());
        self
    }

    /// Declares that the batches are in memory, so that reading them again costs nothing: the fit keeps no points
    /// between passes. By default a fit keeps points up to its [memory limit](dualfit::Stream::memory_limit).
    pub fn in_memory(mut self) -> Self {
        self.reader.format.is_slow = false;
        self
    }
}

/// Rows that the caller passes.
struct Handed<'a> {
    open: Box<dyn Fn() -> Result<Batches<'a>, SourceError> + Send + 'a>,
    columns: Columns,
    points: Option<u64>,
    /// Fingerprint set by the caller.
    known: Option<String>,
    is_slow: bool,
    /// The open iterator; `None` before the first row, and after an error or a panic of the iterator.
    rows: Option<Rows<'a>>,
}

/// Columns that the batches must have.
struct Columns {
    schema: SchemaRef,
    /// The selected columns.
    used: Vec<usize>,
}

/// An open iterator over batches.
struct Rows<'a> {
    batches: Batches<'a>,
    /// Remaining rows of the last batch, at least one.
    rest: Option<RecordBatch>,
}

fn refused_at(row: u64, message: impl Into<String>) -> SourceError {
    SourceError::new(PLACE, message).at_row(row)
}

impl Columns {
    /// Returns an error if a batch has other columns. `row`: number of its first row.
    fn suit(&self, batch: &RecordBatch, row: u64) -> Result<(), SourceError> {
        let found = batch.schema_ref();
        if Arc::ptr_eq(found, &self.schema) {
            return Ok(());
        }
        let names = |fields: &arrow_schema::Fields| -> Vec<String> {
            fields.iter().map(|field| field.name().clone()).collect()
        };
        let same = |(a, b): (&Arc<Field>, &Arc<Field>)| a.name() == b.name();
        let (has, must) = (found.fields(), self.schema.fields());
        if has.len() != must.len() || !has.iter().zip(must).all(same) {
            let message = format!(
                "a batch has the columns {:?}, the schema {:?}; let all batches have the same",
                names(has),
                names(must)
            );
            return Err(refused_at(row, message));
        }
        for &column in &self.used {
            let (has, must) = (has[column].data_type(), must[column].data_type());
            if has != must {
                let message = format!(
                    "a batch has values of type {has}, the schema {must}; let all batches have the same"
                );
                return Err(refused_at(row, message).in_column(self.schema.field(column).name()));
            }
        }
        Ok(())
    }
}

impl Rows<'_> {
    /// Passes the next rows, at most `most` of them and starting at row `next`, to `take`: as a batch and the number of
    /// its first rows to use. Returns this number; 0 at the end.
    fn advance(
        &mut self,
        columns: &Columns,
        next: u64,
        most: usize,
        take: impl FnOnce(&RecordBatch, usize) -> Result<(), SourceError>,
    ) -> Result<usize, SourceError> {
        let new = || loop {
            let Some(batch) = self.batches.next() else {
                // An iterator that has ended is dropped, so that it is not called again.
                self.batches = Box::new(iter::empty());
                return Ok(None);
            };
            let told = |why| refused_at(next, format!("the next batch cannot be read: {why}"));
            let batch = batch.map_err(told)?;
            columns.suit(&batch, next)?;
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        };
        let Some(batch) = self.rest.take().map_or_else(new, |rest| Ok(Some(rest)))? else {
            return Ok(0);
        };
        let (rows, count) = (batch.num_rows(), batch.num_rows().min(most));
        take(&batch, count)?;
        self.rest = (count < rows).then(|| batch.slice(count, rows - count));
        Ok(count)
    }

    /// Appends the next rows to a chunk.
    fn read(
        &mut self,
        columns: &Columns,
        roles: &Roles,
        next: u64,
        chunk: &mut Chunk,
        most: usize,
    ) -> Result<usize, SourceError> {
        self.advance(columns, next, most, |batch, count| {
            for ((_, column), mut target) in roles.all().zip(Target::all(chunk)) {
                let array = batch.column(column);
                if !append(array, array.nulls(), count, &mut target) {
                    let message = "its numbers are wider than the chunk's";
                    return Err(refused_at(next, message).in_column(roles.name(column)));
                }
            }
            Ok(())
        })
    }
}

impl<'a> Handed<'a> {
    fn opened(&self) -> Result<Rows<'a>, SourceError> {
        Ok(Rows { batches: (self.open)()?, rest: None })
    }

    /// Calls `step` for the rows from row `next` on. The iterator is kept only if `step` succeeds: after an error or a
    /// panic, it is not read again.
    fn step(
        &mut self,
        next: u64,
        step: impl FnOnce(&mut Rows<'a>, &Columns) -> Result<usize, SourceError>,
    ) -> Result<usize, SourceError> {
        let mut rows = match self.rows.take() {
            Some(rows) => rows,
            None if next == 0 => self.opened()?,
            None => {
                return Err(refused_at(next, "their iterator panicked; rewind the source"));
            }
        };
        let done = step(&mut rows, &self.columns)?;
        self.rows = Some(rows);
        Ok(done)
    }
}

impl Format for Handed<'_> {
    fn layout(&self) -> String {
        PLACE.into()
    }

    fn files(&self) -> Vec<&DataFile> {
        Vec::new()
    }

    /// Returns names and types of the selected columns, and the fingerprint set by the caller or else a digest of the
    /// first rows.
    fn contents(&self, roles: &Roles) -> Result<String, SourceError> {
        /// Maximum number of rows in the digest.
        const LOOKED_AT: usize = 4096;
        let field = |&column: &usize| {
            let field = self.columns.schema.field(column);
            format!("{:?} {}", field.name(), field.data_type())
        };
        let fields: Vec<String> = self.columns.used.iter().map(field).collect();
        let fields = fields.join(", ");
        if let Some(known) = &self.known {
            return Ok(format!("{fields}; {known}"));
        }
        let mut rows = self.opened()?;
        let mut chunk = Chunk::new(&roles.shape(|column| self.width(column), None), 0);
        loop {
            let (next, most) = (chunk.len() as u64, LOOKED_AT - chunk.len());
            if most == 0 || rows.read(&self.columns, roles, next, &mut chunk, most)? == 0 {
                break;
            }
        }
        let mut digest = Fingerprint::new();
        for values in chunk.x.iter().chain([&chunk.y]).map(|column| column.values()) {
            values.to_f64().iter().for_each(|value| digest.number(value.to_bits()));
        }
        chunk.sigma.iter().flatten().for_each(|sigma| digest.number(sigma.to_bits()));
        Ok(format!("{fields}; first {} rows {}", chunk.len(), digest.text()))
    }

    fn width(&self, column: usize) -> Width {
        match self.columns.schema.field(column).data_type() {
            DataType::Float32 => Width::F32,
            _ => Width::F64,
        }
    }

    fn points(&self) -> Option<u64> {
        self.points
    }

    /// Closes the open iterator. The next iterator is opened by the next read.
    fn rewind(&mut self, roles: &Roles) -> Result<(), SourceError> {
        self.rows = None;
        self.columns.used = roles.used();
        self.columns.used.iter().try_for_each(|column| roles.find(column).map(drop))
    }

    fn read(
        &mut self,
        roles: &Roles,
        next: u64,
        chunk: &mut Chunk,
        most: usize,
    ) -> Result<usize, SourceError> {
        self.step(next, |rows, columns| rows.read(columns, roles, next, chunk, most))
    }

    fn skip(&mut self, next: u64, count: u64) -> Result<u64, SourceError> {
        let most = usize::try_from(count).unwrap_or(usize::MAX);
        let skipped =
            self.step(next, |rows, columns| rows.advance(columns, next, most, |_, _| Ok(())));
        skipped.map(|rows| rows as u64)
    }

    fn is_slow(&self) -> bool {
        self.is_slow
    }
}
