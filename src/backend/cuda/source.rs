//! The translation unit of a fit: constants, the prelude, the model, the kernels, in this order.

use super::codegen;
use crate::data::loss::Loss;
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
    pub(crate) arithmetic: Arithmetic,
}

/// Type of numbers in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Storage {
    F32,
    F64,
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
        &[$(($name, include_str!(concat!("../../../kernels/", $name)))),*]
    };
}

const PRELUDE: &[(&str, &str)] = kernels!["prelude.cuh"];
/// The passes over the points of fits of at most [`FEW_PARAMETERS`].
const PASSES: &[(&str, &str)] = kernels![
    "reduce.cuh",
    "loss.cuh",
    "row.cuh",
    "registers.cuh",
    "tiles.cuh",
    "normal.cuh",
    "reflector.cuh",
    "factor.cuh",
];
/// The solver; it builds on the constants, the prelude and SUMS.
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
const ENTRIES: &[(&str, &str)] = kernels!["entry.cu", "resident.cu"];
/// Kernels of fits of more parameters.
const MANY: &[(&str, &str)] = kernels!["reduce.cuh", "loss.cuh", "row.cuh", "rows.cuh"];

/// The whole text for a compiler; equal fits give equal texts.
pub(crate) fn translation_unit(spec: &Spec<'_>) -> String {
    let mut text = model_unit(spec);
    match spec.free <= FEW_PARAMETERS {
        true => [PASSES, SOLVER, ENTRIES].iter().for_each(|files| include(&mut text, files)),
        false => include(&mut text, MANY),
    }
    text
}

/// The text without kernels: what they build on.
pub(super) fn model_unit(spec: &Spec<'_>) -> String {
    debug_assert_eq!(spec.free + 1, spec.program.outputs.len());
    debug_assert_eq!(spec.columns.len(), spec.program.columns.len());
    let model = codegen::generate(spec.program, &spec.columns, spec.response, spec.arithmetic);
    let mut text = constants(spec, model.uniforms);
    include(&mut text, PRELUDE);
    text.push_str("#line 1 \"model\"\n");
    text.push_str(&model.text);
    text
}

/// No kernel uses every constant.
fn constants(spec: &Spec<'_>, uniforms: usize) -> String {
    let (columns, params, free) =
        (spec.program.columns.len(), spec.program.params.len(), spec.free);
    let loss = match spec.loss {
        Loss::Linear => 0,
        Loss::SoftL1 { .. } => 1,
        Loss::Huber { .. } => 2,
        Loss::Cauchy { .. } => 3,
        Loss::Arctan { .. } => 4,
        Loss::Tukey { .. } => 5,
    };
    let (name, real) = (spec.loss.name(), spec.arithmetic.real());
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
    /// The type in C++.
    pub(super) fn name(self) -> &'static str {
        match self {
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
