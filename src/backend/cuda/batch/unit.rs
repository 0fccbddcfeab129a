//! The translation unit of a batch, in which lanes of a warp share a fit, and the number of these lanes.

use super::super::codegen;
use super::super::interface::{Layout, ScratchLayout, words};
use super::super::source::{self, Arithmetic, ROWS, SOLVER, Spec, Storage, include, kernels};
use crate::normal::Influence;
use std::fmt::Write;

/// Kernel files of batches, in addition to the solver.
pub(crate) const BATCH: &[(&str, &str)] = kernels![
    "jacobi_svd.cuh",
    "covariance.cuh",
    "inverse.cuh",
    "batch_data.cuh",
    "batch_sums.cuh",
    "batch_begin.cuh",
    "batch_errors.cuh",
    "rough.cuh",
    "batch_rough.cuh",
    "batch.cu",
];
/// The step of the slim kernel, in addition to the solver.
pub(crate) const SLIM_STEP: &[(&str, &str)] = kernels!["slim_step.cuh"];
/// The other kernel files of the slim kernel.
const SLIM: &[(&str, &str)] = kernels!["inverse.cuh", "batch_data.cuh", "rough.cuh", "slim.cu"];
/// Number of threads of a block of the slim kernel, and of its lanes per fit.
pub(crate) const SLIM_SHAPE: BatchShape = BatchShape { lanes: 4, threads: 128 };
/// Maximum number of free parameters for which registers hold the state of a fit.
pub(crate) const SLIM_PARAMETERS: usize = 8;
/// Maximum number of points of a fit of the slim kernel. Larger fits need more lanes if there are few of them.
pub(crate) const SLIM_POINTS: usize = 1024;
/// Static shared memory of a block that every device has.
const SHARED_BYTES: usize = 48 << 10;
/// Maximum shared memory of the fits of a warp, in bytes; eight warps then fit on a multiprocessor of an A100.
const WARP_BYTES: usize = 20 << 10;
/// Desired minimum number of points per lane; the number of lanes is rounded up to a power of two. Fewer points per
/// lane need more lanes, most of which are idle in a step.
const POINTS_PER_LANE: usize = 32;
/// Maximum number of free parameters for which the fits of a block fit into shared memory.
pub(crate) const MOST_PARAMETERS: usize = 16;

/// Distribution of a batch over lanes and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchShape {
    /// Number of lanes that work on one fit.
    pub(crate) lanes: usize,
    /// Number of threads of a block.
    pub(crate) threads: usize,
}

impl BatchShape {
    /// Returns the shape for fits of about `points` points and `bytes` bytes of shared memory each. The number of lanes
    /// of a fit follows from [`POINTS_PER_LANE`]. It is larger if the fits of a warp would otherwise exceed
    /// [`WARP_BYTES`]. The number of threads is the largest for which the fits of a block fit into shared memory.
    pub(crate) fn new(points: usize, bytes: usize) -> Option<BatchShape> {
        let wanted = (points / POINTS_PER_LANE).next_power_of_two().min(32);
        let lanes = (0..6).map(|k| 1 << k).filter(|&lanes| lanes >= wanted);
        let has_room = |&lanes: &usize| lanes == 32 || 32 / lanes * bytes <= WARP_BYTES;
        let mut shapes = lanes
            .filter(has_room)
            .flat_map(|lanes| [128, 64, 32].map(|threads| BatchShape { lanes, threads }));
        shapes.find(|shape| shape.fits() * bytes <= SHARED_BYTES)
    }

    /// Returns the number of concurrent fits of a block.
    pub(crate) fn fits(self) -> usize {
        self.threads / self.lanes
    }
}

/// Returns the size of a `Bench` of `kernels/batch_sums.cuh`, in bytes.
pub(crate) fn bench_bytes(spec: &Spec<'_>) -> usize {
    let solver = words::<Layout>(spec.size()) + words::<ScratchLayout>(spec.size());
    let common = codegen::uniforms(spec.program, spec.arithmetic) + 1;
    let common = if spec.arithmetic == Arithmetic::Double { common } else { common.div_ceil(2) };
    8 * (solver + Influence::SUMS + common)
}

/// Returns the source of the kernel of a batch. Equal fits of equal shape give equal texts.
pub(crate) fn batch_unit(spec: &Spec<'_>, shape: BatchShape) -> String {
    let mut text = stage(spec) + &source::model_unit(spec);
    let BatchShape { lanes, threads } = shape;
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "template <int N> struct Lanes;
typedef Lanes<{lanes}> Group;
constexpr int BATCH_THREADS = {threads};
constexpr int BENCH_BYTES = {};
{}",
        bench_bytes(spec),
        finite_columns(spec)
    );
    [ROWS, SOLVER, BATCH].iter().for_each(|files| include(&mut text, files));
    text
}

/// Returns the source of the slim kernel. `free`: positions of the free parameters. `own`: true if each fit has its own
/// columns.
pub(crate) fn slim_unit(spec: &Spec<'_>, free: &[usize], own: bool) -> String {
    let step = if spec.arithmetic == Arithmetic::Double { "" } else { "#define STEP_IN_F32\n" };
    let mut text = format!("#define SLIM\n{step}") + &stage(spec) + &source::model_unit(spec);
    let positions = |write: fn((usize, &usize)) -> String| -> String {
        free.iter().enumerate().map(write).collect()
    };
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "template <int N> struct Lanes;
typedef Lanes<1> Group;
constexpr int SLIM_THREADS = {};
constexpr bool OWN_COLUMNS = {own};
// Position of free parameter j among all parameters.
__device__ __forceinline__ constexpr int free_at(int j) {{
    return {}0;
}}
__device__ __forceinline__ constexpr bool is_free(int k) {{
    return {}false;
}}
{}",
        SLIM_SHAPE.threads,
        positions(|(j, k)| format!("j == {j} ? {k} : ")),
        positions(|(_, k)| format!("k == {k} || ")),
        finite_columns(spec)
    );
    [ROWS, SOLVER, SLIM_STEP, SLIM].iter().for_each(|files| include(&mut text, files));
    text
}

/// Returns the constants of a stage of a batch.
fn stage(spec: &Spec<'_>) -> String {
    let rough = spec.arithmetic != Arithmetic::Double;
    format!(
        "// True for a stage in f32, which a stage in f64 follows.
constexpr bool ROUGH = {rough};
// No factors of the columns of J.
constexpr bool SCALED = false;
"
    )
}

/// Returns the function that tests the columns at a point, also columns that the model does not use.
fn finite_columns(spec: &Spec<'_>) -> String {
    let columns = spec.columns.iter().enumerate();
    let may_be_infinite = columns.filter(|(_, s)| matches!(s, Storage::F32 | Storage::F64));
    let finite = may_be_infinite.map(|(c, storage)| {
        format!(" && isfinite(static_cast<const {}*>(data.x[{c}])[i])", storage.name())
    });
    format!(
        "// Also of columns that the model does not use.
__device__ __forceinline__ bool columns_are_finite(const Data& data, i64 i) {{
    return true{};
}}",
        finite.collect::<String>()
    )
}
