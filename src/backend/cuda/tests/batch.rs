//! Compares registers and spills of the batch kernels, compiled by the real compiler, with a budget.
//!
//! `tests/data/kernels/batch.csv` has the registers for each model and architecture, for fits of 100 points.
//! `-- --nocapture` prints the table of `docs/kernels.md`; `DUALFIT_WRITE_BUDGET=1` writes a new budget.

use super::budget::{budgeted, cases, timed, uses};
use crate::backend::cuda::batch::unit::{
    BatchShape, MOST_PARAMETERS, SLIM_PARAMETERS, SLIM_SHAPE, batch_unit, bench_bytes, slim_unit,
};
use crate::backend::cuda::driver::Compiler;
use crate::backend::cuda::source::{Arithmetic, Spec, Storage, Weighting};
use crate::data::loss::Estimator;
use std::collections::BTreeMap;
use std::path::Path;

const ARCHITECTURES: [(u32, u32); 2] = [(8, 0), (9, 0)];
const MODELS: [&str; 5] =
    ["decay, 3", "decay, 3, f32 in pairs", "spot, 5", "two peaks, 8", "five peaks, 16"];
/// Functions that run for each point or for each column of a matrix. They must not spill registers.
const INNER: [&str; 4] = ["sum_fit", "factor_fit", "fold_rows", "cholesky"];
/// Maximum number of bytes that each of the other functions may spill: `make_fits` with 8 parameters on sm_90.
const SPILLED: u32 = 72;
/// Maximum number of bytes that the slim kernel may spill. It accesses them between passes, once per step.
const SLIM_SPILLED: u32 = 2048;
const POINTS: usize = 100;
/// Compute capability for which every compiler returns PTX.
const NEWER: (u32, u32) = (98, 7);

/// Returns the functions that spill registers, the kernel included, with the number of bytes.
fn spills(log: &str) -> Vec<(&str, u32)> {
    let function = |part: &'_ str| -> Option<(usize, u32)> {
        let bytes = part.split(" bytes spill stores").next()?.rsplit([' ', ',']);
        Some((part.find('\n')?, bytes.into_iter().find(|w| !w.is_empty())?.parse().ok()?))
    };
    let parts = log.split("Function properties for ").skip(1);
    parts
        .filter_map(|part| function(part).map(|(end, bytes)| (part[..end].trim(), bytes)))
        .filter(|&(_, bytes)| bytes > 0)
        .collect()
}

/// Returns, for each model, its name, its translation unit, the bytes of its bench and its batch shape; then the same of
/// its slim kernels in f64 and f32, which have no bench.
pub(super) fn units() -> impl Iterator<Item = (String, String, (usize, BatchShape))> {
    cases().into_iter().filter(|case| MODELS.contains(&case.name)).flat_map(|case| {
        let program = case.model.program().unwrap();
        let spec = Spec {
            estimator: Estimator::LeastSquares,
            program: &program,
            free: program.partials.len(),
            columns: vec![Storage::F64; case.columns],
            response: Storage::F64,
            weights: Weighting::One,
            loss: case.loss,
            arithmetic: case.arithmetic,
        };
        let bytes = bench_bytes(&spec);
        let shape = BatchShape::new(POINTS, bytes).expect("a shape");
        let positions: Vec<usize> = (0..spec.free).collect();
        let slim = |arithmetic, name: &str| {
            let text = slim_unit(&Spec { arithmetic, ..spec.clone() }, &positions, false);
            (format!("{}, {name}", case.name), text, (0, SLIM_SHAPE))
        };
        let single = Arithmetic::Single { compensated: true };
        let kinds = [(Arithmetic::Double, "slim"), (single, "slim in f32")];
        let is_slim = spec.free <= SLIM_PARAMETERS && spec.arithmetic == Arithmetic::Double;
        let slim: Vec<_> =
            kinds.into_iter().filter(|_| is_slim).map(|(kind, name)| slim(kind, name)).collect();
        [(case.name.to_owned(), batch_unit(&spec, shape), (bytes, shape))].into_iter().chain(slim)
    })
}

#[test]
fn kernels_of_batches_keep_to_their_budget_of_registers_and_spills() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/kernels/batch.csv");
    let write = std::env::var_os("DUALFIT_WRITE_BUDGET").is_some();
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let (mut found, mut wrong) = (BTreeMap::new(), Vec::new());
    for nvrtc in budgeted() {
        println!(
            "| model | bytes of a fit | lanes | threads | architecture | registers (spilled) | s |"
        );
        for (name, unit, (bytes, shape)) in units() {
            for capability in ARCHITECTURES.into_iter().filter(|&c| nvrtc.knows(c)) {
                let (seconds, log) = timed(&nvrtc, &unit, capability);
                let registers = uses(&log).iter().map(|used| used.registers).max().unwrap_or(0);
                let spilled: u32 = spills(&log).iter().map(|(_, bytes)| bytes).sum();
                let key = format!("{name}; sm_{}{}", capability.0, capability.1);
                println!(
                    "| {key} | {bytes} | {} | {} | {registers} ({spilled}) | {seconds:.1} |",
                    shape.lanes, shape.threads
                );
                for (function, bytes) in spills(&log) {
                    if function == "slim_fits" && bytes <= SLIM_SPILLED {
                        continue;
                    }
                    if INNER.iter().any(|inner| function.contains(inner)) || bytes > SPILLED {
                        wrong.push(format!("{key}: {function} spills {bytes} bytes"));
                    }
                }
                let most: &mut u32 = found.entry(key).or_default();
                *most = registers.max(*most);
            }
        }
    }
    let rows: Vec<String> = found.iter().map(|(key, most)| format!("{key}; {most}\n")).collect();
    if write && !found.is_empty() {
        std::fs::write(&path, "model; architecture; registers\n".to_owned() + &rows.concat())
            .unwrap();
    }
    for (key, registers) in &found {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{key}; ")));
        let most: u32 = line.and_then(|n| n.parse().ok()).unwrap_or(0);
        if *registers > most {
            wrong.push(format!("{key}: {registers} of {most} registers"));
        }
    }
    assert!(write || wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the number of instructions of PTX that compute in f64 or convert to or from it.
fn arithmetic_of_f64(text: &str) -> usize {
    let copies = ["mov", "ld", "st", "selp"];
    let instruction = |line: &str| {
        let words = line.split_whitespace().find(|word| !word.starts_with('@'))?.to_owned();
        let name = words.split('.').next()?;
        (words.contains(".f64") && !copies.contains(&name)).then_some(())
    };
    text.lines().filter_map(instruction).count()
}

/// A literal of type double in a formula of floats would make the formula one of f64. The remaining instructions convert
/// what memory holds, test it, or are the numbers of the model that all points share.
#[test]
fn the_slim_kernel_in_f32_hardly_computes_in_f64() {
    for nvrtc in budgeted() {
        let count = |unit: &str| {
            let image = nvrtc.compile(unit, NEWER).expect("PTX");
            arithmetic_of_f64(&String::from_utf8(image.bytes).expect("text"))
        };
        let counts: Vec<(String, usize)> = units()
            .filter(|(name, ..)| name.contains("slim"))
            .map(|(name, unit, _)| (name, count(&unit)))
            .collect();
        for pair in counts.chunks(2) {
            let [(_, in_f64), (name, in_f32)] = pair else { panic!("a pair of kernels") };
            println!("{name}: {in_f32} instructions of f64, {in_f64} of the kernel in f64");
            assert!(12 * in_f32 <= *in_f64, "{name}: {in_f32}, {in_f64} of the kernel in f64");
        }
    }
}

#[test]
fn lanes_are_chosen_by_points_and_by_the_room_of_a_fit() {
    let shape = |points, bytes| BatchShape::new(points, bytes).map(|s| (s.lanes, s.threads));
    // The 48 kB of a block fit 32 fits of 1.5 kB or 16 of 3 kB; the 20 kB of a warp fit 8 of 2.5 kB or 4 of 5 kB.
    assert_eq!(shape(4, 1536), Some((4, 128)));
    assert_eq!(shape(4, 1537), Some((4, 64)));
    assert_eq!(shape(100, 1537), Some((4, 64)));
    assert_eq!(shape(4, 2560), Some((4, 64)));
    assert_eq!(shape(4, 2561), Some((8, 128)));
    assert_eq!(shape(4, 3073), Some((8, 64)));
    assert_eq!(shape(225, 2000), Some((8, 128)));
    assert_eq!(shape(1000, 2000), Some((32, 128)));
    assert_eq!(shape(1_000_000, 2000), Some((32, 128)));
    assert_eq!(shape(25, 12_289), Some((32, 64)));
    assert_eq!(shape(25, 24_577), Some((32, 32)));
    assert_eq!(shape(25, 49_153), None);
    assert_eq!(MOST_PARAMETERS, 16);
}

#[test]
fn functions_that_spill_are_found_in_the_log() {
    let log = "ptxas info    : Compiling entry function 'f' for 'sm_90'
ptxas info    : Function properties for f
ptxas         .     24 bytes stack frame, 20 bytes spill stores, 16 bytes spill loads
ptxas info    : Function properties for _Z1gv
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for _Z1hv
ptxas         .     0 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
";
    assert_eq!(spills(log), [("f", 20), ("_Z1hv", 4)]);
}
