//! Fits without an initial guess: models of many fields in their units, and what becomes of them.

mod collection;
mod nist;

#[path = "../support"]
mod support {
    pub(crate) mod nist;
}

use collection::{Collection, Verdict};

/// Fits of a collection: how many are solved, wrong without a warning, and slow.
fn judge(name: &str, filter: Option<&str>) {
    let collection = Collection::read(name);
    let verdicts: Vec<Verdict> = collection.verdicts(filter);
    let total = verdicts.len();
    let solved = verdicts.iter().filter(|v| v.solved).count();
    let silent = verdicts.iter().filter(|v| !v.solved && !v.warned).count();
    let mut times: Vec<f64> = verdicts.iter().map(|v| v.milliseconds).collect();
    times.sort_by(f64::total_cmp);
    for verdict in verdicts.iter().filter(|v| !v.solved || v.milliseconds > 100.0) {
        println!("{verdict}");
    }
    println!(
        "{name}: {solved} of {total} solved, {silent} wrong without a warning, median {:.2} ms, largest {:.1} ms",
        times[total / 2],
        times[total - 1]
    );
}

#[test]
fn seen() {
    judge("seen", std::env::var("ONLY").ok().as_deref());
}

#[test]
fn unseen() {
    judge("unseen", std::env::var("ONLY").ok().as_deref());
}
