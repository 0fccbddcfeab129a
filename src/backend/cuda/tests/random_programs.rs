//! Checks that generated models of random programs give the same bits as the interpreter if the C++ code calls this
//! crate's elementary functions. This tests the structure of the code, independently of the accuracy of a device's
//! mathematics.

use super::trial::{COLUMNS, Trial};
use crate::backend::cuda::codegen::to_f32;
use crate::backend::cuda::source::{Arithmetic, Spec, Storage, Weighting};
use crate::data::loss::{Estimator, Loss};
use crate::model::op::{Binary, Facts, Id, Node, Unary};
use crate::model::program::Program;
use crate::model::scalar::Scalar;
use crate::model::tape::depends_on_point;
use crate::support::tree;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::fmt::Write;
use std::sync::LazyLock;

use tree::{PARAMS, SPECIAL, Tree, any_number, ordinary, same};

/// Functions that the prelude defines. Like functions with a `cuda_file`, they are this crate's device code.
const OF_PRELUDE: [&str; 3] = ["digamma", "polygamma", "signum"];

/// Functions of one and of two numbers: the name that C++ calls, and the operation.
static UNARY: LazyLock<Vec<(String, Unary)>> = LazyLock::new(|| {
    let functions = Unary::ALL.iter().filter(|op| !op.facts().text.is_empty());
    let named = functions.map(|&op| (lent(&op.facts()), op));
    named.chain([("lent_digamma".to_owned(), Unary::Polygamma(0))]).collect()
});
static BINARY: LazyLock<Vec<(String, Binary)>> = LazyLock::new(|| {
    // Operators, minimum and maximum are not functions of CUDA.
    let functions = Binary::ALL.iter().filter(|op| !op.is_infix());
    let functions = functions.filter(|op| !matches!(op, Binary::Min | Binary::Max));
    let name = |op: Binary| if op == Binary::Pow { "pow".to_owned() } else { lent(&op.facts()) };
    functions.map(|&op| (name(op), op)).collect()
});

fn is_own(facts: &Facts) -> bool {
    facts.cuda_file.is_some() || OF_PRELUDE.contains(&facts.cuda)
}

/// Returns the C++ name of a function that this crate provides. Functions with device code of this crate get the prefix
/// `lent_`.
fn lent(facts: &Facts) -> String {
    if is_own(facts) { format!("lent_{}", facts.cuda) } else { facts.cuda.to_owned() }
}

/// Returns the names of functions with device code of this crate.
fn own() -> Vec<&'static str> {
    let facts = Unary::ALL.iter().map(|op| op.facts());
    let facts = facts.chain(Binary::ALL.iter().map(|op| op.facts()));
    let files = facts.filter(|facts| facts.cuda_file.is_some()).map(|facts| facts.cuda);
    files.chain(OF_PRELUDE).collect()
}

extern "C" fn unary(index: i32, a: f64) -> f64 {
    UNARY[index as usize].1.apply(a)
}

/// Evaluates a binary operation for C++. Returns NaN for a square as a power, because generated code must use a
/// product.
extern "C" fn binary(index: i32, a: f64, b: f64) -> f64 {
    match BINARY[index as usize].1 {
        Binary::Pow if b == 2.0 => f64::NAN,
        op => op.apply(a, b),
    }
}

extern "C" fn polygamma(order: u32, a: f64) -> f64 {
    a.polygamma(order)
}

type Connect = unsafe extern "C" fn(
    extern "C" fn(i32, f64) -> f64,
    extern "C" fn(i32, f64, f64) -> f64,
    extern "C" fn(u32, f64) -> f64,
);

/// Returns C++ code that calls the functions of this crate. The f32 functions round the f64 results.
fn lent_functions() -> String {
    let mut text = String::from(
        "static double (*unary)(int, double);
static double (*binary)(int, double, double);
static double (*lent)(unsigned, double);
extern \"C\" void connect(double (*u)(int, double), double (*b)(int, double, double),
                        double (*p)(unsigned, double)) { unary = u; binary = b; lent = p; }
static double lent_polygamma(unsigned n, double a) { return lent(n, a); }
static float lent_polygamma(unsigned n, float a) { return lent(n, a); }
static double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
static double copysign(double a, double b) { return b; }
static double rint(double a) { return a; }  // named by the prelude and its like, called by nothing
static float rint(float a) { return a; }
static double j0(double a) { return a; }
static double j1(double a) { return a; }
static double y0(double a) { return a; }
static double y1(double a) { return a; }
",
    );
    for (i, (name, _)) in UNARY.iter().enumerate() {
        for real in ["double", "float"] {
            let _ = writeln!(text, "static {real} {name}({real} a) {{ return unary({i}, a); }}");
        }
    }
    for (i, (name, _)) in BINARY.iter().enumerate() {
        for real in ["double", "float"] {
            let head = format!("static {real} {name}({real} a, {real} b)");
            let _ = writeln!(text, "{head} {{ return binary({i}, a, b); }}");
        }
    }
    text
}

/// Interprets a program in f32: values that are the same at every point are f64; an f32 operation is the
/// rounded f64 operation, which for + - · / √ is the correctly rounded result.
fn outputs_in_single(program: &Program, x: &[f64], params: &[f64]) -> Vec<f64> {
    let per_point = depends_on_point(&program.nodes);
    let mut values: Vec<f64> = Vec::new();
    let narrow = |id: Id, values: &[f64]| match program.nodes[id as usize] {
        Node::Const(bits) => f64::from(to_f32(f64::from_bits(bits))),
        _ => f64::from(values[id as usize] as f32),
    };
    for (&node, &per_point) in program.nodes.iter().zip(&per_point) {
        let v = |id: Id| if per_point { narrow(id, &values) } else { values[id as usize] };
        let value = match node {
            Node::Const(bits) => f64::from_bits(bits),
            Node::Column(c) => x[c as usize],
            Node::Param(k) => params[k as usize],
            Node::Unary(op, a) => op.apply(v(a)),
            Node::Binary(op, a, b) => op.apply(v(a), v(b)),
            Node::Select(m, a, b) => {
                if v(m) != 0.0 {
                    v(a)
                } else {
                    v(b)
                }
            }
        };
        values.push(if per_point { f64::from(value as f32) } else { value });
    }
    program.outputs.iter().map(|&o| narrow(o, &values)).collect()
}

/// Returns `count` random values, the same in every run.
fn samples<T: std::fmt::Debug>(strategy: impl Strategy<Value = T>, count: usize) -> Vec<T> {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    (0..count).map(|_| strategy.new_tree(&mut runner).expect("a sample").current()).collect()
}

fn program(tree: &Tree) -> Program {
    let value = Program::trace(COLUMNS, PARAMS, |x, p| tree.evaluate(x, p)).expect("a trace");
    value.with_partials(&[0, 1, 2]).expect("a replay")
}

#[test]
fn random_programs_give_the_bits_of_the_interpreter() {
    let trees = samples(tree::tree(6, any_number()), 240);
    let programs: Vec<Program> = trees.iter().map(program).collect();
    let specs: Vec<Spec<'_>> = programs
        .iter()
        .enumerate()
        .map(|(n, program)| Spec {
            program,
            free: PARAMS,
            columns: vec![
                [Storage::F64, Storage::F32][n % 2],
                [Storage::F64, Storage::F32][n / 2 % 2],
            ],
            response: Storage::F64,
            weights: Weighting::Same,
            loss: Loss::Linear,
            estimator: Estimator::LeastSquares,
            arithmetic: match n % 3 {
                0 => Arithmetic::Single { compensated: false },
                _ => Arithmetic::Double,
            },
        })
        .collect();
    let own = own();
    let define = own.iter().map(|name| format!("#define {name} lent_{name}\n")).collect::<String>();
    let undo = own.iter().map(|name| format!("#undef {name}\n")).collect::<String>();
    let Some(trial) = Trial::build(&specs, &lent_functions(), &define, &undo) else { return };
    // SAFETY: `connect` has this interface, and the functions whose pointers it keeps are static.
    unsafe {
        let connect = trial.built.library.get::<Connect>(b"connect").expect("a function");
        connect(unary, binary, polygamma);
    }

    let mut points: Vec<[f64; COLUMNS]> = samples([ordinary(), ordinary()], 40);
    points.extend(SPECIAL.iter().flat_map(|&a| [[a, 0.7], [-1.3, a], [a, a]]));
    points.extend(samples([any_number(), any_number()], 40));
    let starts = samples([any_number(), any_number(), any_number()], 6);
    let columns: [Vec<f64>; COLUMNS] =
        std::array::from_fn(|c| points.iter().map(|p| p[c]).collect());
    let (mut compared, mut finite) = (0, 0);
    for (n, spec) in specs.iter().enumerate() {
        for params in &starts {
            let found = trial.outputs(n, spec, &columns, params);
            for (point, found) in points.iter().zip(&found) {
                let stored: [f64; COLUMNS] = std::array::from_fn(|c| match spec.columns[c] {
                    Storage::F32 => f64::from(point[c] as f32),
                    _ => point[c],
                });
                let expected = match spec.arithmetic {
                    Arithmetic::Double => spec.program.outputs(&stored, params),
                    Arithmetic::Single { .. } => outputs_in_single(spec.program, &stored, params),
                };
                for (output, (&found, &expected)) in found.iter().zip(&expected).enumerate() {
                    assert!(
                        same(found, expected),
                        "output {output} of {n} at {stored:?} {params:?}: {found:e}, not {expected:e}\n{}",
                        spec.program
                    );
                    compared += 1;
                    finite += usize::from(expected.is_finite() && expected != 0.0);
                }
            }
        }
    }
    println!("{compared} outputs compared, {finite} of them finite and not 0");
    assert!(finite > compared / 5, "only {finite} of {compared} outputs said anything");
}
