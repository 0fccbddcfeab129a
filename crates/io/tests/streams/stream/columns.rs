//! Parallel decoding of the columns and pages of Parquet files: the same points, bits and errors for any number of
//! threads.

use crate::readers::points::{Point, points_of, rest, same};
use crate::stream::support::{bits, folder, noise};
use dualfit::source::{Chunk, SliceSource, Source};
use dualfit::{Backend, CurveFit, Error, Fit, Sigma, Stream};
use dualfit_io::ParquetSource;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::DoubleType;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use rayon::ThreadPoolBuilder;
use std::fs::{self, File};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Minimum number of points of a read for which threads are started.
const WORTH_A_THREAD: usize = 1 << 15;
const GROUP: usize = 50_000;
const POINTS: usize = 3 * GROUP + 7;
const START: [f64; 2] = [1.0, 0.5];

fn columns(points: usize) -> [Vec<f64>; 3] {
    let x: Vec<f64> = (0..points).map(|i| 4.0 * i as f64 / points as f64).collect();
    let errors = noise(points, 0.1, 5);
    let y = x.iter().zip(&errors).map(|(x, error)| 2.0 * (-0.7 * x).exp() + error).collect();
    let sigma = x.iter().map(|x| 0.1 + 0.01 * x).collect();
    [x, y, sigma]
}

/// Returns options for pages of 7000 rows without a dictionary, compressed with Zstandard.
fn plain() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
        .set_data_page_row_count_limit(7000)
        .set_write_batch_size(1000)
}

fn write(path: &Path, columns: &[Vec<f64>; 3], group: usize, options: WriterPropertiesBuilder) {
    let schema = "message m { optional double x; required double y; required double sigma; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let options = options.build();
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(options)).unwrap();
    let points = columns[0].len();
    for first in (0..points).step_by(group) {
        let mut rows = writer.next_row_group().unwrap();
        for (number, values) in columns.iter().enumerate() {
            let values = &values[first..points.min(first + group)];
            let levels = (number == 0).then(|| vec![1; values.len()]);
            let mut column = rows.next_column().unwrap().unwrap();
            column.typed::<DoubleType>().write_batch(values, levels.as_deref(), None).unwrap();
            column.close().unwrap();
        }
        rows.close().unwrap();
    }
    writer.close().unwrap();
}

fn opened(path: &Path) -> ParquetSource {
    ParquetSource::open(path).unwrap().sigma("sigma").unwrap()
}

fn on_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

fn fitted<'a>(source: impl Source + 'a, chunk: usize, limit: usize) -> Result<Fit, Error> {
    let model = CurveFit::new(|x, [a, b]| a * (-b * x).exp()).backend(Backend::Cpu);
    let stream = Stream::new(source).sigma(Sigma::AbsoluteColumn)?.subsample(false);
    model.fit_stream(stream.chunk_points(chunk).memory_limit(limit), START)
}

#[test]
fn the_bits_are_those_of_memory() {
    let folder = folder();
    let path = folder.path().join("points.parquet");
    let all = columns(POINTS);
    write(&path, &all, GROUP, plain());
    let [x, y, sigma] = &all;
    let slices = SliceSource::new(x, y).unwrap().sigma(sigma).unwrap();
    let expected = fitted(slices, WORTH_A_THREAD, 256 << 20).unwrap();
    assert!(expected.converged(), "{expected}");
    for threads in [1, 2, 16] {
        for chunk in [WORTH_A_THREAD - 1, WORTH_A_THREAD, WORTH_A_THREAD + 1, 1 << 20] {
            // No points, some points or all points are kept.
            for limit in [6 * chunk * 24, 8 * chunk * 24, 256 << 20] {
                let fit = on_threads(threads, || fitted(opened(&path), chunk, limit)).unwrap();
                let what = format!("{threads} threads, {chunk} points, {limit} bytes");
                assert_eq!(bits(&fit), bits(&expected), "{what}");
            }
        }
    }
}

/// Returns a range of the points of columns in memory.
fn in_memory([x, y, sigma]: &[Vec<f64>; 3], rows: Range<usize>) -> Vec<Point> {
    rows.map(|i| (vec![x[i]], y[i], Some(sigma[i]))).collect()
}

/// Reads the points from a row on with this number of threads.
fn read_from(first: usize, path: &Path, threads: usize) -> Vec<Point> {
    on_threads(threads, || {
        let mut source = opened(path);
        assert_eq!(source.skip(first as u64), Ok(first as u64));
        rest(&mut source, WORTH_A_THREAD + 1).unwrap()
    })
}

/// Reads the points from any row on: pages of both versions, with and without a dictionary, one page or many per group.
#[test]
fn pages_of_all_kinds_are_read_from_any_row_on() {
    let folder = folder();
    let path = folder.path().join("points.parquet");
    let mut all = columns(POINTS);
    // Repeated values, so that a dictionary is useful.
    all[2] = (0..POINTS).map(|i| 0.1 + 0.01 * (i % 100) as f64).collect();
    let (second, dictionary) =
        (WriterVersion::PARQUET_2_0, || plain().set_dictionary_enabled(true));
    let kinds = [
        ("dictionary", dictionary()),
        ("dictionary that is given up", dictionary().set_dictionary_page_size_limit(100_000)),
        ("version 2", plain().set_writer_version(second)),
        ("version 2, dictionary", dictionary().set_writer_version(second)),
        ("Snappy", plain().set_compression(Compression::SNAPPY)),
        ("one page", plain().set_data_page_row_count_limit(1 << 20)),
        ("small pages", plain().set_data_page_row_count_limit(100).set_write_batch_size(100)),
        ("not compressed", plain().set_compression(Compression::UNCOMPRESSED)),
    ];
    for (kind, options) in kinds {
        write(&path, &all, GROUP, options);
        for threads in [1, 2, 3, 16] {
            for first in [0, 1, 6999, 7000, 7001, GROUP - 1, GROUP, GROUP + 1, POINTS - 1, POINTS] {
                let points = read_from(first, &path, threads);
                assert!(
                    same(&points, &in_memory(&all, first..POINTS)),
                    "{kind}, {threads} threads, from {first}"
                );
            }
        }
    }
}

/// Reads pages that are larger than the limit for decompression in advance.
#[test]
fn large_pages_are_read_when_their_turn_comes() {
    let folder = folder();
    let path = folder.path().join("points.parquet");
    let (page, points) = (600_000, 1_300_000);
    let all = columns(points);
    let options = plain().set_data_page_row_count_limit(page).set_data_page_size_limit(64 << 20);
    write(&path, &all, points, options);
    for threads in [1, 2, 16] {
        for first in [0, page - 1, page, page + 1] {
            let expected = in_memory(&all, first..points);
            assert!(same(&read_from(first, &path, threads), &expected), "{threads} threads");
        }
    }
}

/// A column is damaged in the middle: the points before the damage are returned, then the same error for every read.
#[test]
fn one_damaged_column_is_found_at_its_row() {
    let folder = folder();
    let path = folder.path().join("points.parquet");
    let all = columns(POINTS);
    write(&path, &all, GROUP, plain());
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    // The middle of y in the second group.
    let (start, length) = reader.metadata().row_group(1).column(1).byte_range();
    let mut bytes = fs::read(&path).unwrap();
    let middle = (start + length / 2) as usize;
    bytes[middle..middle + 4000].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let mut outcomes = Vec::new();
    for threads in [1, 2, 16] {
        for most in [1000, WORTH_A_THREAD, 1 << 20] {
            outcomes.push(on_threads(threads, || {
                let (mut source, mut points) = (opened(&path), Vec::new());
                let mut chunk = Chunk::new(&source.shape(), 0);
                let error = loop {
                    chunk.truncate(0);
                    match source.read(&mut chunk, most) {
                        Ok(read) => {
                            assert!(read > 0 && read == chunk.len() && read <= most);
                            points.extend(points_of(&chunk));
                        }
                        Err(error) => break error,
                    }
                };
                assert_eq!(source.read(&mut chunk, most), Err(error.clone()), "it stays");
                source.rewind().unwrap();
                assert_eq!(source.skip(GROUP as u64 - 3), Ok(GROUP as u64 - 3));
                (points, error.to_string())
            }));
        }
        for chunk in [WORTH_A_THREAD - 1, WORTH_A_THREAD, 1 << 20] {
            let fit = on_threads(threads, || fitted(opened(&path), chunk, 256 << 20));
            let Err(Error::Source(error)) = fit else { panic!("{fit:?}") };
            assert_eq!(error.to_string(), outcomes[0].1);
        }
    }
    let (points, said) = &outcomes[0];
    assert!((GROUP..2 * GROUP).contains(&points.len()), "{} points", points.len());
    assert!(same(points, &in_memory(&all, 0..points.len())));
    assert!(said.contains(&format!("points.parquet, row {}", points.len())), "{said}");
    for (others, error) in &outcomes {
        assert!(same(others, points), "{} points, not {}", others.len(), points.len());
        assert_eq!(error, said);
    }
}
