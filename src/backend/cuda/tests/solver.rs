//! Compares the solver of the batch kernels with the host's solver. Both receive the same sums from the CPU and must
//! take the same steps to the same termination.

use crate::backend::cuda::emulated::{Settings, emulator_or_skip};
use crate::data::loss::Loss;
use crate::model::program::Program;
use crate::solver::options::Options;
use crate::solver::outcome::Failure;
use crate::solver::termination::Termination;
use crate::support::nist;
use case::Case;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use stepped::By;

mod case;
mod stepped;

fn certified(problem: &nist::Problem, start: &[f64]) -> Case {
    let names: Vec<&str> = problem.variables.iter().map(String::as_str).collect();
    let mut case = Case::new(&problem.model, &names, problem.predictors.clone(), problem.y.clone());
    let position = |name: &String| problem.parameters.iter().position(|p| p == name);
    let order = case.program.params.iter().map(|name| position(name).expect("a parameter"));
    case.start = order.map(|i| start[i]).collect();
    case
}

#[test]
fn nist_takes_the_same_way_on_both() {
    let Some(device) = emulator_or_skip(Settings::default()) else { return };
    for problem in nist::problems() {
        for start in [&problem.start1, &problem.start2] {
            let case = certified(&problem, start);
            let end = case.check(&device, By::Sixteen, &problem.name);
            assert!(end.termination.is_converged(), "{}", problem.name);
            case.check(&device, By::One, &problem.name);
        }
    }
    assert_eq!(device.live(), 0);
}

/// The slim kernel takes the steps of the host, with its bits, or leaves the fit to the general kernel.
#[test]
fn the_slim_step_takes_the_same_way_or_leaves() {
    let Some(device) = emulator_or_skip(Settings::default()) else { return };
    let (mut ended, mut left) = (0, 0);
    let mut count = |case: Case, name: &str| {
        let end = case.check_slim(&device, name);
        if let Some(end) = &end {
            assert!(end.termination.is_converged() && !end.retried, "{name}");
        }
        *(if end.is_some() { &mut ended } else { &mut left }) += 1;
    };
    for problem in nist::problems() {
        for start in [&problem.start1, &problem.start2] {
            count(certified(&problem, start), &problem.name);
        }
    }
    for seed in 0..300 {
        count(random_case(seed), &format!("seed {seed}"));
    }
    assert_eq!(device.live(), 0);
    println!("{ended} ended, {left} left");
    assert!(ended > 4 * left, "{ended} ended, {left} left");
}

/// Returns a fit of a random model to random noise from a random start, with rules of random strictness.
fn random_case(seed: u64) -> Case {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut near = |value: f64| value * (0.6 + 0.8 * rng.random::<f64>());
    let start = [near(2.5), near(1.3), near(0.5)];
    let (noise, rough) = (near(0.3), seed.is_multiple_of(3));
    let model = ["a * exp(-b * x) + c", "a / (1 + (b * x)^2) + c", "a * sin(b * x) + c"];
    let curve = |x: f64| match seed % 3 {
        0 => 2.5 * (-1.3 * x).exp() + 0.5,
        1 => 2.5 / (1.0 + (1.3 * x).powi(2)) + 0.5,
        _ => 2.5 * (1.3 * x).sin() + 0.5,
    };
    let mut scatter: Vec<f64> = (0..40).map(|_| noise * (rng.random::<f64>() - 0.5)).collect();
    if seed.is_multiple_of(5) {
        scatter[7] += 3.0;
    }
    let y = |x: f64, i: usize| curve(x) + scatter[i];
    let case = Case::of(model[seed as usize % 3], |i| 0.08 * i as f64, y, 40).start(&start);
    let loss = [Loss::Linear, Loss::Huber { scale: 0.5 }, Loss::Cauchy { scale: 1.0 }];
    let options = Options { etol: if rough { 0.1 } else { 0.0 }, ..Options::default() };
    case.loss(loss[(seed / 3) as usize % 3]).options(options)
}

/// Returns scatter without a pattern, within ±0.5, the same in every run.
fn scatter(i: usize) -> f64 {
    ((37 * i * i + 11 * i) % 101) as f64 / 101.0 - 0.5
}

fn decay() -> Case {
    let y = |x: f64, i| 2.5 * (-1.3 * x).exp() + 0.5 + 0.06 * scatter(i);
    Case::of("a * exp(-b * x) + c", |i| 0.08 * i as f64, y, 50).start(&[2.0, 1.0, 0.3])
}

/// Returns a decay with outliers.
fn spoilt() -> Case {
    let mut case = decay();
    (0..50).step_by(7).for_each(|i| case.y[i] += 3.0);
    case
}

const WILD: [(&str, f64, f64); 3] =
    [("inside", -10.0, 10.0), ("at the solution's side", 1.5, 2.0), ("beyond", 0.0, 1.1)];

#[test]
fn bounds_and_fixed_parameters() {
    let Some(device) = emulator_or_skip(Settings::default()) else { return };
    let mut ends = Vec::new();
    for (name, lower, upper) in WILD {
        for start in [lower, upper, 0.5 * (lower + upper)] {
            let case = decay().start(&[2.0, start, 0.3]).bound(1, lower, upper);
            ends.push(case.check(&device, By::Sixteen, name).params[1]);
            let both = case.bound(0, 2.6, 9.0).bound(2, -1.0, 0.45);
            both.check(&device, By::Sixteen, name);
            both.fixed(0).check(&device, By::One, name);
        }
    }
    assert!(ends.iter().any(|b| WILD.iter().any(|w| *b == w.1 || *b == w.2)), "{ends:?}");
    assert!(ends.iter().any(|b| (b - 1.3).abs() < 0.1), "{ends:?}");
    let corner = decay().start(&[2.0, 1.0, 0.3]).bound(0, 3.0, 4.0).bound(1, 2.0, 3.0);
    corner.bound(2, 1.0, 2.0).start(&[3.0, 2.0, 1.0]).check(&device, By::Sixteen, "a corner");
}

#[test]
fn robust_losses() {
    let Some(device) = emulator_or_skip(Settings::default()) else { return };
    for loss in Loss::robust(0.5) {
        let end = spoilt().loss(loss).check(&device, By::Sixteen, &format!("{loss:?}"));
        assert!(end.termination.is_converged(), "{loss:?}: {:?}", end.termination);
        spoilt().loss(loss).bound(1, 0.5, 1.2).check(&device, By::One, &format!("{loss:?}"));
    }
}

/// Covers every termination, and every path to it.
#[test]
fn ends_of_all_kinds() {
    let Some(device) = emulator_or_skip(Settings::default()) else { return };
    let line = |x: f64, i: usize| 2.0 * x + 1.0 + scatter(i);
    let to_20 = |i: usize| i as f64;
    let far = Options { initial_radius: 1e6, ..Options::default() };
    let unattainable = Options { ftol: 0.0, xtol: 0.0, gtol: 0.0, ..Options::default() };
    let only = |ftol, xtol, gtol| Options { ftol, xtol, gtol, ..Options::default() };
    let cases = [
        ("a line", Case::of("a * x + b", to_20, line, 20).start(&[0.0, 0.0])),
        ("exact", Case::of("a * x + b", to_20, |x, _| 2.0 * x + 1.0, 20).start(&[1.0, 1.0])),
        ("no effect at the start", {
            Case::of(
                "exp(-(x - a)^2)",
                |i| 0.1 * i as f64,
                |x, _| (-(x - 1.0f64).powi(2)).exp(),
                30,
            )
            .start(&[90.0])
        }),
        ("nothing to gain beside it", {
            Case::of("a * b * x", to_20, line, 20).start(&[0.0, 0.0])
        }),
        ("loses a parameter", {
            Case::of("a * exp(-b * x) + c", |i| 1.0 + i as f64, |_, i| 3.0 + scatter(i), 25)
                .start(&[1.0, 5.0, 0.0])
                .options(far)
        }),
        ("a wall", {
            Case::of(
                "a * sqrt(b - x)",
                |i| 0.1 * i as f64,
                |x, i| (3.0 - x).sqrt() + 0.1 * scatter(i),
                30,
            )
            .start(&[2.0, 2.95])
        }),
        ("a wall before the solution", {
            Case::of("log(a - x) + b", |i| 0.1 * i as f64, |x, i| -x * x + scatter(i), 30)
                .start(&[2.9001, 0.0])
        }),
        ("singular", Case::of("a * x + b * x + c", to_20, line, 20).start(&[1.0, 0.5, 0.0])),
        ("nearly singular", {
            Case::of("a * x + b * (x + 1e-7 * x * x) + c", to_20, line, 20).start(&[1.0, 0.5, 0.0])
        }),
        ("unused", Case::of("a * x + 0 * b + c", to_20, line, 20).start(&[1.0, 1.0, 1.0])),
        ("one evaluation", {
            decay().options(Options { max_evaluations: Some(1), ..Options::default() })
        }),
        ("seven", decay().options(Options { max_evaluations: Some(7), ..Options::default() })),
        ("no tolerance", decay().options(unattainable)),
        ("the cost's", decay().options(only(1e-6, 0.0, 0.0))),
        ("the step's", decay().options(only(0.0, 1e-6, 0.0))),
        ("the gradient's", decay().options(only(0.0, 0.0, 1e-6))),
        ("from the origin", decay().start(&[0.0, 0.0, 0.0])),
        ("from afar", decay().start(&[1e6, 40.0, -1e6])),
        ("finite nowhere else", {
            Case::of("if(a == 1, a * x, log(-1))", to_20, line, 20).start(&[1.0])
        }),
        ("finite there alone", {
            Case::of("if(a == 0, a * x, log(-1))", to_20, line, 20).start(&[0.0])
        }),
        ("effect beside it", Case::of("a^2 * x", to_20, line, 20).start(&[0.0])),
        ("a step", Case::of("floor(a * x)", to_20, line, 20).start(&[1.0])),
    ];
    let mut kinds = Vec::new();
    let mut retried = 0;
    for (name, case) in cases {
        let end = case.check(&device, By::Sixteen, name);
        case.check(&device, By::One, name);
        println!("{name}: {:?} after {:?}", end.termination, end.work);
        kinds.push(format!("{:?}", end.termination));
        retried += usize::from(end.retried);
    }
    for kind in [
        "Gradient",
        "Cost",
        "Step",
        "ExactFit",
        "NoProgress",
        "MaxEvaluations",
        "ModelNonFinite",
        "ZeroGradientAtStart",
        "Degenerate",
    ] {
        assert!(kinds.iter().any(|k| k == kind), "no case ends with {kind}: {kinds:?}");
    }
    assert!(retried >= 2, "{retried}");
}

/// The host runs fits with columns whose squares exceed the range of f64.
#[test]
fn columns_that_need_units_are_left_to_the_host() {
    let Some(device) = emulator_or_skip(Settings::default()) else { return };
    for (unit, slope) in [(1e160, 1e-160), (1e-170, 1e170)] {
        let y = |x: f64, i| slope * x + scatter(i);
        let case = Case::of("a * x + b", |i| unit * i as f64, y, 20).start(&[0.1 * slope, 0.5]);
        assert!(case.on_host().expect("an outcome").columns[0] != 1.0);
        assert!(matches!(case.on_device(&device, By::Sixteen), Err(Failure::Overflow)));
    }
}

#[test]
fn starts_that_are_none() {
    let Some(device) = emulator_or_skip(Settings::default()) else { return };
    let failure = |case: &Case| case.on_device(&device, By::Sixteen).expect_err("no outcome");
    let bad = Case::of("log(x - a) + b", |i| i as f64, |x, _| x, 20).start(&[5.5, 0.0]);
    match (failure(&bad), bad.on_host()) {
        (Failure::Start(found), Err(Failure::Start(expected))) => {
            assert_eq!((found.index, found.x, found.partial), (expected.index, expected.x, None));
        }
        other => panic!("{other:?}"),
    }
    let wide = |i| if i < 10 { 1e-200 } else { 1e300 * i as f64 };
    let vast = Case::of("a * x + b * x", wide, |_, i| scatter(i), 20).start(&[1e10, -1e10]);
    match (failure(&vast), vast.on_host()) {
        (Failure::Start(_), Err(Failure::Start(_)))
        | (Failure::Overflow, Err(Failure::Overflow)) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(device.live(), 0);
}

/// Covers sums of peaks with numbers of parameters for which the state fits and does not fit into shared memory.
#[test]
fn many_parameters() {
    let Some(device) = emulator_or_skip(Settings::default()) else { return };
    for n in [1, 13, 16, 32] {
        let model: Vec<String> = (0..n).map(|j| format!("p{j} * exp(-(x - {j})^2)")).collect();
        let y = |x: f64, i| (0.7 * x).sin() + 0.1 * scatter(i);
        let linear = Case::of(&(model.join(" + ") + " + 0.1 * p0^3"), |i| 0.4 * i as f64, y, 90);
        let case = linear.start(&vec![0.5; n]);
        assert!(case.check(&device, By::Sixteen, &format!("{n}")).termination.is_converged());
        // Bounds on every second parameter, and one fixed parameter.
        let mut bounded = case.fixed(n / 2);
        (0..n).step_by(2).for_each(|j| bounded.bounds[j] = (0.2, 0.6));
        if n > 1 {
            bounded.check(&device, By::Sixteen, &format!("{n}, bounded"));
        }
    }
}

/// Covers rare rules of the solver; each case tests one of them.
#[test]
fn rare_ways() {
    let Some(device) = emulator_or_skip(Settings::default()) else { return };
    let count = |i: usize| i as f64;
    let line = |x: f64, i: usize| 2.0 * x + 1.0 + scatter(i);
    // A parameter that does not occur has no effect and does not make the fit degenerate.
    let x: Vec<f64> = (0..20).map(count).collect();
    let y = x.iter().enumerate().map(|(i, &x)| line(x, i)).collect();
    let program = Program::trace(1, 3, |x, p| p[0] * x[0] + p[2]).expect("a trace");
    let unused = Case::traced(program, vec![x], y).start(&[1.0, 1.0, 1.0]);
    let end = unused.check(&device, By::Sixteen, "unused");
    assert!(end.termination.is_converged());

    // A start so near the origin that the residual determines the length of the step.
    Case::of("a * x + b", count, line, 20).start(&[1e-12, 1e-13]).check(
        &device,
        By::Sixteen,
        "near 0",
    );

    // Terms that are far larger than the response determine the rounding noise.
    let nothing = Options { ftol: 1e-300, xtol: 0.0, gtol: 0.0, ..Options::default() };
    let far = Case::of("a + b * x + 1e-9 * a^2", |i| 1e6 + i as f64, |_, i| 3.0 * scatter(i), 40);
    let end = far.start(&[-1e5, 0.1]).options(nothing).check(&device, By::Sixteen, "cancelling");
    assert_eq!(end.termination, Termination::Cost);

    // Wrong derivatives lead away from the minimum; the refinement must not increase the cost.
    let mean = (0..50).map(|i| 0.5 + scatter(i)).sum::<f64>() / 50.0;
    for skew in [1e-5, 1e-4, 1e-3] {
        let mut constant = Case::of("a + 0 * x", count, |_, i| 0.5 + scatter(i), 50).start(&[mean]);
        constant.skew = skew;
        constant.check(&device, By::Sixteen, "wrong derivatives");
    }

    // From a corner of the box: the full step leaves the box, but the cost decreases along an edge.
    let root = 0.19_f64.sqrt();
    let (u, v) = (vec![1.0, 0.0, 0.0, 0.0], vec![-0.9, root, 0.0, 0.0]);
    let (w, y) = (vec![0.0, 0.0, 1.0, 0.0], vec![0.8, -root, 10.0, 1.0]);
    let corner = Case::new("a * u + b * v + c * w", &["u", "v", "w"], vec![u, v, w], y);
    let corner = corner.bound(0, 0.0, f64::INFINITY).bound(1, 0.0, f64::INFINITY);
    for start in [[1e-12, 1e-12, 10.0], [1e-9, 1e-13, 10.0], [0.0, 0.0, 10.0]] {
        let case = Case { start: start.to_vec(), ..corner.clone() };
        assert!((case.check(&device, By::Sixteen, "a corner").params[0] - 0.8).abs() < 1e-9);
    }

    // Slow convergence after the tolerances were met early: more points than the Anderson acceleration stores.
    let loose = Options { ftol: 0.1, ..Options::default() };
    let slow = "a * sin(b * x + c * a) + d * x^b";
    let y = |x: f64, i| (1.7 * x).sin() + 3.0 * scatter(i);
    let slow = Case::of(slow, |i| 0.1 + 0.1 * i as f64, y, 40).start(&[1.0, 1.5, 0.1, 0.2]);
    slow.options(loose).check(&device, By::Sixteen, "slow");
    let sum = "a * exp(-b * x) + c * exp(-d * x) + f * exp(-g * x)";
    let y = |x: f64, i| 3.0 * (-x).exp() + 2.0 * scatter(i);
    let sum = Case::of(sum, |i| 0.1 * i as f64, y, 60).start(&[1.0, 0.5, 1.0, 1.5, 1.0, 4.0]);
    let end = sum.check(&device, By::Sixteen, "more decays than there are");
    assert!(end.retried);
}

/// Covers random bounds on linear and nonlinear problems: bounds become active and inactive, and bounds cut steps.
#[test]
fn boxes() {
    let Some(device) = emulator_or_skip(Settings::default()) else { return };
    let mut state = 5_u64;
    let mut next = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    let (mut held, mut converged) = (0, 0);
    for round in 0..300 {
        let columns: Vec<Vec<f64>> = (0..4).map(|_| (0..9).map(|_| next()).collect()).collect();
        // Nearly parallel columns give steps far out of the box.
        let together = |i: usize| 0.9 * columns[0][i] + 0.1 * columns[1][i];
        let beside: Vec<f64> = (0..9).map(together).collect();
        let columns = vec![columns[0].clone(), beside, columns[2].clone(), columns[3].clone()];
        let y = (0..9).map(|_| 3.0 * next()).collect();
        let model = match round % 2 {
            0 => "a * u + b * v + c * w + d * t",
            _ => "a * u + b * v + c * w + exp(d) * t + 0.1 * a * b",
        };
        let mut case = Case::new(model, &["u", "v", "w", "t"], columns, y);
        for k in 0..4 {
            let (p, q) = (2.0 * next(), 2.0 * next());
            case.bounds[k] =
                if next() > 0.6 { (f64::NEG_INFINITY, q) } else { (p.min(q), p.max(q)) };
            let inside = 0.5 * (case.bounds[k].0.max(-9.0) + case.bounds[k].1);
            let at = [inside, case.bounds[k].1, case.bounds[k].0.max(-9.0)];
            case.start.push(at[(4.0 + 4.0 * next()) as usize % 3]);
        }
        case.options.initial_radius = [1.0, 0.1, 1e-3, 100.0][round % 4];
        let by = if round % 3 == 0 { By::One } else { By::Sixteen };
        let end = case.check(&device, by, &format!("round {round}"));
        converged += usize::from(end.termination.is_converged());
        let bounds = case.bounds.iter().zip(&end.params);
        held += bounds.filter(|(b, p)| **p == b.0 || **p == b.1).count();
    }
    assert!((300..900).contains(&held), "{held} parameters on bounds");
    assert!(converged >= 285, "{converged}");
}
