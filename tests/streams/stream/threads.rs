//! Without threads, if the system creates none or in a child of `fork`, which has none of its parent's, the calling
//! thread does all the work, with the same bits.

use crate::stream::child;
use crate::stream::support::{bits, linspace, noise};
use dualfit::source::SliceSource;
use dualfit::{Backend, BatchData, CurveFit, Data, MultiStart, Stream};

const POINTS: usize = 70_000;
const START: [f64; 3] = [2.5, 0.8, 0.1];

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
        .names(["a", "b", "c"])
        .backend(Backend::Cpu)
}

/// A number of every entry that divides its work.
fn everything() -> Vec<u64> {
    let (x, e) = (linspace(0.0, 10.0, POINTS), noise(POINTS, 0.1, 31));
    let y: Vec<f64> = x.iter().zip(&e).map(|(x, e)| 2.0 * (-0.5 * x).exp() + 0.3 + e).collect();
    let data = || Data::new(&x, &y).unwrap();
    let fit = decay().fit(data(), START).unwrap();
    let mut all = bits(&fit);
    let stream = Stream::new(SliceSource::new(&x, &y).unwrap()).subsample(false);
    all.extend(bits(&decay().fit_stream(stream, START).unwrap()));
    let few = &x[..200];
    let batch = BatchData::shared(few, &y[..8_000]).unwrap();
    let batch = decay().fit_batch(&batch, START).unwrap();
    all.extend(batch.params().iter().map(|p| p.to_bits()));
    let starts = MultiStart::new(8).range("a", 0.5..=4.0).range("b", 0.1..=2.0);
    let starts = starts.range("c", 0.0..=1.0);
    let (x, y) = (linspace(0.0, 10.0, 200), y.iter().copied().step_by(350).collect::<Vec<f64>>());
    let small = || Data::new(&x, &y).unwrap();
    all.extend(bits(decay().multi_start(small(), START, &starts).unwrap().best()));
    let fit = decay().fit(small(), START).unwrap();
    let predicted = fit.predict(&linspace(0.0, 10.0, 20_000)).unwrap();
    all.extend(predicted.iter().map(|v| v.to_bits()));
    let native = CurveFit::native(3, |x, p| p[0] * (-p[1] * x).exp() + p[2]);
    all.extend(bits(&native.fit(small(), START).unwrap()));
    all
}

#[cfg(target_os = "linux")]
const NO_THREADS: &str = "stream::threads::all_is_done_without_threads";

/// No stack fits into the remaining address space of this process.
#[cfg(target_os = "linux")]
#[test]
fn all_is_done_without_threads() {
    use std::fs;
    if let Some(path) = child::task(NO_THREADS) {
        let pages: u64 = fs::read_to_string("/proc/self/statm")
            .unwrap()
            .split_whitespace()
            .next()
            .and_then(|pages| pages.parse().ok())
            .unwrap();
        let most = (pages << 12) + (600 << 20);
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: the limit is a whole structure, and only read.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
        assert!(std::thread::Builder::new().spawn(|| ()).is_err(), "there are threads");
        let numbers: Vec<String> = everything().iter().map(u64::to_string).collect();
        return fs::write(path, numbers.join(" ")).unwrap();
    }
    let folder = crate::stream::support::folder();
    let path = folder.path().join("numbers");
    child::finish(child::start_with(
        NO_THREADS,
        path.to_str().unwrap(),
        &[("RUST_MIN_STACK", "1073741824")],
    ));
    let numbers = fs::read_to_string(path).unwrap();
    let numbers: Vec<u64> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
    assert_eq!(numbers, everything());
}

#[cfg(unix)]
const FORKED: &str = "stream::threads::a_fork_after_a_fit_does_the_next_alone";

#[cfg(unix)]
#[test]
fn a_fork_after_a_fit_does_the_next_alone() {
    if child::task(FORKED).is_none() {
        return child::finish(child::start(FORKED, "-"));
    }
    let numbers = everything();
    // SAFETY: the child calls nothing but this crate, which takes no lock that another thread of the parent
    // may hold, and ends without returning. Should it wait for ever, the alarm ends it.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: both only take numbers.
        unsafe {
            libc::alarm(60);
            libc::_exit(i32::from(everything() != numbers));
        }
    }
    let mut status = -1;
    // SAFETY: the status outlives the call.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child of the fork");
}
