//! Fits without an initial guess: models of many fields in their units, and what becomes of them.

mod collection;
mod honest;
mod joint;
mod nist;
mod progress;

#[path = "../support"]
mod support {
    pub(crate) mod nist;
}

use collection::{Collection, Verdict};

/// Fits every problem of a collection without a start. `least`: the part that must be solved; `silent`: the part that may be
/// wrong without a warning.
fn judge(name: &str, least: f64, silent: f64) {
    let collection = Collection::read(name);
    let verdicts: Vec<Verdict> = collection.verdicts();
    let total = verdicts.len();
    let solved = verdicts.iter().filter(|v| v.solved).count();
    let wrong = verdicts.iter().filter(|v| !v.solved && !v.warned).count();
    let mut times: Vec<f64> = verdicts.iter().map(|v| v.milliseconds).collect();
    times.sort_by(f64::total_cmp);
    for verdict in verdicts.iter().filter(|v| !v.solved) {
        println!("{verdict}");
    }
    let slowest = verdicts.iter().max_by(|a, b| a.milliseconds.total_cmp(&b.milliseconds));
    println!("slowest: {}", slowest.unwrap());
    let alarms = verdicts.iter().filter(|v| v.solved && v.warned).count();
    println!("{alarms} of the solved have a warning");
    println!(
        "{name}: {solved} of {total} solved, {wrong} wrong without a warning, median {:.2} ms, largest {:.1} ms",
        times[total / 2],
        times[total - 1]
    );
    assert!(total >= 500 && solved as f64 >= least * total as f64, "{name}: {solved} of {total}");
    assert!(wrong as f64 <= silent * total as f64, "{name}: {wrong} of {total} without a warning");
}

/// The collection with which the search was developed.
#[test]
fn most_models_are_fitted_without_a_start() {
    judge("seen", 0.97, 0.005);
}

/// A collection by an author who did not know the rules of the search.
#[test]
fn so_are_models_that_the_search_was_not_made_for() {
    judge("unseen", 0.96, 0.01);
}

/// The same bits on 1, 2 and 16 threads.
#[test]
fn threads_change_no_bit() {
    let collection = Collection::read("seen");
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| collection.bits(7))
    };
    let alone = on(1);
    assert!(alone.len() > 10);
    assert_eq!(alone, on(2));
    assert_eq!(alone, on(16));
}

/// A model that is linear in all parameters has one minimum, and one that is unused or fixed has none to search for.
#[test]
fn nothing_is_searched_for_where_nothing_is_unknown() {
    use dualfit::{CurveFit, Data, SearchOptions, SearchWhen};
    let x: Vec<f64> = (0..30).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| x * x).collect();
    let data = || Data::new(&x, &y).unwrap();
    let always = SearchOptions::default().when(SearchWhen::Always);
    let line = CurveFit::parse("a*x + b", ["x"]).unwrap().search(always);
    let fit = line.fit(data(), [1.0, 1.0]).unwrap();
    assert!(fit.converged() && fit.start_search().is_none(), "{fit}");
    let fixed = line.fix("a").fix("b").fit(data(), [1.0, 1.0]).unwrap();
    assert!(fixed.start_search().is_none());
}

/// The same complete start by values and by name gives the same fit, also of a model that has a guess.
#[test]
fn complete_starts_by_value_and_by_name_are_alike() {
    use dualfit::{CurveFit, Data, models};
    let x: Vec<f64> = (0..60).map(|i| 0.2 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| 3.0 * (-(x - 4.0).powi(2)).exp() + 0.01 * x.sin()).collect();
    let peak = CurveFit::from(models::gaussian(""));
    let fit = |curve: &CurveFit, start: dualfit::Start| {
        curve.fit(Data::new(&x, &y).unwrap(), start).unwrap()
    };
    let by_name = |pairs: &[(&str, f64)]| dualfit::Start::from(pairs);
    // Far away from the peak: neither of the fits finds it.
    let values = fit(&peak, [1.0, 11.0, 0.3].into());
    let named = fit(&peak, by_name(&[("amplitude", 1.0), ("center", 11.0), ("sigma", 0.3)]));
    assert_eq!(named.params(), values.params());
    assert!(named.start_search().is_none() && named.r_squared().unwrap() < 0.1, "{named}");
    let fixed = peak.fix("sigma");
    let named = fit(&fixed, by_name(&[("amplitude", 1.0), ("center", 11.0), ("sigma", 0.3)]));
    assert!(named.start_search().is_none());
}
