//! Binary files of numbers.

use crate::readers::damage::{Folder, cut_everywhere, refused};
use crate::readers::points::{Point, check};
use dualfit::source::{Source, Width};
use dualfit_io::NumberType::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
use dualfit_io::{NumberType, RawFile, RawSource};

/// Returns the value of point i in a column of this type.
fn value(number: NumberType, i: u64) -> f64 {
    let negative = matches!(number, I8 | I16 | I32 | I64 | F32 | F64) && i.is_multiple_of(3);
    let value = (i * 5 % 120 + 1) as f64 + if matches!(number, F32 | F64) { 0.25 } else { 0.0 };
    if negative { -value } else { value }
}

fn bytes(number: NumberType, value: f64, big: bool) -> Vec<u8> {
    let mut bytes = match number {
        I8 => (value as i8).to_le_bytes().to_vec(),
        U8 => (value as u8).to_le_bytes().to_vec(),
        I16 => (value as i16).to_le_bytes().to_vec(),
        U16 => (value as u16).to_le_bytes().to_vec(),
        I32 => (value as i32).to_le_bytes().to_vec(),
        U32 => (value as u32).to_le_bytes().to_vec(),
        I64 => (value as i64).to_le_bytes().to_vec(),
        U64 => (value as u64).to_le_bytes().to_vec(),
        F32 => (value as f32).to_le_bytes().to_vec(),
        F64 => value.to_le_bytes().to_vec(),
        other => panic!("a new number type: {other:?}"),
    };
    if big {
        bytes.reverse();
    }
    bytes
}

fn records(numbers: &[NumberType], n: u64, big: bool) -> Vec<u8> {
    let row = |i| numbers.iter().flat_map(move |&number| bytes(number, value(number, i), big));
    (0..n).flat_map(row).collect()
}

const ALL: [NumberType; 10] = [I8, U8, I16, U16, I32, U32, I64, U64, F32, F64];

#[test]
fn rows_of_every_type_and_order() {
    let folder = Folder::new();
    for big in [false, true] {
        for n in [0, 1, 23, 9000] {
            let mut written = vec![7; 13];
            written.extend(records(&ALL, n, big));
            let path = folder.write("rows", written);
            for y in 0..ALL.len() {
                if n > 23 && y > 0 {
                    continue;
                }
                let file = RawFile::new(&path, ALL).header(13);
                let file = if big { file.big_endian() } else { file };
                let source = RawSource::open([file]).unwrap();
                let source =
                    source.x([9 - y, 9]).unwrap().y(y).unwrap().sigma((y + 4) % 10).unwrap();
                let expected: Vec<Point> = (0..n)
                    .map(|i| {
                        (
                            vec![value(ALL[9 - y], i), value(F64, i)],
                            value(ALL[y], i),
                            Some(value(ALL[(y + 4) % 10], i)),
                        )
                    })
                    .collect();
                let exact = matches!(ALL[y], I8 | U8 | I16 | U16 | F32);
                assert_eq!(source.shape().y, if exact { Width::F32 } else { Width::F64 });
                check(source, &expected);
            }
        }
    }
}

#[test]
fn a_file_per_column() {
    let folder = Folder::new();
    for number in ALL {
        for big in [false, true] {
            let n = 70_000;
            let x = folder.write("x", records(&[F64], n, false));
            let y = folder.write("y", [vec![1; 8], records(&[number], n, big)].concat());
            let file = RawFile::new(&y, [number]).header(8);
            let file = if big { file.big_endian() } else { file };
            let mut source = RawSource::open([RawFile::new(&x, [F64]), file]).unwrap();
            let points = crate::readers::points::rest(&mut source, 40_000).unwrap();
            assert_eq!(points.len(), 70_000);
            for (i, point) in points.iter().enumerate() {
                let i = i as u64;
                assert_eq!(*point, (vec![value(F64, i)], value(number, i), None), "{number:?}");
            }
        }
    }
}

#[test]
fn rows_longer_than_a_block() {
    let folder = Folder::new();
    let columns = 40_000;
    let path = folder.write("wide", records(&[F64; 40_000], 5, false));
    let source = RawSource::open([RawFile::new(path, vec![F64; columns])]).unwrap();
    let expected: Vec<Point> = (0..5).map(|i| (vec![value(F64, i)], value(F64, i), None)).collect();
    check(source.x([39_999]).unwrap().y(20_000).unwrap(), &expected);
}

#[test]
fn files_that_do_not_fit_are_refused() {
    let folder = Folder::new();
    let x = folder.write("x.bin", records(&[F64], 23, false));
    let y = folder.write("y.bin", records(&[F64], 22, false));
    let both = [RawFile::new(&x, [F64]), RawFile::new(&y, [F64])];
    let said = RawSource::open(both).unwrap_err().to_string();
    assert!(said.contains("y.bin: it has 22 rows") && said.contains("x.bin has 23"), "{said}");
    let whole = records(&[F64, F32], 23, false);
    let open = |path: &std::path::Path| RawSource::open([RawFile::new(path, [F64, F32])]);
    let expected: Vec<Point> =
        (0..23).map(|i| (vec![value(F64, i)], value(F32, i), None)).collect();
    assert_eq!(cut_everywhere(&whole, &expected, open), 23);
    let said = refused(&whole[..100], open);
    assert!(said.contains("row 8: 100 bytes of data are no whole number of rows of 12"), "{said}");
    let said = refused([1], |path| RawSource::open([RawFile::new(path, [F64, F64]).header(2)]));
    assert!(said.contains("fewer than its header's 2"), "{said}");
    let said = refused([1], |path| RawSource::open([RawFile::new(path, [])]));
    assert!(said.contains("no numbers"), "{said}");
    assert!(RawSource::open([]).is_err());
}

#[test]
fn the_fingerprint_knows_file_layout_and_columns() {
    let folder = Folder::new();
    let path = folder.write("a", records(&[F64, F64], 23, false));
    let open = || RawSource::open([RawFile::new(&path, [F64, F64])]).unwrap();
    let first = open().fingerprint().unwrap();
    assert_eq!(first, open().fingerprint().unwrap());
    let copy = folder.write("b", records(&[F64, F64], 23, false));
    let copy = RawSource::open([RawFile::new(copy, [F64, F64])]).unwrap();
    assert_eq!(first, copy.fingerprint().unwrap());
    assert_ne!(first, open().y(0).unwrap().fingerprint().unwrap());
    let other = RawSource::open([RawFile::new(&path, [F64, F64]).big_endian()]).unwrap();
    assert_ne!(first, other.fingerprint().unwrap());
}
