//! The translation unit of a fit: constants, the prelude, the model, the kernels, in this order.

use super::codegen;
use crate::data::estimator::Estimator;
use crate::data::loss::Loss;
use crate::model::op::{Node, Unary};
use crate::model::program::Program;

/// Threads of a block.
pub(crate) const THREADS: usize = 128;

/// Free parameters up to which one block keeps all sums of a fit.
pub(crate) const FEW_PARAMETERS: usize = 32;

/// All that the text of a translation unit depends on: fits that agree in it share a module.
#[derive(Clone, Debug)]
pub(crate) struct Spec<'a> {
    /// The value and its partials by the free parameters.
    pub(crate) program: &'a Program,
    /// Free parameters, at least 1: as many as the program has partials.
    pub(crate) free: usize,
    /// How each column lies in memory.
    pub(crate) columns: Vec<Storage>,
    pub(crate) response: Storage,
    /// Which loss; its scale is no constant of the unit.
    pub(crate) loss: Loss,
    /// What y is taken for; counts have no loss.
    pub(crate) estimator: Estimator,
    pub(crate) arithmetic: Arithmetic,
}

/// Type of numbers in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Storage {
    F32,
    F64,
    /// Whole numbers are for responses of batches only.
    U8,
    U16,
    I16,
}

/// What a model computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Arithmetic {
    /// f64 throughout.
    Double,
    /// f32 for the model and the products of its rows; their sums are in pairs of f32 if
    /// `compensated`, else in f64.
    Single { compensated: bool },
}

/// A text of `kernels/`, with its name for the messages of compilers and profilers.
macro_rules! kernels {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/", $name)))),*]
    };
}
pub(super) use kernels;

/// Numbers with names, for every unit.
pub(crate) const NUMBERS: &[(&str, &str)] = kernels!["numbers.cuh"];
const PRELUDE: &[(&str, &str)] = kernels!["prelude.cuh"];
/// The functions of error functions that CUDA lacks, in models that have them.
const FADDEEVA: &[(&str, &str)] = kernels!["faddeeva.cuh"];
const WRIGHT_OMEGA: &[(&str, &str)] = kernels!["wright_omega.cuh"];
/// What passes of all kinds build on.
pub(super) const ROWS: &[(&str, &str)] = kernels!["reduce.cuh", "loss.cuh", "row.cuh"];
/// Passes of fits of at most [`FEW_PARAMETERS`].
const FEW: &[(&str, &str)] =
    kernels!["registers.cuh", "tiles.cuh", "normal.cuh", "solver_state.cuh", "normal.cu"];
/// Passes of fits of more.
const MANY: &[(&str, &str)] = kernels!["rows.cuh"];
/// The pass that factors, of fits of at most [`FEW_PARAMETERS`].
const FACTOR: &[(&str, &str)] = kernels!["reflector.cuh", "factor.cuh", "factor.cu"];
/// The solver of such fits; it builds on its constants only.
pub(crate) const SOLVER: &[(&str, &str)] = kernels![
    "group.cuh",
    "cholesky.cuh",
    "householder.cuh",
    "jacobi_svd.cuh",
    "solver_state.cuh",
    "linear_model.cuh",
    "trust_region.cuh",
    "bounds.cuh",
    "convergence.cuh",
    "anderson.cuh",
    "solver.cuh",
    "step.cuh",
    "covariance.cuh",
];
const STEP: &[(&str, &str)] = kernels!["step.cu"];

/// The passes that every fit takes, as text for a compiler; equal fits give equal texts.
pub(crate) fn passes(spec: &Spec<'_>) -> String {
    let mut text = model_unit(spec);
    include(&mut text, ROWS);
    include(&mut text, if spec.free <= FEW_PARAMETERS { FEW } else { MANY });
    text
}

/// The pass that only ill-conditioned and robust fits take; of at most [`FEW_PARAMETERS`].
pub(crate) fn factor_pass(spec: &Spec<'_>) -> String {
    let mut text = model_unit(spec);
    include(&mut text, ROWS);
    include(&mut text, FACTOR);
    text
}

/// All passes in one text.
#[cfg(test)]
pub(crate) fn translation_unit(spec: &Spec<'_>) -> String {
    let mut text = passes(spec);
    if spec.free <= FEW_PARAMETERS {
        include(&mut text, FACTOR);
    }
    text
}

/// The solver of fits with `free` free parameters, at most [`FEW_PARAMETERS`], of `params`. It does
/// not depend on the model: compiled once, it serves all of this size.
pub(crate) fn solver(free: usize, params: usize) -> String {
    let sums = super::state::sums(free);
    let mut text = format!(
        "[[maybe_unused]] constexpr int PARAMS = {params};
constexpr int FREE = {free};
constexpr int SUMS = {sums};
"
    );
    include(&mut text, NUMBERS);
    include(&mut text, SOLVER);
    include(&mut text, STEP);
    text
}

/// The text without kernels: what they build on.
pub(super) fn model_unit(spec: &Spec<'_>) -> String {
    debug_assert_eq!(spec.free + 1, spec.program.outputs.len());
    debug_assert_eq!(spec.columns.len(), spec.program.columns.len());
    let model = codegen::generate(spec.program, &spec.columns, spec.response, spec.arithmetic);
    let mut text = constants(spec, model.uniforms);
    include(&mut text, NUMBERS);
    include(&mut text, PRELUDE);
    let has = |wanted: fn(Node) -> bool| spec.program.nodes.iter().any(|&node| wanted(node));
    if has(|node| matches!(node, Node::Binary(op, ..) if op.is_faddeeva())) {
        include(&mut text, FADDEEVA);
    }
    if has(|node| matches!(node, Node::Unary(Unary::WrightOmega, _))) {
        include(&mut text, WRIGHT_OMEGA);
    }
    text.push_str("#line 1 \"model\"\n");
    text.push_str(&model.text);
    text
}

/// No kernel uses every constant.
fn constants(spec: &Spec<'_>, uniforms: usize) -> String {
    let (columns, params, free) =
        (spec.program.columns.len(), spec.program.params.len(), spec.free);
    let (estimator, real) = (spec.estimator, spec.arithmetic.real());
    let loss = match spec.loss {
        _ if estimator == Estimator::Poisson => 6,
        Loss::Linear => 0,
        Loss::SoftL1 { .. } => 1,
        Loss::Huber { .. } => 2,
        Loss::Cauchy { .. } => 3,
        Loss::Arctan { .. } => 4,
        Loss::Tukey { .. } => 5,
    };
    let name = if estimator == Estimator::Poisson { "counts" } else { spec.loss.name() };
    let compensated = spec.arithmetic == Arithmetic::Single { compensated: true };
    format!(
        "[[maybe_unused]] constexpr int COLUMNS = {columns};
[[maybe_unused]] constexpr int PARAMS = {params};
[[maybe_unused]] constexpr int FREE = {free};
[[maybe_unused]] constexpr int UNIFORMS = {uniforms};
[[maybe_unused]] constexpr int THREADS = {THREADS};
[[maybe_unused]] constexpr int LOSS = {loss};  // {name}
[[maybe_unused]] constexpr bool COMPENSATED = {compensated};
typedef {real} real;
"
    )
}

pub(crate) fn include(text: &mut String, files: &[(&str, &str)]) {
    for (name, content) in files {
        text.push_str(&format!("#line 1 \"{name}\"\n{content}"));
    }
}

impl Storage {
    pub(crate) fn bytes(self) -> usize {
        match self {
            Storage::U8 => 1,
            Storage::U16 | Storage::I16 => 2,
            Storage::F32 => 4,
            Storage::F64 => 8,
        }
    }

    /// The type in C++.
    pub(super) fn name(self) -> &'static str {
        match self {
            Storage::U8 => "unsigned char",
            Storage::U16 => "unsigned short",
            Storage::I16 => "short",
            Storage::F32 => "float",
            Storage::F64 => "double",
        }
    }
}

impl Arithmetic {
    /// The type in C++ that kernels know as `real`.
    pub(super) fn real(self) -> &'static str {
        match self {
            Arithmetic::Double => "double",
            Arithmetic::Single { .. } => "float",
        }
    }
}
