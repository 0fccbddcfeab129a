//! Spans of the feature `tracing`, as a subscriber sees them: names, nesting, levels and fields.
#![cfg(feature = "tracing")]

use crate::turn;
use dualfit::{Backend, BatchData, CurveFit, Data, MultiStart};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Record of a span.
#[derive(Clone, Debug)]
struct Seen {
    name: &'static str,
    level: Level,
    target: &'static str,
    parent: Option<&'static str>,
    fields: HashMap<&'static str, f64>,
}

#[derive(Default)]
struct Log {
    spans: HashMap<u64, Seen>,
    /// Spans in the order in which they were entered.
    order: Vec<u64>,
    /// Spans that are entered and not left.
    open: Vec<u64>,
}

/// A subscriber of one thread that listens to spans of these levels.
#[derive(Clone)]
struct Listener {
    most: Level,
    next: Arc<AtomicU64>,
    log: Arc<Mutex<Log>>,
}

struct Numbers<'a>(&'a mut HashMap<&'static str, f64>);

impl Visit for Numbers<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}").parse().expect("a number"));
    }
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.most
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let metadata = span.metadata();
        let mut fields = HashMap::new();
        span.record(&mut Numbers(&mut fields));
        let mut log = self.log.lock().unwrap();
        let parent = log.open.last().map(|parent| log.spans[parent].name);
        let (name, level, target) = (metadata.name(), *metadata.level(), metadata.target());
        log.spans.insert(id, Seen { name, level, target, parent, fields });
        Id::from_u64(id)
    }

    fn enter(&self, span: &Id) {
        let mut log = self.log.lock().unwrap();
        log.order.push(span.into_u64());
        log.open.push(span.into_u64());
    }

    fn exit(&self, span: &Id) {
        assert_eq!(self.log.lock().unwrap().open.pop(), Some(span.into_u64()), "spans are nested");
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
}

/// The spans of this thread during `work`, in the order in which they began.
fn spans(most: Level, work: impl FnOnce()) -> Vec<Seen> {
    let listener = Listener { most, next: Arc::new(AtomicU64::new(1)), log: Arc::default() };
    tracing::subscriber::with_default(listener.clone(), work);
    let log = listener.log.lock().unwrap();
    assert!(log.open.is_empty() && log.order.len() == log.spans.len());
    log.order.iter().map(|id| log.spans[id].clone()).collect()
}

fn points() -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
    let y = x.iter().map(|x| 2.0 * (-0.7 * x).exp() + 0.3 + 0.01 * (9.0 * x).sin()).collect();
    (x, y)
}

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).backend(Backend::Cpu)
}

fn named<'a>(seen: &'a [Seen], name: &str) -> Vec<&'a Seen> {
    seen.iter().filter(|span| span.name == name).collect()
}

#[test]
fn the_phases_of_a_fit_are_nested_spans() {
    let _turn = turn();
    let (x, y) = points();
    let mut fit = None;
    let seen = spans(Level::TRACE, || {
        let model = decay();
        fit = Some(model.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0, 0.0]).unwrap());
    });
    let fit = fit.unwrap();
    let phases: Vec<_> = seen
        .iter()
        .filter(|span| span.level <= Level::DEBUG)
        .map(|span| (span.name, span.level, span.parent))
        .collect();
    assert_eq!(
        phases,
        [
            ("trace", Level::DEBUG, None),
            ("fit", Level::INFO, None),
            ("validate", Level::DEBUG, Some("fit")),
            ("prepare", Level::DEBUG, Some("fit")),
            ("differentiate", Level::DEBUG, Some("prepare")),
            ("covariance", Level::DEBUG, Some("fit")),
        ]
    );
    assert!(seen.iter().all(|span| span.target == "dualfit"));
    let field = |name: &str, field: &str| named(&seen, name)[0].fields[field];
    assert_eq!((field("fit", "points"), field("fit", "parameters")), (60.0, 3.0));
    assert_eq!((field("trace", "columns"), field("differentiate", "parameters")), (1.0, 3.0));

    // Every evaluation is a pass of all points, the first one before any step.
    let passes = named(&seen, "pass");
    assert_eq!(passes.len(), fit.stats().passes);
    assert_eq!(passes[0].parent, Some("fit"));
    assert!(passes[1..].iter().all(|pass| pass.parent == Some("step")));
    assert!(passes.iter().all(|pass| pass.fields["points"] == 60.0));
    let pieces = named(&seen, "pieces");
    assert_eq!(pieces.len(), passes.len());
    assert!(pieces.iter().all(|pieces| pieces.parent == Some("pass")));
    // Steps say where they begin: iterations ascend and costs fall, to the fit's.
    let steps = named(&seen, "step");
    assert!(steps.len() >= fit.evaluations() && steps.iter().all(|s| s.parent == Some("fit")));
    for pair in steps.windows(2) {
        assert!(pair[1].fields["iteration"] >= pair[0].fields["iteration"]);
        assert!(pair[1].fields["cost"] <= pair[0].fields["cost"]);
    }
    let last = steps.last().unwrap();
    assert_eq!(last.fields["iteration"], fit.stats().iterations as f64);
    assert!((last.fields["cost"] / fit.cost() - 1.0).abs() < 1e-6);
}

#[test]
fn a_model_is_traced_and_prepared_once() {
    let _turn = turn();
    let (x, y) = points();
    let model = decay();
    let fit = || drop(model.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0, 0.0]).unwrap());
    fit();
    let names: Vec<_> = spans(Level::DEBUG, fit).iter().map(|span| span.name).collect();
    assert_eq!(names, ["fit", "validate", "covariance"]);
    let names: Vec<_> = spans(Level::INFO, fit).iter().map(|span| span.name).collect();
    assert_eq!(names, ["fit"]);
}

#[test]
fn batches_and_searches_have_spans_of_their_own() {
    let _turn = turn();
    let (x, y) = points();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
    let all = y.repeat(20);
    let seen = spans(Level::DEBUG, || {
        pool.install(|| {
            let data = BatchData::shared(&x, &all).unwrap();
            decay().fit_batch(data, [1.0, 1.0, 0.0]).unwrap();
        });
    });
    let batch = named(&seen, "batch");
    assert_eq!((batch.len(), batch[0].fields["fits"]), (1, 20.0));
    let portions = named(&seen, "portion");
    assert_eq!(portions.iter().map(|p| p.fields["fits"]).sum::<f64>(), 20.0);
    assert!(portions.iter().all(|p| p.parent == Some("batch")));

    let seen = spans(Level::DEBUG, || {
        let starts = MultiStart::new(3).range("p0", 0.5..=4.0).range("p1", 0.1..=2.0);
        let starts = starts.range("p2", 0.0..=1.0);
        let data = Data::new(&x, &y).unwrap();
        pool.install(|| decay().multi_start(data, [1.0, 1.0, 0.0], &starts).unwrap());
    });
    assert_eq!(named(&seen, "multi_start")[0].fields["starts"], 3.0);
    let starts = named(&seen, "start");
    let numbers: Vec<_> = starts.iter().map(|start| start.fields["number"]).collect();
    assert_eq!(numbers, [0.0, 1.0, 2.0, 3.0]);
    assert!(starts.iter().all(|start| start.parent == Some("multi_start")));
    assert_eq!(named(&seen, "covariance").len(), 1);
}
