//! Lesson 16: Arrow record batches from an iterator that the user writes.
//!
//! A tide gauge wrote a Parquet file each month. The fit reads the folder in several passes, a batch of rows at a time.
//! For files on a disk `DirectorySource::open(folder, |file| ParquetSource::open(file)?.x(["hours"])?.y("level"))` is
//! shorter and faster. Use an iterator for data that it cannot open: object stores, query engines, table formats.

use dualfit::{CurveFit, Missing, Sigma, Stream};
use dualfit_io::RecordBatchSource;
use dualfit_io::arrow_array::{ArrayRef, Float32Array, Float64Array, StringArray};
use dualfit_io::arrow_array::{RecordBatch, RecordBatchReader};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::errors::ParquetError;
use rand::{SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Normal};
use std::{error::Error, f64::consts::TAU, fs, io, path::Path, sync::Arc};

const NAMES: [&str; 5] = ["mean", "moon", "moon_phase", "sun", "sun_phase"];
const TRUTH: [f64; 5] = [2.31, 1.26, 0.8, 0.43, 1.9]; // metres and radians
const MOON: f64 = TAU / 12.420_601; // rad/h, the tide of the moon
const SUN: f64 = TAU / 12.0; // and of the sun
const NOISE: f64 = 0.05; // metres
const MONTHS: u32 = 6; // of 30 days
const ROWS: u32 = 7200; // of a month, 6 minutes apart

fn main() -> Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let given = std::env::args_os().nth(1);
    let folder = given.map_or(temporary.path().into(), |given| Path::new(&given).join("tide"));
    record(&folder)?;

    // Called at the beginning of each pass; it must return all batches in the same order each time.
    let open = || Ok::<_, ParquetError>(parts(&folder)?.into_iter().flatten());
    let schema = rows(&folder.join("month_01.parquet"))?.schema();
    let source = RecordBatchSource::new(schema, open)?.x(["hours"])?.y("level")?;
    let stream = Stream::new(source).missing(Missing::Omit).sigma(Sigma::Constant(NOISE))?;
    let tide = CurveFit::new(|t, [mean, m, m_phase, s, s_phase]| {
        mean + m * (MOON * t - m_phase).cos() + s * (SUN * t - s_phase).cos()
    });
    let fit = tide.names(NAMES).fit_stream(stream, [2.0, 1.0, 1.0, 0.5, 1.0])?;
    println!("{fit}\n\n{:<12}{:>10}{:>12}{:>8}", "", "fitted", "std. error", "truth");
    let (params, errors) = (fit.params(), fit.std_errors());
    for i in 0..5 {
        println!("{:<12}{:>10.5}{:>12.1e}{:>8}", NAMES[i], params[i], errors[i], TRUTH[i]);
    }
    Ok(())
}

/// Opens the files in the order of their names. An object store or a query would be opened here instead. These return
/// streams of futures. The reading thread can wait for them on a multi-threaded runtime:
/// `iter::from_fn(move || runtime.block_on(stream.next()))`, where `stream` is DataFusion's
/// `context.sql("SELECT hours, level FROM tide ORDER BY hours").await?.execute_stream().await?`.
fn parts(folder: &Path) -> Result<Vec<ParquetRecordBatchReader>, ParquetError> {
    let files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut files = files.collect::<io::Result<Vec<_>>>()?;
    files.sort();
    files.iter().map(|file| rows(file)).collect()
}

/// Opens the rows of a file. Only the fitted columns are decoded.
fn rows(part: &Path) -> Result<ParquetRecordBatchReader, ParquetError> {
    let part = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(part)?)?;
    let columns = ProjectionMask::columns(part.parquet_schema(), ["hours", "level"]);
    part.with_projection(columns).build()
}

/// Simulates the gauge, with a gap of one day, and writes a file for each month.
fn record(folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let (noise, mut random) = (Normal::new(0.0, NOISE)?, StdRng::seed_from_u64(16));
    let [mean, m, m_phase, s, s_phase] = TRUTH;
    for month in 0..MONTHS {
        let hours = (0..ROWS).map(|i| 0.1 * f64::from(month * ROWS + i));
        let tide = |t: f64| mean + m * (MOON * t - m_phase).cos() + s * (SUN * t - s_phase).cos();
        let mut measured = |t| (tide(t) + noise.sample(&mut random)) as f32;
        let level = hours.clone().map(|t| (!(1000.0..1024.0).contains(&t)).then(|| measured(t)));
        let columns: [(&str, ArrayRef); 3] = [
            ("station", Arc::new(StringArray::from_iter_values((0..ROWS).map(|_| "pier 4")))),
            ("hours", Arc::new(Float64Array::from_iter_values(hours))),
            ("level", Arc::new(level.collect::<Float32Array>())),
        ];
        let batch = RecordBatch::try_from_iter(columns)?;
        let file = fs::File::create(folder.join(format!("month_{:02}.parquet", month + 1)))?;
        let mut part = ArrowWriter::try_new(file, batch.schema(), None)?;
        part.write(&batch)?;
        part.close()?;
    }
    Ok(())
}
