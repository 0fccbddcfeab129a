//! Parts of points in files: their replies equal those of the same points in memory.

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use dualfit::parts::Part;
use dualfit::{CurveFit, Data, Stream};
use dualfit_io::{CsvSource, RecordBatchSource};
use std::convert::Infallible;
use std::io;
use std::sync::Arc;

const START: [f64; 3] = [1.0, 1.0, 0.0];

fn decay() -> CurveFit {
    CurveFit::parse("a*exp(-b*x) + c", ["x"]).unwrap()
}

fn points(n: usize) -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..n).map(|i| 4.0 * i as f64 / n as f64).collect();
    let y = x.iter().map(|x| 2.5 * (-1.3 * x).exp() + 0.5 + 0.02 * (400.0 * x).sin()).collect();
    (x, y)
}

/// Sends a request to a part in memory and to a part of a stream, and checks that the bytes of the replies are equal.
fn both(memory: &mut Part<'_>, stream: &mut Part<'_>, request: &[u8]) -> io::Result<Vec<u8>> {
    let [reply, of_stream] = [memory.answer(request)?, stream.answer(request)?];
    assert!(reply == of_stream, "replies of {} bytes", reply.len());
    Ok(reply)
}

/// Text files and record batches are decoded once, and their points are kept as far as memory allows.
#[test]
fn files_and_record_batches_answer_as_memory() {
    let (x, y) = points(60_000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decay.csv");
    let rows: Vec<String> = x.iter().zip(&y).map(|(x, y)| format!("{x:?},{y:?}\n")).collect();
    std::fs::write(&path, format!("x,y\n{}", rows.concat())).unwrap();
    let number = |values: &[f64]| -> ArrayRef { Arc::new(Float64Array::from(values.to_vec())) };
    let table = RecordBatch::try_from_iter([("x", number(&x)), ("y", number(&y))]).unwrap();
    let curve = decay();
    // With memory for all decoded points, for some points, and for no points.
    for limit in [64 << 20, 1 << 20, 400_000] {
        let text = CsvSource::open(&path).unwrap();
        let batches: Vec<_> = (0..6).map(|i| table.slice(10_000 * i, 10_000)).collect();
        let open =
            move || Ok::<_, Infallible>(batches.clone().into_iter().map(Ok::<_, Infallible>));
        let batches = RecordBatchSource::new(table.schema(), open).unwrap();
        let streams = [Stream::new(text), Stream::new(batches)];
        let [mut text, mut batches] = streams.map(|stream| {
            let stream = stream.memory_limit(limit).chunk_points(4096);
            Part::stream(&curve, stream, 0).unwrap()
        });
        let mut memory = Part::new(&curve, Data::new(&x, &y).unwrap(), 0).unwrap();
        let ask = |question: &[u8]| {
            both(&mut memory, &mut text, question)?;
            both(&mut memory, &mut batches, question)
        };
        assert!(curve.fit_parts(ask, START).unwrap().converged(), "{limit}");
    }
    // A file that changes between requests.
    let text = CsvSource::open(&path).unwrap();
    let mut part = Part::stream(&curve, text, 0).unwrap();
    let mut questions = 0;
    let ask = |question: &[u8]| {
        questions += 1;
        if questions == 3 {
            std::fs::write(&path, format!("x,y\n{}", rows[..59_999].concat()))?;
        }
        part.answer(question)
    };
    let refused = curve.fit_parts(ask, START).unwrap_err().to_string();
    assert!(refused.contains("points from number 0 on"), "{refused}");
    assert!(refused.contains("decay.csv") && refused.contains("its size was"), "{refused}");
}
