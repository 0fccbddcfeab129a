//! Compares registers, spills and compile time of the kernels, compiled by the real compiler, with a budget.
//!
//! NVRTC needs no device. `tests/data/kernels/budget.csv` has the maximum registers of each kernel of each
//! model on each architecture. `-- --nocapture` prints the table of `docs/kernels.md`;
//! `DUALFIT_WRITE_BUDGET=1` writes a new budget.

use super::batch;
use crate::CurveFit;
use crate::backend::cuda::driver::Compiler;
use crate::backend::cuda::nvrtc::Nvrtc;
use crate::backend::cuda::nvrtc::tests::all;
use crate::backend::cuda::source::{
    self, Arithmetic, FEW_PARAMETERS, Spec, Storage, Summation, Weighting,
};
use crate::data::loss::{Estimator, Loss};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Architectures of the budget. Architectures that a compiler does not support are skipped.
const ARCHITECTURES: [(u32, u32); 4] = [(7, 5), (8, 0), (9, 0), (10, 0)];
/// Maximum number of free parameters for which no f64 kernel may spill.
const WITHOUT_SPILLS: usize = 8;
/// Maximum compile time of all kernels of a model with 16 parameters, including the solver, in seconds, on a machine
/// on which the yardstick takes [`YARDSTICK_SECONDS`].
const SECONDS: f64 = 0.8;
/// Compile time of the yardstick on the machine of `docs/kernels.md`, in seconds.
const YARDSTICK_SECONDS: f64 = 0.25;
/// Maximum number of attempts of a case to stay within the compile time.
const TRIES: usize = 4;
/// Maximum slowdown of a machine relative to the budget's machine; beyond it, the budget is wrong.
const SLOWEST: f64 = 5.0;

pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) model: CurveFit,
    pub(super) columns: usize,
    pub(super) loss: Loss,
    pub(super) arithmetic: Arithmetic,
}

/// Gaussian peaks on an offset.
fn peaks(count: usize) -> CurveFit {
    CurveFit::dynamic(3 * count + 1, move |x, p| {
        (0..count).fold(p[3 * count] + 0.0 * x, |sum, g| {
            sum + p[3 * g] * (-((x - p[3 * g + 1]) / p[3 * g + 2]).powi(2)).exp()
        })
    })
}

pub(super) fn cases() -> Vec<Case> {
    let decay = || CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c);
    let spot = CurveFit::multivariate(|[x, y], [a, x0, y0, s, b]| {
        a * (-((x - x0).powi(2) + (y - y0).powi(2)) / (2.0 * s.powi(2))).exp() + b
    });
    let sine = CurveFit::new(|x, [a, b, w, p, c]| a * (-b * x).exp() * (w * x + p).sin() + c);
    let logistic =
        CurveFit::new(|x, [a, b, c, d, e]| a + (b - a) / (1.0 + (x / c).powf(d)).powf(e));
    let eight = CurveFit::new(|x, [a, b, c, d, e, f, g, h]| {
        a * (-((x - b) / c).powi(2)).exp() + d * (-((x - e) / f).powi(2)).exp() + g * x + h
    });
    let line = CurveFit::new(|x, [a, b]| a * x + b);
    let (linear, double) = (Loss::Linear, Arithmetic::Double);
    let single = |compensated| Arithmetic::Single { compensated };
    let case =
        |name, model, columns| Case { name, model, columns, loss: linear, arithmetic: double };
    vec![
        case("line, 2", line, 1),
        case("decay, 3", decay(), 1),
        Case { loss: Loss::Cauchy { scale: 1.0 }, ..case("decay, 3, Cauchy", decay(), 1) },
        Case { arithmetic: single(false), ..case("decay, 3, f32", decay(), 1) },
        Case { arithmetic: single(true), ..case("decay, 3, f32 in pairs", decay(), 1) },
        case("spot, 5", spot, 2),
        case("damped sine, 5", sine, 1),
        case("logistic, 5", logistic, 1),
        case("two peaks, 8", eight, 1),
        case("three peaks, 10", peaks(3), 1),
        case("five peaks, 16", peaks(5), 1),
        case("ten peaks, 31", peaks(10), 1),
        case("thirteen peaks, 40", peaks(13), 1),
    ]
}

/// Resources of one kernel, from the compiler's log.
#[derive(Debug, PartialEq)]
pub(super) struct Use {
    pub(super) kernel: String,
    pub(super) registers: u32,
    pub(super) spilled_bytes: u32,
}

/// Returns the number before `unit` in a part of the log.
fn number_before(text: &str, unit: &str) -> Option<u32> {
    text.split(unit).next()?.rsplit([' ', ',']).find(|w| !w.is_empty())?.parse().ok()
}

pub(super) fn uses(log: &str) -> Vec<Use> {
    log.split("Compiling entry function '")
        .skip(1)
        .map(|part| Use {
            kernel: part.split('\'').next().unwrap().to_owned(),
            registers: number_before(part, " registers").expect(part),
            spilled_bytes: number_before(part, " bytes spill stores").expect(part),
        })
        .collect()
}

#[test]
fn the_log_of_the_compiler_is_understood() {
    let log = "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function 'normal' for 'sm_90'\nptxas info    : Function properties for normal\nptxas         .     24 bytes stack frame, 20 bytes spill stores, 16 bytes spill loads\nptxas info    : Used 84 registers, used 1 barriers\n";
    let normal = Use { kernel: "normal".into(), registers: 84, spilled_bytes: 20 };
    assert_eq!(uses(log), [normal]);
}

fn path() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/kernels/budget.csv")
}

/// Returns the budget of registers by model, architecture and kernel.
fn budget() -> BTreeMap<(String, String, String), u32> {
    let text = std::fs::read_to_string(path()).unwrap_or_default();
    let row = |line: &str| {
        let fields: Vec<String> = line.split(';').map(|f| f.trim().to_owned()).collect();
        let [model, architecture, kernel, registers] = <[String; 4]>::try_from(fields).unwrap();
        ((model, architecture, kernel), registers.parse().unwrap())
    };
    text.lines().skip(1).map(row).collect()
}

/// Returns the compilers that the budget applies to. Compilers of CUDA 11 use other registers and are a fallback only.
pub(super) fn budgeted() -> impl Iterator<Item = Nvrtc> {
    all().into_iter().filter(|nvrtc| nvrtc.version >= (12, 0))
}

/// Returns the translation units that a fit on a device of this compute capability may need.
fn units(case: &Case, capability: (u32, u32)) -> Vec<String> {
    let program = case.model.program().unwrap();
    let free = program.partials.len();
    let spec = Spec {
        estimator: Estimator::LeastSquares,
        program: &program,
        free,
        columns: vec![Storage::F64; case.columns],
        response: Storage::F64,
        weights: Weighting::Same,
        loss: case.loss,
        arithmetic: case.arithmetic,
    };
    let passes = source::passes(&spec, Summation::of(&spec, capability));
    match free <= FEW_PARAMETERS {
        true => vec![passes, source::factor_pass(&spec)],
        false => vec![passes],
    }
}

/// Compiles each text once for each architecture.
struct Compiled<'a> {
    nvrtc: &'a Nvrtc,
    known: HashMap<(String, (u32, u32)), (f64, String)>,
}

impl Compiled<'_> {
    /// Returns the compile time in seconds and the log.
    fn of(&mut self, unit: &str, capability: (u32, u32)) -> (f64, String) {
        let known = self.known.entry((unit.to_owned(), capability));
        known.or_insert_with(|| timed(self.nvrtc, unit, capability)).clone()
    }

    /// Compiles again, in case other tests competed for the caches; the better time counts.
    fn again(&mut self, unit: &str, capability: (u32, u32)) -> f64 {
        let (seconds, log) = timed(self.nvrtc, unit, capability);
        let known = self.known.entry((unit.to_owned(), capability)).or_insert((seconds, log));
        known.0 = known.0.min(seconds);
        known.0
    }
}

pub(super) fn timed(nvrtc: &Nvrtc, unit: &str, capability: (u32, u32)) -> (f64, String) {
    let begun = cpu_seconds();
    let log = nvrtc.compile(unit, capability).expect("machine code").log;
    (cpu_seconds() - begun, log)
}

/// Returns the CPU time of this thread in seconds; it excludes other threads. NVRTC
/// compiles in the thread that calls it.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer refers to a live structure of the right type.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0, "no clock of the thread");
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

/// Returns the current slowdown of this machine relative to the budget's machine, measured with the compile time of a
/// fixed text. Shared machines vary by a factor of two.
fn slowness(nvrtc: &Nvrtc, capability: (u32, u32)) -> f64 {
    let steps: String =
        (0..64).map(|i| format!("    s = fma(s, a[{i}], exp(b[{i}] * s));\n")).collect();
    let text = format!(
        "extern \"C\" __global__ void yardstick(const double* a, const double* b, double* out) {{\n    double s = *out;\n{steps}    *out = s;\n}}\n"
    );
    (timed(nvrtc, &text, capability).0 / YARDSTICK_SECONDS).clamp(1.0, SLOWEST)
}

#[test]
fn kernels_keep_to_their_budget_of_registers_spills_and_seconds() {
    let (budget, write) = (budget(), std::env::var_os("DUALFIT_WRITE_BUDGET").is_some());
    let (mut found, mut wrong) = (BTreeMap::new(), Vec::new());
    for nvrtc in budgeted() {
        println!(
            "{}\n| model | architecture | seconds | registers (bytes spilled) |\n|---|---|---|---|",
            nvrtc.identity()
        );
        let mut compiled = Compiled { nvrtc: &nvrtc, known: HashMap::new() };
        for case in cases() {
            let free = case.model.program().unwrap().partials.len();
            for capability in ARCHITECTURES.into_iter().filter(|&c| nvrtc.knows(c)) {
                let architecture = format!("sm_{}{}", capability.0, capability.1);
                let units = units(&case, capability);
                let (mut total, mut list) = (0.0, Vec::new());
                for unit in &units {
                    let (seconds, log) = compiled.of(unit, capability);
                    total += seconds;
                    for u in uses(&log) {
                        let spilled = match u.spilled_bytes {
                            0 => String::new(),
                            bytes => format!(" ({bytes})"),
                        };
                        list.push(format!("{} {}{spilled}", u.kernel, u.registers));
                        let double = case.arithmetic == Arithmetic::Double;
                        if u.spilled_bytes > 0 && free <= WITHOUT_SPILLS && double {
                            wrong.push(format!("{}, {architecture}: {u:?} spills", case.name));
                        }
                        let key = (case.name.to_owned(), architecture.clone(), u.kernel);
                        match budget.get(&key) {
                            Some(&most) if u.registers > most => {
                                wrong.push(format!("{key:?}: {} of {most} registers", u.registers));
                            }
                            None if !write => wrong.push(format!("{key:?}: not in the budget")),
                            _ => {}
                        }
                        let most: &mut u32 = found.entry(key).or_default();
                        *most = u.registers.max(*most);
                    }
                }
                // The load of the caches by other processes varies within seconds, therefore a slow case is repeated.
                let is_slow = free == 16
                    && total >= SECONDS
                    && (0..TRIES).all(|_| {
                        let slowness = slowness(&nvrtc, capability);
                        total = units.iter().map(|unit| compiled.again(unit, capability)).sum();
                        total >= slowness * SECONDS
                    });
                if is_slow {
                    wrong.push(format!("{}, {architecture}: {total:.1} s to compile", case.name));
                }
                println!("| {} | {architecture} | {total:.2} | {} |", case.name, list.join(", "));
            }
        }
    }
    if write {
        let row =
            |((m, a, k), r): (&(String, String, String), &u32)| format!("{m}; {a}; {k}; {r}\n");
        let rows: String = found.iter().map(row).collect();
        std::fs::write(path(), format!("model; architecture; kernel; registers\n{rows}")).unwrap();
    }
    assert!(write || wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The oldest compilers do not support some C++ features of later ones. The test compiles to PTX only, which takes half
/// of the time; the assembler is the same for all texts.
#[test]
fn compilers_of_cuda_11_know_every_word_of_the_kernels() {
    for nvrtc in all().iter().filter(|nvrtc| nvrtc.version < (12, 0)) {
        let known: Vec<_> = ARCHITECTURES.into_iter().filter(|&c| nvrtc.knows(c)).collect();
        let of_case =
            |(case, &device)| units(case, device).into_iter().map(move |unit| (unit, device));
        let mut texts: Vec<_> =
            cases().iter().zip(known.iter().cycle()).flat_map(of_case).collect();
        let batches = batch::units().map(|(_, unit, _)| unit);
        texts.extend(batches.zip(known.iter().copied().cycle()));
        texts.sort_unstable();
        texts.dedup_by(|a, b| a.0 == b.0);
        for (text, (major, minor)) in &texts {
            let (major, minor) = (*major, *minor);
            // The compiler has no assembler for the following architecture, therefore the image is PTX.
            let image = nvrtc.compile(text, (major, minor + 1)).expect("PTX");
            let target = format!(".target sm_{major}{minor}");
            assert!(String::from_utf8(image.bytes).unwrap().contains(&target));
        }
    }
}

/// Poisson data have separate kernel code, which no case above uses.
#[test]
fn kernels_of_counts_compile_for_every_architecture() {
    let model = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c);
    let program = model.program().unwrap();
    for nvrtc in all() {
        for arithmetic in [Arithmetic::Double, Arithmetic::Single { compensated: true }] {
            let spec = Spec {
                estimator: Estimator::Poisson,
                program: &program,
                free: program.partials.len(),
                columns: vec![Storage::F64],
                response: Storage::F64,
                weights: Weighting::Same,
                loss: Loss::Linear,
                arithmetic,
            };
            for capability in ARCHITECTURES.into_iter().filter(|&c| nvrtc.knows(c)) {
                for unit in
                    [source::passes(&spec, Summation::Registers), source::factor_pass(&spec)]
                {
                    let (_, log) = timed(&nvrtc, &unit, capability);
                    assert!(!uses(&log).is_empty(), "{capability:?}: {log}");
                }
            }
        }
    }
}

/// Rare functions also have separate code. One architecture suffices to show that the compiler knows every name.
#[test]
fn kernels_of_rare_functions_compile() {
    let texts = [
        "a*voigt(x - b, c, d) + faddeeva_im(x, a) + erfcx(b*x) + wright_omega(c*x)",
        "asinh(a*x) + acosh(b + x) + atanh(c*x) + exp2(d*x) + gamma(a*x) + sinc(b*x)",
        "ceil(a*x) + b*round(x) + c*signum(x) + fmod(x, d) + fermi(a*x) + bose(b*x)",
        "i0(a*x) + i1(b*x) + i0e(a*x) + i1e(b*x)",
        "k0(a*x) + k1(b*x) + k0e(a*x) + k1e(b*x)",
        "e1(a*x) + b",
        "j0(a*x) + j1(b*x)",
        "y0(a*x) + y1(b*x)",
    ];
    for (text, arithmetic) in texts.into_iter().flat_map(|text| {
        [Arithmetic::Double, Arithmetic::Single { compensated: true }].map(|kind| (text, kind))
    }) {
        let program = CurveFit::parse(text, ["x"]).unwrap().program().unwrap();
        let spec = Spec {
            estimator: Estimator::LeastSquares,
            program: &program,
            free: program.partials.len(),
            columns: vec![Storage::F64],
            response: Storage::F64,
            weights: Weighting::Same,
            loss: Loss::Linear,
            arithmetic,
        };
        let unit = source::passes(&spec, Summation::Registers);
        for nvrtc in all() {
            let (_, log) = timed(&nvrtc, &unit, (8, 0));
            let kernels = uses(&log);
            assert!(!kernels.is_empty(), "{text}: {log}");
            assert!(kernels.iter().all(|kernel| kernel.spilled_bytes == 0), "{text}: {kernels:?}");
        }
    }
}
