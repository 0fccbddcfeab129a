//! Fits of files larger than the memory limit of the fits, compared with plain reading of the same files in the same
//! run.
//!
//! Each file is written, read and fitted with an empty page cache and again with a warm one, and then deleted. An
//! argument selects the models whose names contain it. `DUALFIT_STREAM_BYTES` sets the size of the files (default
//! 4 GiB), `DUALFIT_STREAM_DIR` their folder (default: the system's temporary folder).
//! Then a text table and a Parquet table with three compressions are read and fitted.
//! `DUALFIT_STREAM_ROWS` sets their number of rows (default 8,000,000).
//! Without `--bench` (as `cargo test --benches` runs it) the default is 64 MiB, and the tables have 100,000 rows.

use dualfit::source::{Chunk, Source};
use dualfit::{Backend, CurveFit, Event, Fit, Stream};
use dualfit_io::NumberType::F64;
use dualfit_io::{CsvSource, ParquetSource, RawFile, RawSource};
use rand::{SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Normal};
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Memory limit of a fit, in bytes.
const LIMIT: usize = 256_000_000;
/// Buffer of plain reading, in bytes.
const BUFFER: usize = 1 << 20;

/// A problem: the model, the true parameters of the simulated y, and a starting point.
struct Case {
    name: &'static str,
    model: CurveFit,
    signal: fn(f64, &[f64]) -> f64,
    truth: Vec<f64>,
    start: Vec<f64>,
}

fn cases() -> Vec<Case> {
    vec![
        Case {
            name: "line, 2",
            model: CurveFit::new(|x, [a, b]| a * x + b),
            signal: |x, p| p[0] * x + p[1],
            truth: vec![0.7, -1.2],
            start: vec![1.0, 0.0],
        },
        Case {
            name: "decay, 3",
            model: CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c),
            signal: |x, p| p[0] * (-p[1] * x).exp() + p[2],
            truth: vec![2.0, 0.5, 0.3],
            start: vec![2.5, 0.8, 0.1],
        },
        Case {
            name: "damped sine, 5",
            model: CurveFit::new(|x, [a, b, w, p, c]| a * (-b * x).exp() * (w * x + p).sin() + c),
            signal: |x, p| p[0] * (-p[1] * x).exp() * (p[2] * x + p[3]).sin() + p[4],
            truth: vec![1.8, 0.3, 3.0, 0.5, 0.2],
            start: vec![1.5, 0.4, 2.9, 0.6, 0.1],
        },
    ]
}

fn main() -> Outcome<()> {
    let (flags, wanted): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let whole = flags.iter().any(|flag| flag == "--bench");
    let bytes = match std::env::var("DUALFIT_STREAM_BYTES") {
        Ok(text) => text.parse().map_err(|e| format!("DUALFIT_STREAM_BYTES is {text:?}: {e}"))?,
        Err(_) => {
            if whole {
                4 << 30
            } else {
                64 << 20
            }
        }
    };
    let folder =
        std::env::var_os("DUALFIT_STREAM_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    if let Some(free) = free_bytes(&folder)
        && free < bytes + bytes / 2
    {
        let folder = folder.display();
        return Err(format!(
            "{folder} has {:.1} GB free, and files of {:.1} GB want half as much again; set DUALFIT_STREAM_DIR or DUALFIT_STREAM_BYTES",
            1e-9 * free as f64,
            1e-9 * bytes as f64
        )
        .into());
    }
    println!(
        "{:.2} GB of points (x, y) in f64; memory limit {:.0} MB; GB/s, and % of plain reading\n",
        1e-9 * bytes as f64,
        1e-6 * LIMIT as f64
    );
    println!(
        "model           files  cache  plain   fit    share  passes  seconds  reading  waiting  working  peak MB"
    );
    let picked = |case: &Case| wanted.is_empty() || wanted.iter().any(|w| case.name.contains(&**w));
    for case in cases().into_iter().filter(picked) {
        for files in [1, 2] {
            // Deleted at the end of the block, also after an error.
            let folder = tempfile::tempdir_in(&folder)?;
            measure(&case, &write(&case, files, bytes, folder.path())?)?;
        }
    }
    let rows = std::env::var("DUALFIT_STREAM_ROWS").ok().map(|text| text.parse()).transpose()?;
    let rows = rows.unwrap_or(if whole { 8_000_000 } else { 100_000 });
    for (name, table) in TABLES {
        if wanted.is_empty() || wanted.iter().any(|w| name.contains(&**w)) {
            let folder = tempfile::tempdir_in(&folder)?;
            table(rows, folder.path())?;
        }
    }
    Ok(())
}

/// Writes a table with the given number of rows to a folder, and measures it.
type Table = fn(u32, &Path) -> Outcome<()>;

/// Tables of a decay, with the names that select them.
const TABLES: &[(&str, Table)] = &[("table", text), ("parquet", parquet)];

/// Calls `write` with each point of a table.
fn decays(rows: u32, mut write: impl FnMut(f64, f64) -> Outcome<()>) -> Outcome<()> {
    let [_, decay, _] = &cases()[..] else { return Err("there are three cases".into()) };
    let (noise, mut random) = (Normal::new(0.0, 0.1)?, StdRng::seed_from_u64(7));
    for i in 0..rows {
        let x = 10.0 * f64::from(i) / f64::from(rows);
        write(x, (decay.signal)(x, &decay.truth) + noise.sample(&mut random))?;
    }
    Ok(())
}

fn text(rows: u32, folder: &Path) -> Outcome<()> {
    let path = folder.join("points.csv");
    let mut file = BufWriter::with_capacity(BUFFER, File::create(&path)?);
    writeln!(file, "x,y")?;
    decays(rows, |x, y| Ok(writeln!(file, "{x:.8},{y:.6}")?))?;
    file.into_inner()?.sync_all()?;
    table("text", rows, || Ok(CsvSource::open(&path)?))
}

fn parquet(rows: u32, folder: &Path) -> Outcome<()> {
    use parquet::basic::{Compression, ZstdLevel};
    use parquet::data_type::DoubleType;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    let zstandard = Compression::ZSTD(ZstdLevel::default());
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, zstandard] {
        let path = folder.join("points.parquet");
        let schema = "message m { required double x; required double y; }";
        let schema = parquet::schema::parser::parse_message_type(schema)?.into();
        let options = WriterProperties::builder().set_compression(compression);
        let options = options.set_dictionary_enabled(false).build().into();
        let mut writer = SerializedFileWriter::new(File::create(&path)?, schema, options)?;
        let mut columns = [Vec::new(), Vec::new()];
        decays(rows, |x, y| {
            columns[0].push(x);
            columns[1].push(y);
            Ok(())
        })?;
        for first in (0..rows as usize).step_by(1 << 20) {
            let mut group = writer.next_row_group()?;
            for column in &columns {
                let values = &column[first..column.len().min(first + (1 << 20))];
                let mut out = group.next_column()?.ok_or("there are two columns")?;
                out.typed::<DoubleType>().write_batch(values, None, None)?;
                out.close()?;
            }
            group.close()?;
        }
        writer.close()?;
        table(&format!("Parquet ({compression})"), rows, || Ok(ParquetSource::open(&path)?))?;
    }
    Ok(())
}

/// Reads and fits a table five times; prints the minimum seconds of both, and the rate of decoding in GB/s.
fn table<S: Source>(what: &str, rows: u32, open: impl Fn() -> Outcome<S>) -> Outcome<()> {
    let [_, decay, _] = &cases()[..] else { return Err("there are three cases".into()) };
    let (mut reading, mut fitting, mut kept) = (f64::INFINITY, f64::INFINITY, 0);
    for _ in 0..5 {
        let begun = Instant::now();
        let (mut source, mut points) = (open()?, 0);
        let mut chunk = Chunk::new(&source.shape(), 1 << 17);
        loop {
            chunk.truncate(0);
            match source.read(&mut chunk, 1 << 17)? {
                0 => break,
                read => points += read,
            }
        }
        assert_eq!(points, rows as usize);
        reading = reading.min(begun.elapsed().as_secs_f64());
        let begun = Instant::now();
        let stream = Stream::new(open()?).memory_limit(LIMIT);
        let fit = decay.model.clone().backend(Backend::Cpu).fit_stream(stream, &decay.start)?;
        fitting = fitting.min(begun.elapsed().as_secs_f64());
        kept = fit.stats().stream.as_ref().map_or(0, |stats| stats.kept_points);
    }
    let speed = 16e-9 * f64::from(rows) / reading;
    println!(
        "\n{rows} rows of {what}: read in {reading:.3} s ({speed:.2} GB/s), fitted in {fitting:.3} s, {kept} kept"
    );
    Ok(())
}

/// Writes points as rows of one file, or as one file per column.
fn write(case: &Case, files: usize, bytes: u64, folder: &Path) -> Outcome<Vec<PathBuf>> {
    let (points, noise) = (bytes / 16, Normal::new(0.0, 0.1)?);
    let paths: Vec<PathBuf> = (0..files).map(|i| folder.join(format!("{i}.bin"))).collect();
    let mut out = Vec::new();
    for path in &paths {
        out.push(BufWriter::with_capacity(BUFFER, File::create(path)?));
    }
    let mut random = StdRng::seed_from_u64(7);
    for i in 0..points {
        let x = 10.0 * i as f64 / points as f64;
        let y = (case.signal)(x, &case.truth) + noise.sample(&mut random);
        out[0].write_all(&x.to_le_bytes())?;
        out[files - 1].write_all(&y.to_le_bytes())?;
    }
    for file in out {
        // Pages that are not on the disk cannot be dropped from the cache.
        file.into_inner()?.sync_all()?;
    }
    Ok(paths)
}

/// Reads and fits with an empty cache, then with a warm one; prints one line for each.
fn measure(case: &Case, paths: &[PathBuf]) -> Outcome<()> {
    for cache in ["cold", "warm"] {
        let cold = cache == "cold";
        if !cold {
            read(paths, false)?;
        }
        let before = read(paths, cold)?;
        let (fit, seconds, peak) = fit(case, paths, cold)?;
        let plain = 0.5 * (before + read(paths, cold)?);
        let stats = fit.stats().stream.as_ref().ok_or("a stream has its statistics")?;
        let speed = 1e-9 * stats.bytes_read as f64 / seconds;
        println!(
            "{:<16}{:>5}  {cache:<5}{plain:>7.2}{speed:>6.2}{:>6.0} %{:>8}{seconds:>9.2}{:>9.2}{:>9.2}{:>9.2}{:>9.0}",
            case.name,
            paths.len(),
            100.0 * speed / plain,
            stats.passes,
            stats.read_seconds,
            stats.wait_seconds,
            stats.work_seconds,
            1e-6 * peak
        );
    }
    Ok(())
}

/// Reads the files from the first byte to the last; returns the rate in GB/s.
fn read(paths: &[PathBuf], cold: bool) -> Outcome<f64> {
    if cold {
        drop_cache(paths)?;
    }
    let (mut buffer, mut bytes, begun) = (vec![0; BUFFER], 0, Instant::now());
    for path in paths {
        let mut file = File::open(path)?;
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            bytes += read;
        }
    }
    Ok(1e-9 * bytes as f64 / begun.elapsed().as_secs_f64())
}

/// Fits, and returns the fit, its seconds and its peak of resident bytes. If `cold` is true, the cache is dropped
/// before each pass, and the time for this is not counted.
fn fit(case: &Case, paths: &[PathBuf], cold: bool) -> Outcome<(Fit, f64, f64)> {
    let dropping = Arc::new(Mutex::new(Duration::ZERO));
    let mut model = case.model.clone().backend(Backend::Cpu);
    if cold {
        drop_cache(paths)?;
        let (paths, dropping) = (paths.to_vec(), dropping.clone());
        model = model.observe(move |event| {
            let Event::Stream(progress) = event else { return ControlFlow::Continue(()) };
            if progress.total_points == Some(progress.points) {
                let begun = Instant::now();
                drop_cache(&paths).expect("the files can be opened");
                *dropping.lock().expect("a duration") += begun.elapsed();
            }
            ControlFlow::Continue(())
        });
    }
    // Resets the peak of memory, if the system allows it.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let begun = Instant::now();
    let columns = if paths.len() == 1 { vec![F64; 2] } else { vec![F64] };
    let source = RawSource::open(paths.iter().map(|path| RawFile::new(path, columns.clone())))?;
    let fit = model.fit_stream(Stream::new(source).memory_limit(LIMIT), &case.start)?;
    let seconds = (begun.elapsed() - *dropping.lock().expect("a duration")).as_secs_f64();
    if !fit.converged() {
        return Err(format!("{} has not converged:\n{fit}", case.name).into());
    }
    for ((p, truth), error) in fit.params().iter().zip(&case.truth).zip(fit.std_errors()) {
        if (p - truth).abs() > 6.0 * error {
            return Err(format!("{} is not at the truth:\n{fit}", case.name).into());
        }
    }
    Ok((fit, seconds, peak_bytes().unwrap_or(f64::NAN)))
}

fn peak_bytes() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(1024.0 * line.split_whitespace().nth(1)?.parse::<f64>().ok()?)
}

/// Drops the pages of these files from the system's cache; they must have been written to the disk.
#[cfg(target_os = "linux")]
fn drop_cache(paths: &[PathBuf]) -> Outcome<()> {
    use std::os::fd::AsRawFd;
    for path in paths {
        let file = File::open(path)?;
        // SAFETY: the file is open, and the advice does not change its content.
        let code =
            unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        if code != 0 {
            return Err(
                format!("the cache of {} is not dropped: error {code}", path.display()).into()
            );
        }
    }
    Ok(())
}

/// Does nothing on other systems: all passes are warm.
#[cfg(not(target_os = "linux"))]
fn drop_cache(_: &[PathBuf]) -> Outcome<()> {
    Ok(())
}

/// Returns the free bytes on the disk of a folder.
#[cfg(unix)]
fn free_bytes(folder: &Path) -> Option<u64> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(folder.as_os_str().as_bytes()).ok()?;
    // SAFETY: all-zero bytes are a valid value of this structure of numbers.
    let mut answer: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path ends with a NUL, and `answer` is a valid structure.
    let code = unsafe { libc::statvfs(path.as_ptr(), &mut answer) };
    (code == 0).then(|| answer.f_bavail as u64 * answer.f_frsize as u64)
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}
