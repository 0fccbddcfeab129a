//! Regions from which starts are drawn; the result depends on the request only.

use crate::multi_start::standard::*;
use dualfit::error::StartError;
use dualfit::{CurveFit, Data, Error, Loss, MultiStart, Optima, SearchOptions, SearchWhen, Start};
use std::collections::HashSet;

/// Everything but seconds.
fn all(optima: &Optima) -> String {
    let bits = |p: &[f64]| p.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    let mut text = String::new();
    for t in optima.trials() {
        let cost = t.cost().map(f64::to_bits);
        let end = (t.params().map(bits), cost, t.termination(), t.evaluations(), t.error());
        text += &format!("{:?} {end:?}\n", bits(t.start()));
    }
    let best = optima.best();
    let numbers = [best.params(), &best.std_errors(), best.covariance().as_slice()].map(bits);
    format!("{text}{:?}\n{numbers:?} {:?}", optima.distinct(), best.warnings())
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let few = wave_data();
    // Enough points that a pass has work for two threads but not for eight, and for eight.
    let many = |n: usize| {
        let x: Vec<f64> = (0..n).map(|i| 8.0 * i as f64 / n as f64).collect();
        let y: Vec<f64> =
            x.iter().map(|x| 2.0 * (5.3 * x).sin() + 0.3 * (31.0 * x * x).cos()).collect();
        (x, y)
    };
    let native =
        CurveFit::native(3, |x: f64, p: &[f64]| p[0] * (p[2] * x).sin() + p[1] * (p[2] * x).cos())
            .names(["a", "b", "w"])
            .bounds([(-5.0, 5.0), (-5.0, 5.0), (0.5, 12.0)]);
    for (model, (x, y), starts) in [
        (wave(), few.clone(), 24),
        (native, few, 8),
        (wave().loss(Loss::Cauchy { scale: 0.5 }), many(1000), 5),
        (wave(), many(20_000), 2),
        (wave(), many(60_000), 1),
    ] {
        let asked = MultiStart::new(starts).seed(3);
        let run =
            || model.multi_start(Data::new(&x, &y).unwrap(), [1.0, 1.0, 2.0], &asked).unwrap();
        let one = with_threads(1, run);
        for threads in [2, 8] {
            assert_eq!(all(&with_threads(threads, run)), all(&one), "{threads} threads");
        }
    }
}

#[test]
fn the_best_fit_is_the_fit_from_its_start_and_any_seed_finds_it() {
    let (x, y) = wave_data();
    let data = || Data::new(&x, &y).unwrap();
    let mut starts = HashSet::new();
    for (sampling, seed) in BOTH.into_iter().flat_map(|s| (0..4).map(move |seed| (s, seed))) {
        let asked = MultiStart::new(32).sampling(sampling).seed(seed);
        let run = || wave().multi_start(data(), [1.0, 1.0, 2.0], &asked).unwrap();
        let optima = run();
        assert_consistent(&optima);
        assert_eq!(all(&optima), all(&run()));
        assert!(
            (optima.best().param("w").unwrap() - 5.29).abs() < 1e-3,
            "{sampling:?} seed {seed}"
        );
        let start = optima.best().start();
        let alone = wave().fit(data(), start).unwrap();
        let best = optima.best();
        assert_eq!(alone.params(), best.params());
        assert_eq!(alone.covariance(), best.covariance());
        assert_eq!(alone.stats().evaluations, best.stats().evaluations);
        assert_eq!(alone.termination(), best.termination());
        assert!(
            starts.insert(format!("{:?}", optima.trials()[1].start())),
            "seed {seed} is no other"
        );
    }
}

#[test]
fn starts_are_drawn_where_it_was_said() {
    let x = abscissa();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * (-0.5 * x).exp() + 0.3).collect();
    let model = CurveFit::new(|x, [a, b, c, d]| a * (-b * x).exp() + c + 0.0 * d)
        .names(["a", "rate", "c", "d"])
        .bound("a", 0.0..=10.0)
        .bound("rate", 1e-8..)
        .bound("c", ..=5.0)
        .fix("d");
    let n = 32;
    for sampling in BOTH {
        let asked = MultiStart::new(n)
            .sampling(sampling)
            .log_range("rate", 7.0..8.0)
            .log_range("rate", ..=1e4)
            .range("c", -3.0..)
            .range("d", 100.0..200.0)
            .also_from([3.0, 0.1, 0.5, -7.0]);
        let start = [1.0, 1.0, 0.0, 0.25];
        let optima = model.multi_start(Data::new(&x, &y).unwrap(), start, &asked).unwrap();
        let trials = optima.trials();
        assert_eq!(trials.len(), n + 2);
        assert_eq!(trials[0].start(), start);
        assert_eq!(trials[1].start(), [3.0, 0.1, 0.5, 0.25], "a fixed parameter keeps its value");
        // Of 32 equal parts of each range, the logarithmic one too, each has one start.
        let part = |u: f64| (u * n as f64).floor() as i64;
        let mut parts = [(); 3].map(|()| HashSet::new());
        for trial in &trials[2..] {
            let p = trial.start();
            parts[0].insert(part(p[0] / 10.0));
            parts[1].insert(part((p[1].log10() + 8.0) / 12.0));
            parts[2].insert(part((p[2] + 3.0) / 8.0));
            assert_eq!(p[3], 0.25);
        }
        assert!(parts.iter().all(|p| p.len() == n && p.iter().all(|i| (0..n as i64).contains(i))));
        assert!(optima.trials().iter().filter_map(|t| t.params()).all(|p| p[3] == 0.25));
        assert!((optima.best().param("rate").unwrap() - 0.5).abs() < 1e-9);
    }
    // The given starts alone need no range.
    let alone = MultiStart::new(0).also_from([3.0, 0.1, 0.5, 0.0]);
    let optima =
        model.multi_start(Data::new(&x, &y).unwrap(), [1.0, 1.0, 0.0, 0.0], &alone).unwrap();
    assert_eq!((optima.trials().len(), optima.distinct().len()), (2, 1));
    let none =
        model.multi_start(Data::new(&x, &y).unwrap(), [1.0; 4], &MultiStart::new(0)).unwrap();
    assert_eq!(none.best().params(), none.distinct()[0].params());
}

#[test]
fn what_is_not_given_is_found_first() {
    let (x, y) = wave_data();
    let data = || Data::new(&x, &y).unwrap();
    let text = CurveFit::parse("a*sin(w*x) + b*cos(w*x)", ["x"]).unwrap();
    let model = text.clone().bounds([(-5.0, 5.0), (0.5, 12.0), (-5.0, 5.0)]);
    // Linear in a and b: the first start is what a fit would begin with.
    let expected = model.start(data(), [("w", 5.0)]).unwrap();
    let asked = MultiStart::new(4);
    let optima = model.multi_start(data(), [("w", 5.0)], &asked).unwrap();
    assert_eq!(optima.trials()[0].start(), expected);
    let same = model.multi_start(data(), &expected, &asked).unwrap();
    assert_eq!(all(&optima), all(&same));

    // Nothing is known of w: it is searched for.
    let searched = model.start(data(), Start::Guess).unwrap();
    let optima = model.multi_start(data(), Start::Guess, &MultiStart::new(32)).unwrap();
    assert_eq!(optima.trials()[0].start(), searched);
    assert!(within(optima.best().params()[1], 5.3, 1e-2));
    let asked = MultiStart::new(4).log_range("w", 1.0..=9.0);
    let optima = model.multi_start(data(), [("a", 1.0)], &asked).unwrap();
    assert_eq!(optima.trials()[0].start(), model.start(data(), [("a", 1.0)]).unwrap());
    assert!(optima.trials()[1..].iter().all(|t| (1.0..=9.0).contains(&t.start()[1])), "{optima}");

    let none = MultiStart::new(0);
    assert!(model.multi_start(data(), Start::Guess, &none).is_ok());
    let never = model.clone().search(SearchOptions::default().when(SearchWhen::Never));
    let unknown = never.multi_start(data(), Start::Guess, &none).unwrap_err();
    assert!(matches!(&unknown, Error::Start(StartError::Unknown { names }) if *names == ["w"]));
    // A fixed parameter is not drawn, even if it has a range.
    let kept = model.fix("w").multi_start(data(), Start::Guess, &asked).unwrap_err();
    assert!(matches!(kept, Error::Start(StartError::FixedWithoutValue { .. })), "{kept}");
}
