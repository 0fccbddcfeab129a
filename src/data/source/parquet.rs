//! Parquet files as a source.

use super::format::batches::{Batches, Decoder, Groups, said};
use super::format::file::DataFile;
use super::format::guard::{check_page_header, guarded, is_sound};
use super::format::source::{FileSource, file_source};
use crate::error::source::SourceError;
use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use ::parquet::errors::ParquetError;
use ::parquet::file::FOOTER_SIZE;
use ::parquet::file::metadata::{FooterTail, ParquetMetaDataReader};
use ::parquet::file::reader::{ChunkReader, Length};
use arrow_schema::DataType;
use bytes::Bytes;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;

/// Rows decoded at a time.
const AT_A_TIME: usize = 1 << 14;

/// A page header that is longer is taken for damage: of numbers it has about a hundred bytes.
const LARGEST_HEADER: usize = 4 << 10;

/// A Parquet file as a source. Columns go by the names of the file (`a.b` for a field of a structure)
/// or by number; x is the first and y the second until something else is said. They are floating-point
/// numbers or integers (f64 and f32; signed and unsigned); a null is NaN, with which the fit does as
/// [`Missing`](crate::Missing) says. Pages may be plain or compressed with Snappy or Zstandard.
///
/// Pages are decoded one at a time, and row groups that are passed over are not read.
///
/// ```no_run
/// use dualfit::source::ParquetSource;
/// let source = ParquetSource::open("run7.parquet")?.x(["t"])?.y("signal")?.sigma("error")?;
/// # Ok::<(), dualfit::error::SourceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ParquetSource {
    pub(crate) reader: FileSource<Batches<RowGroups>>,
}

file_source!(ParquetSource);

impl ParquetSource {
    /// # Errors
    /// If the file cannot be opened, is damaged, or has not two columns.
    pub fn open(path: impl AsRef<Path>) -> Result<ParquetSource, SourceError> {
        let file = Arc::new(DataFile::open(path.as_ref())?);
        let metadata = guarded(&file, || metadata(&file))?;
        let mut kinds = Vec::new();
        metadata.schema().fields().iter().for_each(|field| leaves(field.data_type(), &mut kinds));
        let columns = metadata.parquet_schema().columns();
        let names: Vec<String> = columns.iter().map(|column| column.path().string()).collect();
        let columns = names.into_iter().zip(kinds);
        Ok(ParquetSource { reader: Batches::source(file, RowGroups(metadata), columns)? })
    }
}

/// What a file says of itself in the bytes before its last eight, which say how many these are.
fn metadata(file: &DataFile) -> Result<ArrowReaderMetadata, SourceError> {
    let damaged = |why: &dyn std::fmt::Display| {
        file.error(format!("it is no Parquet file, or damaged: {why}"))
    };
    let cut = || damaged(&"the file is cut short");
    let mut footer = [0; FOOTER_SIZE];
    let end = file.length().checked_sub(FOOTER_SIZE as u64).ok_or_else(cut)?;
    file.read_exact(end, &mut footer).map_err(|(_, error)| error)?;
    let footer = FooterTail::try_new(&footer).map_err(|why| damaged(&why))?;
    let length = footer.metadata_length();
    let start = end.checked_sub(length as u64).ok_or_else(cut)?;
    let bytes = file.bytes(start, length)?;
    if !is_sound(&bytes) {
        return Err(damaged(&"the metadata are damaged"));
    }
    let metadata = ParquetMetaDataReader::decode_metadata(&bytes).map_err(|why| damaged(&why))?;
    if metadata.row_groups().iter().any(|group| group.num_rows() < 0) {
        return Err(damaged(&"its numbers of rows are negative"));
    }
    // Numbers are read as the file has them, whatever Arrow's arrays they were written from.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    ArrowReaderMetadata::try_new(Arc::new(metadata), options).map_err(|why| damaged(&why))
}

/// The types of the columns within a column, each of a list as the list's.
fn leaves(kind: &DataType, out: &mut Vec<DataType>) {
    use DataType::{FixedSizeList, LargeList, List, Map, Struct};
    match kind {
        Struct(fields) => fields.iter().for_each(|field| leaves(field.data_type(), out)),
        List(entry) | LargeList(entry) | FixedSizeList(entry, _) | Map(entry, _) => {
            let first = out.len();
            leaves(entry.data_type(), out);
            out.iter_mut().skip(first).for_each(|within| *within = kind.clone());
        }
        plain => out.push(plain.clone()),
    }
}

/// The row groups of a file.
#[derive(Clone)]
pub(crate) struct RowGroups(ArrowReaderMetadata);

impl Groups for RowGroups {
    const NAME: &'static str = "parquet";
    const COLUMNS_LIE_APART: bool = true;

    fn rows(&self) -> Vec<u64> {
        self.0.metadata().row_groups().iter().map(|group| group.num_rows() as u64).collect()
    }

    fn decode(
        &self,
        file: &Arc<DataFile>,
        group: usize,
        row: u64,
        columns: &[usize],
    ) -> Result<Decoder, SourceError> {
        let columns = ProjectionMask::leaves(self.0.parquet_schema(), columns.iter().copied());
        let pages = Pages { file: file.clone() };
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(pages, self.0.clone())
            .with_batch_size(AT_A_TIME)
            .with_row_groups(vec![group])
            .with_projection(columns)
            .with_offset(usize::try_from(row).unwrap_or(usize::MAX))
            .build();
        Ok(Box::new(reader.map_err(|why| file.error(said(&why)))?))
    }
}

/// The bytes of a file for the decoder: what it reads from a place on is the header of a page, and what it
/// takes as a whole is the page.
struct Pages {
    file: Arc<DataFile>,
}

fn external(error: SourceError) -> io::Error {
    io::Error::other(error.message)
}

impl Length for Pages {
    fn len(&self) -> u64 {
        self.file.length()
    }
}

impl ChunkReader for Pages {
    type T = PageHeader;

    fn get_read(&self, start: u64) -> Result<PageHeader, ParquetError> {
        Ok(PageHeader { file: self.file.clone(), start, bytes: None })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.file.length()) {
            return Err(ParquetError::General("the file is cut short".into()));
        }
        let bytes = self.file.bytes(start, length);
        let bytes = bytes.map_err(|error| ParquetError::External(Box::new(external(error))))?;
        Ok(bytes.into())
    }
}

/// The header of a page. It is checked before it is read, and only if it is: the decoder also asks for
/// readers that it does not use.
struct PageHeader {
    file: Arc<DataFile>,
    start: u64,
    bytes: Option<Cursor<Vec<u8>>>,
}

impl Read for PageHeader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = match &mut self.bytes {
            Some(bytes) => bytes,
            none => {
                let left = self.file.length().saturating_sub(self.start);
                let length = left.min(LARGEST_HEADER as u64) as usize;
                let bytes = self.file.bytes(self.start, length).map_err(external)?;
                check_page_header(&bytes).map_err(io::Error::other)?;
                none.insert(Cursor::new(bytes))
            }
        };
        bytes.read(buffer)
    }
}
