//! Processes that make the same fit with one checkpoint at the same time: none hinders another.

use crate::stream::child;
use crate::stream::support::{Slowed, bits, folder, linspace, noise};
use dualfit::source::SliceSource;
use dualfit::{Backend, CurveFit, Loss, Stream};
use std::fs;
use std::path::Path;
use std::time::Duration;

const TEST: &str = "stream::together::processes_with_one_checkpoint_all_end";
const POINTS: usize = 20_000;
const PROCESSES: usize = 5;

#[test]
fn processes_with_one_checkpoint_all_end() {
    if let Some(task) = child::task(TEST) {
        let (number, folder) = task.split_once(' ').unwrap();
        return fit(Path::new(folder), number);
    }
    let folder = folder();
    let path = folder.path().to_str().unwrap();
    for round in 0..2 {
        let children: Vec<_> =
            (0..PROCESSES).map(|number| child::start(TEST, &format!("{number} {path}"))).collect();
        children.into_iter().for_each(child::finish);
        let results: Vec<String> = (0..PROCESSES)
            .map(|number| {
                let result = folder.path().join(format!("result{number}"));
                let text = fs::read_to_string(&result).unwrap();
                fs::remove_file(result).unwrap();
                text
            })
            .collect();
        assert!(results.iter().all(|result| *result == results[0]), "round {round}: {results:?}");
        // The fit that ends last removes the files.
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(Result::unwrap).collect();
        assert!(names.is_empty(), "{names:?}");
    }
}

fn fit(folder: &Path, number: &str) {
    let (x, e) = (linspace(0.0, 10.0, POINTS), noise(POINTS, 0.1, 21));
    let y: Vec<f64> = x.iter().zip(&e).map(|(x, e)| 2.0 * (-0.5 * x).exp() + 0.3 + e).collect();
    let source = SliceSource::new(&x, &y).unwrap();
    let stream = Stream::new(Slowed { source, pause: Duration::from_micros(300) })
        .chunk_points(4096)
        .prefetch(0)
        .subsample(false)
        .checkpoint(folder.join("fit.checkpoint"));
    let model = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).backend(Backend::Cpu);
    let fit = model.loss(Loss::Huber { scale: 0.1 }).fit_stream(stream, [2.5, 0.8, 0.1]).unwrap();
    let numbers: Vec<String> = bits(&fit).iter().map(u64::to_string).collect();
    fs::write(folder.join(format!("result{number}")), numbers.join(" ")).unwrap();
}
