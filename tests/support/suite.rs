//! One suite for every device: the emulated one of this crate's own tests, and real ones.
//!
//! The oracle is the CPU backend, which has oracles of its own: a fit on a device must end for the
//! same reason at the same parameters with the same errors.

#![allow(dead_code, reason = "each test takes its own part of this")]
#![allow(unreachable_pub, reason = "a test includes this as a private module")]

#[path = "suite_counts.rs"]
mod counted;
#[path = "suite_ties.rs"]
mod tied;
#[path = "suite_watched.rs"]
mod watched;

use super::losses::robust;
use super::nist::{Problem, digits, problems};
use dualfit::device::Processor;
use dualfit::{
    Backend, CancelToken, CurveFit, Data, Error, Estimator, Fit, Loss, Missing, MultiStart,
    Options, Precision, Sigma, Termination,
};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

pub use counted::counts;
pub use tied::ties;
pub use watched::{cancelled, observers};

/// The tests of the suite, each handed to `$on_device`, which calls it with a [`Place`] or skips it.
macro_rules! tests_on {
    ($on_device:ident) => {
        #[test]
        fn nist_is_solved_on_the_device() {
            $on_device(suite::nist);
        }

        #[test]
        fn every_size_fits_as_on_the_cpu() {
            $on_device(suite::sizes);
        }

        #[test]
        fn every_form_of_data_fits_as_on_the_cpu() {
            $on_device(suite::data_forms);
        }

        #[test]
        fn every_loss_fits_as_on_the_cpu() {
            $on_device(suite::losses);
        }

        #[test]
        fn bounds_and_fixed_parameters_hold_as_on_the_cpu() {
            $on_device(suite::constraints);
        }

        #[test]
        fn models_of_1_to_43_parameters_fit_as_on_the_cpu() {
            $on_device(suite::shapes);
        }

        #[test]
        fn bad_ends_are_those_of_the_cpu() {
            $on_device(suite::bad_ends);
        }

        #[test]
        fn tied_parameters_are_those_of_the_substituted_model() {
            $on_device(suite::ties);
        }

        #[test]
        fn counts_fit_as_on_the_cpu() {
            $on_device(suite::counts);
        }

        #[test]
        fn mixed_precision_ends_at_the_digits_of_f64() {
            $on_device(suite::mixed_precision);
        }

        #[test]
        fn a_cancelled_token_stops_at_every_step() {
            $on_device(suite::cancelled);
        }

        #[test]
        fn observers_see_every_step() {
            $on_device(suite::observers);
        }

        #[test]
        fn many_starts_find_the_optima_of_the_cpu() {
            $on_device(suite::many_starts);
        }

        #[test]
        fn repeated_fits_give_the_same_bits_from_any_thread() {
            $on_device(suite::repeats);
        }
    };
}
pub(crate) use tests_on;

/// Sends a fit to the device under test.
pub type Place<'a> = &'a dyn Fn(CurveFit) -> CurveFit;

/// Fits on both and compares.
pub fn compare(
    what: &str,
    model: &CurveFit,
    data: &Data<'_>,
    start: &[f64],
    place: Place<'_>,
) -> Fit {
    compare_to(1e-10, what, model, data, start, place)
}

/// As [`compare`], with costs equal to this part.
fn compare_to(
    cost: f64,
    what: &str,
    model: &CurveFit,
    data: &Data<'_>,
    start: &[f64],
    place: Place<'_>,
) -> Fit {
    let tolerance = cost;
    let cpu = model.clone().backend(Backend::Cpu).fit(data.clone(), start);
    let device = place(model.clone()).fit(data.clone(), start);
    let (cpu, device) = match (cpu, device) {
        (Ok(cpu), Ok(device)) => (cpu, device),
        (cpu, device) => {
            // A kernel that does not compile is quoted whole, far below its message.
            let said = |fit: Result<Fit, Error>| match fit {
                Ok(fit) => fit.termination().to_string(),
                Err(error) => error.to_string().chars().take(2000).collect(),
            };
            panic!("{what}: on the CPU {}; on the device {}", said(cpu), said(device))
        }
    };
    assert_eq!(device.stats().processor, Processor::Cuda, "{what}: {}", device.stats());
    assert_eq!(device.termination(), cpu.termination(), "{what}");
    let (on_device, on_cpu) = (device.std_errors(), cpu.std_errors());
    for (i, (&d, &c)) in device.params().iter().zip(cpu.params()).enumerate() {
        let scale = c.abs().max(on_cpu[i]).max(f64::MIN_POSITIVE);
        assert!((d - c).abs() <= 1e-9 * scale, "{what}, parameter {i}: {d:e} against {c:e}");
        let (e, f) = (on_device[i], on_cpu[i]);
        let same = e == f || (e.is_nan() && f.is_nan()) || (e - f).abs() <= 1e-6 * f.abs();
        // Where a model goes through all points its residuals, and so its errors, are rounding.
        let nothing = e.max(f) <= 1e-13 * c.abs();
        assert!(same || nothing, "{what}, error {i}: {e:e} against {f:e}");
    }
    let [counting, expected] = [&device, &cpu].map(Fit::effective_points);
    assert!((counting / expected - 1.0).abs() < 1e-6, "{what}: {counting} points, {expected}");
    // Equal infinities too: y of 1e200 has squares beyond the range.
    let apart = if device.cost() == cpu.cost() { 0.0 } else { (device.cost() - cpu.cost()).abs() };
    assert!(
        apart <= tolerance * cpu.cost() + 1e-20,
        "{what}: {:e}, {:e}",
        device.cost(),
        cpu.cost()
    );
    device
}

/// A number between −1 and 1 for each index, the same on every machine.
fn noise(i: usize) -> f64 {
    let mut z = (i as u64).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
}

const TRUTH: [f64; 3] = [2.0, 0.5, 0.3];
const START: [f64; 3] = [2.5, 0.8, 0.1];

fn decay_data(n: usize) -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..n).map(|i| 10.0 * i as f64 / n as f64).collect();
    let [a, b, c] = TRUTH;
    let y = x.iter().enumerate().map(|(i, x)| a * (-b * x).exp() + c + 0.1 * noise(i)).collect();
    (x, y)
}

/// Every size around those of warps, blocks and the whole grid.
pub fn sizes(place: Place<'_>) {
    for n in [3, 4, 31, 32, 33, 127, 128, 129, 255, 256, 257, 1000, 4097, 20_000] {
        let (x, y) = decay_data(n);
        compare(&format!("{n} points"), &decay(), &Data::new(&x, &y).unwrap(), &START, place);
    }
}

/// Sigma in all its meanings, masks, missing values and single precision.
pub fn data_forms(place: Place<'_>) {
    let (x, y) = decay_data(700);
    let sigma: Vec<f64> = (0..700).map(|i| 0.05 + 0.1 * noise(3 * i).abs()).collect();
    let data = Data::new(&x, &y).unwrap();
    for (what, sigma) in [
        ("absolute", Sigma::Absolute(&sigma)),
        ("relative", Sigma::Relative(&sigma)),
        ("constant", Sigma::Constant(0.1)),
    ] {
        compare(what, &decay(), &data.clone().sigma(sigma).unwrap(), &START, place);
    }
    let mask: Vec<bool> = (0..700).map(|i| i % 7 != 3).collect();
    let masked = data.clone().sigma(Sigma::Absolute(&sigma)).unwrap().mask(&mask).unwrap();
    assert_eq!(compare("mask", &decay(), &masked, &START, place).omitted(), 100);
    let mut holes = y.clone();
    (0..700).step_by(50).for_each(|i| holes[i] = f64::NAN);
    let holes = Data::new(&x, &holes).unwrap().missing(Missing::Omit);
    assert_eq!(compare("missing", &decay(), &holes, &START, place).omitted(), 14);
    let narrow = |v: &[f64]| v.iter().map(|&v| v as f32).collect::<Vec<f32>>();
    let (x32, y32) = (narrow(&x), narrow(&y));
    compare("f32 data", &decay(), &Data::new(&x32, &y32).unwrap(), &START, place);
    compare("f32 x", &decay(), &Data::new(&x32, &y).unwrap(), &START, place);
    // Whole numbers of any width, as x and as y, are the same points in f64.
    let places: Vec<u8> = (0..x.len()).map(|i| (i % 251) as u8).collect();
    let counts = |sign: f64| -> Vec<f64> {
        let shift = if sign < 0.0 { 60.0 } else { 0.0 };
        places
            .iter()
            .map(|&i| (100.0 * (-0.02 * f64::from(i)).exp() + 7.0 - shift).round())
            .collect()
    };
    let start = [90.0, 0.03, 5.0];
    let (plus, minus) = (counts(1.0), counts(-1.0));
    fn whole<T>(y: &[f64], to: impl Fn(f64) -> T) -> Vec<T> {
        y.iter().map(|&y| to(y)).collect()
    }
    let in_f64: Vec<f64> = places.iter().map(|&x| f64::from(x)).collect();
    let reference = |y: &[f64]| place(decay()).fit(Data::new(&in_f64, y).unwrap(), start).unwrap();
    let same = |fit: Fit, reference: &Fit| assert_eq!(fit.params(), reference.params());
    let (of_plus, of_minus) = (reference(&plus), reference(&minus));
    let fit = |data: Data<'_>| place(decay()).fit(data, start).unwrap();
    same(fit(Data::new(&places, &whole(&plus, |y| y as u8)).unwrap()), &of_plus);
    same(fit(Data::new(&places, &whole(&plus, |y| y as u16)).unwrap()), &of_plus);
    same(fit(Data::new(&places, &whole(&plus, |y| y as u32)).unwrap()), &of_plus);
    same(fit(Data::new(&places, &whole(&minus, |y| y as i16)).unwrap()), &of_minus);
    same(fit(Data::new(&places, &whole(&minus, |y| y as i32)).unwrap()), &of_minus);
}

/// All losses, with outliers that make a difference.
pub fn losses(place: Place<'_>) {
    let (x, mut y) = decay_data(500);
    (0..500).step_by(17).for_each(|i| y[i] += 3.0);
    let data = Data::new(&x, &y).unwrap();
    for loss in robust(0.5) {
        compare(&format!("{loss:?}"), &decay().loss(loss), &data, &START, place);
        let far = [300.0, 0.5, 50.0];
        compare(&format!("{loss:?} from far"), &decay().loss(loss), &data, &far, place);
    }
}

/// Bounds that hold and bounds that do not, fixed parameters.
pub fn constraints(place: Place<'_>) {
    let (x, y) = decay_data(300);
    let data = Data::new(&x, &y).unwrap();
    let named = || decay().names(["amplitude", "rate", "offset"]);
    let free = named().bound("rate", 0.0..=10.0);
    compare("bounds apart from the solution", &free, &data, &START, place);
    let active = named().bound("rate", 0.7..=10.0);
    let fit = compare("an active bound", &active, &data, &START, place);
    assert!(fit.params()[1] == 0.7, "{:?}", fit.params());
    let two = named().bound("rate", 0.7..=10.0).bound("offset", 0.0..=0.2);
    compare("two active bounds", &two, &data, &[2.5, 0.8, 0.1], place);
    compare("a fixed parameter", &named().fix("offset"), &data, &[2.5, 0.8, 0.3], place);
}

/// Several columns; from one parameter to more than a device's own steps take.
pub fn shapes(place: Place<'_>) {
    let side = 20;
    let index: Vec<(usize, usize)> = (0..side * side).map(|i| (i % side, i / side)).collect();
    let xs: Vec<f64> = index.iter().map(|i| i.0 as f64).collect();
    let ys: Vec<f64> = index.iter().map(|i| i.1 as f64).collect();
    let spot = CurveFit::multivariate(|[x, y], [a, x0, y0, s, b]| {
        a * (-((x - x0).powi(2) + (y - y0).powi(2)) / (2.0 * s.powi(2))).exp() + b
    });
    let truth = [9.0, 8.5, 11.0, 2.5, 1.0];
    let program = spot.program().unwrap();
    let z: Vec<f64> = (0..side * side)
        .map(|i| program.evaluate(&[xs[i], ys[i]], &truth) + 0.1 * noise(i))
        .collect();
    let data = Data::new([&xs, &ys], &z).unwrap();
    compare("a spot", &spot, &data, &[7.0, 9.5, 10.0, 3.0, 0.5], place);

    for peaks in [1, 2, 3, 5, 7, 10, 11, 14] {
        let p = 3 * peaks + 1;
        let model = CurveFit::dynamic(p, move |x, p| {
            (0..peaks).fold(p[3 * peaks] + 0.0 * x, |sum, g| {
                let (height, centre, width) = (p[3 * g], p[3 * g + 1], p[3 * g + 2]);
                sum + height * (-((x - centre) / width).powi(2)).exp()
            })
        });
        let truth: Vec<f64> = (0..p)
            .map(|k| match k {
                k if k == 3 * peaks => 0.2,
                k if k % 3 == 0 => 1.0 + 0.3 * noise(k),
                k if k % 3 == 1 => 1.5 * (k / 3) as f64 + 1.0,
                _ => 0.5,
            })
            .collect();
        let start: Vec<f64> =
            truth.iter().enumerate().map(|(k, t)| t * (1.0 + 0.05 * noise(k + 77))).collect();
        let n = 60 * peaks + 40;
        let x: Vec<f64> =
            (0..n).map(|i| (1.5 * peaks as f64 + 1.0) * i as f64 / n as f64).collect();
        let program = model.program().unwrap();
        let y: Vec<f64> = x
            .iter()
            .enumerate()
            .map(|(i, &x)| program.evaluate(&[x], &truth) + 0.02 * noise(i))
            .collect();
        compare(&format!("{p} parameters"), &model, &Data::new(&x, &y).unwrap(), &start, place);
    }
}

/// Models that end badly end the same way everywhere.
pub fn bad_ends(place: Place<'_>) {
    let (x, y) = decay_data(200);
    let data = || Data::new(&x, &y).unwrap();
    let redundant = CurveFit::new(|x, [a, b]| a * b * x);
    let fit = compare("a redundant parameter", &redundant, &data(), &[1.0, 1.0], place);
    assert_eq!(fit.rank(), 1);
    let flat = CurveFit::new(|x, [a, c]| (-((x - c) / 0.01).powi(2)).exp() * a);
    compare("a peak that left the data", &flat, &data(), &[1.0, 1e6], place);
    let line = CurveFit::new(|x, [a, b]| a * x + b);
    let exact: Vec<f64> = x.iter().map(|x| 3.0 * x - 1.0).collect();
    compare("exact data", &line, &Data::new(&x, &exact).unwrap(), &[1.0, 1.0], place);
    let limited = decay().options(Options::default().max_evaluations(2));
    let fit = compare("a limit", &limited, &data(), &START, place);
    assert_eq!(fit.termination(), Termination::MaxEvaluations);

    let wall = CurveFit::new(|x, [a, b]| a * (x - b).ln());
    let error = |model: CurveFit| model.fit(data(), [1.0, 5.0]).unwrap_err();
    let (cpu, device) = (error(wall.clone().backend(Backend::Cpu)), error(place(wall)));
    assert!(matches!(cpu, Error::ModelNonFiniteAtStart { .. }), "{cpu}");
    assert_eq!(cpu.to_string(), device.to_string());

    let wild: Vec<f64> = y.iter().map(|y| y * 1e200).collect();
    let start = [START[0] * 1e200, START[1], START[2] * 1e200];
    compare("y of 1e200", &decay(), &Data::new(&x, &wild).unwrap(), &start, place);
    let tiny: Vec<f64> = y.iter().map(|y| y * 1e-200).collect();
    let start = [START[0] * 1e-200, START[1], START[2] * 1e-200];
    compare("y of 1e-200", &decay(), &Data::new(&x, &tiny).unwrap(), &start, place);
    let epochs: Vec<f64> = (0..200).map(|i| 1.7e9 + f64::from(i)).collect();
    let slope: Vec<f64> = (0..200).map(|i| 3.0 * i as f64 + 0.1 * noise(i)).collect();
    // Products of 5e9 are rounded to 1e-6, a hundred-thousandth of the noise, or not at all if fused.
    compare_to(1e-6, "epochs", &line, &Data::new(&epochs, &slope).unwrap(), &[0.0, 0.0], place);
}

/// Mixed precision ends at the digits of f64, also from data that f32 cannot hold.
pub fn mixed_precision(place: Place<'_>) {
    let (x, y) = decay_data(2000);
    let mixed = |model: CurveFit| model.precision(Precision::Mixed);
    let same = |what: &str, model: CurveFit, data: &Data<'_>, start: &[f64]| {
        let cpu = model.clone().backend(Backend::Cpu).fit(data.clone(), start).unwrap();
        let device = mixed(place(model)).fit(data.clone(), start).unwrap();
        assert_eq!(device.stats().processor, Processor::Cuda, "{what}: {}", device.stats());
        assert!(device.converged() == cpu.converged(), "{what}: {}", device.termination());
        for ((d, c), e) in device.params().iter().zip(cpu.params()).zip(cpu.std_errors()) {
            assert!((d - c).abs() <= 1e-8 * c.abs().max(e), "{what}: {d:e} against {c:e}");
        }
        for (d, c) in device.std_errors().iter().zip(cpu.std_errors()) {
            let same = (d.is_nan() && c.is_nan()) || (d - c).abs() <= 1e-6 * c;
            assert!(same, "{what}: error {d:e} against {c:e}");
        }
    };
    same("decay", decay(), &Data::new(&x, &y).unwrap(), &START);
    let robust = decay().loss(Loss::Tukey { scale: 0.5 });
    same("Tukey", robust, &Data::new(&x, &y).unwrap(), &START);
    let bounded = decay().names(["a", "b", "c"]).bound("b", 0.7..=9.0);
    same("a bound", bounded, &Data::new(&x, &y).unwrap(), &START);
    let huge: Vec<f64> = y.iter().map(|y| y * 1e60).collect();
    let start = [START[0] * 1e60, START[1], START[2] * 1e60];
    same("y beyond f32", decay(), &Data::new(&x, &huge).unwrap(), &start);
    let baseline: Vec<f64> = y.iter().map(|y| y + 1e8).collect();
    let start = [START[0], START[1], 1e8];
    same("a baseline of 1e8", decay(), &Data::new(&x, &baseline).unwrap(), &start);
}

/// The same input gives the same bits, from any thread.
pub fn repeats(place: Place<'_>) {
    let (x, y) = decay_data(5000);
    let bits = |fit: Fit| fit.params().iter().map(|p| p.to_bits()).collect::<Vec<u64>>();
    let model = place(decay());
    let once = || bits(model.fit(Data::new(&x, &y).unwrap(), START).unwrap());
    let first = once();
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..4).map(|_| scope.spawn(|| (0..3).map(|_| once()).collect::<Vec<_>>())).collect();
        for thread in threads {
            assert!(thread.join().unwrap().iter().all(|bits| *bits == first));
        }
    });
}

/// A NIST run: digits of the parameters and of the errors, and evaluations.
struct Run {
    parameters: f64,
    errors: f64,
    evaluations: usize,
}

fn nist_run(problem: &Problem, start: &[f64], what: &str, place: Place<'_>) -> Run {
    let model = CurveFit::parse(&problem.model, &problem.variables).expect(&problem.name);
    let position = |name: &String| problem.parameters.iter().position(|p| p == name).unwrap();
    let order: Vec<usize> = model.parameters().iter().map(position).collect();
    let begin: Vec<f64> = order.iter().map(|&i| start[i]).collect();
    let columns: Vec<&[f64]> = problem.predictors.iter().map(Vec::as_slice).collect();
    let data = Data::new(columns, &problem.y).unwrap();
    let fit = place(model).fit(data, begin).expect(&problem.name);
    assert_eq!(fit.stats().processor, Processor::Cuda, "{what}: {}", fit.stats());
    assert!(fit.converged(), "{what}: {}", fit.termination());
    let least = |found: &[f64], certified: &[f64]| {
        let pairs = order.iter().zip(found);
        pairs.map(|(&i, &q)| digits(q, certified[i])).fold(f64::INFINITY, f64::min)
    };
    Run {
        parameters: least(fit.params(), &problem.certified),
        errors: least(&fit.std_errors(), &problem.sd),
        evaluations: fit.evaluations(),
    }
}

/// NIST's 54 runs, with the digits that the CPU must reach.
pub fn nist(place: Place<'_>) {
    let mut runs = Vec::new();
    println!("problem   start  params  errors  evaluations");
    for problem in problems() {
        for (i, start) in [&problem.start1, &problem.start2].into_iter().enumerate() {
            let what = format!("{} from start {}", problem.name, i + 1);
            let run = nist_run(&problem, start, &what, place);
            println!(
                "{:<9} {:>5}  {:>6.1}  {:>6.1}  {:>11}",
                problem.name,
                i + 1,
                run.parameters,
                run.errors,
                run.evaluations
            );
            runs.push(run);
        }
    }
    let mut evaluations: Vec<usize> = runs.iter().map(|r| r.evaluations).collect();
    evaluations.sort_unstable();
    let to_six = |of: fn(&Run) -> f64| runs.iter().filter(|r| of(r) >= 6.0).count();
    let (parameters, errors) = (to_six(|r| r.parameters), to_six(|r| r.errors));
    println!(
        "{} runs, parameters to 6 digits {parameters}, errors to 6 digits {errors}, median evaluations {}",
        runs.len(),
        evaluations[runs.len() / 2]
    );
    assert_eq!((runs.len(), parameters), (54, 54));
    assert!(errors >= 52);
    assert!(evaluations[runs.len() / 2] <= 13);
}

/// From starts of which some have no finite value: the same optima, reached as often.
pub fn many_starts(place: Place<'_>) {
    let x: Vec<f64> = (0..300).map(|i| 0.03 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * (3.1 * x + 0.4).sin() + 1.0).collect();
    let y: Vec<f64> = y.iter().enumerate().map(|(i, y)| y + 0.1 * noise(i)).collect();
    let model = CurveFit::new(|x, [a, b, w, c]| a * (w * x).sin() + b * (w * x).cos() + c.sqrt())
        .bounds([(-5.0, 5.0), (-5.0, 5.0), (0.5, 6.0), (-1.0, 9.0)]);
    let asked = MultiStart::new(32);
    let run = |model: &CurveFit| {
        model.multi_start(Data::new(&x, &y).unwrap(), [1.0, 1.0, 2.0, 1.0], &asked).unwrap()
    };
    let (cpu, device) = (run(&model.clone().backend(Backend::Cpu)), run(&place(model)));
    assert_eq!(device.best().stats().processor, Processor::Cuda);
    let failed = |optima: &dualfit::Optima| {
        optima.trials().iter().map(|trial| trial.error().is_some()).collect::<Vec<_>>()
    };
    assert_eq!(failed(&device), failed(&cpu));
    assert!(failed(&cpu).contains(&true) && cpu.distinct().len() > 3);
    // A start between two basins may end in either, by the rounding of its first steps. What several starts reach
    // on one is found on the other.
    let close = |(d, c): (&f64, &f64)| (d - c).abs() <= 1e-4 * c.abs();
    for (these, others) in [(&device, &cpu), (&cpu, &device)] {
        for optimum in these.distinct().iter().filter(|optimum| optimum.hits() > 2) {
            let is_it = |other: &&dualfit::result::Optimum| {
                (optimum.cost() - other.cost()).abs() <= 1e-9 * other.cost()
                    && optimum.params().iter().zip(other.params()).all(close)
            };
            let other = others.distinct().iter().find(is_it);
            let other = other.unwrap_or_else(|| panic!("{optimum:?}\n{device}\n{cpu}"));
            assert!(optimum.hits().abs_diff(other.hits()) <= 2, "{device}\n{cpu}");
        }
    }
    let pairs = device.best().params().iter().zip(cpu.best().params());
    pairs.for_each(|(d, c)| assert!((d - c).abs() <= 1e-8 * c.abs(), "{d} {c}"));
}
