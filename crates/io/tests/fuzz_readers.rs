//! Fuzz test of the readers: no file causes a panic, a hang, or a use of memory out of proportion to its size. Valid
//! files of every format are damaged at random and read in random steps.
//!
//! `DUALFIT_FUZZ_FILES` sets the number of files, and `DUALFIT_FUZZ_SEED` the seed of the first one. The seed of a file
//! that fails is printed.

use dualfit::error::SourceError;
use dualfit::source::{Chunk, Source};
use dualfit_io::NumberType::{F32, F64, I16};
use dualfit_io::{CsvOptions, CsvSource, Delimiter, NpySource, RawFile, RawSource};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Default number of files, which takes a few seconds.
const FILES: u64 = 2_000;
/// Time limit of a reader, in seconds. Usual times are milliseconds, or seconds on a busy machine.
const TOO_LONG: f64 = 60.0;

/// The system's allocator with counters of the current and the peak memory use.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grow(bytes: usize) {
    let held = HELD.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(held, Ordering::Relaxed);
}

// SAFETY: every call is forwarded to the system's allocator; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller fulfils the same contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        grow(size);
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

type Open = fn(&Path) -> Result<Box<dyn Source>, SourceError>;

fn boxed(
    source: Result<impl Source + 'static, SourceError>,
) -> Result<Box<dyn Source>, SourceError> {
    source.map(|source| Box::new(source) as Box<dyn Source>)
}

fn csv_with(path: &Path, options: CsvOptions) -> Result<Box<dyn Source>, SourceError> {
    boxed(CsvSource::open_with(path, options)?.x([0])?.y(1)?.sigma(2))
}

/// Returns valid files, each with a function that opens it.
fn formats() -> Vec<(Vec<u8>, Open)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/files");
    let recorded = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let table: String = (0..40)
        .map(|i| format!("{}.5,{},\"{}\"\n", i, i * i, 1.0 / (1.0 + f64::from(i))))
        .collect();
    let csv = format!("# comment\nt,y,s\n{table}").into_bytes();
    let detected = format!("Run 7\nt;y;s\ns;V;V\n{}", table.replace(',', ";").replace('.', ","));
    let detected = detected.into_bytes();
    let spaced = table.replace(',', " \t ").into_bytes();
    let mut formats: Vec<(Vec<u8>, Open)> = vec![
        (csv, |path| csv_with(path, CsvOptions::default())),
        (spaced, |path| {
            let delimiter = Some(Delimiter::Whitespace);
            let options = CsvOptions::default().delimiter(delimiter).comment(None);
            csv_with(path, options.header_rows(0))
        }),
        (detected, |path| csv_with(path, CsvOptions::detected())),
        ((0..6 + 40 * 14).map(|i| (i * 37) as u8).collect(), |path| {
            boxed(RawSource::open([RawFile::new(path, [F64, F32, I16]).header(6)])?.sigma(2))
        }),
        (recorded("column_i2.npy"), |path| {
            let file = || RawFile::new(path, [I16]).big_endian();
            boxed(RawSource::open([file(), file()]))
        }),
    ];
    for name in
        ["table_f8", "table_f8_fortran", "table_f4_big_fortran", "table_v3", "no_rows", "named"]
    {
        let open: Open = |path| boxed(NpySource::open(path)?.y(2)?.sigma(1));
        formats.push((recorded(&format!("{name}.npy")), open));
    }
    for name in ["column_i2", "column_f8", "column_u8_big"] {
        let open: Open = |path| boxed(NpySource::open_all([path, path]));
        formats.push((recorded(&format!("{name}.npy")), open));
    }
    for name in ["plain", "snappy", "zstd", "split"] {
        let open: Open = |path| {
            let source = dualfit_io::ParquetSource::open(path)?;
            boxed(source.x(["count", "t", "big"])?.y("signal")?.sigma("error"))
        };
        formats.push((recorded(&format!("{name}.parquet")), open));
    }
    for name in ["plain.arrow", "lz4.arrow", "zstd.arrow", "stream.arrows"] {
        let open: Open = |path| {
            let source = dualfit_io::ArrowSource::open(path)?;
            boxed(source.x(["count", "t", "big"])?.y("signal")?.sigma("error"))
        };
        formats.push((recorded(name), open));
    }
    formats
}

/// Damages bytes at 1, 2, 4 or 8 random positions.
fn damage(bytes: &mut Vec<u8>, random: &mut StdRng) {
    for _ in 0..1 << random.random_range(0..4) {
        let length = bytes.len();
        if length == 0 {
            return;
        }
        // Half of the positions are in headers and footers.
        let at = match random.random_range(0..4) {
            0 => random.random_range(0..length.min(256)),
            1 => length - 1 - random.random_range(0..length.min(2048)),
            _ => random.random_range(0..length),
        };
        let span = random.random_range(0..=(length - at).min(64));
        match random.random_range(0..10) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..at + span)),
            2 => {
                let part = bytes[at..at + span].to_vec();
                let to = random.random_range(0..=length);
                bytes.splice(to..to, part);
            }
            3 => bytes[at..at + span].fill_with(|| random.random()),
            4 => bytes[at] = random.random(),
            5 => {
                // Replace an integer of eight, four or two bytes by a huge or negative one.
                let number = [u64::MAX, 1 << 60, 1 << 40, 1 << 31, i64::MAX as u64, 0x7fff_ffff];
                let number = number[random.random_range(0..number.len())].to_le_bytes();
                let width = [2, 4, 8][random.random_range(0..3)].min(length - at);
                bytes[at..at + width].copy_from_slice(&number[..width]);
            }
            6 => {
                // Lengthen a decimal number or a variable-length integer.
                let digits: &[u8] = if random.random() { b"99999999999" } else { &[0xff; 5] };
                bytes.splice(at..at, digits.iter().copied());
            }
            _ => bytes[at] ^= 1 << random.random_range(0..8),
        }
    }
}

/// Opens a file and reads it in random steps. Continues after errors and rewinds.
fn read_somehow(path: &Path, open: Open, random: &mut StdRng) {
    let Ok(mut source) = open(path) else { return };
    let shape = source.shape();
    let mut chunk = Chunk::new(&shape, 0);
    let _ = source.fingerprint();
    for _ in 0..40 {
        let before = chunk.len();
        match random.random_range(0..8) {
            0 => {
                let _ = source.rewind();
            }
            1 => {
                let count = if random.random() { 11 } else { u64::MAX };
                if let Ok(skipped) = source.skip(count) {
                    assert!(skipped <= count);
                }
            }
            _ => {
                let most = [1, 7, 100, 5000][random.random_range(0..4)];
                match source.read(&mut chunk, most) {
                    Ok(read) => assert!(read <= most && chunk.len() == before + read),
                    Err(error) => assert!(!error.place.is_empty() && !error.message.is_empty()),
                }
                let even = chunk.x.iter().all(|x| x.len() == chunk.len());
                assert!(even && chunk.sigma.as_ref().is_none_or(|s| s.len() == chunk.len()));
            }
        }
        chunk.truncate(if random.random() { 0 } else { chunk.len().min(20_000) });
    }
}

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn no_file_brings_a_reader_down() {
    let (files, first) = (variable("DUALFIT_FUZZ_FILES", FILES), variable("DUALFIT_FUZZ_SEED", 1));
    let (formats, folder) = (formats(), tempfile::tempdir().unwrap());
    let path = folder.path().join("damaged");
    let good = formats.iter().filter(|(bytes, open)| {
        std::fs::write(&path, bytes).unwrap();
        open(&path).and_then(|mut source| source.skip(u64::MAX)).is_ok()
    });
    assert_eq!(good.count(), formats.len() - 1, "all but the array of structures");
    std::panic::set_hook(Box::new(|_| {}));
    let mut seed = first;
    let mut failure = None;
    while seed < first + files && failure.is_none() {
        let mut random = StdRng::seed_from_u64(seed);
        let (good, open) = &formats[random.random_range(0..formats.len())];
        let mut bytes = good.clone();
        damage(&mut bytes, &mut random);
        std::fs::write(&path, &bytes).unwrap();
        let (start, held) = (Instant::now(), HELD.load(Ordering::Relaxed));
        PEAK.store(held, Ordering::Relaxed);
        let read = AssertUnwindSafe(|| read_somehow(&path, *open, &mut random));
        let fine = catch_unwind(read).is_ok();
        let grown = PEAK.load(Ordering::Relaxed).saturating_sub(held) >> 20;
        let seconds = start.elapsed().as_secs_f64();
        if !fine {
            failure = Some(format!("seed {seed}: a panic"));
        } else if grown > 256 {
            failure = Some(format!("seed {seed}: {grown} MiB were held"));
        } else if seconds > TOO_LONG {
            failure = Some(format!("seed {seed}: it took {seconds:.1} s"));
        }
        seed += 1;
    }
    let _ = std::panic::take_hook();
    println!("{} files were tried", seed - first);
    assert!(failure.is_none(), "{}", failure.unwrap_or_default());
}
