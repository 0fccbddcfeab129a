//! Arrow IPC files and streams as a source.
//!
//! A file contains the same messages as a stream. The positions of the batches of rows are found by skipping from
//! message to message without reading the contents of the batches.

use crate::format::batches::{Batches, Decoder, Groups};
use crate::format::file::DataFile;
use crate::format::guard::{check_buffers, guarded};
use crate::format::source::{FileSource, file_source};
use arrow_array::RecordBatch;
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::reader::read_record_batch;
use arrow_ipc::{MessageHeader, MetadataVersion, convert, root_as_message};
use arrow_schema::{Schema, SchemaRef};
use dualfit::error::SourceError;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Maximum length of the metadata of a message, in bytes. Longer metadata are treated as damage.
const LONGEST_DESCRIPTION: usize = 64 << 20;

/// Maximum size of a batch, in bytes. A batch is decoded as a whole, and a larger one would exceed the memory that a
/// stream may use.
const LARGEST_BATCH: u64 = 1 << 30;

/// First and last bytes of a file in Arrow's file format. A stream does not contain them.
const MAGIC: &[u8; 6] = b"ARROW1";

/// A file in Arrow's IPC file format (`.arrow`, `.feather` of version 2) or stream format (`.arrows`) as a source.
/// Columns are selected by name or by number; by default x is the first column and y the second. Supported types are
/// floating-point numbers (f64 and f32) and integers. A null is read as NaN; [`Missing`](dualfit::Missing) selects its
/// treatment. Batches may be compressed with LZ4 or Zstandard.
///
/// A batch is decoded as a whole. Batches should therefore be small compared with the memory.
///
/// ```no_run
/// use dualfit_io::ArrowSource;
/// let source = ArrowSource::open("run7.arrow")?.x(["t"])?.y("signal")?.sigma("error")?;
/// # Ok::<(), dualfit::error::SourceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ArrowSource {
    pub(crate) reader: FileSource<Batches<Messages>>,
}

file_source!(ArrowSource);

impl ArrowSource {
    /// # Errors
    /// If the file cannot be opened, is damaged, or has fewer than two columns.
    pub fn open(path: impl AsRef<Path>) -> Result<ArrowSource, SourceError> {
        let file = Arc::new(DataFile::open(path.as_ref())?);
        let messages = guarded(&file, || Messages::find(&file))?;
        let schema = messages.schema.clone();
        let columns = schema.fields().iter();
        let columns = columns.map(|field| (field.name().clone(), field.data_type().clone()));
        Ok(ArrowSource { reader: Batches::source(file, messages, columns)? })
    }
}

/// Position and size of a batch of rows.
#[derive(Clone, Copy)]
struct Batch {
    /// Position of the metadata in the file; `description` and `body`: lengths of the metadata and of the body, in
    /// bytes.
    at: u64,
    description: usize,
    body: u64,
    rows: u64,
}

/// The structure of a file.
#[derive(Clone)]
pub(crate) struct Messages {
    schema: SchemaRef,
    version: MetadataVersion,
    batches: Arc<[Batch]>,
}

fn damaged(file: &DataFile, why: impl std::fmt::Display) -> SourceError {
    file.error(format!("it is no Arrow file or stream, or damaged: {why}"))
}

/// Returns the position and the length of the metadata of the message at `at`; `None` at the end. The length precedes
/// the metadata.
fn description(file: &DataFile, at: u64) -> Result<Option<(u64, usize)>, SourceError> {
    /// Marker before each length. Files older than Arrow 0.15 do not have it.
    const CONTINUATION: u32 = u32::MAX;
    let word = |at| -> Result<u32, SourceError> {
        let word = file.bytes(at, 4)?;
        Ok(u32::from_le_bytes(word.first_chunk().copied().unwrap_or_default()))
    };
    if at == file.length() {
        return Ok(None);
    }
    let (at, length) = match word(at)? {
        CONTINUATION => (at + 8, word(at + 4)?),
        length => (at + 4, length),
    };
    let left = file.length().saturating_sub(at);
    match length as usize {
        0 => Ok(None),
        length if length as u64 > left => Err(damaged(file, "it is cut short")),
        length if length > LONGEST_DESCRIPTION => Err(damaged(file, "a message is too long")),
        length => Ok(Some((at, length))),
    }
}

impl Messages {
    fn find(file: &DataFile) -> Result<Messages, SourceError> {
        let mut head = [0; MAGIC.len()];
        let is_file = file.read_exact(0, &mut head).is_ok() && head == *MAGIC;
        let end = file.length().saturating_sub(MAGIC.len() as u64);
        if is_file && (end < 8 || file.bytes(end, MAGIC.len())? != MAGIC) {
            return Err(damaged(file, "it is cut short"));
        }
        let mut at = if is_file { 8 } else { 0 };
        let (mut schema, mut batches) = (None, Vec::new());
        while let Some((start, length)) = description(file, at)? {
            let text = file.bytes(start, length)?;
            let message = root_as_message(&text).map_err(|why| damaged(file, why))?;
            let body = u64::try_from(message.bodyLength()).ok();
            let next = body.and_then(|body| body.checked_add(start + length as u64));
            let next = next.filter(|&next| next <= file.length());
            at = next.ok_or_else(|| damaged(file, "it is cut short"))?;
            match message.header_type() {
                MessageHeader::Schema => {
                    let found = message.header_as_schema().filter(|_| schema.is_none());
                    let found = found.ok_or_else(|| damaged(file, "it has two schemas"))?;
                    let found = convert::try_fb_to_schema(found);
                    let found: Schema = found.map_err(|why| damaged(file, why))?;
                    schema = Some((Arc::new(found), message.version()));
                }
                MessageHeader::RecordBatch => {
                    let rows = message.header_as_record_batch().map(|batch| batch.length());
                    let rows = rows.and_then(|rows| u64::try_from(rows).ok());
                    let rows = rows.ok_or_else(|| damaged(file, "a batch has no length"))?;
                    let body = body.unwrap_or_default();
                    batches.push(Batch { at: start, description: length, body, rows });
                }
                // Dictionaries are skipped: columns that use them are not read.
                MessageHeader::DictionaryBatch => {}
                _ => return Err(damaged(file, "it has a message that is neither schema nor rows")),
            }
        }
        let (schema, version) = schema.ok_or_else(|| damaged(file, "it has no schema"))?;
        Ok(Messages { schema, version, batches: batches.into() })
    }

    /// Reads the columns with the numbers `columns` of a batch.
    fn read(
        &self,
        file: &DataFile,
        batch: Batch,
        columns: &[usize],
    ) -> Result<RecordBatch, SourceError> {
        if batch.body > LARGEST_BATCH {
            let mebibytes = batch.body >> 20;
            let message =
                format!("a batch of rows has {mebibytes} MiB; write it in smaller batches");
            return Err(file.error(message));
        }
        let text = file.bytes(batch.at, batch.description)?;
        let message = root_as_message(&text).map_err(|why| damaged(file, why))?;
        let rows = message.header_as_record_batch();
        let rows = rows.ok_or_else(|| damaged(file, "it changed while it was read"))?;
        let mut body = MutableBuffer::from_len_zeroed(batch.body as usize);
        let start = batch.at + batch.description as u64;
        file.read_exact(start, body.as_slice_mut()).map_err(|(_, error)| error)?;
        let body = Buffer::from(body);
        check_buffers(rows, &body).map_err(|why| damaged(file, why))?;
        let (schema, none) = (self.schema.clone(), HashMap::new());
        read_record_batch(&body, rows, schema, &none, Some(columns), &self.version)
            .map_err(|why| damaged(file, why))
    }
}

impl Groups for Messages {
    const NAME: &'static str = "arrow";
    const COLUMNS_LIE_APART: bool = false;

    fn rows(&self) -> Vec<u64> {
        self.batches.iter().map(|batch| batch.rows).collect()
    }

    fn decode(
        &self,
        file: &Arc<DataFile>,
        group: usize,
        row: u64,
        columns: &[usize],
    ) -> Result<Decoder, SourceError> {
        let batch = self.batches.get(group).map(|&batch| self.read(file, batch, columns));
        let rest = batch.transpose()?.map(|batch| {
            let row = batch.num_rows().min(usize::try_from(row).unwrap_or(usize::MAX));
            Ok(batch.slice(row, batch.num_rows() - row))
        });
        Ok(Decoder { batches: Box::new(rest.into_iter()), ahead: Vec::new() })
    }
}
