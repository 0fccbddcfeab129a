//! Text tables with many pieces, which are decoded in parallel: values and errors are the same as for single rows.

use dualfit::source::{Chunk, Source};
use dualfit_io::{CsvOptions, CsvSource, Delimiter, Table};
use std::fmt::Write;

const ROWS: usize = 60_000;

/// Returns the points of a source up to its end or its first error, and the error.
fn read(text: &[u8], options: CsvOptions) -> (Vec<[f64; 2]>, Option<String>) {
    let mut source = CsvSource::from_bytes("t", text, options).unwrap();
    let mut chunk = Chunk::new(&source.shape(), 0);
    let end = loop {
        match source.read(&mut chunk, 10_007) {
            Ok(0) => break None,
            Ok(_) => {}
            Err(error) => break Some(error.to_string()),
        }
    };
    let (x, y) = (chunk.x[0].values().to_f64(), chunk.y.values().to_f64());
    (x.into_iter().zip(y).map(|(x, y)| [x, y]).collect(), end)
}

fn value(i: usize) -> [f64; 2] {
    [i as f64 / 128.0, (i % 1000) as f64 / -64.0]
}

fn bits(rows: &[[f64; 2]]) -> Vec<[u64; 2]> {
    rows.iter().map(|row| row.map(f64::to_bits)).collect()
}

/// Formats a row in one of several ways, possibly with comments or empty lines before it.
fn written(way: usize, [x, y]: [f64; 2]) -> String {
    match way {
        0 => format!("{x},{y}\n"),
        1 => format!("{x:e},{y},\r\n"),
        2 => format!(" {x} ,\t{y}\r"),
        3 => format!("# a comment, with \"quotes\n{x},{y}\n"),
        4 => format!("\n \n,\n{x:+},{y:.20}\n"),
        5 => format!("\"{x}\",\"{y}\"\r\n"),
        _ => format!("\"{x}\",{y}\n"),
    }
}

#[test]
fn all_ways_to_write_a_row_give_its_numbers() {
    let expected: Vec<[f64; 2]> = (0..ROWS).map(value).collect();
    // Most rows are written in one way. Rows in another way are at odd distances, so that pieces end everywhere.
    for (most, other) in (0..7).flat_map(|most| (0..7).map(move |other| (most, other))) {
        let mut text = String::from("x,y\n");
        for (i, row) in expected.iter().enumerate() {
            text += &written(if i % 997 == 5 { other } else { most }, *row);
        }
        let options = CsvOptions::default();
        let (rows, end) = read(text.as_bytes(), options);
        assert_eq!(end, None, "{most}, {other}");
        assert_eq!(bits(&rows), bits(&expected), "{most}, {other}");
    }
}

#[test]
fn other_delimiters_and_decimal_commas_are_read_alike() {
    let expected: Vec<[f64; 2]> = (0..ROWS).map(value).collect();
    for (delimiter, between) in [(Delimiter::Semicolon, ";"), (Delimiter::Whitespace, " \t")] {
        let mut text = String::new();
        for [x, y] in &expected {
            writeln!(text, "{x}{between}{y}").unwrap();
        }
        for text in [text.clone(), text.replace('.', ",")] {
            let (rows, end) = read(text.as_bytes(), CsvOptions::detected().delimiter(delimiter));
            assert_eq!(end, None);
            assert_eq!(bits(&rows), bits(&expected));
        }
    }
}

#[test]
fn errors_name_their_line_wherever_it_is() {
    let mut text = String::from("x,y\n");
    let mut begins = Vec::new();
    for i in 0..ROWS {
        begins.push(text.len());
        let [x, y] = value(i);
        writeln!(text, "{x:.7},{y:.7}").unwrap();
    }
    for row in [0, 1, 13_106, 13_107, 13_108, 30_000, ROWS - 2, ROWS - 1] {
        let expected: Vec<[f64; 2]> = (0..row).map(value).collect();
        for (instead, said) in [
            ("1.0;2", "field"),
            ("1.0,2.x", "is no number"),
            ("1,2,3", "fields"),
            ("\"1,2", "quote"),
            ("\"1\"x,2", "quote"),
        ] {
            let mut broken = text.clone();
            broken.replace_range(begins[row]..begins[row] + 7, instead);
            let end = broken[begins[row]..].find('\n').unwrap() + begins[row];
            broken.replace_range(begins[row] + instead.len()..end, "");
            let (rows, end) = read(broken.as_bytes(), CsvOptions::default());
            let end = end.unwrap();
            assert!(end.starts_with(&format!("t:{}", row + 2)), "row {row}, {instead}: {end}");
            assert!(end.contains(said), "row {row}, {instead}: {end}");
            // Quotes are checked before the rows are decoded, so that fewer rows precede their errors.
            let whole = said != "quote";
            assert!(rows.len() == row || (!whole && rows.len() < row), "{} of {row}", rows.len());
            assert_eq!(bits(&rows), bits(&expected[..rows.len()]));
        }
    }
}

#[test]
fn a_table_is_the_same_on_any_number_of_threads() {
    let mut text = String::from("n;t;v\n");
    for i in 0..ROWS {
        let [x, y] = value(i);
        writeln!(text, "{i};{x};{}", y.to_string().replace('.', ",")).unwrap();
    }
    let read = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let table = Table::from_reader("t", text.as_bytes(), CsvOptions::detected()).unwrap();
            let columns = table.columns(["v", "n"]).unwrap();
            (columns, table.notes(["v", "n"]).unwrap(), table.line(ROWS as u64 - 1, 2))
        })
    };
    let (columns, notes, line) = read(1);
    assert_eq!(columns[0].iter().zip(0..).filter(|(v, i)| **v != value(*i)[1]).count(), 0);
    assert_eq!(line.as_deref(), Some(&*format!("t:{}:19", ROWS + 1)));
    for threads in [2, 16] {
        assert_eq!(read(threads), (columns.clone(), notes.clone(), line.clone()));
    }
}
