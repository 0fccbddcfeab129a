//! NumPy's array files, versions 1 to 3, as a source.

mod header;

use super::format::binary::{Binary, Field, Table, reading_binary};
use super::format::file::DataFile;
use super::format::roles::{Roles, choosing_columns};
use super::{Chunk, Shape, Source};
use crate::error::changed::SourceChange;
use crate::error::source::SourceError;
use header::Header;
use std::path::Path;
use std::sync::Arc;

/// Files that `numpy.save` wrote: of shape (n,), one column, or of shape (n, k), k columns, of n
/// points; of floating-point numbers (f4, f8) or integers, in any order of bytes, and of rows and
/// columns.
///
/// Columns are numbered from 0, through all files where there are several; x is column 0 and y column
/// 1 until something else is said. Points are kept in memory in single precision where that holds the
/// file's numbers exactly.
///
/// ```no_run
/// use dualfit::NpySource;
/// let source = NpySource::open("run7.npy")?.x([0, 1])?.y(2)?.sigma(3)?;
/// let source = NpySource::open_all(["t.npy", "signal.npy"])?;
/// # Ok::<(), dualfit::SourceError>(())
/// ```
#[derive(Debug)]
pub struct NpySource {
    binary: Binary,
    roles: Roles,
    files: Vec<Arc<DataFile>>,
    /// What a fingerprint begins with.
    layout: String,
}

choosing_columns!(NpySource);

impl NpySource {
    /// The columns of one array of shape (n, k).
    ///
    /// # Errors
    /// If the file cannot be opened, is damaged, shorter than its header says, or holds anything but
    /// numbers; if it has not two columns.
    pub fn open(path: impl AsRef<Path>) -> Result<NpySource, SourceError> {
        NpySource::open_all([path])
    }

    /// The columns of several arrays of one number of points, side by side.
    ///
    /// # Errors
    /// As [`open`](NpySource::open), and if the arrays differ in length.
    pub fn open_all<P: AsRef<Path>>(
        paths: impl IntoIterator<Item = P>,
    ) -> Result<NpySource, SourceError> {
        let (mut files, mut tables, mut fields) = (Vec::new(), Vec::new(), Vec::new());
        let mut points = None;
        for path in paths {
            let file = Arc::new(DataFile::open(path.as_ref())?);
            let header = Header::read(&file)?;
            let (first, expected) = points.get_or_insert_with(|| (file.place(), header.rows));
            if header.rows != *expected {
                let message = format!(
                    "it has {} points and {first} has {expected}; the files of a source have one number of points",
                    header.rows
                );
                return Err(file.error(message));
            }
            let (encoding, size) = (header.encoding, header.encoding.number.bytes());
            let columns = header.columns;
            if header.columns_together {
                for column in 0..columns {
                    let start = header.start + column as u64 * header.rows * size as u64;
                    fields.push(Field { table: tables.len(), offset: 0, encoding });
                    tables.push(Table { file: file.clone(), start, stride: size });
                }
            } else {
                let fields_of_row = (0..columns).map(|column| column * size);
                let table = tables.len();
                fields.extend(fields_of_row.map(|offset| Field { table, offset, encoding }));
                tables.push(Table {
                    file: file.clone(),
                    start: header.start,
                    stride: columns * size,
                });
            }
            files.push(file);
        }
        let (place, rows) = points.unwrap_or_else(|| ("npy files".into(), 0));
        let roles = Roles::numbered(fields.len(), &place)?;
        let layout = String::from("npy");
        Ok(NpySource { binary: Binary::new(tables, fields, rows), roles, files, layout })
    }
}

reading_binary!(NpySource);
