//! Questions about what ends oddly: too little data, nothing to be determined, minima without a slope, limits,
//! starts that are not whole or refused; and about long data and other forms of models.

use super::super::{Question, Weights};
use super::{
    DECAY, PEAK, Points, ask, decay, decays, line, lines, noise, peak, peaks, points, quotients,
    rational, sums, two_decays,
};
use dualfit::{CurveFit, Estimator, Loss, Options, Start, models};

pub(super) fn few() -> Vec<Question> {
    let sigma = Weights::Constant(0.1);
    vec![
        ask("a decay of three points", decay(), decays(3), &DECAY),
        Question {
            sigma: sigma.clone(),
            ..ask("a decay of three points and sigma", decay(), decays(3), &DECAY)
        },
        ask("a decay of four points", decay(), decays(4), &DECAY),
        ask("a line of two points", line(), lines(2), &[0.0, 0.0]),
        ask("a peak of four points", peak(), peaks(4), &PEAK),
        ask("a decay of two points", decay(), decays(2), &DECAY),
        ask(
            "a decay of two points, allowed",
            decay().allow_underdetermined(true),
            decays(2),
            &DECAY,
        ),
        ask(
            "points of one x",
            line(),
            (vec![2.0; 6], vec![1.0, 2.0, 3.0, 2.0, 1.0, 2.5]),
            &[0.0, 0.0],
        ),
        ask("an exact line", line(), points(20, 0.0, 5.0, 0.0, |x| 1.5 * x - 2.0), &[0.0, 0.0]),
        ask(
            "an exact decay",
            decay(),
            points(40, 0.0, 5.0, 0.0, |x| 2.0 * (-0.8 * x).exp() + 0.3),
            &DECAY,
        ),
        ask("an exact start", line(), points(20, 0.0, 5.0, 0.0, |x| 1.5 * x - 2.0), &[1.5, -2.0]),
        ask("nothing but zeros", line(), (vec![0.0, 1.0, 2.0, 3.0], vec![0.0; 4]), &[1.0, 1.0]),
    ]
}

pub(super) fn undetermined() -> Vec<Question> {
    vec![
        ask(
            "an unused parameter",
            CurveFit::new(|x, [a, b, _]| a * x + b),
            lines(20),
            &[0.0, 0.0, 5.0],
        ),
        ask("a product of two", CurveFit::new(|x, [a, b]| a * b * x), lines(20), &[1.0, 1.0]),
        ask(
            "a sum of two",
            CurveFit::new(|x, [a, b, c]| a * x + b + c),
            lines(20),
            &[1.0, 1.0, 3.0],
        ),
        ask(
            "two decays of one",
            two_decays(),
            points(40, 0.0, 6.0, 0.01, |x| 3.0 * (-0.7 * x).exp()),
            &[2.0, 0.5, 1.0, 1.0],
        ),
        ask("a peak apart from the data", peak(), peaks(50), &[2.0, 400.0, 0.5, 0.0]),
        ask(
            "a peak without effect",
            CurveFit::new(|x, [a, m]| a * (-((x - m) * 100.0).powi(2)).exp()),
            lines(20),
            &[1.0, 1e6],
        ),
        ask("a decay of a constant", decay(), points(30, 0.0, 5.0, 0.05, |_| 0.5), &DECAY),
        ask(
            "a decay that is over",
            decay(),
            points(30, 1.0, 5.0, 0.02, |_| 0.5),
            &[1.0, 50.0, 0.0],
        ),
        ask(
            "almost a sum of two",
            CurveFit::new(|x, [a, b, c]| a * x + b + c * (x * 1e-7 + 1.0)),
            lines(20),
            &[1.0, 1.0, 3.0],
        ),
        ask(
            "nothing of a line",
            CurveFit::new(|x, [a, b]| a * x.abs().sqrt() + b * x.powi(2)),
            points(25, -2.0, 2.0, 0.1, |x| x),
            &[1.0, 1.0],
        ),
    ]
}

pub(super) fn even() -> Vec<Question> {
    let lorentz = |n: usize| points(n, -10.0, 10.0, 0.01, |x| 8.0 / (1.0 + (x - 0.3).powi(2)));
    let voigt = || CurveFit::from(models::voigt(""));
    let width = || CurveFit::new(|x, [a, s]| a * (-(x * x) / ((s.powi(2) + 0.27) * 2.0)).exp());
    let narrow = |n: usize| points(n, -3.0, 3.0, 0.05, |x| 4.0 * (-x * x / 0.4).exp());
    let falling = points(30, 0.0, 4.0, 0.05, |x| 3.0 - 0.5 * x);
    let squares = CurveFit::new(|x, [a, b]| a.powi(2) * x + b.powi(2));
    let bowl = points(30, -2.0, 2.0, 0.02, |x| 2.0 * (0.5 * x).cos());
    let mut guessed = ask("a Voigt profile on a Lorentzian by a guess", voigt(), lorentz(80), &[]);
    guessed.start = Start::Guess;
    vec![
        ask("a Voigt profile on a Lorentzian", voigt(), lorentz(80), &[20.0, 0.0, 0.5, 0.8]),
        ask(
            "a Voigt profile on a Lorentzian, from a wide one",
            voigt(),
            lorentz(80),
            &[20.0, 1.0, 3.0, 3.0],
        ),
        guessed,
        ask("a width that is none", width(), narrow(40), &[3.0, 0.7]),
        ask(
            "a width that is none, bounded",
            width().bounds([(0.0, 99.0), (0.0, 9.0)]),
            narrow(40),
            &[3.0, 0.7],
        ),
        ask("a width that is none, from there", width(), narrow(40), &[3.0, 0.0]),
        ask("a square that is none", squares, falling, &[1.0, 1.0]),
        ask(
            "a cosh that is none",
            CurveFit::new(|x, [a, d]| a * (d * x).cosh()),
            bowl,
            &[1.0, 1.0],
        ),
    ]
}

pub(super) fn limits() -> Vec<Question> {
    let within = |most: usize| Options::default().max_evaluations(most);
    let mut all = Vec::new();
    for most in [1, 2, 3, 5, 50] {
        let limited = decay().options(within(most));
        all.push(ask(
            &format!("a decay of {most} evaluations"),
            limited.clone(),
            decays(40),
            &DECAY,
        ));
        let robust = limited.loss(Loss::Tukey { scale: 0.5 });
        all.push(ask(
            &format!("a decay under Tukey's loss of {most} evaluations"),
            robust,
            decays(40),
            &DECAY,
        ));
    }
    let limited = decay().options(within(8));
    all.push(ask("a far start of 8 evaluations", limited, decays(40), &[1.0, -8.0, 0.0]));
    let never = Options::default().ftol(0.0).xtol(0.0).gtol(0.0);
    all.push(ask("no tolerances", decay().options(never), decays(40), &DECAY));
    let loose = Options::default().ftol(1e-3).xtol(1e-3).gtol(1e-3);
    all.push(ask("loose tolerances", decay().options(loose), decays(40), &DECAY));
    let within_errors = decay().options(Options::default().etol(0.1));
    all.push(ask("a tenth of an error", within_errors.clone(), decays(40), &DECAY));
    let held = within_errors.bound("b", 1.0..=10.0);
    all.push(ask("a tenth of an error, on a bound", held, decays(40), &DECAY));
    all
}

pub(super) fn by_name() -> Vec<Question> {
    let named = |name: &str, model: CurveFit, points: Points, start: &[(&str, f64)]| {
        let start = start.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Question { start: Start::Named(start), ..ask(name, model, points, &[]) }
    };
    let guess = |name: &str, model: models::Model, points: Points| Question {
        start: Start::Guess,
        ..ask(name, model.into(), points, &[])
    };
    vec![
        named("a decay by name from b = -8", decay(), decays(40), &[("b", -8.0)]),
        named("a decay by name from b = 1", decay(), decays(40), &[("b", 1.0)]),
        named("a decay by name from b = 40", decay(), decays(40), &[("b", 40.0)]),
        named("two decays by name", two_decays(), sums(40), &[("b", 0.1), ("d", 9.0)]),
        named(
            "two decays by name from near ones",
            two_decays(),
            sums(40),
            &[("b", 1.0), ("d", 1.01)],
        ),
        named("a peak by name from the side", peak(), peaks(50), &[("m", 7.0), ("s", 0.5)]),
        named("a quotient by name", rational(), quotients(30), &[("c", 5.0)]),
        named("a line by name", line(), lines(20), &[]),
        guess("a Gaussian by a guess", models::gaussian("") + models::constant("bg_"), peaks(50)),
        guess("an exponential by a guess", models::exponential_offset(""), decays(40)),
        guess(
            "a sine by a guess",
            models::sine(""),
            points(60, 0.0, 9.0, 0.1, |x| (2.3 * x + 0.4).sin()),
        ),
    ]
}

pub(super) fn refused() -> Vec<Question> {
    let wall = CurveFit::new(|x, [a, b]| a * (x - b).ln());
    let mut negative =
        ask("a negative count", decay().estimator(Estimator::Poisson), decays(30), &DECAY);
    negative.y.iter_mut().for_each(|y| *y = (20.0 * *y).round());
    negative.y[13] = -1.0;
    negative.counts = true;
    let mut dark = negative.clone();
    dark.y[13] = 4.0;
    dark.name = String::from("counts from a start below zero");
    dark.start = Start::from([-5.0, 1.0, 0.0]);
    vec![
        ask("a start outside its bounds", decay().bound("b", 0.0..=1.0), decays(40), &DECAY),
        ask("a start that is not a number", decay(), decays(40), &[f64::NAN, 1.0, 1.0]),
        ask("a model without a value at the start", wall.clone(), lines(20), &[1.0, 2.0]),
        ask(
            "a model with a wall",
            wall,
            points(20, 1.0, 5.0, 0.05, |x| 2.0 * (x - 0.7).ln()),
            &[1.0, -3.0],
        ),
        ask("an overflow at the start", decay(), decays(40), &[1e300, -20.0, 0.0]),
        ask("residuals that cannot be squared", decay(), decays(40), &[1e200, 1.0, 0.0]),
        negative,
        dark,
    ]
}

pub(super) fn long() -> Vec<Question> {
    let robust = decay().loss(Loss::Huber { scale: 0.02 });
    let sigma = Weights::Absolute((0..9001).map(|i| 0.03 * (1.5 + noise(i))).collect());
    vec![
        ask("4096 points", decay(), decays(4096), &DECAY),
        ask("4097 points", decay(), decays(4097), &DECAY),
        ask("9001 points", peak(), peaks(9001), &PEAK),
        ask("9001 points under a loss", robust, decays(9001), &DECAY),
        Question { sigma, ..ask("9001 points with sigmas", decay(), decays(9001), &DECAY) },
        ask("9001 points from far", decay(), decays(9001), &[1.0, -8.0, 0.0]),
    ]
}

pub(super) fn other_models() -> Vec<Question> {
    let native = || CurveFit::native(3, |x: f64, p: &[f64]| p[0] * (-p[1] * x).exp() + p[2]);
    let exact = native().jacobian(|x, p, out| {
        let e = (-p[1] * x).exp();
        out.copy_from_slice(&[e, -p[0] * x * e, 1.0]);
    });
    let spot = || {
        CurveFit::multivariate(|[x, y], [a, u, v, s, b]| {
            a * (-((x - u).powi(2) + (y - v).powi(2)) / (s.powi(2) * 2.0)).exp() + b
        })
    };
    let place = |i: usize| ((i % 9) as f64, (i / 9) as f64);
    let value = |i: usize| {
        let (x, y) = place(i);
        9.0 * (-((x - 3.5).powi(2) + (y - 4.8).powi(2)) / 4.5).exp() + 1.0 + 0.1 * noise(i)
    };
    let z: Vec<f64> = (0..81).map(value).collect();
    let columns =
        vec![(0..81).map(|i| place(i).0).collect(), (0..81).map(|i| place(i).1).collect()];
    let spots = |name: &str, start: &[f64]| {
        let x: Vec<Vec<f64>> = columns.clone();
        Question { x, ..ask(name, spot(), (Vec::new(), z.clone()), start) }
    };
    vec![
        ask("a native model", native(), decays(40), &DECAY),
        ask("a native model with its partials", exact.clone(), decays(40), &DECAY),
        ask("a native model from far", exact, decays(40), &[1.0, -8.0, 0.0]),
        spots("a spot", &[7.0, 4.0, 4.0, 2.0, 0.5]),
        spots("a spot from far", &[7.0, 0.0, 8.0, 0.5, 0.5]),
    ]
}
