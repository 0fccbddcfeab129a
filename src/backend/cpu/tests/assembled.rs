//! Tests that machine code computes the same bits as the interpreter, for all kinds of weights, lengths and numbers of
//! fits.

use super::{PARAMETERS, Sums, config, kernels, tree};
use crate::backend::cpu::assembly::Assembled;
use crate::backend::cpu::code::Code;
use crate::backend::cpu::kernels::Kernels;
use crate::backend::cpu::prepared::PreparedForm;
use crate::backend::cpu::simd_batch::{Manner, SimdBatch};
use crate::backend::cpu::{Cpu, Prepared};
use crate::data::Data;
use crate::data::loss::{Estimator, Loss};
use crate::data::points::Points;
use crate::data::values::Values;
use crate::model::program::Program;
use crate::normal::Normal;
use crate::normal::abreast::ABREAST;
use crate::solver::evaluator::Evaluator;
use crate::{Sigma, Var};
use proptest::prelude::*;

pub(super) type Model = fn(Var, &[Var]) -> Var;

/// Models of few and many parameters, with and without functions that refuse points.
pub(super) const MODELS: [(&str, usize, Model); 6] = [
    ("a decay", 3, |x, p| p[0] * (-p[1] * x).exp() + p[2]),
    ("a line", 2, |x, p| p[0] * x + p[1]),
    ("a damped sine", 3, |x, p| p[0] * (-p[1] * x).exp() * (p[2] * x * 1e9 + x).sin()),
    ("a rational function", 6, |x, p| {
        (p[0] + p[1] * x + p[2] * x * x) / (p[3] * x + p[4] * x * x + p[5].exp())
    }),
    ("a power", 3, |x, p| p[0] * (x + 0.1).powf(p[1]) + p[2].atan2(x)),
    ("branches", 3, |x, p| {
        x.lt(p[1]).select((x * p[0]).tanh().max(p[2]), (x + p[2]).ln().abs().min(p[0] + x.sqrt()))
    }),
];

fn prepared(parameters: usize, model: Model) -> Prepared {
    let free: Vec<usize> = (0..parameters).collect();
    let value = Program::trace(1, parameters, |x, p| model(x[0], p)).expect("a trace");
    Prepared::traced(value.with_partials(&free).expect("a replay").into(), &free)
}

fn parameters(count: usize) -> Vec<f64> {
    let all = PARAMETERS.into_iter().cycle().take(count).enumerate();
    all.map(|(i, p)| p + 0.1 * i as f64).collect()
}

fn codes(prepared: &Prepared) -> Vec<&Assembled> {
    let PreparedForm::Traced { collected, plain } = &prepared.kind else { return Vec::new() };
    vec![collected, plain.get()]
}

fn routines(prepared: &Prepared) -> usize {
    codes(prepared).iter().map(|code| code.routines()).sum()
}

/// Returns the instruction sets with machine code.
pub(super) fn sets() -> impl Iterator<Item = &'static Kernels> {
    kernels::available().into_iter().filter(|kernels| kernels.vectors.is_some())
}

/// Maximum number of points for which two passes do not trigger the generation of machine code.
const MANY: usize = 1 << 15;

/// Returns the sums of a model over points, computed by machine code if `often`, else by the interpreter. Also returns
/// the number of generated routines.
pub(super) fn normal(
    points: &Points<'_>,
    loss: Loss,
    (count, model): (usize, Model),
    kernels: &'static Kernels,
    often: bool,
) -> (Vec<u64>, usize) {
    let prepared = prepared(count, model);
    let mut kernels = kernels;
    if often {
        codes(&prepared).iter().for_each(|code| code.be_worthwhile());
    } else if points.len() > MANY {
        // This many points would trigger machine code. Kernels without machine code compute the same bits.
        let available = kernels::available();
        kernels = available.into_iter().find(|set| set.vectors.is_none()).unwrap_or(kernels);
    }
    let mut cpu = Cpu::new(&prepared, points, loss, &[]).with_kernels(kernels);
    let mut normal = Normal::zero(count);
    for pass in 0..2 {
        // On one thread, machine code sums many pieces per call.
        if pass == 1 {
            cpu = cpu.on_one_thread();
        }
        let params = parameters(count);
        cpu.normal(&params, &vec![1.0; count], &mut normal).expect("normal equations");
    }
    let numbers = normal.products.iter().chain([&normal.cost]);
    (numbers.map(|v| v.to_bits()).collect(), routines(&prepared))
}

#[test]
fn sums_have_the_bits_of_the_interpreter() {
    for n in [1, 7, 8, 9, 15, 16, 511, 512, 513, 4095, 4096, 4097, 4103, 9001, 131_072, 135_177] {
        let data = Sums::new(n);
        let single = [&data.x, &data.y].map(|v| v.iter().map(|&v| v as f32).collect::<Vec<f32>>());
        for (kind, data) in data.kinds(&single).iter().enumerate() {
            let points = Points::validate(data).expect("points");
            for (name, count, model) in MODELS {
                for kernels in sets() {
                    let linear = Loss::Linear;
                    let (expected, none) = normal(&points, linear, (count, model), kernels, false);
                    let (found, made) = normal(&points, linear, (count, model), kernels, true);
                    assert_eq!(none, 0);
                    assert!(made > 0, "{}: no machine code for {name}", kernels.name);
                    let set = kernels.name;
                    assert_eq!(found, expected, "{set}, {n} points, kind {kind}: {name}");
                }
            }
        }
    }
}

#[test]
fn arrays_of_all_number_types_have_the_bits_of_the_interpreter() {
    for n in [7, 519, 9001] {
        let data = Sums::new(n);
        let single: Vec<f32> = data.x.iter().map(|&x| x as f32).collect();
        let level = |i: usize| i as i64 * 7919 % 251;
        let bytes: Vec<u8> = (0..n).map(|i| level(i) as u8).collect();
        let words: Vec<u16> = (0..n).map(|i| (level(i) * 257) as u16).collect();
        let signed: Vec<i16> = (0..n).map(|i| (level(i) * 257 - 32_768) as i16).collect();
        let wide: Vec<u32> = (0..n).map(|i| (level(i) << 24) as u32).collect();
        let long: Vec<i32> = (0..n).map(|i| ((level(i) << 24) - (1 << 31)) as i32).collect();
        let xs: [Values<'_>; 3] = [(&data.x).into(), (&single).into(), (&bytes).into()];
        let ys: [Values<'_>; 7] = [
            (&data.y).into(),
            (&single).into(),
            (&bytes).into(),
            (&words).into(),
            (&signed).into(),
            (&wide).into(),
            (&long).into(),
        ];
        for (x, y) in xs.iter().flat_map(|x| ys.iter().map(move |y| (*x, *y))) {
            let plain = Data::new([x], y).expect("data");
            let weighted = plain.clone().sigma(Sigma::Relative(&data.sigma)).expect("sigma");
            for data in [plain, weighted] {
                let points = Points::validate(&data).expect("points");
                let (_, count, model) = MODELS[0];
                for kernels in sets() {
                    let linear = Loss::Linear;
                    let (expected, none) = normal(&points, linear, (count, model), kernels, false);
                    let (found, made) = normal(&points, linear, (count, model), kernels, true);
                    assert_eq!((none, made > 0), (0, true), "{}: {n} points", kernels.name);
                    assert_eq!(found, expected, "{}, {n} points: {x:?}, {y:?}", kernels.name);
                }
            }
        }
    }
}

/// Returns the sums of counts, computed by machine code if `often`, else by the interpreter, and the number of routines.
fn of_counts(
    data: &Data<'_>,
    model: (usize, Model),
    kernels: &'static Kernels,
    often: bool,
) -> (Vec<u64>, usize) {
    let mut points = Points::validate(data).expect("points");
    points.count_events().expect("counts");
    normal(&points, Loss::Linear, model, kernels, often)
}

#[test]
fn losses_and_counts_have_the_bits_of_the_interpreter() {
    for n in [1, 7, 8, 9, 511, 513, 4096, 4103, 9001, 40_003] {
        let data = Sums::new(n);
        let single = [&data.x, &data.y].map(|v| v.iter().map(|&v| v as f32).collect::<Vec<f32>>());
        let counts: Vec<f64> = data.y.iter().map(|y| (9.0 * y - 6.0).max(0.0).round()).collect();
        let counted = Data::new(&data.x, &counts).expect("data");
        let integers: Vec<u16> = counts.iter().map(|&y| y as u16).collect();
        let integers = Data::new(&single[0], &integers).expect("data");
        for kernels in sets() {
            for (kind, data) in data.kinds(&single).iter().enumerate() {
                let points = Points::validate(data).expect("points");
                for loss in Loss::robust(0.3) {
                    for (name, count, model) in MODELS {
                        let model = (count, model);
                        let (expected, none) = normal(&points, loss, model, kernels, false);
                        let (found, made) = normal(&points, loss, model, kernels, true);
                        let of = format!("{}, {n} points, kind {kind}: {name}", kernels.name);
                        assert_eq!(found, expected, "{of}, {loss:?}");
                        assert!(none == 0 && made > 0, "{of}, {loss:?}: {made}");
                    }
                }
            }
            let masked = counted.clone().mask(&data.mask).expect("a mask");
            for (kind, counted) in [&counted, &integers, &masked].into_iter().enumerate() {
                for (name, count, model) in MODELS {
                    let (expected, _) = of_counts(counted, (count, model), kernels, false);
                    let (found, made) = of_counts(counted, (count, model), kernels, true);
                    // The payload of a NaN, for a negative expectation, is not specified.
                    let known = |bits: &[u64]| -> Vec<Option<u64>> {
                        let known =
                            bits.iter().map(|&b| Some(b).filter(|&b| !f64::from_bits(b).is_nan()));
                        known.collect()
                    };
                    let of = format!("{}, {n} points, counts {kind}: {name}", kernels.name);
                    assert_eq!(known(&found), known(&expected), "{of}");
                    assert!(made > 0, "{of}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn sums_of_random_programs_have_the_bits_of_the_interpreter(
        tree in tree::tree(5, -3.0..3.0),
        params in [-2.0..2.0, -2.0..2.0, -2.0..2.0_f64],
        x in proptest::collection::vec([-3.0..3.0, -3.0..3.0, -1.0..9.0_f64], 8..200),
        kind in 0..5_usize,
        estimate in 0..7_usize,
        every in 2..20_usize,
    ) {
        let columns: [Vec<f64>; 3] = std::array::from_fn(|c| x.iter().map(|x| x[c]).collect());
        let single = columns.each_ref().map(|c| c.iter().map(|&v| v as f32).collect::<Vec<f32>>());
        let counts: Vec<u16> = columns[2].iter().map(|y| y.max(0.0) as u16).collect();
        let sigma: Vec<f64> = columns[0].iter().map(|x| x.abs() + 0.1).collect();
        let mask: Vec<bool> = (0..x.len()).map(|i| i == 0 || i % every != 1).collect();
        let counted = estimate == 0;
        let wide = [&columns[0], &columns[1]].map(|c| &c[..]);
        let narrow = [&single[0], &single[1]].map(|c| &c[..]);
        let data = match (kind, counted) {
            (0, _) => Data::new(narrow, &single[2]),
            (_, true) => Data::new(wide, &counts),
            (_, false) => Data::new(wide, &columns[2]),
        };
        let mut data = data.expect("data");
        if (kind == 1 || kind == 2) && !counted {
            data = data.sigma(Sigma::Absolute(&sigma)).expect("sigma");
        }
        if kind == 2 || kind == 3 {
            data = data.mask(&mask).expect("a mask");
        }
        let mut points = Points::validate(&data).expect("points");
        if counted && points.count_events().is_err() {
            return Ok(());
        }
        let loss = [Loss::Linear, Loss::Linear].into_iter().chain(Loss::robust(0.8));
        let loss = loss.into_iter().nth(estimate).expect("a loss");
        let program = super::program(&tree);
        for kernels in sets() {
            let [found, expected] = [true, false].map(|often| {
                let prepared = Prepared::traced(program.clone().into(), &[0, 1, 2]);
                if often {
                    codes(&prepared).iter().for_each(|code| code.be_worthwhile());
                }
                let mut cpu = Cpu::new(&prepared, &points, loss, &[]).with_kernels(kernels);
                let mut normal = Normal::zero(3);
                cpu.normal(&params, &[1.0; 3], &mut normal).expect("normal equations");
                let bits = |v: &f64| if v.is_nan() { u64::MAX } else { v.to_bits() };
                normal.products.iter().chain([&normal.cost]).map(bits).collect::<Vec<u64>>()
            });
            prop_assert_eq!(&found, &expected, "{}, {:?}: {}", kernels.name, loss, program);
        }
    }
}

/// Tests an angle outside the range of the fast reduction, at both ends and in the middle of a run of points.
#[test]
fn what_machine_code_refuses_the_interpreter_does() {
    let model: Model = |x, p| p[0] * (p[1] * x).sin() + p[2] * (p[1] * x).cos();
    let few = 3 * 4096 + 5;
    let many = 67 * 4096 + 5;
    let places = [0, 7, 4095, 4096, 5000, 8191, few - 6, few - 1].map(|at| (few, at));
    let far = [7, 5000, 131_071, 131_072, 140_000, 262_143, many - 6].map(|at| (many, at));
    for (n, at) in places.into_iter().chain(far) {
        let mut x: Vec<f64> = (0..n).map(|i| 1e-3 * i as f64).collect();
        x[at] = 3e12;
        let y = vec![0.5; n];
        let data = Data::new(&x, &y).expect("data");
        let points = Points::validate(&data).expect("points");
        for kernels in sets() {
            let (expected, _) = normal(&points, Loss::Linear, (3, model), kernels, false);
            let (found, made) = normal(&points, Loss::Linear, (3, model), kernels, true);
            assert_eq!((found, made > 0), (expected, true), "{}: {at}", kernels.name);
        }
    }
}

/// Compares costs that are computed from products with the functions of each point, from residuals far below the scale to
/// residuals whose products overflow, so that the interpreter adds the logarithms of single points.
#[test]
fn costs_of_products_are_sums_over_points() {
    let model: Model = |x, p| p[0] * x + p[1];
    let [slope, constant] = parameters(2)[..] else { return };
    let cost_of = |loss: Loss, u: f64| match loss {
        Loss::Cauchy { .. } => (u * u).ln_1p(),
        _ => (u * u).atan(),
    };
    for n in [1, 7, 8, 127, 130, 513, 5003] {
        let x: Vec<f64> = (0..n).map(|i| 1e-3 * i as f64).collect();
        let residuals: Vec<f64> = (0..n).map(|i| [0.0, 1.0, -0.3, 1e-6][i * 7919 % 4]).collect();
        for size in [1.0, 1e9, 1e15] {
            let point = |(x, r): (&f64, &f64)| slope * x + constant + r * size;
            let y: Vec<f64> = x.iter().zip(&residuals).map(point).collect();
            let data = Data::new(&x, &y).expect("data");
            let points = Points::validate(&data).expect("points");
            for scale in [1e-40, 1e-20, 1e-9, 1e-4, 0.3, 1.0, 3.0, 1e4, 1e9] {
                for loss in [Loss::Cauchy { scale }, Loss::Arctan { scale }] {
                    let cost = |(x, y): (&f64, &f64)| {
                        let r = (slope * x + constant - y) * points.units.row;
                        0.5 * scale * scale * cost_of(loss, r / scale)
                    };
                    let exact: f64 = x.iter().zip(&y).map(cost).sum();
                    for kernels in sets() {
                        let (expected, _) = normal(&points, loss, (2, model), kernels, false);
                        let (found, made) = normal(&points, loss, (2, model), kernels, true);
                        let of = format!("{}, {n} points, {:?}", kernels.name, loss);
                        assert_eq!((&found, made > 0), (&expected, true), "{of}");
                        let cost = found.last().map_or(f64::NAN, |bits| f64::from_bits(*bits));
                        assert!((cost - exact).abs() <= 1e-13 * exact, "{of}: {cost:e} {exact:e}");
                    }
                }
            }
        }
    }
}

/// Tests products that overflow at a few points only, at both ends and in the middle of a run of points.
#[test]
fn products_that_overflow_are_added_point_by_point() {
    let model: Model = |x, p| p[0] * x + p[1];
    let n = 35 * 4096 + 5;
    let x: Vec<f64> = (0..n).map(|i| 1e-5 * i as f64).collect();
    for at in [0, 128, 500, 4096, 5000, 131_072 - 128, 131_072, n - 133] {
        let mut y: Vec<f64> = x.iter().map(|x| 0.5 * x).collect();
        y[at..at + 128].iter_mut().for_each(|y| *y += 1e12);
        let data = Data::new(&x, &y).expect("data");
        let points = Points::validate(&data).expect("points");
        for kernels in sets() {
            let loss = Loss::Cauchy { scale: 1e-9 };
            let (expected, _) = normal(&points, loss, (2, model), kernels, false);
            let (found, made) = normal(&points, loss, (2, model), kernels, true);
            assert_eq!((found, made > 0), (expected, true), "{}: {at}", kernels.name);
        }
    }
}

/// Tests models with too many parameters for sums in one loop, and with more live numbers than registers.
#[test]
fn many_parameters_have_the_bits_of_the_interpreter() {
    let data = Sums::new(1003);
    let data = Data::new(&data.x, &data.y).expect("data");
    let points = Points::validate(&data).expect("points");
    let model: Model = |x, p| {
        let peaks = p.chunks(3).map(|p| p[0] * (-(x - p[1]) * (x - p[1]) * p[2].abs()).exp());
        peaks.fold(Var::from(0.1), |sum, peak| sum + peak)
    };
    for count in [6, 9, 15, 30, 45] {
        for kernels in sets() {
            let (expected, _) = normal(&points, Loss::Linear, (count, model), kernels, false);
            let (found, made) = normal(&points, Loss::Linear, (count, model), kernels, true);
            assert_eq!(found, expected, "{}: {count} parameters", kernels.name);
            assert!(made > 0, "{}: {count} parameters", kernels.name);
        }
    }
}

/// Returns the sums of seven of eight fits in lanes, since one lane is not requested, and the number of generated
/// routines.
fn side_by_side(
    lanes: &[Sums],
    n: usize,
    (weighted, loss, estimator): (bool, Loss, Estimator),
    (count, model): (usize, Model),
    often: bool,
) -> (Vec<(bool, Vec<u64>)>, usize) {
    const LEFT_OUT: usize = 5;
    let prepared = prepared(count, model);
    if often {
        codes(&prepared).iter().for_each(|code| code.be_worthwhile());
    }
    let counts = estimator == Estimator::Poisson;
    let manner = Manner { loss, estimator, shared: false, weighted };
    let mut batch = SimdBatch::new(&prepared, 1, manner).expect("a traced model");
    for (lane, sums) in lanes.iter().enumerate() {
        let n = if weighted { n + 3 * lane } else { n };
        let rounded: Vec<f64> = sums.y.iter().map(|y| (9.0 * y - 6.0).max(0.0).round()).collect();
        let y = if counts { &rounded } else { &sums.y };
        let mut data = Data::new(&sums.x[..n], &y[..n]).expect("data");
        if weighted && !counts {
            data = data.sigma(Sigma::Absolute(&sums.sigma[..n])).expect("sigma");
        }
        let mut points = Points::validate(&data).expect("points");
        if counts {
            points.count_events().expect("counts");
        }
        batch.load(lane, &points);
    }
    let of_lane = |lane: usize| parameters(count).iter().map(|p| p + 0.01 * lane as f64).collect();
    let params: Vec<Vec<f64>> = (0..ABREAST).map(of_lane).collect();
    batch.evaluate(std::array::from_fn(|lane| (lane != LEFT_OUT).then(|| &params[lane][..])));
    let read = |lane: usize| {
        let mut normal = Normal::zero(count);
        let known = batch.read(lane, &mut normal);
        let numbers = normal.products.iter().chain([&normal.cost]);
        // The payload of a NaN is not specified.
        let bits = |v: &f64| if v.is_nan() { u64::MAX } else { v.to_bits() };
        (known, numbers.map(bits).collect::<Vec<u64>>())
    };
    let found = (0..ABREAST).filter(|&lane| lane != LEFT_OUT).map(read).collect();
    (found, routines(&prepared))
}

#[test]
fn fits_side_by_side_have_the_bits_of_the_interpreter() {
    let wanted = usize::from(kernels::detect().vectors.is_some());
    for n in [1, 5, 64, 65, 225] {
        let lanes: Vec<Sums> = (0..ABREAST).map(|lane| Sums::new(n + 3 * lane)).collect();
        let losses = [Loss::Linear, Loss::Cauchy { scale: 1e-21 }].into_iter();
        let losses = losses.chain(Loss::robust(0.3));
        let squares = losses.map(|loss| (loss, Estimator::LeastSquares));
        for (loss, estimator) in squares.chain([(Loss::Linear, Estimator::Poisson)]) {
            for weighted in [false, true] {
                let manner = (weighted, loss, estimator);
                for (name, count, model) in MODELS {
                    let (expected, none) = side_by_side(&lanes, n, manner, (count, model), false);
                    let (found, made) = side_by_side(&lanes, n, manner, (count, model), true);
                    // If angles are refused, the remaining points also need the routine for outputs.
                    assert!(none == 0 && made >= wanted, "{name}, {manner:?}: {made}");
                    assert_eq!(found, expected, "{name}, {n} points, {manner:?}");
                }
            }
        }
    }
}

/// Lists the functions without machine code, to detect a function that loses its machine code.
#[test]
fn functions_without_machine_code_are_these() {
    let Some(kernels) = sets().next() else { return };
    let lacks = |tree: tree::Tree| {
        let code = Assembled::from(Code::compile(&super::program(&tree)));
        code.be_worthwhile();
        let x: Vec<f64> = (0..16).map(f64::from).collect();
        let (blocks, lengths) = super::runs(16);
        let columns = [(&x).into(), (&x).into()];
        super::interpret(&code, kernels, &columns, &blocks, &lengths, &[1.0; tree::PARAMS]);
        code.routines() == 0
    };
    let x = |column| tree::Tree::X(column);
    let one = |op: &&tree::Unary| lacks(tree::Tree::Unary(**op, Box::new(x(0))));
    let two = |op: &&tree::Binary| lacks(tree::Tree::Binary(**op, Box::new([x(0), x(1)])));
    let mut missing: Vec<String> =
        tree::Unary::ALL.iter().filter(one).map(|op| format!("{op:?}")).collect();
    missing.extend(tree::Binary::ALL.iter().filter(two).map(|op| format!("{op:?}")));
    let known = [
        "Digamma",
        "Trigamma",
        "WrightOmega",
        "LnGamma",
        "Gamma",
        "E1",
        "J0",
        "J1",
        "Y0",
        "Y1",
        "I0",
        "I1",
        "I0e",
        "I1e",
        "K0",
        "K1",
        "K0e",
        "K1e",
        "Round",
        "Fmod",
        "FaddeevaRe",
        "FaddeevaIm",
        "FaddeevaSlopeRe",
        "FaddeevaSlopeIm",
    ];
    assert_eq!(missing, known);
}
