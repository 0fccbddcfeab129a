//! Effects of one start on the others, limits and observers, and invalid requests.

use crate::multi_start::standard::*;
use dualfit::result::Trial;
use dualfit::{
    Backend, CurveFit, Data, Error, Loss, MultiStart, Optima, Options, Sampling, Sigma,
    Termination, Var,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const START: [f64; 3] = [1.0, 1.0, 2.0];

fn run(model: &CurveFit, asked: &MultiStart) -> Result<Optima, Error> {
    let (x, y) = wave_data();
    model.multi_start(Data::new(&x, &y).unwrap(), START, asked)
}

#[track_caller]
fn assert_says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    assert!(words.iter().all(|word| text.contains(word)), "{text} lacks one of {words:?}");
}

#[test]
fn starts_without_a_value_are_counted_and_harm_no_other() {
    let x = abscissa();
    let y: Vec<f64> = x.iter().map(|x| (2.0 * x + 0.5).ln()).collect();
    let model = CurveFit::new(|x, [a, b]| (a * x + b).ln());
    let asked = MultiStart::new(64).range("p0", -1.0..=3.0).range("p1", -1.0..=3.0);
    // The given start is bad itself.
    let optima = model.multi_start(Data::new(&x, &y).unwrap(), [1.0, -1.0], &asked).unwrap();
    assert_consistent(&optima);
    let trials = optima.trials();
    let bad = |p: &[f64]| p[1] <= 0.0 || 7.9 * p[0] + p[1] <= 0.0;
    for trial in trials {
        assert_eq!(trial.error().is_some(), bad(trial.start()), "{:?}", trial.start());
        assert_eq!(trial.error().is_none(), trial.params().is_some() && trial.cost().is_some());
    }
    let failed = trials.iter().filter(|t| t.error().is_some()).count();
    assert!(failed > 16 && trials[0].error().is_some());
    assert!(matches!(trials[0].error(), Some(Error::ModelNonFiniteAtStart { .. })));
    assert!(
        trials[0].termination().is_none() && !trials[0].converged() && trials[0].evaluations() == 0
    );
    for (p, expected) in optima.best().params().iter().zip([2.0, 0.5]) {
        assert!(within(*p, expected, 1e-9));
    }
    let report = optima.to_string();
    assert!(report.contains(&format!("{failed} starts: failed: the model is")), "{report}");
    // If all are bad, the error is that of the given start.
    let all_bad = MultiStart::new(20).range("p0", -2.0..=-1.0).range("p1", -2.0..=-1.0);
    let error = model.multi_start(Data::new(&x, &y).unwrap(), [0.5, -0.5], &all_bad).unwrap_err();
    let alone = model.fit(Data::new(&x, &y).unwrap(), [0.5, -0.5]).unwrap_err();
    assert_eq!(error.to_string(), alone.to_string());
}

#[test]
fn a_native_model_may_panic_from_some_starts() {
    let x = abscissa();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * (-0.5 * x).exp()).collect();
    let model = CurveFit::native(2, |x: f64, p: &[f64]| {
        assert!(p[1] > -0.5, "a rate of {} means nothing", p[1]);
        p[0] * (-p[1] * x).exp()
    });
    let asked = MultiStart::new(16).range("p0", 0.0..=3.0).range("p1", -1.0..=1.0);
    let optima = model.multi_start(Data::new(&x, &y).unwrap(), [1.0, 1.0], &asked).unwrap();
    assert_consistent(&optima);
    let panicked =
        |t: &&dualfit::result::Trial| matches!(t.error(), Some(Error::ModelPanicked { .. }));
    assert!(optima.trials().iter().filter(panicked).count() >= 4, "{optima}");
    assert!(within(optima.best().params()[1], 0.5, 1e-6));
}

#[test]
fn the_report_counts_optima_and_reasons() {
    let model = CurveFit::new(|x, [p]| ((p + 1.0).sqrt() - 2.0) * x).bound("p0", -3.0..=5.0);
    let (x, y) = ([1.0, 2.0], [0.0, 0.0]);
    let asked = MultiStart::new(16).range("p0", -2.5..=5.0);
    let optima = model.multi_start(Data::new(&x, &y).unwrap(), [-2.0], &asked).unwrap();
    let failed = optima.trials().iter().filter(|t| t.error().is_some()).count();
    let hits = 17 - failed;
    let expected = format!(
        "17 starts, {hits} converged; 1 distinct optimum\n\n\
         optimum            cost    hits              p0\n\
         \u{20}     1               0  {hits:>6}       3.0000000\n\n\
         {failed} starts: failed: the model is NaN at point 0 (x = 1) for the start p0 = -2; \
         choose a start where it is finite"
    );
    assert_eq!(optima.to_string(), expected);
}

#[test]
fn limits_hold_for_each_start() {
    let limited = wave().options(Options::default().max_evaluations(3));
    let optima = run(&limited, &MultiStart::new(20)).unwrap();
    assert!(optima.trials().iter().all(|t| (1..=3).contains(&t.evaluations())));
    assert!(optima.distinct().is_empty() && !optima.best().converged());
    assert_eq!(optima.best().termination(), Termination::MaxEvaluations);
    let least = optima.trials().iter().filter_map(|t| t.cost()).fold(f64::INFINITY, f64::min);
    assert_eq!(optima.best().cost(), least);
    assert!(optima.best().std_errors().iter().all(|e| e.is_finite()));
    assert!(optima.to_string().contains("21 starts: not converged: limit of evaluations"));
    let params = optima.best().params().to_vec();
    assert_eq!(optima.into_best().require_convergence().unwrap_err().params(), params);
    let no_time = wave().options(Options::default().max_time(Duration::ZERO));
    let optima = run(&no_time, &MultiStart::new(5)).unwrap();
    assert!(optima.trials().iter().all(|t| t.termination() == Some(Termination::TimeLimit)));
}

/// A wave whose observer breaks at its call `last`, and the calls that were made.
fn breaks_at(last: usize) -> (CurveFit, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let watched = wave().observe(move |_| match counted.fetch_add(1, Ordering::SeqCst) + 1 {
        n if n >= last => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    (watched, calls)
}

/// Returns true if a search ended as a stopped one: the step at which it stops may also be the one that meets the
/// tolerances.
fn was_stopped(trial: &Trial, unwatched: &Trial) -> bool {
    let cost = |trial: &Trial| trial.cost().unwrap();
    trial.termination() == Some(Termination::Stopped)
        || (trial.converged() && within(cost(trial), cost(unwatched), 1e-9))
}

/// On one thread starts follow one another, so that the steps of fits made alone say which start the
/// observer breaks in.
#[test]
fn what_is_finished_counts_when_the_observer_breaks() {
    let asked = MultiStart::new(60);
    let whole = run(&wave(), &asked).unwrap();
    let (x, y) = wave_data();
    let steps = whole.trials().iter().map(|trial| {
        let (watched, calls) = breaks_at(usize::MAX);
        watched.fit(Data::new(&x, &y).unwrap(), trial.start()).unwrap();
        calls.load(Ordering::SeqCst)
    });
    let steps: Vec<usize> = steps.collect();
    for last in [1, 2, steps[0], steps[0] + 1, 40, 150] {
        let (watched, calls) = breaks_at(last);
        let optima = with_threads(1, || run(&watched, &asked)).unwrap();
        assert_consistent(&optima);
        assert_eq!(calls.load(Ordering::SeqCst), last);
        let mut before = 0;
        for ((trial, unwatched), steps) in optima.trials().iter().zip(whole.trials()).zip(&steps) {
            let (begins, ends) = (before < last, before + steps < last);
            before += steps;
            if ends {
                assert_eq!(trial, unwatched);
            } else if begins {
                assert!(was_stopped(trial, unwatched), "{trial:?}");
                assert!(before == last || !trial.converged(), "{trial:?}");
            } else {
                assert!(trial.termination().is_none() && trial.error().is_none(), "{trial:?}");
            }
        }
        assert!(before > last && last < steps.iter().sum());
        assert!(optima.to_string().contains("not begun: stopped by the caller"), "{optima}");
    }
    // One that never breaks changes nothing.
    let quiet = run(&wave().observe(|_| ControlFlow::Continue(())), &asked).unwrap();
    assert_eq!(quiet.trials(), whole.trials());
    let angry = wave().observe(|_| panic!("enough"));
    let error = run(&angry, &MultiStart::new(20)).unwrap_err();
    assert!(
        matches!(&error, Error::ObserverPanicked { message } if message == "enough"),
        "{error}"
    );
}

/// With several threads the running starts at the time of the observer's break vary; the
/// assertions hold in all cases.
#[test]
fn an_observer_that_breaks_on_several_threads_is_not_called_again() {
    let asked = MultiStart::new(60);
    let whole = run(&wave(), &asked).unwrap();
    for (threads, last) in [(2, 1), (2, 40), (8, 2), (8, 150)] {
        let (watched, calls) = breaks_at(last);
        let optima = with_threads(threads, || run(&watched, &asked)).unwrap();
        assert_consistent(&optima);
        // The others may be in the observer when one breaks.
        assert!((last..last + threads).contains(&calls.load(Ordering::SeqCst)));
        let trials = optima.trials().iter().zip(whole.trials());
        let others: Vec<_> = trials.filter(|(trial, unwatched)| trial != unwatched).collect();
        let begun = others.iter().filter(|(trial, _)| trial.termination().is_some());
        assert!(begun.clone().all(|(trial, unwatched)| was_stopped(trial, unwatched)), "{optima}");
        assert!(begun.count() <= threads, "{optima}");
    }
}

#[test]
fn open_ranges_are_natural_and_those_without_sense_refused() {
    let half = wave().bound("b", 0.0..);
    let optima = run(&half, &MultiStart::new(4)).unwrap();
    assert!(optima.trials()[1..].iter().all(|trial| trial.start()[1] >= 0.0), "{optima}");
    assert!(run(&half, &MultiStart::new(4).range("b", ..=3.0)).is_ok());
    assert!(run(&half.clone().fix("b"), &MultiStart::new(4)).is_ok(), "it keeps its value");
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = run(&half, &MultiStart::new(4).range("b", bad..=bad)).unwrap_err();
        assert!(matches!(&error, Error::RangeOfStarts { name, .. } if name == "b"), "{error}");
        assert_says(&error, &["`b`", "no finite value", "leave them open"]);
    }
    assert_says(
        &run(&wave(), &MultiStart::new(4).range("w", 3.0..=2.0)).unwrap_err(),
        &["reversed", "[3, 2]"],
    );
    for range in [0.0..=2.0, 1.0..=13.0] {
        let error = run(&wave(), &MultiStart::new(4).range("w", range)).unwrap_err();
        assert_says(&error, &["`w`", "bounds [0.5, 12]", "narrow"]);
    }
    let error = run(&wave(), &MultiStart::new(4).log_range("a", 0.0..=1.0)).unwrap_err();
    assert_says(&error, &["`a`", "[0, 1]", "logarithmic", "positive"]);
    let error = run(&wave(), &MultiStart::new(4).range("omega", 1.0..=2.0)).unwrap_err();
    assert!(
        matches!(&error, Error::UnknownParameter { name, known, .. } if name == "omega" && known.len() == 3)
    );
    // A range of one number, and one of all numbers, are ranges.
    assert!(run(&wave(), &MultiStart::new(4).range("w", 5.0..=5.0)).is_ok());
    let wide = CurveFit::new(|x, [a]| a * x).bound("p0", f64::MIN..=f64::MAX);
    let line =
        wide.multi_start(Data::new(&[1.0, 2.0], &[2.0, 4.0]).unwrap(), [1.0], &MultiStart::new(50));
    let line = line.unwrap();
    assert!(line.trials().iter().all(|t| t.start()[0].is_finite()));
    assert!(within(line.best().params()[0], 2.0, 1e-12));
}

#[test]
fn too_many_are_refused() {
    let error = run(&wave(), &MultiStart::new(65_537)).unwrap_err();
    assert!(matches!(error, Error::BadOption { name: "starts", value: 65_537.0, .. }), "{error}");
    assert!(run(&wave(), &MultiStart::new(usize::MAX).sampling(Sampling::LatinHypercube)).is_err());
    // Terms that share nothing, so that the partials are soon written.
    let series = CurveFit::dynamic(257, |x, p| {
        let terms = p.iter().enumerate();
        terms.fold(x * 0.0, |sum, (k, &c)| sum + c * (x * (0.1 * k as f64)).cos())
    });
    let series =
        series.bounds(vec![(-1.0, 1.0); 257]).options(Options::default().max_evaluations(1));
    let x: Vec<f64> = (0..300).map(|i| f64::from(i) / 300.0).collect();
    let run = |model: &CurveFit, sampling| {
        let asked = MultiStart::new(1).sampling(sampling);
        model.multi_start(Data::new(&x, &x).unwrap(), [0.0; 257], &asked)
    };
    let error = run(&series, Sampling::Sobol).unwrap_err();
    assert_eq!(error, Error::SobolDimensions { parameters: 257, most: 256 });
    assert_says(&error, &["256", "257", "Sampling::LatinHypercube"]);
    assert!(run(&series, Sampling::LatinHypercube).is_ok());
    assert!(run(&series.clone().fix("p7"), Sampling::Sobol).is_ok());
}

#[test]
fn everything_that_a_fit_refuses_is_refused() {
    let (x, y) = wave_data();
    let asked = MultiStart::new(4);
    let refuse = |model: &CurveFit, start: &[f64], words: &[&str]| {
        let data = Data::new(&x, &y).unwrap();
        let error = model.multi_start(data.clone(), start, &asked).unwrap_err();
        assert_eq!(error.to_string(), model.fit(data, start).unwrap_err().to_string());
        assert_says(&error, words);
    };
    refuse(&wave(), &[1.0, 1.0], &["3 parameter(s)", "2 value(s)"]);
    refuse(&wave(), &[1.0, 1.0, f64::NAN], &["`w`", "NaN"]);
    refuse(&wave(), &[1.0, 1.0, 40.0], &["`w`", "40"]);
    refuse(&wave().loss(Loss::Huber { scale: -1.0 }), &START, &["scale"]);
    refuse(&wave().fix("z"), &START, &["`z`"]);
    refuse(&wave().backend(Backend::cuda(99)), &START, &["CUDA"]);
    let constant = CurveFit::new(|x, [_]: [Var; 1]| x * 2.0).bound("p0", 0.0..=1.0);
    refuse(&constant, &[1.0], &["does not depend"]);
    let given = asked.clone().also_from([1.0, 2.0]);
    assert!(matches!(run(&wave(), &given), Err(Error::ParameterCount { expected: 3, got: 2, .. })));
    let given = asked.clone().also_from([1.0, 2.0, 13.0]);
    assert!(matches!(run(&wave(), &given), Err(Error::StartOutOfBounds { .. })));
    assert!(run(&wave().clamp_start(true), &given).is_ok());
    let hole = Data::new(&[0.0, 1.0, f64::NAN], &[1.0, 2.0, 3.0]).unwrap();
    assert!(matches!(
        wave().multi_start(hole, START, &asked),
        Err(Error::NonFinite { index: 2, .. })
    ));
    let few = Data::new(&[0.0, 1.0], &[1.0, 2.0]).unwrap();
    assert!(matches!(wave().multi_start(few, START, &asked), Err(Error::TooFewPoints { .. })));
    // With nothing to fit there is a cost and no optimum.
    let fixed = run(&wave().fix("a").fix("b").fix("w"), &asked).unwrap();
    assert_eq!(fixed.best().termination(), Termination::AllFixed);
    assert!(fixed.distinct().is_empty() && fixed.trials().iter().all(|t| t.start() == START));
}

#[test]
fn every_request_has_an_answer() {
    let mut random = StdRng::seed_from_u64(4);
    let special = [0.0, -1.0, 1.0, 1e-300, 1e300, f64::NAN, f64::INFINITY, f64::MIN, 3.0, 0.1];
    let (mut answers, mut errors) = (0, 0);
    for _ in 0..2000 {
        let mut number = |odd: bool| match odd {
            true => special[random.random_range(0..special.len())],
            false => random.random_range(-4.0..4.0),
        };
        let n = 6;
        let x: Vec<f64> = (0..n).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|x| (-0.4 * x).exp() + 0.1 * number(false)).collect();
        let odd = number(false) > 0.0;
        let (a, b, c, d) = (number(odd), number(odd), number(false), number(false));
        let start = [number(false), number(odd)];
        let which = (number(false) + 4.0) as usize;
        let model = match which {
            0 => CurveFit::new(|x, [a, b]| a * (-b * x).exp()),
            1 => CurveFit::new(|x, [a, b]| (a * x + b).ln()),
            2 => CurveFit::new(|x, [a, b]| a / (x - b)),
            3 => CurveFit::new(|x, [a, b]| a * x.powf(b)),
            4 => CurveFit::new(|x, [a, b]| (a * x).sin() + 0.0 * b),
            5 => CurveFit::new(|x, [a, b]| a * b * x),
            _ => CurveFit::native(2, |x, p| p[0] * (p[1] * x).tanh()),
        };
        let options = Options::default().max_evaluations(30);
        let model = model.bound("p0", a.min(b)..=a.max(b)).clamp_start(true).options(options);
        let model =
            if which.is_multiple_of(3) { model.loss(Loss::Tukey { scale: a }) } else { model };
        let model = if c > 3.0 { model.fix("p0") } else { model };
        let asked = MultiStart::new(3).range("p1", c.min(d)..=c.max(d)).also_from([a, b]);
        let asked = if d > 3.5 { asked.log_range("p0", a..=b) } else { asked };
        let asked = asked.sampling(BOTH[which % 2]).seed(which as u64);
        let data = Data::new(&x, &y).unwrap().sigma(Sigma::Constant(c.abs() + 1e-9)).unwrap();
        match model.multi_start(data, start, &asked) {
            Ok(optima) => {
                assert_consistent(&optima);
                assert!(optima.best().params().iter().all(|p| p.is_finite()));
                answers += 1;
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                errors += 1;
            }
        }
    }
    println!("{answers} answers, {errors} errors");
    assert!(answers > 500 && errors > 300, "{answers} answers, {errors} errors");
}
