//! The translation unit of a fit: constants, declarations shared by Rust and CUDA, functions, the model, the kernels.

use super::codegen;
pub(crate) use super::codegen::Arithmetic;
use super::interface::{self, Rule, Size};
use crate::data::loss::{Estimator, Loss};
pub(crate) use crate::data::values::Storage;
use crate::model::op::Node;
use crate::model::program::Program;

/// Lists files of `kernels/`: the name of each, for messages of compilers and profilers, and its text.
macro_rules! kernels {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/", $name)))),*]
    };
}
pub(super) use kernels;

/// Number of threads of a block.
pub(crate) const THREADS: usize = 128;

/// Maximum number of free parameters for which one block keeps all sums of a fit.
pub(crate) const FEW_PARAMETERS: usize = 32;

/// Maximum number of free parameters for which the sums of a thread fit into registers together with a model.
const MOST_IN_REGISTERS: usize = 8;

/// Units that sum up the products of the columns of [J r] over the points, for at most [`FEW_PARAMETERS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Summation {
    /// Each thread keeps all sums of its points in registers.
    Registers,
    /// Each thread keeps some of the sums of its block's points in registers; the rows are in shared memory.
    Tiles,
    /// As `Tiles`, with matrix instructions for each warp's points.
    TensorCores,
}

impl Summation {
    /// Returns the fastest summation for a fit on a device of this compute capability. Devices of 8.0 and 9.x have tensor
    /// cores whose rate for `f64` is twice that of other arithmetic.
    pub(crate) fn of(spec: &Spec<'_>, capability: (u32, u32)) -> Summation {
        let compensated = spec.arithmetic == Arithmetic::Single { compensated: true };
        match capability {
            _ if spec.free <= MOST_IN_REGISTERS => Summation::Registers,
            (8, 0) | (9, _) if !compensated => Summation::TensorCores,
            _ => Summation::Tiles,
        }
    }

    /// Returns the files of the normal pass.
    fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Summation::Registers => kernels!["registers.cuh", "normal.cu"],
            Summation::Tiles => kernels!["tiles.cuh", "normal.cu"],
            Summation::TensorCores => kernels!["tensor.cuh", "normal.cu"],
        }
    }
}

/// Kind of the weights of a fit's points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weighting {
    /// All weights are 1.
    One,
    /// All weights have the same value; it is not part of the translation unit.
    Same,
    /// Each point has its own weight.
    Each,
}

/// All inputs of the text of a translation unit. Fits with equal specifications share a module.
#[derive(Clone, Debug)]
pub(crate) struct Spec<'a> {
    /// The value and its partials with respect to the free parameters.
    pub(crate) program: &'a Program,
    /// Number of free parameters, at least 1; equal to the number of partials of the program.
    pub(crate) free: usize,
    /// Storage of each column.
    pub(crate) columns: Vec<Storage>,
    pub(crate) response: Storage,
    pub(crate) weights: Weighting,
    /// Kind of the loss; its scale is not part of the translation unit.
    pub(crate) loss: Loss,
    /// Noise model of y; counts have no loss.
    pub(crate) estimator: Estimator,
    pub(crate) arithmetic: Arithmetic,
}

impl Spec<'_> {
    pub(crate) fn size(&self) -> Size {
        let Program { columns, params, .. } = self.program;
        Size { columns: columns.len(), params: params.len(), free: self.free }
    }
}

/// Named constants, and quotients with a common divisor, for every unit.
const NUMBERS: &[(&str, &str)] = kernels!["numbers.cuh", "quotient.cuh"];
const PRELUDE: &[(&str, &str)] = kernels!["prelude.cuh", "exp.cuh"];
/// Functions that CUDA lacks, for models that use them: the `cuda_file` of [`Facts`](crate::model::op::Facts).
const FUNCTIONS: &[(&str, &str)] = kernels![
    "bessel.cuh",
    "exponential_integral.cuh",
    "faddeeva.cuh",
    "modified_bessel.cuh",
    "wright_omega.cuh",
];
/// Kernel files that passes of all kinds include. `SCALED` is true if columns of J have factors.
pub(super) const ROWS: &[(&str, &str)] = kernels!["reduce.cuh", "loss.cuh", "row.cuh"];
/// Passes of fits with more parameters.
const MANY: &[(&str, &str)] = kernels!["rows.cuh"];
/// The factor pass of fits with at most [`FEW_PARAMETERS`].
const FACTOR: &[(&str, &str)] = kernels!["reflection.cuh", "factor.cu"];
/// The solver of fits with at most [`FEW_PARAMETERS`], run by a `Group` of threads.
pub(crate) const SOLVER: &[(&str, &str)] = kernels![
    "group.cuh",
    "cholesky.cuh",
    "reflection.cuh",
    "householder.cuh",
    "members.cuh",
    "linear_model.cuh",
    "trust_region.cuh",
    "bounds.cuh",
    "convergence.cuh",
    "anderson.cuh",
    "solver.cuh",
];

/// Returns the source of the passes that every fit uses. Equal fits give equal texts. For more than [`FEW_PARAMETERS`]
/// the summation has no influence.
pub(crate) fn passes(spec: &Spec<'_>, summation: Summation) -> String {
    let mut text = pass_unit(spec);
    include(&mut text, if spec.free <= FEW_PARAMETERS { summation.files() } else { MANY });
    text
}

/// Returns the source of the factor pass, which only ill-conditioned and robust fits use, for at most
/// [`FEW_PARAMETERS`].
pub(crate) fn factor_pass(spec: &Spec<'_>) -> String {
    let mut text = pass_unit(spec);
    include(&mut text, FACTOR);
    text
}

/// Returns the common part of the source of a fit's passes.
fn pass_unit(spec: &Spec<'_>) -> String {
    let mut text = model_unit(spec);
    text.push_str("constexpr bool SCALED = true;\n");
    include(&mut text, ROWS);
    text
}

/// Returns the source of all passes in one text.
#[cfg(test)]
pub(crate) fn translation_unit(spec: &Spec<'_>, summation: Summation) -> String {
    let mut text = passes(spec, summation);
    if spec.free <= FEW_PARAMETERS {
        include(&mut text, FACTOR);
    }
    text
}

/// Returns the head of every translation unit: constants, and the declarations that Rust and CUDA share.
pub(crate) fn head(size: Size, constants: &str) -> String {
    let mut text = size.constants() + constants;
    include(&mut text, NUMBERS);
    interface::declare(&mut text, size);
    text
}

/// Returns the text that precedes the kernels.
pub(super) fn model_unit(spec: &Spec<'_>) -> String {
    debug_assert_eq!(spec.free + 1, spec.program.outputs.len());
    debug_assert_eq!(spec.columns.len(), spec.program.columns.len());
    let model = codegen::generate(spec.program, &spec.columns, spec.response, spec.arithmetic);
    let mut text = head(spec.size(), &constants(spec, model.uniforms));
    include(&mut text, PRELUDE);
    let file = |node: &Node| match node {
        Node::Unary(op, _) => op.facts().cuda_file,
        Node::Binary(op, ..) => op.facts().cuda_file,
        _ => None,
    };
    let formula = spec.loss.formula().map(|formula| formula.program());
    let nodes = spec.program.nodes.iter().chain(formula.into_iter().flat_map(|f| &f.nodes));
    let needed: Vec<&str> = nodes.filter_map(file).collect();
    let needed = FUNCTIONS.iter().filter(|(name, _)| needed.contains(name));
    include(&mut text, &needed.copied().collect::<Vec<_>>());
    text.push_str("#line 1 \"model\"\n");
    text.push_str(&model.text);
    if let Some(formula) = formula {
        let formula = codegen::generate_formula(formula, spec.arithmetic);
        text.push_str(&format!("#define CUSTOM_LOSS\nnamespace custom_loss {{\n{formula}}}\n"));
    }
    text
}

/// Returns the constants of the unit. They are `[[maybe_unused]]` because no kernel uses all of them.
fn constants(spec: &Spec<'_>, uniforms: usize) -> String {
    let (estimator, real) = (spec.estimator, spec.arithmetic.real());
    let loss = Rule::of(spec.loss, estimator) as usize;
    let name = if estimator == Estimator::Poisson { "counts" } else { spec.loss.name() };
    let grows = spec.loss.grows();
    let weights = spec.weights as usize;
    let compensated = spec.arithmetic == Arithmetic::Single { compensated: true };
    let (same, each) = (Weighting::Same as usize, Weighting::Each as usize);
    format!(
        "[[maybe_unused]] constexpr int UNIFORMS = {uniforms};
[[maybe_unused]] constexpr int THREADS = {THREADS};
[[maybe_unused]] constexpr int LOSS = {loss};  // {name}
[[maybe_unused]] constexpr bool LOSS_GROWS = {grows};
[[maybe_unused]] constexpr int WEIGHTS = {weights}, SAME = {same}, EACH = {each};
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

impl Arithmetic {
    /// Returns the C++ type that kernels name `real`.
    pub(super) fn real(self) -> &'static str {
        match self {
            Arithmetic::Double => "double",
            Arithmetic::Single { .. } => "float",
        }
    }
}
