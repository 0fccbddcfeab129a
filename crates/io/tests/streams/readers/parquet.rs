//! Parquet files written by pyarrow, intact and damaged, and by the crate `parquet`.

use crate::readers::damage::{Folder, cut_everywhere, recorded, refused};
use crate::readers::points::{Point, check, rest};
use dualfit::error::SourceError;
use dualfit::source::{Source, Width};
use dualfit_io::ParquetSource;
use parquet::data_type::{DoubleType, FloatType, Int32Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::path::Path;
use std::sync::Arc;

/// Returns the points that tests/record/arrow_files.py wrote.
pub(crate) fn recorded_points() -> Vec<Point> {
    let signal = |i: i32| if i % 5 == 4 { f64::NAN } else { f64::from(100 - 7 * i) };
    let x =
        |i: i32| vec![f64::from(i * 11), f64::from(i) / 2.0 - 3.0, f64::from(i) * 2_f64.powi(40)];
    (0..37).map(|i| (x(i), signal(i), Some(f64::from(1 + i)))).collect()
}

fn open(path: &Path) -> Result<ParquetSource, SourceError> {
    ParquetSource::open(path)?.x(["count", "t", "big"])?.y("signal")?.sigma("error")
}

#[test]
fn files_of_every_encoding_and_compression() {
    for name in ["plain", "snappy", "zstd", "split"] {
        let source = open(&recorded(&format!("{name}.parquet"))).unwrap();
        assert_eq!((source.shape().y, source.shape().points), (Width::F32, Some(37)));
        check(source, &recorded_points());
    }
    check(open(&recorded("none.parquet")).unwrap(), &[]);
}

#[test]
fn what_cannot_be_read_is_named() {
    let open = || ParquetSource::open(recorded("snappy.parquet")).unwrap();
    let said = open().x(["name"]).unwrap_err().to_string();
    assert!(said.contains("snappy.parquet, column name: it has values of type Utf8"), "{said}");
    let said = open().y("when").unwrap_err().to_string();
    assert!(said.contains("column when: it has values of type Timestamp"), "{said}");
    let said = open().y("none").unwrap_err().to_string();
    assert!(said.contains("there is no column `none`; there are: `t`, `name`"), "{said}");
    let said = rest(&mut open(), 5).unwrap_err().to_string();
    assert!(said.contains("column name: it has values of type"), "{said}");
}

#[test]
fn cut_anywhere_it_is_an_error() {
    let bytes = std::fs::read(recorded("plain.parquet")).unwrap();
    assert_eq!(cut_everywhere(&bytes, &[], open), 0);
    let said = refused("no parquet at all", open);
    assert!(said.contains("bad: it is no Parquet file, or damaged"), "{said}");
    refused("", open);
}

#[test]
fn what_the_crate_writes() {
    let schema = "message m { required double t; optional float y; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let folder = Folder::new();
    let path = folder.path().join("crate.parquet");
    let file = std::fs::File::create(&path).unwrap();
    let mut writer =
        SerializedFileWriter::new(file, schema, Arc::new(WriterProperties::new())).unwrap();
    let mut expected = Vec::new();
    for group in 0..4_i32 {
        let n = 20_000 * group;
        let t: Vec<f64> = (0..n).map(|i| f64::from(i) * 0.25 + f64::from(group)).collect();
        let there: Vec<i16> = (0..n).map(|i| i16::from(i % 3 != 0)).collect();
        let y: Vec<f32> = (0..n).filter(|i| i % 3 != 0).map(|i| i as f32).collect();
        let mut rows = writer.next_row_group().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&t, None, None).unwrap();
        column.close().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<FloatType>().write_batch(&y, Some(&there), None).unwrap();
        column.close().unwrap();
        rows.close().unwrap();
        expected.extend((0..n).map(|i| {
            let y = if i % 3 == 0 { f64::NAN } else { f64::from(i) };
            (vec![t[i as usize]], y, None)
        }));
    }
    writer.close().unwrap();
    let mut source = ParquetSource::open(&path).unwrap();
    assert!(crate::readers::points::same(&rest(&mut source, 33_333).unwrap(), &expected));
    for skip in [0, 1, 19_999, 20_000, 20_001, 61_234, 119_999, 120_000] {
        source.rewind().unwrap();
        assert_eq!(source.skip(skip), Ok(skip));
        let left = rest(&mut source, 50_000).unwrap();
        assert!(crate::readers::points::same(&left, &expected[skip as usize..]), "{skip}");
    }
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    source.rewind().unwrap();
    let said = rest(&mut source, 50_000).unwrap_err().to_string();
    assert!(said.contains("crate.parquet, row ") && said.contains("do not change it"), "{said}");
    assert_eq!(rest(&mut source, 50_000).unwrap_err().to_string(), said);
    std::fs::write(&path, &bytes).unwrap();
    source.rewind().unwrap();
    assert!(crate::readers::points::same(&rest(&mut source, 33_333).unwrap(), &expected));
}

/// A field of a structure is a column. It is null if the field or the structure is null. Lists and dates are not
/// numbers.
#[test]
fn columns_within_columns() {
    let schema = "message m {
        required double t;
        optional group a { optional float b; required int32 c (INTEGER(8, true)); }
        optional group l (LIST) { repeated group list { optional double element; } }
        required int32 day (DATE);
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let folder = Folder::new();
    let path = folder.path().join("nested.parquet");
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut rows = writer.next_row_group().unwrap();
    let mut t = rows.next_column().unwrap().unwrap();
    t.typed::<DoubleType>().write_batch(&[1.0, 2.0, 3.0], None, None).unwrap();
    t.close().unwrap();
    let mut b = rows.next_column().unwrap().unwrap();
    b.typed::<FloatType>().write_batch(&[5.0], Some(&[2, 0, 1]), None).unwrap();
    b.close().unwrap();
    let mut c = rows.next_column().unwrap().unwrap();
    c.typed::<Int32Type>().write_batch(&[-7, 8], Some(&[1, 0, 1]), None).unwrap();
    c.close().unwrap();
    let mut l = rows.next_column().unwrap().unwrap();
    l.typed::<DoubleType>().write_batch(&[], Some(&[0; 3]), Some(&[0; 3])).unwrap();
    l.close().unwrap();
    let mut day = rows.next_column().unwrap().unwrap();
    day.typed::<Int32Type>().write_batch(&[1, 2, 3], None, None).unwrap();
    day.close().unwrap();
    rows.close().unwrap();
    writer.close().unwrap();
    let open = || ParquetSource::open(&path).unwrap();
    assert_eq!(open().names(), ["t", "a.b", "a.c", "l.list.element", "day"]);
    let source = open().x(["a.c", "t"]).unwrap().y("a.b").unwrap();
    assert_eq!((source.shape().x, source.shape().y), (vec![Width::F64; 2], Width::F32));
    let nan = f64::NAN;
    let expected =
        [(vec![-7.0, 1.0], 5.0, None), (vec![nan, 2.0], nan, None), (vec![8.0, 3.0], nan, None)];
    check(open().x(["a.c", "t"]).unwrap().y("a.b").unwrap(), &expected);
    let said = open().y(3).unwrap_err().to_string();
    assert!(said.contains("column l.list.element: it has values of type List"), "{said}");
    let said = open().y("day").unwrap_err().to_string();
    assert!(said.contains("column day: it has values of type Date32"), "{said}");
}
