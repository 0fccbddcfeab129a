//! Text tables.

use crate::readers::damage::{Folder, cut_everywhere, refused};
use crate::readers::points::{Point, check, rest};
use dualfit::error::SourceError;
use dualfit::source::Source;
use dualfit_io::{CsvOptions, CsvSource, Delimiter, Thousands};
use std::path::Path;

fn table(n: usize) -> (Vec<Point>, Vec<[f64; 4]>) {
    let row =
        |i: usize| [i as f64, -0.1 * i as f64, (i as f64).exp() * 1e-5, 1.0 / (1.0 + i as f64)];
    let rows: Vec<[f64; 4]> = (0..n).map(row).collect();
    (rows.iter().map(|r| (vec![r[1], r[0]], r[2], Some(r[3]))).collect(), rows)
}

fn written(rows: &[[f64; 4]], delimiter: u8, header: bool) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
    if header {
        writer.write_record(["t", "the place", "signal", "error"]).unwrap();
    }
    for row in rows {
        writer.write_record(row.map(|value| value.to_string())).unwrap();
    }
    writer.into_inner().unwrap()
}

fn by_name(path: &Path) -> Result<CsvSource, SourceError> {
    CsvSource::open(path)?.x(["the place", "t"])?.y("signal")?.sigma("error")
}

#[test]
fn tables_are_read_by_name_and_by_number() {
    let folder = Folder::new();
    for n in [0, 1, 2, 23, 500] {
        let (points, rows) = table(n);
        check(by_name(&folder.write("t.csv", written(&rows, b',', true))).unwrap(), &points);
        for (delimiter, byte) in [
            (Delimiter::Semicolon, b';'),
            (Delimiter::Tab, b'\t'),
            (Delimiter::Byte(b'|'), b'|'),
            (Delimiter::Whitespace, b' '),
            (Delimiter::Whitespace, b'\t'),
        ] {
            let delimiter = Some(delimiter);
            let options = CsvOptions::default().delimiter(delimiter).header_rows(0);
            let path = folder.write("t.txt", written(&rows, byte, false));
            let opened = CsvSource::open_with(&path, options);
            if n == 0 {
                assert!(opened.unwrap_err().to_string().contains("it is empty"));
                continue;
            }
            check(opened.unwrap().x([1, 0]).unwrap().y(2).unwrap().sigma(3).unwrap(), &points);
        }
    }
}

#[test]
fn whatever_people_write_is_read() {
    let folder = Folder::new();
    let open = |text: &str| CsvSource::open(folder.write("t.csv", text)).unwrap();
    let expected = [(vec![1.0], 2.0, None), (vec![-3.5], 4e-3, None)];
    for text in [
        "t,y\n1,2\n-3.5,4e-3\n",
        "t,y\n1,2\n-3.5,4e-3",
        "t,y\r\n1,2\r\n-3.5,4e-3\r\n",
        "\u{feff}t,y\n1,2\n-3.5,4e-3\n",
        "# a comment, with a comma\nt,y\n\n1,2\n# another\n\n-3.5,4e-3\n\n\n",
        " t , y \n 1 ,\t2\n -3.5, 4E-03 \n",
        "\"t\",\"y\"\n\"1\",\"+2\"\n\"-3.5\",\".004\"\n",
        "t,y\n1.,02\n-35e-1,0.004\n",
    ] {
        check(open(text).x(["t"]).unwrap().y("y").unwrap(), &expected);
    }
    let nan = "t,y,note\n,1,none\nNaN,1,\nnan,1,x\nNA,1,\"a\nb\"\nnull,inf,\n";
    let point = |y| (vec![f64::NAN], y, None);
    let expected = [point(1.0), point(1.0), point(1.0), point(1.0), point(f64::INFINITY)];
    check(open(nan), &expected);
    let delimiter = Some(Delimiter::Whitespace);
    let options = CsvOptions::default().delimiter(delimiter);
    let text = "  t  \t y\n\n 1    2 \n   \n# no\n-3.5\t \t4e-3\r\n";
    let source = CsvSource::open_with(folder.write("t.txt", text), options).unwrap();
    check(source, &[(vec![1.0], 2.0, None), (vec![-3.5], 4e-3, None)]);
}

#[test]
fn errors_say_file_line_and_column() {
    let said = |text: &str| refused(text, |path| CsvSource::open(path)?.y("y"));
    for (text, why) in [
        ("", "bad: it is empty"),
        ("\n\n# only this\n", "bad: it is empty"),
        ("t\n1\n", "bad: it has 1 column(s)"),
        ("t,z\n1,2\n", "there is no column `y`; there are: `t`, `z`"),
        ("t,y\n1,2\n\n3,abc\n", "bad:4:3: \"abc\" in column \"y\" is no number"),
        ("t,y\n1,2\n1 2,3\n", "bad:3:1: \"1 2\" in column \"t\" is no number"),
        ("t,y\n1,2\n3\n", "bad:3: the row has 1 field where line 1 has 2"),
        ("t,y\n1,2\n3,4,5\n", "bad:3: the row has 3 fields"),
        ("t,y\n1,2\n0x10,4\n", "bad:3:1: \"0x10\" in column \"t\""),
        ("t,y\n1,2\n1,\"4\n5,6\n", "bad:3:3: a quote opens here and is not closed"),
    ] {
        let said = said(text);
        assert!(said.contains(why), "{text:?}: {said}");
    }
}

#[test]
fn rows_before_an_error_are_given_and_the_error_stays() {
    let folder = Folder::new();
    let mut source = CsvSource::open(folder.write("t.csv", "t,y\n1,2\n3,4\n5,x\n7,8\n")).unwrap();
    let mut chunk = dualfit::source::Chunk::new(&source.shape(), 0);
    for _ in 0..2 {
        assert_eq!(source.read(&mut chunk, 10), Ok(2));
        for _ in 0..3 {
            let said = source.read(&mut chunk, 10).unwrap_err().to_string();
            assert!(said.contains("t.csv:4:3: \"x\" in column \"y\""), "{said}");
        }
        assert_eq!(chunk.len(), 2);
        chunk.truncate(0);
        source.rewind().unwrap();
    }
    assert_eq!(source.skip(3), Ok(3), "what is passed over need be no number");
    assert_eq!(rest(&mut source, 10).unwrap(), [(vec![7.0], 8.0, None)]);
}

#[test]
fn cut_anywhere_it_is_an_error_or_its_beginning() {
    let (points, rows) = table(23);
    let text = written(&rows, b',', true);
    // A truncated number is a different number, which no reader can detect.
    for end in text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(i, _)| i) {
        let lines = text[..end].iter().filter(|byte| **byte == b'\n').count();
        let folder = Folder::new();
        let mut source = by_name(&folder.write("cut.csv", &text[..end])).unwrap();
        assert_eq!(rest(&mut source, 5).unwrap(), points[..lines]);
    }
    cut_everywhere(&text, &[], |path| by_name(path).map(|source| Cut { source }));
}

/// Source that reads rows without returning points, to test only whether they can be read.
struct Cut {
    source: CsvSource,
}

impl Source for Cut {
    fn shape(&self) -> dualfit::source::Shape {
        self.source.shape()
    }
    fn rewind(&mut self) -> Result<(), SourceError> {
        self.source.rewind()
    }
    fn read(&mut self, _: &mut dualfit::source::Chunk, _: usize) -> Result<usize, SourceError> {
        rest(&mut self.source, 7).map(|_| 0)
    }
    fn fingerprint(&self) -> Result<String, SourceError> {
        self.source.fingerprint()
    }
}

#[test]
fn rows_without_end_are_refused_before_they_fill_the_memory() {
    let endless = ["t,y\n1,2\n3,\"", &"4".repeat(40 << 20)].concat();
    let said = refused(endless, |path| CsvSource::open(path));
    assert!(said.contains("bad:3: a row that begins here is longer than 16 MiB"), "{said}");
    let bytes: Vec<u8> =
        (0..100_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    refused(bytes, |path| CsvSource::open(path));
}

#[test]
fn a_file_that_shrinks_is_an_error() {
    let (_, rows) = table(20_000);
    let folder = Folder::new();
    let text = written(&rows, b',', true);
    let mut source = CsvSource::open(folder.write("t.csv", &text)).unwrap();
    folder.write("t.csv", &text[..400_000]);
    let said = rest(&mut source, 1000).unwrap_err().to_string();
    assert!(said.contains("t.csv: it ends at byte 400000 but had"), "{said}");
    folder.write("t.csv", &text);
    source.rewind().unwrap();
    assert_eq!(rest(&mut source, 1000).unwrap().len(), 20_000);
}

#[test]
fn how_a_table_is_written_is_found_out() {
    let folder = Folder::new();
    let expected = [(vec![0.5], 1234.0, None), (vec![1.5], -2345.5, None)];
    for (text, notes) in [
        ("t,y\n.5,1234\n1.5,-2345.5\n", &[][..]),
        ("Lambda 25\n\nt [s]\ty\ns\tmV\n0.5\t1234\n1.5\t-2345.5\t\n", &["passed over", "units"]),
        ("0,5;1.234,0\n1,5;-2.345,5\n", &["decimals", "thousands"]),
        ("# made by hand\n# t y\n0.5 1234\n1.5 -2345.5\n", &[]),
    ] {
        let file = folder.write("t.txt", text);
        let source = CsvSource::open_with(&file, CsvOptions::detected()).unwrap();
        assert_eq!(source.notes().len(), notes.len(), "{text}: {:?}", source.notes());
        for (note, words) in source.notes().iter().zip(notes) {
            assert!(note.contains(words), "{text}: {note}");
        }
        assert_eq!(source.has_names(), text.contains('t'), "{text}");
        check(source, &expected);
        let source = CsvSource::from_bytes("memory", text.as_bytes(), CsvOptions::detected());
        check(source.unwrap(), &expected);
    }
    let twofold = "t;y\n1;1,100\n2;2,800\n";
    let mut source =
        CsvSource::from_bytes("m", twofold.as_bytes(), CsvOptions::detected()).unwrap();
    let said = rest(&mut source, 10).unwrap_err().to_string();
    assert_eq!(
        said,
        "m:2:3: \"1,100\" may have a decimal comma or set thousands apart; say `decimal_comma` or `thousands: Comma`"
    );
    assert_eq!([0, 1].map(|point| source.place_of(point, 1)), ["m:2:3", "m:3:3"]);
    let options = CsvOptions::detected().thousands(Thousands::Comma);
    let source = CsvSource::from_bytes("m", twofold.as_bytes(), options).unwrap();
    check(source, &[(vec![1.0], 1100.0, None), (vec![2.0], 2800.0, None)]);
    for (bytes, why) in [
        (&b"PK\x03\x04"[..], "is a spreadsheet or an archive"),
        (b"\xff\xfet\0", "UTF-16"),
        (b"6\n1,2\n3,4\n", "say `skip_rows: 1` if the table begins below it"),
    ] {
        let refused = CsvSource::from_bytes("m", bytes, CsvOptions::detected());
        assert!(refused.unwrap_err().to_string().contains(why), "{why}");
    }
}
