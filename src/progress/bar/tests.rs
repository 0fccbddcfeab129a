//! Tests of the drawn text, on a terminal in memory and without a terminal.

use super::*;
use crate::{Backend, BatchData, CurveFit, Data};
use indicatif::{InMemoryTerm, TermLike};
use std::process::{Command, Stdio};
use std::thread::sleep;

fn terminal() -> (InMemoryTerm, ProgressDrawTarget) {
    let terminal = InMemoryTerm::new(8, 120);
    let target = Box::new(terminal.clone()) as Box<dyn TermLike>;
    (terminal, ProgressDrawTarget::term_like(target))
}

fn points() -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
    let y = x.iter().map(|x| 2.0 * (-0.7 * x).exp() + 0.3 + 0.01 * (9.0 * x).sin()).collect();
    (x, y)
}

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).backend(Backend::Cpu)
}

#[test]
fn a_fit_leaves_its_last_step_on_the_terminal() {
    let (terminal, target) = terminal();
    let (x, y) = points();
    let fit = decay().observe(bar_on(target)).fit(Data::new(&x, &y).unwrap(), [1.0, 1.0, 0.0]);
    let fit = fit.unwrap();
    let drawn = terminal.contents();
    let words: Vec<&str> = drawn.split_whitespace().collect();
    let after = |word: &str| words[words.iter().position(|w| *w == word).unwrap() + 1];
    assert_eq!(after("iteration").parse::<usize>().unwrap(), fit.stats().iterations);
    let cost: f64 = after("cost").parse().unwrap();
    assert!((cost / fit.cost() - 1.0).abs() < 1e-4, "{drawn}");
    assert!(after("step").parse::<f64>().unwrap() < 1.0 && after("damping") == "0.0e0", "{drawn}");
    assert_eq!(drawn.lines().count(), 1, "{drawn}");
}

#[test]
fn a_batch_fills_its_bar_and_the_next_one_begins_anew() {
    let (terminal, target) = terminal();
    let (x, y) = points();
    let model = decay().observe(bar_on(target));
    for fits in [40, 30] {
        let all = y.repeat(fits);
        model.fit_batch(BatchData::shared(&x, &all).unwrap(), [1.0, 1.0, 0.0]).unwrap();
        let drawn = terminal.contents();
        let last = drawn.lines().last().unwrap();
        assert!(last.contains(&format!("{fits} of {fits} fits")), "{drawn}");
        assert!(last.starts_with(&"━".repeat(30)) && last.contains("fits/s"), "{drawn}");
    }
}

#[test]
fn a_batch_half_done_says_what_is_left() {
    let (terminal, target) = terminal();
    let bar = bar_on(target);
    let elapsed = Duration::from_secs(50);
    let _ = bar(&Event::Batch(BatchProgress { finished: 250_000, n_fits: 1_000_000, elapsed }));
    drop(bar);
    let drawn = terminal.contents();
    assert!(drawn.contains("250000 of 1000000 fits  5.00 k fits/s  2 min 30 s left"), "{drawn}");
    assert!(!drawn.contains(&"━".repeat(9)) && drawn.contains(&"━".repeat(7)), "{drawn}");
}

fn at(pass: usize, points: u64, total: Option<u64>, millis: u64) -> StreamProgress {
    StreamProgress {
        pass,
        chunk: points / 1000,
        points,
        total_points: total,
        cost: (pass > 1).then_some(1234.5),
        damping: 0.0,
        step: 0.0,
        elapsed: Duration::from_millis(millis),
    }
}

#[test]
fn a_stream_shows_pass_rate_time_left_and_cost() {
    let (terminal, target) = terminal();
    let bar = bar_on(target);
    // First pass of a source of unknown length.
    let _ = bar(&Event::Stream(at(1, 1_000_000, None, 500)));
    sleep(Duration::from_millis(120));
    let _ = bar(&Event::Stream(at(1, 3_000_000, None, 1500)));
    let drawn = terminal.contents();
    assert!(drawn.contains("pass 1  3.00 M points  2.00 M points/s  1.50 s"), "{drawn}");
    assert!(!drawn.contains("left") && !drawn.contains("cost"), "{drawn}");
    // In the second pass the length is known, and the rate is computed from this pass only.
    let total = Some(40_000_000);
    let _ = bar(&Event::Stream(at(2, 5_000_000, total, 20_000)));
    sleep(Duration::from_millis(120));
    let _ = bar(&Event::Stream(at(2, 10_000_000, total, 25_000)));
    drop(bar);
    let drawn = terminal.contents();
    let expected =
        "pass 2  10.0 M of 40.0 M points  1.00 M points/s  30 s left  cost 1.234500e3  25 s";
    assert!(drawn.contains(expected), "{drawn}");
    assert!(drawn.contains(&"━".repeat(7)) && !drawn.contains(&"━".repeat(9)), "{drawn}");
}

#[test]
fn numbers_and_times_are_short() {
    let numbers = [0.0, 3.456, 999.4, 1e3, 45_678.0, 1.234e9, 1e15, f64::INFINITY];
    let expected = ["0.00", "3.46", "999", "1.00 k", "45.7 k", "1.23 G", "1000 T", "inf T"];
    assert_eq!(numbers.map(short), expected);
    let times = [0.0, 0.4234, 9.999, 10.0, 59.9, 60.0, 3599.0, 7530.0];
    let times = times.map(|t| seconds(Duration::from_secs_f64(t)));
    let expected =
        ["0.00 s", "0.42 s", "10.00 s", "10 s", "59 s", "1 min 00 s", "59 min 59 s", "2 h 05 min"];
    assert_eq!(times, expected);
    assert_eq!([left(10.0, 4.0), left(1.0, 0.0), left(0.0, f64::NAN)], ["2.50 s", "?", "?"]);
}

#[test]
#[ignore = "run by the test below, in a process of its own"]
fn child() {
    let (x, y) = points();
    let model = decay().observe(bar());
    model.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0, 0.0]).unwrap();
    model.fit_batch(BatchData::shared(&x, &y.repeat(50)).unwrap(), [1.0, 1.0, 0.0]).unwrap();
    let stream = bar();
    assert!(stream(&Event::Stream(at(1, 10, Some(20), 5))).is_continue());
}

#[test]
fn nothing_is_drawn_where_there_is_no_terminal() {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "progress::bar::tests::child", "--ignored", "--nocapture"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
    assert_eq!(String::from_utf8_lossy(&child.stderr), "");
}
