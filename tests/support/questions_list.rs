//! The questions: every sort of model, weight, loss, bound, start and end, small fits but for a few.

#[path = "questions_ends.rs"]
mod ends;

use super::super::losses::robust;
use super::{Question, Weights};
use dualfit::{CurveFit, Estimator, Loss, Missing, Start};
use ends::{by_name, even, few, limits, long, other_models, refused, undetermined};

/// All of them, each under a name of its own.
pub fn questions() -> Vec<Question> {
    let rooms = [
        plain(),
        far(),
        weights(),
        losses(),
        counts(),
        boxes(),
        ties(),
        gaps(),
        units(),
        few(),
        undetermined(),
        even(),
        limits(),
        by_name(),
        refused(),
        long(),
        other_models(),
    ];
    rooms.into_iter().flatten().collect()
}

/// Noise that needs no generator.
fn noise(i: usize) -> f64 {
    let h = (i as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let h = (h ^ (h >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((h ^ (h >> 32)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn ask(name: &str, model: CurveFit, points: Points, start: &[f64]) -> Question {
    let (x, y) = points;
    Question {
        name: name.to_owned(),
        model,
        x: vec![x],
        y,
        sigma: Weights::Unknown,
        mask: Vec::new(),
        missing: Missing::Error,
        start: Start::from(start),
        counts: false,
    }
}

type Points = (Vec<f64>, Vec<f64>);

/// `n` points of a curve over a range, with noise.
fn points(n: usize, low: f64, high: f64, scatter: f64, f: impl Fn(f64) -> f64) -> Points {
    let x: Vec<f64> = (0..n).map(|i| low + (high - low) * (i as f64 + 0.5) / n as f64).collect();
    let y = x.iter().enumerate().map(|(i, &x)| f(x) + scatter * noise(i)).collect();
    (x, y)
}

fn line() -> CurveFit {
    CurveFit::new(|x, [a, b]| a * x + b).names(["a", "b"])
}

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).names(["a", "b", "c"])
}

fn peak() -> CurveFit {
    let peak = CurveFit::new(|x, [a, m, s, c]| a * (((x - m) / s).powi(2) * -0.5).exp() + c);
    peak.names(["a", "m", "s", "c"])
}

fn logistic() -> CurveFit {
    let curve = CurveFit::new(|x, [a, k, m]| a / ((-(k * (x - m))).exp() + 1.0));
    curve.names(["a", "k", "m"])
}

fn rational() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| (a + b * x) / (c * x + 1.0)).names(["a", "b", "c"])
}

fn two_decays() -> CurveFit {
    let sum = CurveFit::new(|x, [a, b, c, d]| a * (-b * x).exp() + c * (-d * x).exp());
    sum.names(["a", "b", "c", "d"])
}

fn lines(n: usize) -> Points {
    points(n, 0.0, 5.0, 0.1, |x| 1.5 * x - 2.0)
}

fn decays(n: usize) -> Points {
    points(n, 0.0, 5.0, 0.03, |x| 2.0 * (-0.8 * x).exp() + 0.3)
}

fn peaks(n: usize) -> Points {
    points(n, 0.0, 10.0, 0.05, |x| 3.0 * (-0.5 * ((x - 4.0) / 0.8).powi(2)).exp() + 0.5)
}

fn steps(n: usize) -> Points {
    points(n, 0.0, 10.0, 0.05, |x| 5.0 / (1.0 + (-1.3 * (x - 4.5)).exp()))
}

fn quotients(n: usize) -> Points {
    points(n, 0.0, 8.0, 0.02, |x| (1.0 + 2.0 * x) / (1.0 + 0.4 * x))
}

fn sums(n: usize) -> Points {
    points(n, 0.0, 6.0, 0.01, |x| 3.0 * (-0.4 * x).exp() + 5.0 * (-2.5 * x).exp())
}

const DECAY: [f64; 3] = [1.5, 1.2, 0.1];
const PEAK: [f64; 4] = [2.0, 4.5, 1.0, 0.0];

fn plain() -> Vec<Question> {
    vec![
        ask("a line", line(), lines(20), &[0.0, 0.0]),
        ask("a decay", decay(), decays(40), &DECAY),
        ask("a decay of 400 points", decay(), decays(400), &DECAY),
        ask("a peak", peak(), peaks(50), &PEAK),
        ask("a step", logistic(), steps(30), &[4.0, 1.0, 5.0]),
        ask("a quotient", rational(), quotients(30), &[0.5, 1.0, 0.2]),
        ask("two decays", two_decays(), sums(40), &[2.0, 0.3, 4.0, 2.0]),
        ask("a mean", CurveFit::new(|x, [a]| a + 0.0 * x), lines(15), &[7.0]),
        ask(
            "a decay at its minimum",
            decay(),
            points(30, 0.0, 5.0, 0.0, |_| 0.5),
            &[0.0, 1.0, 0.5],
        ),
    ]
}

fn far() -> Vec<Question> {
    let mut all = Vec::new();
    for start in [
        [1.0, -8.0, 0.0],
        [1.0, -2.0, 0.0],
        [1.0, 30.0, 0.0],
        [-50.0, 0.01, 60.0],
        [1e6, 0.8, -1e6],
    ] {
        all.push(ask(&format!("a decay from {start:?}"), decay(), decays(40), &start));
    }
    // Short steps from ones lead to the rate 0; some fits end there in rounding, others never.
    for offset in [5.0, 10.0, 20.0, 30.0, 40.0, 50.0] {
        let far = points(50, 0.0, 4.0, 0.05, |x| 2.5 * (-1.3 * x).exp() + offset);
        all.push(ask(&format!("a decay to {offset} from ones"), decay(), far, &[1.0; 3]));
    }
    for start in [
        [2.0, 0.5, 1.0, 0.0],
        [2.0, 9.5, 1.0, 0.0],
        [2.0, 4.0, 20.0, 0.0],
        [2.0, 4.2, 0.05, 0.0],
        [-5.0, 6.0, 0.5, 3.0],
    ] {
        all.push(ask(&format!("a peak from {start:?}"), peak(), peaks(50), &start));
    }
    for start in [[5.0, 40.0, 2.0], [1.0, 0.01, -3.0], [0.1, -2.0, 8.0]] {
        all.push(ask(&format!("a step from {start:?}"), logistic(), steps(30), &start));
    }
    all.push(ask("two decays from near ones", two_decays(), sums(40), &[1.0, 1.0, 1.2, 1.1]));
    all.push(ask("two decays from far", two_decays(), sums(40), &[100.0, 0.01, 0.1, 50.0]));
    all.push(ask("a quotient from beyond its pole", rational(), quotients(30), &[1.0, 1.0, -0.3]));
    all
}

fn weights() -> Vec<Question> {
    let mut all = Vec::new();
    for (what, question) in [
        ("a decay", ask("", decay(), decays(40), &DECAY)),
        ("a peak", ask("", peak(), peaks(50), &PEAK)),
    ] {
        let sigmas: Vec<f64> =
            (0..question.y.len()).map(|i| 0.05 * 10f64.powf(0.5 * noise(7 * i + 3))).collect();
        let mut tight = sigmas.clone();
        tight[5] = 1e-9;
        for (how, sigma) in [
            ("one sigma", Weights::Constant(0.04)),
            ("sigmas", Weights::Absolute(sigmas.clone())),
            ("relative sigmas", Weights::Relative(sigmas)),
            ("one tight point", Weights::Absolute(tight)),
        ] {
            all.push(Question { name: format!("{what} with {how}"), sigma, ..question.clone() });
        }
    }
    all
}

fn losses() -> Vec<Question> {
    let mut all = Vec::new();
    for scale in [0.05, 0.5] {
        for loss in robust(scale) {
            let (x, mut y) = decays(60);
            y.iter_mut().step_by(9).for_each(|y| *y += 2.0);
            all.push(ask(&format!("a decay under {loss:?}"), decay().loss(loss), (x, y), &DECAY));
        }
    }
    for loss in [Loss::Cauchy { scale: 0.2 }, Loss::Tukey { scale: 0.2 }] {
        let (x, mut y) = peaks(50);
        y.iter_mut().step_by(11).for_each(|y| *y -= 4.0);
        let mut question = ask(&format!("a peak under {loss:?}"), peak().loss(loss), (x, y), &PEAK);
        question.sigma = Weights::Absolute((0..50).map(|i| 1.0 + 0.5 * noise(i)).collect());
        all.push(question);
    }
    all
}

fn counts() -> Vec<Question> {
    let counted = |(x, y): Points, size: f64| {
        let y = y
            .iter()
            .enumerate()
            .map(|(i, y)| (size * y + (size * y).sqrt() * noise(i)).max(0.0).round());
        let y = y.collect();
        (x, y)
    };
    let mut all = vec![
        ask("counts of a decay", decay(), counted(decays(40), 20.0), &[30.0, 1.0, 3.0]),
        ask("many counts of a decay", decay(), counted(decays(40), 1e5), &[1e5, 1.0, 1e5]),
        ask("few counts of a decay", decay(), counted(decays(60), 0.8), &[1.0, 1.0, 0.5]),
        ask("counts of a peak", peak(), counted(peaks(50), 10.0), &[20.0, 4.5, 1.0, 2.0]),
        ask("counts of a step", logistic(), counted(steps(30), 30.0), &[100.0, 1.0, 5.0]),
        ask(
            "counts of a decay without a background, bounded",
            decay().bounds([(0.0, 1e9); 3]),
            counted(points(40, 0.0, 8.0, 0.0, |x| 3.0 * (-1.2 * x).exp()), 15.0),
            &[30.0, 1.0, 3.0],
        ),
    ];
    for question in &mut all {
        question.model = question.model.clone().estimator(Estimator::Poisson);
        question.counts = true;
    }
    all
}

fn boxes() -> Vec<Question> {
    let of = |name: &str, model: CurveFit, start: [f64; 3]| ask(name, model, decays(40), &start);
    let infinite = f64::INFINITY;
    vec![
        of("bounds apart from the solution", decay().bound("b", 0.0..=10.0), DECAY),
        of("a lower bound that holds", decay().bound("b", 1.0..=10.0), DECAY),
        of("an upper bound that holds", decay().bound("c", ..=0.1), [1.5, 1.2, 0.0]),
        of(
            "two bounds that hold",
            decay().bound("b", 1.0..=10.0).bound("c", ..=0.1),
            [1.5, 1.2, 0.0],
        ),
        of("a start on a bound that holds", decay().bound("b", 1.0..=10.0), [1.5, 1.0, 0.1]),
        of("a start on a bound that does not", decay().bound("b", 0.1..=10.0), [1.5, 0.1, 0.1]),
        of("a start in a corner", decay().bounds([(0.0, 9.0); 3]), [0.0, 0.0, 0.0]),
        of("a start in a far corner", decay().bounds([(0.0, 9.0); 3]), [9.0, 9.0, 9.0]),
        of("bounds of all on one side", decay().bounds([(0.0, infinite); 3]), DECAY),
        of(
            "a bound at the solution of another",
            decay().bounds([(0.0, 1.0), (0.0, 5.0), (0.0, 5.0)]),
            [0.5, 0.5, 0.5],
        ),
        of("a fixed parameter", decay().fix("c"), [1.5, 1.2, 0.3]),
        of("equal bounds", decay().bound("c", 0.3..=0.3), [1.5, 1.2, 0.3]),
        of("one free parameter", decay().fix("a").fix("c"), [2.0, 1.2, 0.3]),
        of("all parameters fixed", decay().fix("a").fix("b").fix("c"), [2.0, 0.8, 0.3]),
        of(
            "a start moved onto a bound",
            decay().bound("b", 1.0..=2.0).clamp_start(true),
            [1.5, 7.0, 0.1],
        ),
        ask(
            "a peak kept out of its place",
            peak().bound("m", 5.0..=9.0),
            peaks(50),
            &[2.0, 6.0, 1.0, 0.0],
        ),
    ]
}

fn ties() -> Vec<Question> {
    vec![
        ask("a tie to one", decay().tie("c", "0.15*a"), decays(40), &DECAY),
        ask("a tie to two", decay().tie("c", "a*b - 1.3"), decays(40), &DECAY),
        ask(
            "ties in a row",
            two_decays().tie("d", "6*b").tie("c", "a + d"),
            sums(40),
            &[2.0, 0.3, 1.0, 1.0],
        ),
        ask(
            "a tie and a bound",
            peak().tie("c", "a/6").bound("s", 1.0..=3.0),
            peaks(50),
            &[2.0, 4.5, 1.5, 0.0],
        ),
        ask(
            "a tie and a loss",
            decay().tie("c", "0.15*a").loss(Loss::Cauchy { scale: 0.05 }),
            decays(40),
            &DECAY,
        ),
    ]
}

fn gaps() -> Vec<Question> {
    let question = |name: &str| ask(name, decay(), decays(45), &DECAY);
    let masked = |name: &str, counts: fn(usize) -> bool| Question {
        mask: (0..45).map(counts).collect(),
        ..question(name)
    };
    let with = |name: &str, places: &[usize], value: f64, missing: Missing| {
        let mut question = Question { missing, ..question(name) };
        places.iter().for_each(|&i| question.y[i] = value);
        question
    };
    let sigmas = |name: &str, i: usize, value: f64| {
        let mut sigma = vec![0.1; 45];
        sigma[i] = value;
        Question { sigma: Weights::Absolute(sigma), ..question(name) }
    };
    vec![
        masked("a mask without the first points", |i| i > 6),
        masked("a mask with holes", |i| i % 4 != 1),
        masked("a mask of as many points as parameters", |i| i % 15 == 7),
        masked("a mask of too few points", |i| i == 3 || i == 30),
        with("points that are missing", &[0, 7, 8, 44], f64::NAN, Missing::Omit),
        with("points that are infinite", &[9, 31], f64::INFINITY, Missing::Omit),
        with("points that are refused", &[11, 12], f64::NAN, Missing::Error),
        sigmas("a sigma that is infinite", 17, f64::INFINITY),
        sigmas("a sigma that is zero", 17, 0.0),
    ]
}

fn units() -> Vec<Question> {
    let mut all = Vec::new();
    for unit in [1e200, 1e-200, 1e60, 1e-100] {
        let (x, y) = decays(40);
        let y: Vec<f64> = y.iter().map(|y| y * unit).collect();
        let start = [1.5 * unit, 1.2, 0.1 * unit];
        all.push(ask(&format!("y in units of {unit:e}"), decay(), (x.clone(), y.clone()), &start));
        let robust = decay().loss(Loss::Cauchy { scale: 0.05 * unit });
        all.push(ask(&format!("y in units of {unit:e} under a loss"), robust, (x, y), &start));
    }
    for unit in [1e100, 1e-100] {
        let (x, y) = decays(40);
        let x = x.iter().map(|x| x * unit).collect();
        all.push(ask(&format!("x in units of {unit:e}"), decay(), (x, y), &[1.5, 1.2 / unit, 0.1]));
    }
    let (x, y) = decays(40);
    let high = y.iter().map(|y| y + 1e8).collect();
    all.push(ask("a baseline of 1e8", decay(), (x, high), &[1.5, 1.2, 1e8]));
    let (x, y) = lines(30);
    let epochs = x.iter().map(|x| x + 1.7e9).collect();
    all.push(ask("epochs", line(), (epochs, y), &[0.0, 0.0]));
    all
}
