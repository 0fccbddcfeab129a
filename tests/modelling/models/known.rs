//! Values or bounds of some parameters, and the initial guesses of the others.

use crate::models::truths::between;
use dualfit::models::{self, Model};
use dualfit::{CurveFit, Data, Start};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

/// Three Gaussians of 100, 30 and 10, from left to right, with names in another order.
fn three_peaks() -> (Vec<f64>, Vec<f64>, CurveFit) {
    let x: Vec<f64> = (0..300).map(|i| 0.05 * f64::from(i)).collect();
    let peak = |x: f64, height: f64, center: f64| height * (-(x - center).powi(2) / 0.5).exp();
    let y = x.iter().map(|&x| {
        peak(x, 100.0, 3.0) + peak(x, 30.0, 7.0) + peak(x, 10.0, 9.5) + 0.1 * (40.0 * x).sin()
    });
    let y = y.collect();
    let model = models::gaussian("a_") + models::gaussian("b_") + models::gaussian("c_");
    (x, y, model.curve().unwrap())
}

/// Fits, and checks the positions of the peaks within 0.02.
fn are_at(curve: &CurveFit, x: &[f64], y: &[f64], start: Start, expected: &[(&str, f64)]) {
    let begun = curve.start(Data::new(x, y).unwrap(), start.clone()).unwrap();
    let fit = curve.fit(Data::new(x, y).unwrap(), start.clone()).unwrap();
    assert!(fit.converged(), "{start:?}: {fit}");
    for &(name, center) in expected {
        let found = fit.param(name).unwrap();
        assert!((found - center).abs() < 0.02, "{name} is {found} from {start:?}, {begun:?}");
    }
}

#[test]
fn what_is_given_of_one_peak_moves_the_others() {
    let (x, y, curve) = three_peaks();
    let named = |pairs: &[(&str, f64)]| Start::from(pairs.to_vec());
    let all = [3.0, 7.0, 9.5];
    for (first, &a) in all.iter().enumerate() {
        let others: Vec<f64> = all.iter().copied().filter(|&other| other != a).collect();
        let expected = [("a_center", a), ("b_center", others[0]), ("c_center", others[1])];
        are_at(&curve, &x, &y, named(&[("a_center", a)]), &expected);
        // Not quite right, and of a fit whose order is the other one.
        let expected = [("c_center", a), ("a_center", others[0]), ("b_center", others[1])];
        are_at(&curve, &x, &y, named(&[("c_center", a + 0.2)]), &expected);
        let turned = [
            ("b_center", a),
            ("c_center", all[(first + 2) % 3]),
            ("a_center", all[(first + 1) % 3]),
        ];
        are_at(&curve, &x, &y, named(&turned), &turned);
        are_at(&curve, &x, &y, named(&turned[..2]), &turned);
    }
}

#[test]
fn bounds_say_which_peak_is_meant() {
    let (x, y, curve) = three_peaks();
    let bounded = curve.clone().bound("a_center", 6.0..=8.0).bound("b_center", 9.0..=10.0);
    let expected = [("a_center", 7.0), ("b_center", 9.5), ("c_center", 3.0)];
    are_at(&bounded, &x, &y, Start::Guess, &expected);
    let above = curve.bound("a_center", 8.5..);
    are_at(
        &above,
        &x,
        &y,
        Start::Guess,
        &[("a_center", 9.5), ("b_center", 3.0), ("c_center", 7.0)],
    );
    // Fewer terms than peaks.
    let one = models::gaussian("").curve().unwrap().bound("center", 6.0..=8.0);
    let start = one.start(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
    assert!((start[1] - 7.0).abs() < 0.1 && (start[2] - 0.5).abs() < 0.1, "{start:?}");
    // The logarithm of where it is.
    let two = models::lognormal("a_") + models::lognormal("b_");
    let logarithm = two.curve().unwrap().bound("a_center", 1.8..=2.0);
    let ended = logarithm.start(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
    assert!((ended[1].exp() - 7.0).abs() < 0.2 && (ended[4].exp() - 3.0).abs() < 0.2, "{ended:?}");
    // Ranges without points are between two of them, or beyond all.
    for (low, high) in [(7.001, 7.002), (-3.0, -2.0), (20.0, 30.0)] {
        let one = models::gaussian("").curve().unwrap().bound("center", low..=high);
        let start = one.start(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
        assert!(low <= start[1] && start[1] <= high, "{start:?}");
    }
    let steps = models::step_erf("a_") + models::step_erf("b_");
    let y: Vec<f64> = x
        .iter()
        .map(|x| if *x > 4.0 { 5.0 } else { 0.0 } + if *x > 11.0 { 1.0 } else { 0.0 })
        .collect();
    let steps = steps.curve().unwrap().bound("a_center", 10.0..=12.0);
    let start = steps.start(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
    assert!((start[1] - 11.0).abs() < 0.1 && (start[4] - 4.0).abs() < 0.1, "{start:?}");
}

#[test]
fn a_lifetime_that_is_given_is_not_found_twice() {
    let x: Vec<f64> = (0..200).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| 5.0 * (-x / 0.5).exp() + 2.0 * (-x / 6.0).exp()).collect();
    let model = models::exponential("a_") + models::exponential("b_");
    let curve = model.curve().unwrap();
    for (name, decay) in [("a_decay", 6.0), ("a_decay", 0.5), ("b_decay", 0.6), ("b_decay", 5.0)] {
        let fit = curve.fit(Data::new(&x, &y).unwrap(), [(name, decay)]).unwrap();
        let (fast, slow) = if (decay < 1.0) == (name == "a_decay") {
            ("a_decay", "b_decay")
        } else {
            ("b_decay", "a_decay")
        };
        assert!(fit.converged(), "{fit}");
        assert!((fit.param(fast).unwrap() - 0.5).abs() < 1e-6, "{name} {decay}: {fit}");
        assert!((fit.param(slow).unwrap() - 6.0).abs() < 1e-5, "{name} {decay}: {fit}");
    }
    let short = curve.bound("a_decay", 2.0..);
    let fit = short.fit(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
    assert!((fit.param("a_decay").unwrap() - 6.0).abs() < 1e-5, "{fit}");
}

#[test]
fn what_is_given_is_taken_away_before_the_rest_is_looked_for() {
    let x: Vec<f64> = (0..100).map(|i| 0.1 * f64::from(i)).collect();
    // The peak stands on a slope that the ends do not show: it is too wide.
    let y: Vec<f64> = x.iter().map(|x| 4.0 * (-(x - 5.0).powi(2) / 18.0).exp() + x - 2.0).collect();
    let model = models::gaussian("") + models::linear("bg_");
    let curve = model.curve().unwrap();
    let given = [("bg_slope", 1.0), ("bg_intercept", -2.0)];
    let start = curve.start(Data::new(&x, &y).unwrap(), given).unwrap();
    assert!((start[1] - 5.0).abs() < 0.1 && (start[2] - 3.0).abs() < 0.2, "{start:?}");
    let guess = curve.start(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
    assert!((guess[2] - 3.0).abs() > 0.5, "{guess:?}");
}

const DRAWS: u64 = 100;
/// Misses at most: of two peaks that are nearly alike, the start does not always tell the wider.
const FEW: usize = 6;

/// A noisy curve and its truth.
struct Spectrum {
    model: Model,
    x: Vec<f64>,
    y: Vec<f64>,
    truth: Vec<f64>,
}

/// A model of the library, by its prefix.
type Named = fn(&'static str) -> Model;

impl Spectrum {
    /// Two peaks on a line that are apart, the first on either side.
    fn of_two(seed: u64, first: Named, second: Named) -> Spectrum {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut peak = |low: f64| {
            let (sigma, height) = (between(&mut rng, 0.3, 1.0), between(&mut rng, 2.0, 10.0));
            [height * sigma * 2.5, between(&mut rng, low, low + 3.0), sigma]
        };
        let (mut a, mut b) = (peak(2.5), peak(9.0));
        if seed % 2 == 1 {
            (a, b) = (b, a);
        }
        let model = first("a_") + second("b_") + models::linear("l_");
        Spectrum::of(model, &[&a[..], &b, &[0.1, 1.0]].concat(), 0.05, seed)
    }

    /// At 300 points from 0 to 15.
    fn of(model: Model, truth: &[f64], noise: f64, seed: u64) -> Spectrum {
        let x = (0..300).map(|i| 0.05 * f64::from(i)).collect();
        Spectrum::at(x, model, truth, noise, seed)
    }

    fn at(x: Vec<f64>, model: Model, truth: &[f64], noise: f64, seed: u64) -> Spectrum {
        let mut rng = StdRng::seed_from_u64(seed);
        let program = model.curve().unwrap().program().unwrap();
        let mut noisy = |x: &f64| {
            let normal: f64 = StandardNormal.sample(&mut rng);
            program.evaluate(&[*x], truth) + noise * normal
        };
        let y = x.iter().map(&mut noisy).collect();
        Spectrum { model, x, y, truth: truth.to_vec() }
    }

    fn truth(&self, name: &str) -> f64 {
        let place = self.model.parameters().iter().position(|parameter| parameter == name);
        self.truth[place.unwrap()]
    }

    fn truths<const N: usize>(&self, names: [&'static str; N]) -> Vec<(&'static str, f64)> {
        names.map(|name| (name, self.truth(name))).to_vec()
    }

    /// By how much a fit costs more than the one from the truth; infinite for one that has not converged.
    fn excess(&self, said: &Said) -> f64 {
        let data = || Data::new(&self.x, &self.y).unwrap();
        let names = self.model.parameters();
        let free = names.iter().filter(|name| Some(name.as_str()) != said.tied);
        let truth: Vec<(&str, f64)> = free.map(|name| (name.as_str(), self.truth(name))).collect();
        let best = said.curve.fit(data(), truth).unwrap();
        let start = match said.start.is_empty() {
            true => Start::Guess,
            false => Start::from(said.start.clone()),
        };
        let fit = said.curve.fit(data(), start).unwrap();
        if fit.converged() { fit.cost() / best.cost() - 1.0 } else { f64::INFINITY }
    }
}

/// Settings of a fit.
struct Said {
    curve: CurveFit,
    start: Vec<(&'static str, f64)>,
    tied: Option<&'static str>,
}

/// Possible settings of two peaks, in words; all are true, except for one center.
const WORDS: [&str; 12] = [
    "nothing",
    "a width that is fixed",
    "both widths fixed",
    "both widths as a start",
    "bounds of a width",
    "a tie of widths",
    "a tie of centers",
    "a center",
    "a center that is 0.7 sigma off",
    "bounds of a center",
    "an amplitude",
    "signs",
];

fn said(spectrum: &Spectrum, words: &str) -> Said {
    let curve = spectrum.model.curve().unwrap();
    let [sigma, center] = ["a_sigma", "a_center"].map(|name| spectrum.truth(name));
    let plain = |curve: CurveFit| Said { curve, start: Vec::new(), tied: None };
    let from = |curve: CurveFit, start| Said { start, ..plain(curve) };
    let tied = |name: &'static str, formula: String| {
        let curve = spectrum.model.curve().unwrap().tie(name, &formula);
        Said { tied: Some(name), ..plain(curve) }
    };
    let widths = spectrum.truths(["a_sigma", "b_sigma"]);
    match words {
        "nothing" => plain(curve),
        "a width that is fixed" => from(curve.fix("a_sigma"), widths[..1].to_vec()),
        "both widths fixed" => from(curve.fix("a_sigma").fix("b_sigma"), widths),
        "both widths as a start" => from(curve, widths),
        "bounds of a width" => plain(curve.bound("a_sigma", 0.7 * sigma..=1.3 * sigma)),
        "a tie of widths" => {
            tied("b_sigma", format!("{:?}*a_sigma", spectrum.truth("b_sigma") / sigma))
        }
        "a tie of centers" => {
            tied("b_center", format!("a_center + ({:?})", spectrum.truth("b_center") - center))
        }
        "a center" => from(curve, spectrum.truths(["a_center"])),
        "a center that is 0.7 sigma off" => from(curve, vec![("a_center", center + 0.7 * sigma)]),
        "bounds of a center" => plain(curve.bound("a_center", center - sigma..=center + sigma)),
        "an amplitude" => from(curve, spectrum.truths(["a_amplitude"])),
        _ => plain(["a_amplitude", "b_amplitude"].iter().fold(curve, |curve, name| {
            match spectrum.truth(name) > 0.0 {
                true => curve.bound(name, 0.0..),
                false => curve.bound(name, ..=0.0),
            }
        })),
    }
}

#[test]
fn what_is_known_does_no_harm() {
    let gaussians = |seed| Spectrum::of_two(seed, models::gaussian, models::gaussian);
    let shapes = |seed| Spectrum::of_two(seed, models::gaussian, models::lorentzian);
    let dips = |seed| {
        let Spectrum { model, mut truth, .. } = gaussians(seed);
        truth[3 * (seed as usize / 2 % 2)] *= -1.0;
        Spectrum::of(model, &truth, 0.05, seed)
    };
    let kinds: [(&str, &(dyn Fn(u64) -> Spectrum + Sync)); 3] = [
        ("two Gaussians", &gaussians),
        ("a Gaussian and a Lorentzian", &shapes),
        ("a peak and a dip", &dips),
    ];
    for (kind, spectrum) in kinds {
        for words in WORDS {
            let is_missed = |seed: &u64| {
                let spectrum = spectrum(*seed);
                spectrum.excess(&said(&spectrum, words)) > 1e-3
            };
            let missed: Vec<u64> = (0..DRAWS).into_par_iter().filter(is_missed).collect();
            println!("{kind}, {words}: {missed:?} of {DRAWS}");
            assert!(missed.len() <= FEW, "{kind}, {words}: {missed:?} of {DRAWS}");
        }
    }
}

/// A setting in words, its function, and the start. The name of a tied parameter follows `tied: `.
type Saying = (&'static str, fn(CurveFit) -> CurveFit, &'static [(&'static str, f64)]);

/// Fits by all sayings end where they do from the truth.
fn lead_there(spectrum: &Spectrum, sayings: &[Saying]) {
    for (words, curve, start) in sayings {
        let curve = curve(spectrum.model.curve().unwrap());
        let tied = words.strip_prefix("tied: ");
        let excess = spectrum.excess(&Said { curve, start: start.to_vec(), tied });
        assert!(excess < 1e-3, "{}, {words}: {excess}", spectrum.model);
    }
}

fn area(height: f64, sigma: f64) -> f64 {
    height * sigma * 2.5066
}

#[test]
fn peaks_that_overlap_are_told_apart() {
    let line = || models::linear("l_");
    let overlap = Spectrum::of(
        models::gaussian("a_") + models::gaussian("b_") + line(),
        &[area(5.0, 0.8), 6.0, 0.8, area(3.0, 0.6), 7.5, 0.6, 0.1, 1.0],
        0.05,
        1,
    );
    lead_there(
        &overlap,
        &[
            ("nothing", |c| c, &[]),
            ("widths", |c| c, &[("a_sigma", 0.8), ("b_sigma", 0.6)]),
            ("width fixed", |c| c.fix("a_sigma"), &[("a_sigma", 0.8)]),
            ("bounds", |c| c.bound("b_center", 7.0..=8.0), &[]),
            ("center, width", |c| c, &[("b_center", 7.5), ("b_sigma", 0.6)]),
            ("tied: b_center", |c| c.tie("b_center", "a_center + 1.5"), &[]),
            ("tied: b_sigma", |c| c.tie("b_sigma", "0.75*a_sigma"), &[]),
        ],
    );
    let close = Spectrum::of(
        models::gaussian("a_") + models::gaussian("b_") + line(),
        &[area(5.0, 0.8), 6.0, 0.8, area(3.0, 0.8), 7.2, 0.8, 0.1, 1.0],
        0.01,
        1,
    );
    lead_there(
        &close,
        &[
            ("center", |c| c, &[("b_center", 7.2)]),
            ("center, width", |c| c, &[("b_center", 7.2), ("b_sigma", 0.8)]),
        ],
    );
    let doublet = Spectrum::of(
        models::lorentzian("hi_") + models::lorentzian("lo_") + line(),
        &[18.85, 9.7, 0.5, 9.42, 4.0, 0.5, 0.1, 1.0],
        0.1,
        1,
    );
    lead_there(
        &doublet,
        &[
            ("nothing", |c| c, &[]),
            ("tied: hi_center", |c| c.tie("hi_center", "lo_center + 5.7"), &[]),
            ("tied: lo_center", |c| c.tie("lo_center", "hi_center - 5.7"), &[]),
            ("tied: lo_amplitude", |c| c.tie("lo_amplitude", "hi_amplitude/2"), &[]),
        ],
    );
    let broad = Spectrum::of(
        models::lorentzian("a_") + models::gaussian("b_") + line(),
        &[10.0, 6.0, 0.3, area(4.8, 2.5), 6.5, 2.5, 0.1, 1.0],
        0.03,
        1,
    );
    lead_there(
        &broad,
        &[
            ("b center", |c| c, &[("b_center", 6.5)]),
            ("centers", |c| c, &[("a_center", 6.0), ("b_center", 6.5)]),
            ("bounds", |c| c.bound("a_center", 5.7..=6.3).bound("b_center", 6.2..=6.8), &[]),
        ],
    );
}

#[test]
fn what_is_known_of_decays_and_ends_helps() {
    let line = || models::linear("l_");
    let t: Vec<f64> = (0..300).map(|i| f64::from(i) / 30.0).collect();
    let rise = Spectrum::at(
        t.clone(),
        models::exponential("a_") + models::exponential("b_"),
        &[5.0, 2.0, -3.0, 0.3],
        0.02,
        1,
    );
    lead_there(
        &rise,
        &[
            ("nothing", |c| c, &[]),
            ("sign", |c| c.bound("a_amplitude", 0.0..), &[]),
            ("amplitude", |c| c.fix("a_amplitude"), &[("a_amplitude", 5.0)]),
            ("decay", |c| c, &[("a_decay", 2.0)]),
        ],
    );
    let edge = Spectrum::at(
        (0..40).map(|i| f64::from(i) / 3.9).collect(),
        models::gaussian("p_") + line(),
        &[area(4.0, 1.0), 9.8, 1.0, 0.1, 3.0],
        0.04,
        1,
    );
    lead_there(
        &edge,
        &[
            ("nothing", |c| c, &[]),
            ("bounds", |c| c.bound("p_center", 8.0..=11.0), &[]),
            ("width", |c| c.fix("p_sigma"), &[("p_sigma", 1.0)]),
            ("center", |c| c, &[("p_center", 9.8)]),
        ],
    );
    let decay = Spectrum::at(
        t,
        models::exponential("a_") + models::gaussian("p_") + models::constant("c_"),
        &[5.0, 2.0, area(3.0, 0.4), 6.0, 0.4, 0.5],
        0.05,
        1,
    );
    lead_there(
        &decay,
        &[
            ("nothing", |c| c, &[]),
            ("bounds", |c| c.bound("p_center", 5.0..=7.0), &[]),
            ("sign", |c| c.bound("p_amplitude", 0.0..), &[]),
            ("decay", |c| c.bound("a_decay", 1.5..=2.5), &[]),
            ("center", |c| c, &[("p_center", 6.0)]),
            ("width", |c| c, &[("p_sigma", 0.4)]),
        ],
    );
}
