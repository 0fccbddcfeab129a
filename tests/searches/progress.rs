//! Progress and cancellation of searches.

use dualfit::progress::SearchProgress;
use dualfit::source::SliceSource;
use dualfit::{
    BatchData, CancelToken, CurveFit, Data, Error, Event, GlobalFit, Start, Stream, Termination,
    Warning,
};
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::{Arc, Mutex};

/// A sum whose search takes several rounds.
const TWO_PEAKS: &str = "a*exp(-((x - m)/w)^2) + b*exp(-((x - n)/v)^2) + c";

fn columns() -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..150).map(|i| 0.1 * f64::from(i)).collect();
    let peak = |x: f64, center: f64| (-((x - center) / 0.8).powi(2)).exp();
    let y = x.iter().map(|&x| 3.0 * peak(x, 4.0) + peak(x, 9.0) + 0.05 * (37.0 * x).sin());
    let y = y.collect();
    (x, y)
}

fn two_peaks() -> CurveFit {
    CurveFit::parse(TWO_PEAKS, ["x"]).unwrap()
}

/// The model with an observer that returns `answer`, and the rounds that it heard of.
fn watched(
    answer: impl Fn(&SearchProgress) -> ControlFlow<()> + Send + Sync + 'static,
) -> (CurveFit, Arc<Mutex<Vec<SearchProgress>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = heard.clone();
    let curve = two_peaks().observe(move |event| {
        let Event::Search(now) = event else { return Continue(()) };
        told.lock().unwrap().push(*now);
        answer(now)
    });
    (curve, heard)
}

#[test]
fn each_round_is_an_event() {
    let (x, y) = columns();
    let (curve, heard) = watched(|_| Continue(()));
    let fit = curve.fit(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
    let alone = two_peaks().fit(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
    assert_eq!(fit.params(), alone.params());
    let heard = heard.lock().unwrap();
    assert!(heard.len() > 1, "{heard:?}");
    for (i, now) in heard.iter().enumerate() {
        assert_eq!((now.round, now.rounds), (i + 1, 8));
    }
    let is_ordered =
        |pair: &[SearchProgress]| pair[0].cost >= pair[1].cost && pair[0].fits < pair[1].fits;
    assert!(heard.windows(2).all(is_ordered), "{heard:?}");
    let least = heard.last().unwrap().cost;
    assert!((least - fit.cost()).abs() < 1e-6 * fit.cost(), "{least} {}", fit.cost());
}

#[test]
fn a_stopped_search_gives_the_best_start_so_far() {
    let (x, y) = columns();
    let data = || Data::new(&x, &y).unwrap();
    let token = CancelToken::new();
    let cancelling = token.clone();
    let by_answer = watched(|_| Break(()));
    let by_token = watched(move |_| {
        cancelling.cancel();
        Continue(())
    });
    for (curve, heard) in [by_answer, (by_token.0.cancel_token(token), by_token.1)] {
        let fit = curve.fit(data(), Start::Guess).unwrap();
        assert_eq!(heard.lock().unwrap().len(), 1);
        // A start that is a minimum needs no step.
        let (termination, steps) = (fit.termination(), fit.stats().iterations);
        let is_stopped = termination == Termination::Stopped && steps == 1;
        assert!(is_stopped || fit.converged() && steps == 0, "{fit}");
        let is_uncertain = |w: &Warning| matches!(w, Warning::UncertainMinimum { .. });
        assert!(fit.warnings().iter().any(is_uncertain), "{fit}");
        let search = fit.start_search().unwrap();
        assert!(search.stopped && !search.settled, "{search:?}");
        let cost = heard.lock().unwrap()[0].cost;
        assert!(fit.cost() <= cost * (1.0 + 1e-6), "{} {cost}", fit.cost());
    }
}

#[test]
fn joint_fits_and_streams_stop_with_their_search() {
    let (x, y) = columns();
    let data = || Data::new(&x, &y).unwrap();
    let (curve, _) = watched(|_| Break(()));
    let joint = GlobalFit::new(&curve).share(["c"]).fit([data(), data()], Start::Guess).unwrap();
    assert!(joint.fit().start_search().unwrap().stopped);
    assert!(joint.fit().stats().iterations <= 1);
    let stream = Stream::new(SliceSource::new(&x, &y).unwrap());
    assert_eq!(curve.fit_stream(stream, Start::Guess).unwrap_err(), Error::StoppedInFirstPass);
}

#[test]
fn a_panic_of_the_observer_is_an_error() {
    let (x, y) = columns();
    let (curve, _) = watched(|_| panic!("no more"));
    let error = curve.fit(Data::new(&x, &y).unwrap(), Start::Guess).unwrap_err();
    assert!(
        matches!(&error, Error::ObserverPanicked { message } if message == "no more"),
        "{error}"
    );
}

#[test]
fn searches_of_a_batch_are_silent() {
    let (x, y) = columns();
    let (curve, heard) = watched(|_| Continue(()));
    let all: Vec<f64> = y.iter().chain(&y).copied().collect();
    let batch = BatchData::shared(&x, &all).unwrap();
    let fits = curve.fit_batch(batch, Start::Guess).unwrap();
    assert!(fits.iter().all(|fit| fit.converged()));
    assert!(heard.lock().unwrap().is_empty());
}
