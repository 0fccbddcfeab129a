//! Tests of table formats: the same line is fitted from each of them.

use crate::support::{LINE, Place, value};
use parquet::data_type::{DoubleType, Int32Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::sync::Arc;

/// Fits [`LINE`] and returns the slope.
fn slope() -> f64 {
    value(&Place::with("l.csv", LINE).json(&["fit", "l.csv", "-m", "s*x + o"]), "s")
}

fn same(name: &str, contents: impl AsRef<[u8]>, more: &[&str]) {
    let place = Place::with(name, contents);
    let document = place.json(&[&["fit", name, "-m", "s*x + o"], more].concat());
    assert_eq!(value(&document, "s"), slope(), "{name} {more:?}: {document}");
}

#[test]
fn delimiters_are_found_out() {
    same("l.tsv", LINE.replace(',', "\t"), &[]);
    same("l.csv", LINE.replace(',', ";"), &[]);
    same("l.csv", LINE.replace(',', "\t"), &[]);
    same("l.txt", LINE.replace(',', "   "), &[]);
    same("l.dat", LINE.replace(',', " \t ").replace('\n', "  \n  "), &["--delimiter", "space"]);
    same("l.csv", LINE.replace(',', "|").replace('|', " , "), &["--delimiter", "comma"]);
    same("unnamed", LINE, &[]);
}

#[test]
fn decimals_may_be_written_with_a_comma() {
    let text = LINE.replace(',', ";").replace('.', ",");
    same("l.csv", text, &["--decimal-comma"]);
}

#[test]
fn names_may_be_missing_or_stand_in_a_comment() {
    let numbers = LINE.strip_prefix("t,v\n").unwrap();
    same("l.csv", numbers, &[]);
    same("l.csv", numbers, &["--x", "1", "--y", "2"]);
    same("l.csv", format!("# written by NumPy\n# t,v\n{numbers}"), &["--x", "t", "--y", "v"]);
    let place = Place::with("l.csv", numbers);
    let run = place.run(&["fit", "l.csv", "-m", "s*x + o"]);
    assert!(run.out.starts_with("l.csv: column 2 over column 1, 6 points\n"), "{}", run.out);
}

/// A first row with words in the same columns as the next row is not a row of names.
#[test]
fn samples_may_have_names() {
    let named: String = LINE.lines().skip(1).map(|line| format!("sample,{line}\n")).collect();
    same("l.csv", &named, &["--x", "2", "--y", "3"]);
    same("l.csv", format!("name,t,v\n{named}"), &["--x", "t", "--y", "v"]);
}

#[test]
fn comments_blank_lines_quotes_and_endings_are_no_matter() {
    let text = LINE.replace("1,2.8", "\n# a comment, with, commas\n1,2.8\n\n,\n");
    same("l.csv", &text, &[]);
    same("l.csv", text.replace('\n', "\r\n"), &[]);
    same("l.csv", LINE.replace("1,2.8", "\"1\", \"2.8\""), &[]);
    same("l.csv", format!("\u{feff}{LINE}"), &["--x", "t"]);
    same("l.csv", LINE.trim_end(), &[]);
    same("l.csv", LINE.replace("2.8", "0.28D+01"), &[]);
}

#[test]
fn a_row_of_units_is_told_and_passed_over() {
    let place = Place::with("l.csv", LINE.replace("t,v", "t,v\ns,mV"));
    let run = place.run(&["fit", "l.csv", "-m", "s*t + o"]);
    assert_eq!((run.code, run.err.as_str()), (0, "note: l.csv:2: taken for units\n"));
    assert!(run.out.contains("6 points"), "{}", run.out);
}

#[test]
fn standard_input_is_a_table() {
    let run = Place::new().run_on(LINE.as_bytes(), &["fit", "-", "-m", "s*t + o", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(value(&document, "s"), slope());
    assert_eq!(document["data"]["file"], "standard input");
}

fn numbers() -> Vec<[f64; 2]> {
    let row = |line: &str| {
        let (t, v) = line.split_once(',').unwrap();
        [t.parse().unwrap(), v.parse().unwrap()]
    };
    LINE.lines().skip(1).map(row).collect()
}

/// Format of NPY files: magic, version, length of the header, header, values.
#[test]
fn arrays_of_numpy_are_tables() {
    let mut header = "{'descr': '<f8', 'fortran_order': False, 'shape': (6, 2), }".to_owned();
    header += &" ".repeat(127 - 10 - header.len());
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(numbers().into_iter().flatten().flat_map(f64::to_le_bytes));
    same("l.npy", &bytes, &[]);
    same("l.bin", &bytes, &["--x", "1", "--y", "2"]);
    let place = Place::with("l.npy", &bytes);
    let run = place.run(&["fit", "l.npy", "-m", "s*x", "--y", "3"]);
    assert_eq!(run.err, "error: l.npy: there is no column 3; the columns are 1 to 2: 1, 2\n");
    let run = place.run_on(&bytes, &["fit", "-", "-m", "s*x"]);
    assert_eq!(
        run.err,
        "error: standard input: holds an array, Parquet or Arrow; only text can come this way, so give the file's name\n"
    );
    let nan = [bytes, f64::NAN.to_le_bytes().to_vec()].concat();
    let mut nan = nan;
    nan.drain(128..136);
    place.put("n.npy", nan);
    let run = place.run(&["fit", "n.npy", "-m", "s*x"]);
    assert_eq!(
        run.err,
        "error: n.npy, row 6, column 2: column 2 has no value (1 such row); fill it in, or say --skip-missing\n"
    );
}

#[test]
fn parquet_files_are_tables() {
    let place = Place::new();
    let schema = "message m { required double t; required binary name (UTF8); required double v; required int32 n; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = File::create(place.path("l.parquet")).unwrap();
    let mut writer =
        SerializedFileWriter::new(file, schema, Arc::new(WriterProperties::new())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let column = |i: usize| numbers().iter().map(|row| row[i]).collect::<Vec<f64>>();
    let whole: Vec<i32> = (0..6).collect();
    let words = vec![parquet::data_type::ByteArray::from("word"); 6];
    let mut next = 0;
    while let Some(mut open) = group.next_column().unwrap() {
        match next {
            0 => open.typed::<DoubleType>().write_batch(&column(0), None, None).unwrap(),
            1 => open
                .typed::<parquet::data_type::ByteArrayType>()
                .write_batch(&words, None, None)
                .unwrap(),
            2 => open.typed::<DoubleType>().write_batch(&column(1), None, None).unwrap(),
            _ => open.typed::<Int32Type>().write_batch(&whole, None, None).unwrap(),
        };
        open.close().unwrap();
        next += 1;
    }
    group.close().unwrap();
    writer.close().unwrap();

    let json = |x: &str| {
        let arguments = ["fit", "l.parquet", "--x", x, "--y", "v", "-m", "s*x + o"];
        value(&place.json(&arguments), "s")
    };
    assert_eq!(json("t"), slope());
    assert_eq!(json("n"), slope());
    let run = place.run(&["fit", "l.parquet", "--y", "name", "-m", "s*x"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.err.starts_with("error: l.parquet, column name: "), "{run:?}");
    assert_eq!(run.err.lines().count(), 1);
}

#[test]
fn arrow_files_and_streams_are_tables() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../io/tests/data/files/");
    for name in ["plain.arrow", "stream.arrows"] {
        let place = Place::with(name, std::fs::read(format!("{folder}{name}")).unwrap());
        let columns = ["--x", "count", "--y", "signal", "--skip-missing"];
        let document = place.json(&[&["fit", name, "-m", "s*x + o"], &columns[..]].concat());
        // The signal is 100 - 7·i with every fifth value missing, and the count is 11·i.
        assert!((value(&document, "s") + 7.0 / 11.0).abs() < 1e-9, "{name}: {document}");
        assert_eq!(document["data"]["rows_missing"], 7);
    }
}
