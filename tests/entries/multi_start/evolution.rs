//! Differential evolution: global minima that are known, what it takes beside many starts, and requests.

use crate::multi_start::standard::*;
use crate::support::nist::{digits, problems};
use dualfit::{
    CurveFit, Data, DifferentialEvolution, Error, Event, MultiStart, Optima, Options, Warning,
};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

fn run(curve: &CurveFit, search: &DifferentialEvolution) -> Result<Optima, Error> {
    let (x, y) = wave_data();
    curve.differential_evolution(Data::new(&x, &y).unwrap(), [1.0, 1.0, 2.0], search)
}

/// Rastrigin's function as half a sum of squares, Σ pᵢ²/2 + 5(1 − cos 2πpᵢ), with a minimum near every point of
/// whole numbers and the lowest, 0, at the origin, which is no middle of the bounds.
fn rastrigin(n: usize) -> CurveFit {
    let residuals = |_: &[f64], p: &[f64], r: &mut [f64]| {
        for (k, p) in p.iter().enumerate() {
            r[2 * k] = *p;
            r[2 * k + 1] = 20_f64.sqrt() * (std::f64::consts::PI * p).sin();
        }
    };
    CurveFit::native_arrays(n, residuals).bounds(vec![(-4.12, 5.12); n])
}

/// Costs of evaluations: those without partials as one, those with n partials by differences as 2n + 1.
fn spent(optima: &Optima, n: usize) -> usize {
    let searched: usize = optima.trials().iter().map(|trial| trial.searched()).sum();
    searched + (2 * n + 1) * optima.evaluations()
}

/// Number of seeds, of 20, that find a minimum of this cost, and the evaluations per seed.
fn successes(of: impl Fn(u64) -> Optima, n: usize, cost: f64) -> (usize, usize) {
    let all: Vec<Optima> = (0..20).map(of).collect();
    let found = all.iter().filter(|optima| optima.best().cost() < cost).count();
    (found, all.iter().map(|optima| spent(optima, n)).sum::<usize>() / 20)
}

#[test]
fn populations_find_what_starts_do_not_where_minima_are_many() {
    let n = 5;
    let index: Vec<f64> = (0..2 * n).map(|i| i as f64).collect();
    let zeros = vec![0.0; 2 * n];
    let (data, start) = (Data::new(&index, &zeros).unwrap(), vec![2.9; n]);
    let curve = rastrigin(n);
    let evolved = |seed| {
        let search = DifferentialEvolution::new().populations(1).seed(seed);
        curve.differential_evolution(data.clone(), &start, &search).unwrap()
    };
    let drawn =
        |seed| curve.multi_start(data.clone(), &start, &MultiStart::new(512).seed(seed)).unwrap();
    let (led, each) = successes(evolved, n, 1e-9);
    let (hit, all) = successes(drawn, n, 1e-9);
    println!("Rastrigin in {n}: evolution {led} of 20, {each} evaluations; starts {hit}, {all}");
    assert!(led >= 17 && hit < led && all > each, "{led} {each} {hit} {all}");
    // A wave of one frequency, whose minima are few: starts do it with less.
    let (x, y) = wave_data();
    let data = Data::new(&x, &y).unwrap();
    let start = [1.0, 1.0, 2.0];
    let least = wave().multi_start(data.clone(), start, &MultiStart::new(512)).unwrap();
    let least = least.best().cost() * (1.0 + 1e-9);
    let evolved = |seed| {
        let search = DifferentialEvolution::new().populations(1).seed(seed);
        wave().differential_evolution(data.clone(), start, &search).unwrap()
    };
    let drawn =
        |seed| wave().multi_start(data.clone(), start, &MultiStart::new(64).seed(seed)).unwrap();
    let (led, each) = successes(evolved, 3, least);
    let (hit, all) = successes(drawn, 3, least);
    println!("wave: evolution {led} of 20, {each} evaluations; starts {hit}, {all}");
    assert!(hit == 20 && led >= 15, "{led} {each} {hit} {all}");
}

/// As often as SciPy's, of as many members, finds the lowest minimum of three problems, and with as many evaluations.
#[test]
fn minima_are_found_as_often_as_by_scipy() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/evolution.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let (x, y) = wave_data();
    let t: Vec<f64> = (0..120).map(|i| 0.1 * f64::from(i)).collect();
    let beat = |t: &f64| 2.0 * (5.3 * t).sin() + 1.5 * (7.9 * t).sin() + 0.2 * (31.0 * t * t).cos();
    let beats: Vec<f64> = t.iter().map(beat).collect();
    let (index, zeros) = ((0..10).map(f64::from).collect::<Vec<_>>(), vec![0.0; 10]);
    for row in text.lines().skip(2) {
        let row: Vec<&str> = row.split(',').collect();
        let number = |k: usize| row[k].parse::<f64>().unwrap();
        let (curve, data, start) = match row[0] {
            "rastrigin" => (rastrigin(5), Data::new(&index, &zeros), vec![2.9; 5]),
            "wave" => (wave(), Data::new(&x, &y), vec![1.0, 1.0, 2.0]),
            _ => {
                let curve = CurveFit::parse("a*sin(f*x) + b*sin(g*x)", ["x"]).unwrap();
                let curve = curve.bounds([(0.0, 10.0), (0.0, 20.0), (0.0, 10.0), (0.0, 20.0)]);
                (curve, Data::new(&t, &beats), vec![1.0, 3.0, 1.0, 12.0])
            }
        };
        let data = data.unwrap();
        let of = |seed| {
            let search = DifferentialEvolution::new().populations(1).seed(seed);
            curve.differential_evolution(data.clone(), &start, &search).unwrap()
        };
        let all: Vec<Optima> = (0..20).map(of).collect();
        let least = all.iter().map(|optima| optima.best().cost()).fold(f64::INFINITY, f64::min);
        assert!((least - number(1)).abs() < 1e-9 * number(1).max(1.0), "{row:?} {least}");
        let found = all.iter().filter(|optima| optima.best().cost() < least + 1e-6).count();
        let spent =
            all.iter().map(|optima| optima.trials().iter().map(|t| t.searched()).sum::<usize>());
        let spent = spent.sum::<usize>() as f64 / 20.0;
        println!("{row:?}: {found} of 20, {spent} evaluations");
        // The difference of two such counts has a standard deviation of about 2.
        assert!(found as f64 >= number(2) - 4.0, "{row:?} {found}");
        assert!((0.7..1.4).contains(&(spent / number(3))), "{row:?} {spent}");
    }
}

/// NIST's problems from boxes that say little more than the signs of the parameters.
#[test]
fn certified_minima_are_found_in_wide_boxes() {
    for name in ["Misra1a", "Chwirut2", "Eckerle4", "MGH09", "BoxBOD", "Rat42", "Rat43", "MGH17"] {
        let problem = problems().into_iter().find(|p| p.name == name).unwrap();
        let wide = |c: &f64| if *c > 0.0 { (0.0, 8.0 * c) } else { (8.0 * c, 0.0) };
        let bounds: Vec<(f64, f64)> = problem.certified.iter().map(wide).collect();
        let middle: Vec<f64> = bounds.iter().map(|(a, b)| 0.7 * a + 0.3 * b).collect();
        let curve = CurveFit::parse(&problem.model, &problem.variables).unwrap();
        let order: Vec<usize> = curve
            .parameters()
            .iter()
            .map(|name| problem.parameters.iter().position(|p| p == name).unwrap())
            .collect();
        let curve = curve.bounds(order.iter().map(|&k| bounds[k]).collect::<Vec<_>>());
        let curve = curve.options(Options::default().ftol(1e-14).xtol(1e-12));
        let start: Vec<f64> = order.iter().map(|&k| middle[k]).collect();
        let x = problem.predictors.clone();
        let data = Data::new(x.iter().collect::<Vec<_>>(), &problem.y).unwrap();
        let search = DifferentialEvolution::new().populations(2).generations(300).seed(5);
        let optima = curve.differential_evolution(data, &start, &search).unwrap();
        println!("{name}: {optima}");
        assert!(digits(optima.best().chi_square(), problem.rss) > 8.0, "{name}: {optima}");
        assert_consistent(&optima);
    }
}

#[test]
fn populations_know_nothing_of_each_other_and_threads_change_nothing() {
    let search = DifferentialEvolution::new().seed(3);
    let one = with_threads(1, || run(&wave(), &search)).unwrap();
    let four = with_threads(4, || run(&wave(), &search)).unwrap();
    assert_eq!(one.trials(), four.trials());
    assert_eq!(one.best().params(), four.best().params());
    // Four populations and the start, the populations with what they took.
    let searched: Vec<usize> = one.trials().iter().map(|trial| trial.searched()).collect();
    assert!(searched.len() == 5 && searched[4] == 0 && searched[..4].iter().all(|n| n % 45 == 0));
    assert_eq!(one.trials()[4].start(), [1.0, 1.0, 2.0]);
    // The first of four is that of one alone.
    let alone = run(&wave(), &search.clone().populations(1)).unwrap();
    assert!(one.trials().iter().any(|trial| trial == &alone.trials()[0]));
    let other = run(&wave(), &search.seed(4)).unwrap();
    assert_ne!(one.trials(), other.trials());
    // One population that is alone with its optimum says so.
    let warned = alone.best().warnings().iter().any(|w| matches!(w, Warning::ReachedOnce { .. }));
    assert_eq!(warned, alone.distinct()[0].hits() == 1, "{alone}");
    assert!(warned && one.distinct()[0].hits() > 1, "{one}");
}

#[test]
fn ties_fixed_parameters_and_logarithmic_ranges_hold_in_every_member() {
    let tied = wave().fix("a").tie("b", "a/4");
    let optima = run(&tied, &DifferentialEvolution::new()).unwrap();
    for trial in optima.trials() {
        assert!(trial.start()[0] == 1.0 && trial.start()[1] == 0.25, "{trial:?}");
    }
    let far = wave().bounds([(-5.0, 5.0), (-5.0, 5.0), (1e-6, 1e6)]);
    let search = DifferentialEvolution::new().log_range("w", 0.1..=100.0);
    for trial in &run(&far, &search).unwrap().trials()[..4] {
        assert!((0.1..=100.0).contains(&trial.start()[2]), "{trial:?}");
    }
    let fixed = wave().fix("a").fix("b").fix("w");
    assert_eq!(
        run(&fixed, &DifferentialEvolution::new()).unwrap().best().params(),
        [1.0, 1.0, 2.0]
    );
}

#[test]
fn requests_without_sense_are_refused_by_name() {
    let reversed = DifferentialEvolution::new().range("w", 3.0..=2.0);
    let error = run(&wave(), &reversed).unwrap_err();
    assert!(matches!(&error, Error::RangeOfStarts { name, .. } if name == "w"), "{error}");
    let new = DifferentialEvolution::new;
    for (search, option) in [
        (new().populations(0), "populations"),
        (new().tolerance(-1.0), "tolerance"),
        (new().tolerance(f64::NAN), "tolerance"),
        (new().members_per_parameter(usize::MAX), "members"),
    ] {
        let error = run(&wave(), &search).unwrap_err();
        assert!(matches!(&error, Error::BadOption { name, .. } if *name == option), "{error}");
    }
    // The least of everything is a search.
    let least = new().populations(1).members_per_parameter(0).generations(0);
    assert_eq!(run(&wave(), &least).unwrap().trials()[0].searched(), 5);
}

#[test]
fn an_observer_hears_of_generations_and_ends_them() {
    static HEARD: AtomicUsize = AtomicUsize::new(0);
    let watched = wave().observe(|event| {
        let Event::Generation(now) = event else { return ControlFlow::Continue(()) };
        assert_eq!(now.generation, HEARD.fetch_add(1, Ordering::SeqCst) + 1);
        assert_eq!(now.evaluations, 180 * (now.generation + 1));
        assert!(now.cost > 0.0 && now.generations == 1000);
        if now.generation == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let optima = run(&watched, &DifferentialEvolution::new()).unwrap();
    assert_eq!(HEARD.load(Ordering::SeqCst), 7);
    assert!(optima.trials().iter().filter(|trial| trial.params().is_some()).count() <= 1);
    // The cost is that of a fit: the lowest member.
    let panics = wave().observe(|event| match event {
        Event::Generation(_) => panic!("heard"),
        _ => ControlFlow::Continue(()),
    });
    let error = run(&panics, &DifferentialEvolution::new()).unwrap_err();
    assert!(matches!(error, Error::ObserverPanicked { .. }), "{error}");
}
