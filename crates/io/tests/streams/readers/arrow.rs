//! Arrow files and streams written by pyarrow, intact and damaged, and by the crate `arrow-ipc`.

use crate::readers::damage::{Folder, cut_everywhere, recorded, refused};
use crate::readers::points::{Point, check, rest};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, UInt8Array};
use arrow_ipc::writer::StreamWriter;
use dualfit::error::SourceError;
use dualfit::source::{Source, Width};
use dualfit_io::ArrowSource;
use std::path::Path;
use std::sync::Arc;

/// Returns the points that tests/record/arrow_files.py wrote.
fn recorded_points() -> Vec<Point> {
    let signal = |i: i32| if i % 5 == 4 { f64::NAN } else { f64::from(100 - 7 * i) };
    let x =
        |i: i32| vec![f64::from(i * 11), f64::from(i) / 2.0 - 3.0, f64::from(i) * 2_f64.powi(40)];
    (0..37).map(|i| (x(i), signal(i), Some(f64::from(1 + i)))).collect()
}

fn open(path: &Path) -> Result<ArrowSource, SourceError> {
    ArrowSource::open(path)?.x(["count", "t", "big"])?.y("signal")?.sigma("error")
}

#[test]
fn files_and_streams_of_every_compression() {
    for name in ["plain.arrow", "lz4.arrow", "zstd.arrow", "stream.arrows"] {
        let source = open(&recorded(name)).unwrap();
        assert_eq!((source.shape().y, source.shape().points), (Width::F32, Some(37)));
        check(source, &recorded_points());
    }
    check(open(&recorded("none.arrow")).unwrap(), &[]);
}

#[test]
fn what_cannot_be_read_is_named() {
    let open = || ArrowSource::open(recorded("plain.arrow")).unwrap();
    for (name, kind) in [("name", "Utf8"), ("when", "Timestamp"), ("kind", "Dictionary")] {
        let said = open().y(name).unwrap_err().to_string();
        let expected = format!("plain.arrow, column {name}: it has values of type {kind}");
        assert!(said.contains(&expected), "{said}");
    }
    let said = rest(&mut open(), 5).unwrap_err().to_string();
    assert!(said.contains("column name: it has values of type Utf8"), "{said}");
}

#[test]
fn cut_anywhere_it_is_an_error_or_whole_batches() {
    let bytes = std::fs::read(recorded("plain.arrow")).unwrap();
    assert_eq!(cut_everywhere(&bytes, &[], open), 0);
    let bytes = std::fs::read(recorded("stream.arrows")).unwrap();
    let read = cut_everywhere(&bytes, &recorded_points(), open);
    assert!(
        read <= 12,
        "a stream that ends between messages is whole as far as can be told: {read}"
    );
    let said = refused("no arrow at all, but long enough", open);
    assert!(said.contains("bad: it is no Arrow file or stream, or damaged"), "{said}");
    refused("", open);
}

#[test]
fn what_the_crate_writes() {
    let folder = Folder::new();
    let path = folder.path().join("crate.arrows");
    let batch = |from: u32, n: u32| {
        let x: ArrayRef =
            Arc::new((from..from + n).map(|i| f64::from(i) / 4.0).collect::<Float64Array>());
        let y: UInt8Array = (from..from + n).map(|i| (i % 3 > 0).then_some(i as u8)).collect();
        RecordBatch::try_from_iter([("x", x), ("y", Arc::new(y) as ArrayRef)]).unwrap()
    };
    // Slices that begin in the middle of their arrays, and of a byte of the null bitmaps.
    let batches =
        [batch(0, 50), batch(40, 20).slice(10, 3), batch(53, 1), batch(54, 0), batch(54, 30)];
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = StreamWriter::try_new(file, &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    let y = |i: u32| if i.is_multiple_of(3) { f64::NAN } else { f64::from(i as u8) };
    let expected: Vec<Point> = (0..84).map(|i| (vec![f64::from(i) / 4.0], y(i), None)).collect();
    check(ArrowSource::open(&path).unwrap(), &expected);
    let mut source = ArrowSource::open(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let said = rest(&mut source, 1000).unwrap_err().to_string();
    assert!(said.contains("crate.arrows") && said.contains("do not change it"), "{said}");
    std::fs::write(&path, &bytes).unwrap();
    source.rewind().unwrap();
    assert!(crate::readers::points::same(&rest(&mut source, 1000).unwrap(), &expected));
}
