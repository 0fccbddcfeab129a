//! Lesson 7: a stream. A file is fitted in several passes, within a memory limit.
//!
//! A recording of a bell: 400,000 samples in a Parquet file. Only one chunk at a time is in memory, and the fit is
//! still exact. If stderr is a terminal, a bar shows the progress.

use dualfit::{CurveFit, Data, Sigma, Stream, progress};
use dualfit_io::ParquetSource;
use parquet::data_type::{DoubleType, FloatType};
use parquet::file::{properties::WriterProperties, writer::SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use rand::{SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Normal};
use std::{error::Error, fs::File, path::Path, sync::Arc};

const TRUTH: [f64; 4] = [0.8, 1.7, 440.2, 0.3]; // volts, 1/s, hertz, radians
const NOISE: f64 = 0.05; // volts
const GROUPS: usize = 8; // of rows that follow each other in the file
const ROWS: usize = 50_000; // of a group, 5 µs apart

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("bell.parquet");
    let (t, signal) = record(&path)?;

    let names = ["amplitude", "decay", "frequency", "phase"];
    let turn = std::f64::consts::TAU;
    let bell = CurveFit::new(|t, [a, d, f, p]| a * (-d * t).exp() * (turn * f * t + p).sin());
    let bell = bell.names(names).observe(progress::bar());

    let source = ParquetSource::open(&path)?.x(["t"])?.y("signal")?;
    let stream = Stream::new(source).memory_limit(2 << 20).sigma(Sigma::Constant(NOISE))?;
    #[cfg(feature = "chrome-trace")]
    let trace = match std::env::args().nth(1) {
        Some(folder) => Some(dualfit::ChromeTrace::to_file(Path::new(&folder).join("bell.json"))?),
        None => None,
    };
    let fit = bell.fit_stream(stream, [1.0, 1.0, 440.0, 0.0])?;
    #[cfg(feature = "chrome-trace")]
    drop(trace);
    println!("{fit}\n");
    if let Some(stream) = &fit.stats().stream {
        println!("{stream}\n");
        let (buffers, all) = (stream.buffer_bytes as f64, std::fs::metadata(&path)?.len() as f64);
        println!("a file of {:.1} MB through buffers of {:.1} MB", 1e-6 * all, 1e-6 * buffers);
    }

    // These points fit into memory, and the fit in memory gives the same result.
    let data = Data::new(&t, &signal)?.sigma(dualfit::Sigma::Constant(NOISE))?;
    let whole = bell.fit(data, [1.0, 1.0, 440.0, 0.0])?;
    println!("\n{:<12}{:>14}{:>14}{:>12}{:>8}", "", "streamed", "in memory", "std. error", "truth");
    for (i, name) in names.into_iter().enumerate() {
        let (streamed, in_memory, error) =
            (fit.params()[i], whole.params()[i], fit.std_errors()[i]);
        println!("{name:<12}{streamed:>14.9}{in_memory:>14.9}{error:>12.1e}{:>8}", TRUTH[i]);
    }
    Ok(())
}

/// Simulates the recording and writes it to a file.
fn record(path: &Path) -> Result<(Vec<f64>, Vec<f32>), Box<dyn Error>> {
    let (noise, mut random) = (Normal::new(0.0, NOISE)?, StdRng::seed_from_u64(7));
    let t: Vec<f64> = (0..GROUPS * ROWS).map(|i| 5e-6 * i as f64).collect();
    let [a, d, f, p] = TRUTH;
    let bell = |t: f64| a * f64::exp(-d * t) * (std::f64::consts::TAU * f * t + p).sin();
    let signal: Vec<f32> =
        t.iter().map(|&t| (bell(t) + noise.sample(&mut random)) as f32).collect();

    let schema = parse_message_type("message m { required double t; required float signal; }")?;
    let properties = Arc::new(WriterProperties::new());
    let mut file = SerializedFileWriter::new(File::create(path)?, Arc::new(schema), properties)?;
    for (t, signal) in t.chunks(ROWS).zip(signal.chunks(ROWS)) {
        let mut group = file.next_row_group()?;
        let mut column = group.next_column()?.ok_or("a column of times")?;
        column.typed::<DoubleType>().write_batch(t, None, None)?;
        column.close()?;
        let mut column = group.next_column()?.ok_or("a column of signals")?;
        column.typed::<FloatType>().write_batch(signal, None, None)?;
        column.close()?;
        group.close()?;
    }
    file.close()?;
    Ok((t, signal))
}
