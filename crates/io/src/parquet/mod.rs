//! Parquet files as a source.

mod pages;

use crate::format::batches::{Batches, Decoder, Groups, said};
use crate::format::file::DataFile;
use crate::format::guard::{guarded, is_sound};
use crate::format::source::{FileSource, file_source};
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, RowGroups, RowSelection,
    RowSelector,
};
use ::parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use ::parquet::errors::ParquetError;
use ::parquet::file::FOOTER_SIZE;
use ::parquet::file::metadata::{FooterTail, ParquetMetaDataReader};
use arrow_schema::{ArrowError, DataType};
use dualfit::error::SourceError;
use pages::Group;
use std::path::Path;
use std::sync::Arc;

/// Maximum number of rows of a decoded batch.
const AT_A_TIME: usize = 1 << 14;

/// A Parquet file as a source. Columns are selected by the names in the file (`a.b` for a field of a structure)
/// or by number; by default x is the first column and y the second. Supported types are floating-point
/// numbers (f64 and f32) and integers (signed and unsigned). A null is read as NaN; [`Missing`](dualfit::Missing)
/// selects its treatment. Pages may be uncompressed, or compressed with Snappy or Zstandard.
///
/// Columns are decoded in parallel, and so are the compressed pages of one column. Skipped row groups are not read.
///
/// ```no_run
/// use dualfit_io::ParquetSource;
/// let source = ParquetSource::open("run7.parquet")?.x(["t"])?.y("signal")?.sigma("error")?;
/// # Ok::<(), dualfit::error::SourceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ParquetSource {
    pub(crate) reader: FileSource<Batches<Grouped>>,
}

file_source!(ParquetSource);

impl ParquetSource {
    /// # Errors
    /// If the file cannot be opened, is damaged, or has fewer than two columns.
    pub fn open(path: impl AsRef<Path>) -> Result<ParquetSource, SourceError> {
        let file = Arc::new(DataFile::open(path.as_ref())?);
        let metadata = guarded(&file, || metadata(&file))?;
        let mut kinds = Vec::new();
        metadata.schema().fields().iter().for_each(|field| leaves(field.data_type(), &mut kinds));
        let columns = metadata.parquet_schema().columns();
        let names: Vec<String> = columns.iter().map(|column| column.path().string()).collect();
        let columns = names.into_iter().zip(kinds);
        Ok(ParquetSource { reader: Batches::source(file, Grouped(metadata), columns)? })
    }
}

/// Reads the metadata of a file. They precede the last eight bytes, which contain the length of the metadata.
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
    // Numbers are read with their Parquet types. The Arrow types that the writer stored in the file are ignored.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    ArrowReaderMetadata::try_new(Arc::new(metadata), options).map_err(|why| damaged(&why))
}

/// Appends the types of the leaf columns of a column. A leaf within a list has the type of the list.
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
pub(crate) struct Grouped(ArrowReaderMetadata);

impl Groups for Grouped {
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
        let (metadata, schema) = (self.0.metadata(), self.0.parquet_schema());
        let decoder = || {
            let group = Group::new(file, metadata, group, columns)?;
            let wanted = ProjectionMask::leaves(schema, columns.iter().copied());
            let levels = parquet_to_arrow_field_levels(schema, wanted, None)?;
            let rows = group.num_rows();
            let passed = usize::try_from(row).map_or(rows, |row| row.min(rows));
            let rest = [RowSelector::skip(passed), RowSelector::select(rows - passed)];
            let rest = (passed > 0).then(|| RowSelection::from(rest.to_vec()));
            let mut batches = ParquetRecordBatchReader::try_new_with_row_groups(
                &levels,
                &group,
                AT_A_TIME.min(rows),
                rest,
            )?;
            // Decodes the first batch: the decoder then skips the pages before it, without decompressing them.
            let first = if passed > 0 { batches.next() } else { None };
            let batches = Box::new(first.into_iter().chain(batches));
            Ok(Decoder { batches, ahead: group.ahead() })
        };
        decoder().map_err(|why: ParquetError| file.error(said(&ArrowError::from(why))))
    }
}
