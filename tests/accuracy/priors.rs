//! Priors: against the same fit with the prior as one more point, through every entry.

use dualfit::{
    BatchData, CurveFit, Data, Error, Estimator, Fit, GlobalFit, Loss, Missing, Sigma, Start, Var,
};

const TIMES: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
const VALUES: [f64; 8] = [2.13, 1.72, 1.21, 1.08, 0.83, 0.41, 0.35, 0.07];
const SIGMA: f64 = 0.07;

fn decay() -> CurveFit {
    CurveFit::new(|t, [a, k]| a * (-k * t).exp()).names(["a", "k"])
}

fn data() -> Data<'static> {
    Data::new(&TIMES, &VALUES).unwrap().sigma(Sigma::Constant(SIGMA)).unwrap()
}

/// The fit with priors of a and k as points of their own: a second column says which.
fn as_points(priors: &[(usize, f64, f64)]) -> Fit {
    let mut t = TIMES.to_vec();
    let (mut y, mut sigma, mut kind) = (VALUES.to_vec(), vec![SIGMA; 8], vec![0.0; 8]);
    for &(param, mean, error) in priors {
        t.push(0.0);
        y.push(mean);
        sigma.push(error);
        kind.push(1.0 + param as f64);
    }
    let model = |[t, kind]: [Var; 2], [a, k]: [Var; 2]| {
        let of_k = kind.gt(1.5).select(k, a);
        kind.gt(0.5).select(of_k, a * (-k * t).exp())
    };
    let columns = [&t, &kind];
    let data = Data::new(columns, &y).unwrap().sigma(Sigma::Absolute(&sigma)).unwrap();
    CurveFit::multivariate(model).names(["a", "k"]).fit(data, [2.0, 0.5]).unwrap()
}

fn with(priors: &[(usize, f64, f64)]) -> CurveFit {
    let add = |curve: CurveFit, &(param, mean, sigma): &(usize, f64, f64)| {
        curve.prior(["a", "k"][param], mean, sigma)
    };
    priors.iter().fold(decay(), add)
}

#[track_caller]
fn same(found: &Fit, expected: &Fit, tolerance: f64) {
    assert!(found.converged(), "{found}");
    let pairs = found.params().iter().zip(expected.params());
    for ((p, q), (e, f)) in pairs.zip(found.std_errors().iter().zip(expected.std_errors())) {
        assert!((p - q).abs() <= tolerance * f, "{p} instead of {q} ± {f}");
        assert!((e - f).abs() <= tolerance * f, "error {e} instead of {f}");
    }
    let (c, d) = (found.chi_square(), expected.chi_square());
    assert!((c - d).abs() <= tolerance * d, "chi-square {c} instead of {d}");
}

#[test]
fn a_prior_is_a_point_of_its_own() {
    for sigma in [1e-9, 1e-6, 1e-3, 0.02, 0.1, 1.0, 1e3, 1e9] {
        for priors in [&[(1, 0.47, sigma)][..], &[(0, 2.2, 0.05), (1, 0.47, sigma)]] {
            let (fit, expected) =
                (with(priors).fit(data(), [1.0, 1.0]).unwrap(), as_points(priors));
            same(&fit, &expected, 2e-5);
            assert_eq!(fit.degrees_of_freedom(), 8 + priors.len() - 2);
            assert_eq!(fit.priors().len(), priors.len());
            assert_eq!((fit.aic() * 1e6).round(), (expected.aic() * 1e6).round());
        }
    }
}

#[test]
fn every_entry_knows_priors() {
    let priors = [(1, 0.47, 0.02)];
    let expected = as_points(&priors);
    let curve = with(&priors);
    // The mean of the prior is the default start; linear parameters are solved for.
    for start in [Start::from([("a", 1.0)]), Start::from([("k", 1.0)])] {
        same(&curve.fit(data(), start).unwrap(), &expected, 1e-6);
    }
    let stack: Vec<f64> = VALUES.into_iter().chain(VALUES.map(|y| 2.0 * y)).collect();
    let batch = BatchData::shared(&TIMES, &stack).unwrap().sigma(Sigma::Constant(SIGMA)).unwrap();
    let batch = curve.fit_batch(batch, [1.0, 1.0]).unwrap();
    let (first, single) = (batch.fit(0), curve.fit(data(), [1.0, 1.0]).unwrap());
    assert_eq!(first.params(), single.params());
    for (e, f) in first.std_errors().iter().zip(single.std_errors()) {
        assert!((e - f).abs() < 1e-12 * f);
    }
    assert_eq!(first.degrees_of_freedom(), 7);
    // A shared parameter has its prior once.
    let twice =
        [data(), Data::new(&TIMES, &stack[8..]).unwrap().sigma(Sigma::Constant(SIGMA)).unwrap()];
    let joint = GlobalFit::new(&curve).share(["k"]).fit(twice, [1.0, 1.0, 2.0]).unwrap();
    assert_eq!(joint.fit().degrees_of_freedom(), 16 + 1 - 3);
    // A set sees the priors of its own parameters, and all of them count.
    let own = [data(), data()];
    let own = GlobalFit::new(&with(&[(0, 2.2, 0.05), (1, 0.47, 0.02)]))
        .fit(own, [1.0, 1.0, 1.0, 1.0])
        .unwrap();
    for (set, name) in [(0, "k_1"), (1, "k_2")] {
        let view = own.set(set).unwrap();
        assert_eq!(view.priors(), [("a", 2.2, 0.05), ("k", 0.47, 0.02)]);
        assert_eq!(view.degrees_of_freedom(), own.fit().degrees_of_freedom());
        assert!(view.to_string().contains("prior of k: 0.47"), "{view}");
        assert!(own.fit().priors().iter().any(|prior| prior.0 == name));
    }
    // Alone in a joint fit it is the fit.
    let alone = GlobalFit::new(&curve).fit([data()], [1.0, 1.0]).unwrap();
    same(alone.fit(), &expected, 1e-6);
    // A profile over the parameter that has the prior reaches as far as its error.
    let profile = curve.profile(&single, data(), "k").unwrap();
    let interval = profile.interval(0.6827).unwrap();
    let error = single.std_error("k").unwrap();
    assert!((interval.upper - interval.lower - 2.0 * error).abs() < 0.05 * error, "{interval:?}");
    // So does a native model, and one without a prior that fits it.
    let native = CurveFit::native(2, |t, p| p[0] * (-p[1] * t).exp()).names(["a", "k"]);
    same(&native.prior("k", 0.47, 0.02).fit(data(), [1.0, 1.0]).unwrap(), &expected, 1e-5);
    // A bound beside it, a loss that leaves it alone.
    let bounded = curve.clone().bound("k", ..=0.4).fit(data(), [1.0, 0.3]).unwrap();
    assert_eq!(bounded.at_bound().len(), 1);
    let huber = curve.clone().loss(Loss::Huber { scale: 100.0 * SIGMA });
    same(&huber.fit(data(), [1.0, 1.0]).unwrap(), &expected, 1e-6);
    // Fewer points than parameters do if priors make up for them.
    let one =
        Data::new(&TIMES[3..4], &VALUES[3..4]).unwrap().sigma(Sigma::Constant(SIGMA)).unwrap();
    let little = curve.fit(one.clone(), [1.0, 1.0]).unwrap();
    assert!(little.converged() && little.degrees_of_freedom() == 0, "{little}");
    assert!((little.std_error("k").unwrap() - 0.02).abs() < 1e-9);
    assert!(matches!(decay().fit(one, [1.0, 1.0]), Err(Error::TooFewPoints { .. })));
}

#[test]
fn counts_take_priors() {
    let counts = [210.0, 172.0, 121.0, 108.0, 83.0, 41.0, 35.0, 7.0];
    let data = Data::new(&TIMES, &counts).unwrap();
    let curve = decay().estimator(Estimator::Poisson);
    let (free, tight) = (
        curve.fit(data.clone(), [200.0, 0.5]).unwrap(),
        curve.clone().prior("k", 0.6, 1e-7).fit(data.clone(), [200.0, 0.5]).unwrap(),
    );
    let fixed = curve.fix("k").fit(data, [200.0, 0.6]).unwrap();
    assert!((tight.params()[0] - fixed.params()[0]).abs() < 1e-4 * fixed.std_errors()[0]);
    assert!((tight.std_errors()[0] / fixed.std_errors()[0] - 1.0).abs() < 1e-6);
    assert!((free.params()[1] - 0.6).abs() > 1e-3);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let bad = [(f64::NAN, 0.1), (0.5, 0.0), (0.5, -1.0), (0.5, f64::INFINITY), (0.5, 1e-13)];
    for (mean, sigma) in bad {
        let error = decay().prior("k", mean, sigma).fit(data(), [1.0, 1.0]).unwrap_err();
        assert!(matches!(error, Error::NonFiniteParameter { .. } | Error::Setting(_)), "{error}");
    }
    let error = decay().prior("rate", 0.5, 0.1).fit(data(), [1.0, 1.0]).unwrap_err();
    assert!(matches!(error, Error::UnknownParameter { .. }), "{error}");
    let curve = decay().prior("k", 0.5, 0.1);
    let each = [0.1; 8];
    for sigma in [Sigma::Unknown, Sigma::Relative(&each)] {
        let data = Data::new(&TIMES, &VALUES).unwrap().sigma(sigma).unwrap();
        let error = curve.fit(data.missing(Missing::Omit), [1.0, 1.0]).unwrap_err();
        assert!(matches!(error, Error::UnsuitedSigma { .. }), "{error}");
        let batch = BatchData::shared(&TIMES, &VALUES).unwrap().sigma(sigma).unwrap();
        let error = curve.fit_batch(batch, [1.0, 1.0]).unwrap_err();
        assert!(matches!(error, Error::UnsuitedSigma { .. }), "{error}");
    }
    let error = curve.tie("k", "a/4").fit(data(), [1.0, 1.0]).unwrap_err();
    assert!(matches!(error, Error::Tie(_)), "{error}");
}
