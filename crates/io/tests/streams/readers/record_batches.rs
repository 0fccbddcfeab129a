//! Record batches of a caller: any sizes, types and nulls; errors contain row and column.

use crate::readers::points::{Point, check, rest};
use arrow_array::types::{
    Float32Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{
    ArrayRef, Float32Array, Float64Array, Int32Array, PrimitiveArray, RecordBatch, StringArray,
    StructArray,
};
use arrow_schema::{DataType, Field, Schema};
use dualfit::source::{Chunk, Source, Width};
use dualfit_io::RecordBatchSource;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

fn batch(columns: impl IntoIterator<Item = (&'static str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn f64s(values: impl IntoIterator<Item = f64>) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(values))
}

/// Returns a batch of rows with x = i and y = 2i.
fn rows(from: u32, count: u32) -> RecordBatch {
    let y: Float32Array = (from..from + count).map(|i| Some(2.0 * i as f32)).collect();
    batch([("x", f64s((from..from + count).map(f64::from))), ("y", Arc::new(y))])
}

fn points(count: u32) -> Vec<Point> {
    (0..count).map(|i| (vec![f64::from(i)], 2.0 * f64::from(i), None)).collect()
}

fn source(batches: &[RecordBatch]) -> RecordBatchSource<'_> {
    let open = || Ok::<_, Infallible>(batches.iter().cloned().map(Ok::<_, Infallible>));
    RecordBatchSource::new(batches[0].schema(), open).unwrap()
}

/// Returns the error that ends the reading of a source.
fn said(source: RecordBatchSource<'_>) -> String {
    let mut source = source;
    rest(&mut source, 4).unwrap_err().to_string()
}

#[test]
fn batches_of_any_sizes_are_their_rows() {
    let all = [rows(0, 0), rows(0, 1), rows(1, 0), rows(1, 0), rows(1, 30), rows(31, 1)];
    let shape = source(&all).shape();
    assert_eq!((shape.x, shape.y, shape.points), (vec![Width::F64], Width::F32, None));
    check(source(&all), &points(32));
    check(source(&all).points(32), &points(32));
    check(source(&all[..1]), &[]);
    let none: [RecordBatch; 0] = [];
    let open = || Ok::<_, Infallible>(none.iter().cloned().map(Ok::<_, Infallible>));
    check(RecordBatchSource::new(rows(0, 0).schema(), open).unwrap(), &[]);
    // Slices that begin in the middle of their arrays, and of a byte of the null bitmaps.
    let y: Float64Array = (0..40).map(|i| (i % 3 > 0).then_some(f64::from(i))).collect();
    let whole = batch([("x", f64s((0..40).map(f64::from))), ("y", Arc::new(y) as ArrayRef)]);
    let parts = [whole.slice(0, 5), whole.slice(5, 0), whole.slice(5, 22), whole.slice(27, 13)];
    let y = |i: i32| if i % 3 > 0 { f64::from(i) } else { f64::NAN };
    let expected: Vec<Point> = (0..40).map(|i| (vec![f64::from(i)], y(i), None)).collect();
    check(source(&parts), &expected);
}

#[test]
fn columns_of_every_type_of_numbers() {
    macro_rules! integers {
        ($($kind:ty),*) => {
            $({
                let some = |i: u32| (!i.is_multiple_of(4)).then_some(i as _);
                let whole: PrimitiveArray<$kind> = (0..20).map(some).collect();
                let z: PrimitiveArray<Float32Type> = (0..20).map(|i| Some(i as f32)).collect();
                let all = [batch([
                    ("error", f64s((0..20).map(|i| 1.0 + f64::from(i)))),
                    ("y", Arc::new(whole) as ArrayRef),
                    ("z", Arc::new(z)),
                ])];
                let y = |i: u32| if i.is_multiple_of(4) { f64::NAN } else { f64::from(i) };
                let point = |i: u32| {
                    let x = f64::from(i);
                    (vec![x, x + 1.0], y(i), Some(x + 1.0))
                };
                let expected: Vec<Point> = (0..20).map(point).collect();
                let source = source(&all).x([2, 0]).unwrap().y("y").unwrap().sigma("error").unwrap();
                assert_eq!(source.names(), ["error", "y", "z"]);
                assert_eq!(source.shape().x, [Width::F32, Width::F64]);
                check(source, &expected);
            })*
        };
    }
    integers!(
        Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type
    );
}

/// As in the reader of Arrow files, a structure is not a column of numbers.
#[test]
fn columns_that_cannot_be_read_are_named() {
    let fields = vec![Arc::new(Field::new("a", DataType::Float64, false))];
    let nested = StructArray::new(fields.into(), vec![f64s([1.0, 2.0])], None);
    let name: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let columns = [("name", name), ("nested", Arc::new(nested) as ArrayRef)];
    let all =
        [batch(columns.into_iter().chain([("x", f64s([1.0, 2.0])), ("y", f64s([3.0, 4.0]))]))];
    let good = source(&all).x(["x"]).unwrap().y("y").unwrap();
    check(good, &[(vec![1.0], 3.0, None), (vec![2.0], 4.0, None)]);
    for (column, kind) in [("name", "Utf8"), ("nested", "Struct")] {
        let said = source(&all).y(column).unwrap_err().to_string();
        let expected = format!("record batches, column {column}: it has values of type {kind}");
        assert!(said.starts_with(&expected), "{said}");
    }
    let said = said(source(&all));
    assert!(said.contains("column name: it has values of type Utf8"), "{said}");
    let said = source(&all).sigma("z").unwrap_err().to_string();
    assert!(said.contains("there is no column `z`; there are: `name`, `nested`, `x`"), "{said}");
    let said = source(&all).x([4]).unwrap_err().to_string();
    assert!(said.contains("no column 4, only 4 numbered from 0"), "{said}");
    let one = [batch([("x", f64s([1.0]))])];
    let open = || Ok::<_, Infallible>(one.iter().cloned().map(Ok::<_, Infallible>));
    let said = RecordBatchSource::new(one[0].schema(), open).unwrap_err().to_string();
    assert!(said.contains("it has 1 column(s)"), "{said}");
}

#[test]
fn batches_of_other_columns_are_refused() {
    let x = || f64s([5.0]);
    let y = |y| -> ArrayRef { Arc::new(Float32Array::from(vec![y])) };
    let wrong = [
        (batch([("x", x())]), r#"a batch has the columns ["x"], the schema ["x", "y"]"#),
        (batch([("x", x()), ("z", y(1.0))]), r#"the columns ["x", "z"], the schema ["x", "y"]"#),
        (batch([("y", y(1.0)), ("x", x())]), r#"the columns ["y", "x"], the schema ["x", "y"]"#),
        (
            batch([("x", x()), ("y", Arc::new(Int32Array::from(vec![1])) as ArrayRef)]),
            "row 5, column y: a batch has values of type Int32, the schema Float32",
        ),
        (
            batch([("x", x()), ("y", x())]),
            "row 5, column y: a batch has values of type Float64, the schema Float32",
        ),
    ];
    for (wrong, expected) in wrong {
        let all = [rows(0, 5), wrong, rows(6, 5)];
        let mut source = source(&all);
        // The rows before the error are returned.
        let mut chunk = Chunk::new(&source.shape(), 0);
        assert_eq!(source.read(&mut chunk, 100).unwrap(), 5);
        for _ in 0..2 {
            let said = source.read(&mut chunk, 100).unwrap_err().to_string();
            assert!(said.contains(expected) && said.contains("row 5"), "{said}");
            assert_eq!(chunk.len(), 5);
        }
        source.rewind().unwrap();
        assert!(source.skip(7).unwrap_err().to_string().contains(expected));
    }
    // Metadata other than names and types of the selected columns can differ, because engines differ in them.
    let text = |name: &'static str| -> ArrayRef { Arc::new(StringArray::from(vec![name])) };
    let first = batch([("x", x()), ("y", y(7.0)), ("z", text("a"))]);
    let fields = ["x", "y"].map(|name| first.schema().field_with_name(name).unwrap().clone());
    let fields = fields.map(|field| field.with_nullable(true));
    let last = fields.into_iter().chain([Field::new("z", DataType::Float64, true)]);
    let schema = Schema::new(last.collect::<Vec<_>>());
    let schema = schema.with_metadata([("engine".to_owned(), "another".to_owned())]);
    let columns = vec![x(), y(8.0), x()];
    let second = RecordBatch::try_new(Arc::new(schema), columns).unwrap();
    check(source(&[first, second]), &[(vec![5.0], 7.0, None), (vec![5.0], 8.0, None)]);
}

#[test]
fn what_the_caller_says_is_wrong_has_its_row() {
    let open = || Err::<Vec<Result<RecordBatch, Infallible>>, _>("no such table");
    let mut closed = RecordBatchSource::new(rows(0, 0).schema(), open).unwrap();
    let expected = "record batches, row 0: they cannot be opened: no such table";
    assert_eq!(closed.fingerprint().unwrap_err().to_string(), expected);
    assert_eq!(rest(&mut closed, 7).unwrap_err().to_string(), expected);

    let tries = AtomicUsize::new(0);
    let open = || {
        let failing = tries.fetch_add(1, Relaxed) == 0;
        let last = if failing { Err("the connection was lost") } else { Ok(rows(12, 8)) };
        Ok::<_, Infallible>([Ok(rows(0, 10)), Ok(rows(10, 2)), last, Ok(rows(20, 9))])
    };
    let mut source = RecordBatchSource::new(rows(0, 0).schema(), open).unwrap();
    let mut chunk = Chunk::new(&source.shape(), 0);
    assert_eq!(source.read(&mut chunk, 100).unwrap(), 12);
    let expected = "record batches, row 12: the next batch cannot be read: the connection was lost";
    for _ in 0..2 {
        assert_eq!(source.read(&mut chunk, 100).unwrap_err().to_string(), expected);
        assert_eq!(source.skip(1).unwrap_err().to_string(), expected);
    }
    source.rewind().unwrap();
    check(source, &points(29));
}

#[test]
fn a_panic_ends_the_rows_until_they_are_opened_again() {
    let tries = AtomicUsize::new(0);
    let open = || {
        let failing = tries.fetch_add(1, Relaxed) == 0;
        let batches = [rows(0, 10), rows(10, 5), rows(15, 5)].into_iter().enumerate();
        Ok::<_, Infallible>(batches.map(move |(i, batch)| {
            assert!(!failing || i != 1, "a bug");
            Ok::<_, Infallible>(batch)
        }))
    };
    let mut source = RecordBatchSource::new(rows(0, 0).schema(), open).unwrap();
    let mut chunk = Chunk::new(&source.shape(), 0);
    assert_eq!(source.read(&mut chunk, 10).unwrap(), 10);
    assert!(catch_unwind(AssertUnwindSafe(|| source.read(&mut chunk, 10))).is_err());
    for _ in 0..2 {
        let said = source.read(&mut chunk, 10).unwrap_err().to_string();
        assert!(said.contains("row 10: their iterator panicked; rewind"), "{said}");
    }
    source.rewind().unwrap();
    check(source, &points(20));
}

#[test]
fn it_is_opened_when_a_row_is_read_and_closed_at_the_end() {
    let opened = AtomicUsize::new(0);
    let held = Arc::new(());
    let open = || {
        opened.fetch_add(1, Relaxed);
        let held = held.clone();
        Ok::<_, Infallible>((0..3).map(move |i| {
            let _held = &held;
            Ok::<_, Infallible>(rows(5 * i, 5))
        }))
    };
    let source = RecordBatchSource::new(rows(0, 0).schema(), open).unwrap().identity("1");
    let mut source = source.x([0]).unwrap().y(1).unwrap();
    source.rewind().unwrap();
    source.fingerprint().unwrap();
    assert_eq!(opened.load(Relaxed), 0);
    assert_eq!(rest(&mut source, 100).unwrap(), points(15));
    assert_eq!((opened.load(Relaxed), Arc::strong_count(&held)), (1, 1));
    assert_eq!(rest(&mut source, 100).unwrap(), []);
    source.rewind().unwrap();
    assert_eq!(source.skip(7).unwrap(), 7);
    assert_eq!((opened.load(Relaxed), Arc::strong_count(&held)), (2, 2));
    source.rewind().unwrap();
    assert_eq!((opened.load(Relaxed), Arc::strong_count(&held)), (2, 1));
}

#[test]
fn fingerprints_are_of_the_first_rows_whatever_the_batches() {
    let of = |source: RecordBatchSource<'_>| source.fingerprint().unwrap();
    let whole = [rows(0, 5000)];
    let parts = [rows(0, 1), rows(1, 0), rows(1, 4090), rows(4091, 909)];
    assert_eq!(of(source(&whole)), of(source(&parts)));
    let before = of(source(&parts));
    assert!(before.contains(r#"; "x" Float64, "y" Float32; first 4096 rows "#), "{before}");
    for (at, seen) in [(0, true), (4095, true), (4096, false), (4999, false)] {
        let x = f64s((0..5000).map(|i| if i == at { 0.5 } else { f64::from(i) }));
        let changed = [batch([("x", x), ("y", whole[0].column(1).clone())])];
        assert_eq!(of(source(&changed)) != before, seen, "row {at}");
    }
    assert_ne!(of(source(&whole).x([1]).unwrap()), before);
    assert_ne!(of(source(&whole).sigma(1).unwrap()), before);
    // The text of the caller identifies the rows; the fingerprint also contains the selected columns.
    let said = |text: &str| of(source(&whole).identity(text));
    assert!(said("version 7").ends_with(r#""y" Float32; version 7"#));
    assert_ne!(said("version 7"), said("version 8"));
    assert_ne!(said("version 7"), of(source(&whole).y(0).unwrap().identity("version 7")));
    // Few rows, and no rows.
    assert!(of(source(&[rows(0, 3)])).contains("first 3 rows"));
    assert!(of(source(&[rows(0, 0)])).contains("first 0 rows"));
}

#[test]
fn it_is_slow_until_it_is_said_to_lie_in_memory() {
    let all = [rows(0, 3)];
    assert!(source(&all).is_slow());
    assert!(!source(&all).in_memory().is_slow());
    check(source(&all).in_memory(), &points(3));
    assert!(format!("{:?}", source(&all)).contains("RecordBatchSource"));
}
