//! Tables and files as data of [`dualfit`] fits.
//!
//! A [`Table`] holds the columns of a file in memory: text, Parquet, Arrow or NumPy, with names, dates and groups. The
//! sources ([`CsvSource`], [`ParquetSource`], [`ArrowSource`], [`NpySource`], [`RawSource`], [`DirectorySource`],
//! [`RecordBatchSource`]) read files of any size in chunks for [`CurveFit::fit_stream`](dualfit::CurveFit::fit_stream).
//!
//! ```
//! use dualfit::CurveFit;
//! use dualfit_io::{CsvOptions, Table};
//! let text = "time,signal\n0,2.01\n1,1.21\n2,0.74\n3,0.44\n4,0.27\n";
//! let table = Table::from_reader("decay.csv", text.as_bytes(), CsvOptions::detected())?;
//! let set = table.data("time", "signal")?;
//! let fit = CurveFit::new(|t, [a, k]| a * (-k * t).exp()).fit(set.data()?, [1.0, 1.0])?;
//! assert!((fit.params()[1] - 0.5).abs() < 0.01);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "arrow")]
mod arrow;
#[cfg(feature = "csv")]
mod csv;
mod directory;
mod error;
mod format;
mod moment;
mod npy;
#[cfg(feature = "parquet")]
mod parquet;
mod raw;
#[cfg(feature = "arrow")]
mod record_batches;
mod side_by_side;
mod table;

#[cfg(feature = "arrow")]
pub use arrow::ArrowSource;
#[cfg(feature = "csv")]
pub use csv::{CsvOptions, CsvSource, Delimiter, Thousands};
pub use directory::DirectorySource;
pub use error::{Result, TableError, without_unit};
pub use format::binary::NumberType;
pub use format::roles::ColumnKey;
pub use moment::{DateOrder, Moment};
pub use npy::NpySource;
#[cfg(feature = "parquet")]
pub use parquet::ParquetSource;
pub use raw::{RawFile, RawSource};
#[cfg(feature = "arrow")]
pub use record_batches::RecordBatchSource;
pub use table::{ColumnKeys, DataSet, Groups, Table};

/// The crate `arrow-array` in the version whose record batches a [`RecordBatchSource`] reads.
#[cfg(feature = "arrow")]
pub use arrow_array;
/// The crate `arrow-schema` in the version whose schemas describe these record batches.
#[cfg(feature = "arrow")]
pub use arrow_schema;

/// The README's code is compiled and run by the tests.
#[cfg(all(doctest, feature = "csv"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// Pages of the guide about tables and files, whose code the tests run.
#[cfg(all(doctest, feature = "csv"))]
mod guide {
    #[doc = include_str!("../../../docs/guide/tour.md")]
    struct Tour;
    #[doc = include_str!("../../../docs/guide/tables.md")]
    struct Tables;
    #[doc = include_str!("../../../docs/guide/streaming_csv.md")]
    struct StreamingCsv;
}
