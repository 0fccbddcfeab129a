//! Allocations of a fit: a few buffers at its beginning, for any number of points, and none per
//! iteration. A batch allocates the same number for any number of fits.

use dualfit::{BatchData, CurveFit, Data, Fit, Loss, Missing, Options, Scalar, Sigma};
use rayon::ThreadPoolBuilder;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator with a count per thread, so that tests running beside do not disturb it.
struct Counting;

thread_local! {
    static COUNT: Cell<Use> = const { Cell::new(Use { allocations: 0, bytes: 0 }) };
}

/// Allocated memory; released memory is not subtracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Use {
    allocations: usize,
    bytes: usize,
}

fn count(bytes: usize) {
    // A thread that is being torn down has no counter any more.
    let _ = COUNT.try_with(|count| {
        let Use { allocations, bytes: before } = count.get();
        count.set(Use { allocations: allocations + 1, bytes: before + bytes });
    });
}

// SAFETY: every call is the system allocator's; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs `work` on the only thread of a pool, so that everything it allocates is counted.
fn counted<R: Send>(work: impl FnOnce() -> R + Send) -> (R, Use) {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    pool.install(|| {
        let before = COUNT.get();
        let result = work();
        let after = COUNT.get();
        let (allocations, bytes) =
            (after.allocations - before.allocations, after.bytes - before.bytes);
        (result, Use { allocations, bytes })
    })
}

fn peak<T: Scalar>(x: T, [a, c, s, d]: [T; 4]) -> T {
    a * (-((x - c) / s).powi(2) / 2.0).exp() + d
}

struct Points {
    x: Vec<f64>,
    y: Vec<f64>,
    sigma: Vec<f64>,
    mask: Vec<bool>,
}

impl Points {
    fn new(n: usize) -> Points {
        let x: Vec<f64> = (0..n).map(|i| 10.0 * i as f64 / n as f64).collect();
        let wave = |i: usize| 0.1 * (12.9898 * i as f64).sin();
        let y = (0..n).map(|i| peak(x[i], [3.0, 4.2, 0.8, 1.0]) + wave(i)).collect();
        let mask = (0..n).map(|i| i % 4 != 1).collect();
        Points { x, y, sigma: vec![0.1; n], mask }
    }

    fn data(&self, kind: &str) -> Data<'_> {
        let data = Data::new(&self.x, &self.y).expect("data");
        match kind {
            "weighted" => data.sigma(Sigma::Absolute(&self.sigma)).expect("sigma"),
            "masked" => data.mask(&self.mask).expect("a mask"),
            _ => data,
        }
    }
}

/// Far from the result, so that a fit needs many evaluations.
const START: [f64; 4] = [1.0, 2.8, 0.5, 0.0];
const KINDS: [&str; 4] = ["plain", "weighted", "masked", "robust"];

fn fitter(kind: &str, max_evaluations: Option<usize>) -> CurveFit {
    let options = Options::default().max_evaluations(max_evaluations);
    let loss = if kind == "robust" { Loss::Cauchy { scale: 0.5 } } else { Loss::Linear };
    CurveFit::new(peak).loss(loss).options(options)
}

fn run(points: &Points, kind: &str, max_evaluations: Option<usize>) -> (Fit, Use) {
    let model = fitter(kind, max_evaluations);
    counted(|| model.fit(points.data(kind), START).expect(kind))
}

/// The first machine code of a process also builds the tables of the assembler.
fn build_tables(points: &Points) {
    run(points, "plain", None);
}

#[test]
fn a_fit_of_a_million_points_takes_little_beside_them() {
    let points = Points::new(1_000_000);
    build_tables(&points);
    for kind in KINDS {
        let (fit, used) = run(&points, kind, None);
        assert!(fit.converged(), "{kind}: {}", fit.termination());
        println!("{kind}: {used:?}, scratch {}", fit.stats().scratch_bytes);
        assert!(used.bytes < 2_000_000, "{kind}: {used:?}");
        assert!(used.allocations < 5_000, "{kind}: {used:?}");
        // What the fit says it took is what it took, to a factor.
        let said = fit.stats().scratch_bytes;
        assert!(used.bytes < 8 * said && said < 4 * used.bytes, "{kind}: {used:?}, {said} said");
    }
}

#[test]
fn more_points_take_no_more_memory() {
    let (few, many) = (Points::new(1_500_000), Points::new(4_500_000));
    for kind in KINDS {
        let (few, many) = (run(&few, kind, Some(4)).1, run(&many, kind, Some(4)).1);
        // A scan of the data keeps a few numbers per 65,536 points.
        let scans = 4_500_000 / 65_536 * 1000;
        assert!(many.bytes < few.bytes + scans, "{kind}: {few:?} {many:?}");
    }
}

#[test]
fn iterations_allocate_nothing() {
    build_tables(&Points::new(1_000_000));
    for n in [100, 5_000, 300_000] {
        let points = Points::new(n);
        for kind in KINDS {
            let run = |evaluations| {
                let (fit, used) = run(&points, kind, Some(evaluations));
                assert_eq!(fit.evaluations(), evaluations, "{kind}, {n} points");
                assert!(!fit.converged(), "{kind}, {n} points");
                used
            };
            let (three, six) = (run(3), run(6));
            let more = (three, six);
            assert_eq!(six.allocations, three.allocations, "{kind}, {n} points: {more:?}");
            // Warnings are texts of different length where the fits stopped at different parameters.
            assert!(six.bytes.abs_diff(three.bytes) < 100, "{kind}, {n} points: {more:?}");
        }
    }
}

/// Evaluates a model often enough that its machine code exists, for any number of cores.
fn make_machine_code<T>(times: usize, fit: impl Fn() -> T) {
    (0..times).for_each(|_| drop(fit()));
}

#[test]
fn a_second_fit_needs_less() {
    // The program is compiled once, and a thread keeps its registers.
    let points = Points::new(2_000);
    let model = fitter("plain", None);
    let data = || points.data("plain");
    let ((), first) = counted(|| drop(model.fit(data(), START)));
    make_machine_code(100, || model.fit(data(), START));
    let ((first_here, second), _) = counted(|| {
        let measure = || {
            let before = COUNT.get();
            drop(model.fit(data(), START));
            COUNT.get().bytes - before.bytes
        };
        (measure(), measure())
    });
    println!("{first:?}, then {first_here} and {second} bytes");
    assert!(first_here < first.bytes && second < first_here, "{first:?} {first_here} {second}");
    assert!(second < 16_384, "{second} bytes for a small fit");
}

/// Peaks one after another, each of `n` points.
fn peaks(n: usize, fits: usize) -> Vec<f64> {
    let points = Points::new(n);
    let height = |fit: usize| 1.0 + 0.3 * (1.7 * fit as f64).sin();
    (0..fits * n).map(|i| height(i / n) * points.y[i % n]).collect()
}

/// Allocations of batches of `fits` and of ten times as many peaks of `n` points must be as many.
fn assert_no_more_for_more_fits(
    what: &str,
    fitter: &CurveFit,
    (fits, n): (usize, usize),
    data: impl Fn(usize) -> BatchData<'static>,
) {
    let run = |fits: usize| {
        let data = data(fits);
        let (batch, used) = counted(|| fitter.fit_batch(&data, START).expect(what));
        assert!(batch.converged() * 10 > fits * 9, "{what}: {batch}");
        // A fit that has not ended after 50 evaluations per parameter and 50 more is tried in other ways, with memory for their
        // results and for second derivatives.
        let tried = batch.evaluations().iter().filter(|&&n| n >= 50 * 5).count();
        assert!(1000 * tried <= fits, "{what}: {tried} of {fits} fits took long");
        (used.allocations, tried)
    };
    make_machine_code(8, || run(10 * fits));
    let ((few, _), (many, tried)) = (run(fits), run(10 * fits));
    println!("{what}: {few} allocations for {fits} fits of {n} points, {many} for {}", 10 * fits);
    let most = few + 8 + 128 * tried;
    assert!(many <= most, "{what}: {few} allocations for {fits} fits, {many} for ten times");
}

/// The samples must outlive the batch that borrows them; a test may leak them.
fn lasting<T>(values: Vec<T>) -> &'static [T] {
    values.leak()
}

#[test]
fn more_fits_abreast_allocate_no_more() {
    let n = 24;
    let x = lasting(Points::new(n).x);
    let plain = |fits| BatchData::shared(x, lasting(peaks(n, fits))).expect("data");
    let own = |fits: usize| {
        let xs = lasting(x.repeat(fits));
        BatchData::own(xs, lasting(peaks(n, fits))).expect("data")
    };
    let fitter = CurveFit::new(peak);
    let start_near = fitter.clone().keep_covariance(true);
    let check = |what, data: &dyn Fn(usize) -> BatchData<'static>| {
        assert_no_more_for_more_fits(what, &start_near, (500, n), data);
    };
    check("plain", &plain);
    check("counts of a camera", &|fits| {
        let samples = peaks(n, fits).iter().map(|y| (1000.0 * y) as u16).collect();
        BatchData::shared(x, lasting(samples)).expect("data")
    });
    check("weighted and masked", &|fits| {
        let mask: Vec<bool> = (0..fits * n).map(|i| i % 7 != 3).collect();
        let sigma = lasting(vec![0.1; fits * n]);
        let data = plain(fits).sigma(Sigma::Absolute(sigma)).expect("sigma");
        data.mask(lasting(mask)).expect("a mask")
    });
    check("of unequal length", &|fits| {
        let ends = (0..=fits).map(|i| i * n - if i % 2 == 1 { i % 5 } else { 0 });
        own(fits).offsets(lasting(ends.collect())).expect("offsets")
    });
    check("with holes", &|fits| {
        let mut samples = peaks(n, fits);
        samples.iter_mut().step_by(31).for_each(|y| *y = f64::NAN);
        BatchData::shared(x, lasting(samples)).expect("data").missing(Missing::Omit)
    });
    let robust = fitter.loss(Loss::Cauchy { scale: 0.5 });
    assert_no_more_for_more_fits("robust", &robust, (500, n), plain);
}

#[test]
fn more_fits_alone_allocate_no_more() {
    let data = |n: usize| {
        let x = lasting(Points::new(n).x);
        move |fits| BatchData::shared(x, lasting(peaks(n, fits))).expect("data")
    };
    let tukey = CurveFit::new(peak).loss(Loss::Tukey { scale: 1.0 });
    assert_no_more_for_more_fits("Tukey's loss", &tukey, (100, 24), data(24));
    let native = CurveFit::native(4, |x, p| peak(x, [p[0], p[1], p[2], p[3]])).loss(Loss::Linear);
    assert_no_more_for_more_fits("native", &native, (100, 24), data(24));
    assert_no_more_for_more_fits("long", &CurveFit::new(peak), (10, 1200), data(1200));
}
