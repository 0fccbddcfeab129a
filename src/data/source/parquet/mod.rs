//! Parquet files as a source.

mod column;
mod pages;
mod thrift;

use super::format::file::DataFile;
use super::format::guard::guarded;
use super::format::roles::{Role, Roles, choosing_columns, expect_chunk};
use super::{Chunk, Shape, Source};
use crate::error::changed::SourceChange;
use crate::error::source::SourceError;
use ::parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use column::{ColumnReader, Kind};
use pages::{Pages, check_footer};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Rows decoded at a time.
const AT_A_TIME: usize = 1 << 14;

/// A Parquet file as a source. Columns go by the names of the file (`a.b` for a field of a structure)
/// or by number; x is the first and y the second until something else is said. They are floating-point
/// numbers or integers (f64 and f32; signed and unsigned); a null is NaN, with which the fit does as
/// [`Missing`](crate::Missing) says. Pages may be plain or compressed with Snappy or Zstandard.
///
/// Pages are decoded one at a time, and row groups that are passed over are not read.
///
/// ```no_run
/// use dualfit::ParquetSource;
/// let source = ParquetSource::open("run7.parquet")?.x(["t"])?.y("signal")?.sigma("error")?;
/// # Ok::<(), dualfit::SourceError>(())
/// ```
pub struct ParquetSource {
    file: Arc<DataFile>,
    metadata: ParquetMetaData,
    roles: Roles,
    points: u64,
    /// The row group that is read, and the rows of it that have been.
    group: usize,
    row: u64,
    /// Of the row group, for each column that is used; none before they are needed.
    columns: Vec<ColumnReader>,
    /// What was wrong; it stays wrong until the source is rewound.
    failed: Option<SourceError>,
}

impl fmt::Debug for ParquetSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = f.debug_struct("ParquetSource");
        parts.field("file", &self.file).field("roles", &self.roles).finish_non_exhaustive()
    }
}

choosing_columns!(ParquetSource);

impl ParquetSource {
    /// # Errors
    /// If the file cannot be opened, is damaged, or has not two columns.
    pub fn open(path: impl AsRef<Path>) -> Result<ParquetSource, SourceError> {
        let file = Arc::new(DataFile::open(path.as_ref())?);
        let place = file.place();
        let metadata = guarded(&place, || {
            let reader = ParquetMetaDataReader::new();
            let read = check_footer(&file)
                .and_then(|()| reader.parse_and_finish(&Pages::metadata(file.clone())));
            read.map_err(|why| file.error(format!("it is no Parquet file, or damaged: {why}")))
        })?;
        let mut points = 0_u64;
        for group in metadata.row_groups() {
            let rows = u64::try_from(group.num_rows()).ok();
            let sum = rows.and_then(|rows| points.checked_add(rows));
            points = sum.ok_or_else(|| file.error("its numbers of rows are damaged"))?;
        }
        let columns = metadata.file_metadata().schema_descr().columns();
        let names = columns.iter().map(|column| column.path().string()).collect();
        let refused = columns.iter().map(|column| Kind::of(column).err()).collect();
        let roles = Roles::new(names, &place)?.refusing(refused);
        let (columns, failed) = (Vec::new(), None);
        Ok(ParquetSource { file, metadata, roles, points, group: 0, row: 0, columns, failed })
    }

    fn place(&self) -> String {
        self.file.place()
    }

    fn restart(&mut self) -> Result<(), SourceError> {
        self.at_group(0);
        self.failed = None;
        Ok(())
    }

    fn at_group(&mut self, group: usize) {
        (self.group, self.row) = (group, 0);
        self.columns.clear();
    }

    fn kind(&self, column: usize) -> Result<Kind, SourceError> {
        let columns = self.metadata.file_metadata().schema_descr().columns();
        let kind = match columns.get(column) {
            Some(column) => Kind::of(column),
            None => Err("it is missing".into()),
        };
        kind.map_err(|message| self.file.error(message).in_column(self.roles.name(column)))
    }

    /// Rows of the row group that have not been read; none after the last.
    fn left(&self) -> Option<u64> {
        let group = self.metadata.row_groups().get(self.group)?;
        Some((group.num_rows() as u64).saturating_sub(self.row))
    }

    fn open_columns(&mut self) -> Result<(), SourceError> {
        let Some(group) = self.metadata.row_groups().get(self.group) else { return Ok(()) };
        for column in self.roles.used() {
            let kind = self.kind(column)?;
            let Some(chunk) = group.columns().get(column) else {
                return Err(self.file.error("it is damaged: a row group lacks columns"));
            };
            let opened = ColumnReader::open(self.file.clone(), chunk, kind, column);
            self.columns.push(opened.map_err(|message| self.wrong(message, column))?);
        }
        Ok(())
    }

    fn wrong(&self, message: String, column: usize) -> SourceError {
        let groups = self.metadata.row_groups().iter().take(self.group);
        let before: u64 = groups.map(|group| group.num_rows() as u64).sum();
        self.file.error(message).at_row(before + self.row).in_column(self.roles.name(column))
    }

    /// Appends rows of this row group.
    fn append(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        if self.columns.is_empty() {
            self.open_columns()?;
        }
        let left = usize::try_from(self.left().unwrap_or(0)).unwrap_or(usize::MAX);
        let rows = most.min(AT_A_TIME).min(left);
        let mut columns = std::mem::take(&mut self.columns);
        for column in &mut columns {
            let number = column.number();
            column.decode(rows).map_err(|message| self.wrong(message, number))?;
            for (role, _) in self.roles.all().filter(|(_, of)| *of == number) {
                match role {
                    Role::X(i) => {
                        chunk.x.get_mut(i).into_iter().for_each(|x| x.extend(column.values()))
                    }
                    Role::Y => chunk.y.extend(column.values()),
                    Role::Sigma => {
                        if let Some(sigma) = &mut chunk.sigma {
                            column.append_to(sigma);
                        }
                    }
                }
            }
        }
        self.columns = columns;
        self.row += rows as u64;
        Ok(rows)
    }

    /// Passes over rows of this row group, which has more.
    fn pass(&mut self, rows: u64) -> Result<(), SourceError> {
        if self.columns.is_empty() {
            self.open_columns()?;
        }
        let mut columns = std::mem::take(&mut self.columns);
        for column in &mut columns {
            let number = column.number();
            column.skip(rows).map_err(|message| self.wrong(message, number))?;
        }
        self.columns = columns;
        self.row += rows;
        Ok(())
    }

    /// What `step` gives; an error stays until the source is rewound.
    fn once<T>(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let place = self.file.place();
        let result = guarded(&place, || step(self));
        self.failed = result.as_ref().err().cloned();
        result
    }
}

impl Source for ParquetSource {
    fn shape(&self) -> Shape {
        let kind = |column| self.kind(column).unwrap_or(Kind::F64);
        self.roles.shape(|column| kind(column).width(), Some(self.points))
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.restart()
    }

    fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        expect_chunk(chunk, &self.roles, &self.place())?;
        let before = chunk.len();
        let mut read = 0;
        while read < most {
            match self.left() {
                None => break,
                Some(0) => self.at_group(self.group + 1),
                Some(_) => match self.once(|source| source.append(chunk, most - read)) {
                    Ok(rows) => read += rows,
                    Err(error) => {
                        chunk.truncate(before + read);
                        return if read > 0 { Ok(read) } else { Err(error) };
                    }
                },
            }
        }
        Ok(read)
    }

    fn skip(&mut self, count: u64) -> Result<u64, SourceError> {
        let mut skipped = 0;
        while skipped < count {
            match self.left() {
                None => break,
                Some(left) if left <= count - skipped => {
                    skipped += left;
                    self.at_group(self.group + 1);
                }
                Some(_) => {
                    let rows = count - skipped;
                    self.once(|source| source.pass(rows))?;
                    skipped = count;
                }
            }
        }
        Ok(skipped)
    }

    fn unchanged(&self) -> Result<(), SourceChange> {
        self.file.unchanged()
    }

    fn fingerprint(&self) -> Result<String, SourceError> {
        Ok(format!("parquet {}; {}", self.roles.text(), self.file.fingerprint()?))
    }
}
