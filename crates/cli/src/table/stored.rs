//! Tables that hold numbers as they are, NumPy's and Parquet's, read by the library's sources.

use crate::figures::visible;
use crate::refusal::{Outcome, Refusal};
use dualfit::{Chunk, Column, NpySource, ParquetSource, Source, SourceError, Values};
use std::path::{Path, PathBuf};

/// Points read at a time.
const AT_A_TIME: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Npy,
    Parquet,
}

impl Format {
    /// What a file's first bytes say.
    pub(super) fn of(head: &[u8]) -> Option<Format> {
        match head {
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Some(Format::Npy),
            [b'P', b'A', b'R', b'1', ..] => Some(Format::Parquet),
            _ => None,
        }
    }
}

pub(super) struct Stored {
    path: PathBuf,
    format: Format,
    pub(super) names: Vec<String>,
}

impl Stored {
    pub(super) fn open(path: &Path, format: Format) -> Outcome<Stored> {
        let names = match format {
            // Columns are counted from 1 on the command line.
            Format::Npy => NpySource::open(path)
                .map(|source| (1..=source.names().len()).map(|n| n.to_string()).collect()),
            Format::Parquet => ParquetSource::open(path).map(|source| {
                let names = source.names().iter();
                names.map(|name| visible(name).into_owned()).collect()
            }),
        };
        let names = names.map_err(|why| unreadable(&why))?;
        Ok(Stored { path: path.to_path_buf(), format, names })
    }

    /// The values of columns, which are read together.
    pub(super) fn columns(&self, wanted: &[usize]) -> Outcome<Vec<Vec<f64>>> {
        let Some(&first) = wanted.first() else { return Ok(Vec::new()) };
        let columns = wanted.iter().copied();
        match self.format {
            Format::Npy => {
                let source = NpySource::open(&self.path).map_err(|why| unreadable(&why))?;
                let chosen = source.x(columns).and_then(|source| source.y(first));
                all(chosen.map_err(|why| no_numbers(&why))?)
            }
            Format::Parquet => {
                let source = ParquetSource::open(&self.path).map_err(|why| unreadable(&why))?;
                let chosen = source.x(columns).and_then(|source| source.y(first));
                all(chosen.map_err(|why| no_numbers(&why))?)
            }
        }
    }

    /// `data.npy, row 17, column 3`, both from 1.
    pub(super) fn place(&self, row: usize, column: usize) -> String {
        let name = self.names.get(column).map_or("?", String::as_str);
        format!("{}, row {}, column {name}", self.path.display(), row + 1)
    }
}

fn all(mut source: impl Source) -> Outcome<Vec<Vec<f64>>> {
    let mut chunk = Chunk::new(&source.shape(), 0);
    while source.read(&mut chunk, AT_A_TIME).map_err(|why| unreadable(&why))? > 0 {}
    Ok(chunk.x.into_iter().map(widened).collect())
}

fn widened(column: Column) -> Vec<f64> {
    match column {
        Column::F64(values) => values,
        column => match column.values() {
            Values::F64(values) => values.to_vec(),
            Values::F32(values) => values.iter().map(|&value| f64::from(value)).collect(),
        },
    }
}

/// Of a column that was chosen and cannot be.
fn no_numbers(why: &SourceError) -> Refusal {
    Refusal::usage(why.to_string())
}

fn unreadable(why: &SourceError) -> Refusal {
    Refusal::file(why.to_string())
}
