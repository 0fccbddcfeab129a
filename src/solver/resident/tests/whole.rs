//! Whole fits on the emulated device, passes and solver, against the host.

use super::case::Case;
use super::{certified, decay, nist, spoilt};
use crate::backend::cuda::compiler::Compiler;
use crate::backend::cuda::driver::{Address, Driver};
use crate::backend::cuda::emulated::{Emulator, Settings, emulator_or_skip};
use crate::backend::cuda::fit::{DeviceFit, Parts};
use crate::backend::cuda::source::{Arithmetic, Spec, Storage, translation_unit};
use crate::data::loss::Loss;
use crate::normal::{RFactor, Spectrum};
use crate::solver::minimise::{Failure, Outcome};
use crate::solver::resident::minimise_resident;
use crate::solver::work::Work;
use std::sync::Arc;
use std::time::Instant;

/// What came of a fit: on the device, and the spectra there and on the host at its end.
struct Whole {
    outcome: Outcome,
    spectrum: Spectrum,
    expected: Spectrum,
}

/// Bytes of `Data`, and the buffers that it names.
fn upload(device: &Emulator, case: &Case, weight: f64) -> (Vec<u8>, Vec<Address>) {
    let put = |values: &Vec<f64>| {
        let address = device.allocate(8 * values.len()).expect("memory");
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
        device.upload(address, &bytes).expect("a copy");
        address
    };
    let buffers: Vec<Address> = case.columns.iter().chain([&case.y]).map(put).collect();
    let mut words: Vec<u64> = buffers.iter().map(|a| a.0).collect();
    let scale = case.loss.scale().unwrap_or(1.0);
    words.extend([0, weight.to_bits(), scale.to_bits(), case.y.len() as u64]);
    (words.into_iter().flat_map(u64::to_ne_bytes).collect(), buffers)
}

fn fit(device: &Arc<Emulator>, case: &Case, blocks: u32) -> Result<Whole, Failure> {
    case.with_points(|points, program, host, problem| {
        let n = problem.free.len();
        let source = translation_unit(&Spec {
            program,
            free: n,
            columns: vec![Storage::F64; case.columns.len()],
            response: Storage::F64,
            loss: case.loss,
            arithmetic: Arithmetic::Double,
        });
        let image = match device.compile(&source, (9, 0)) {
            Ok(image) => image,
            Err(error) => panic!("{error:#?}"),
        };
        let module = device.load(&image.bytes).expect("a module");
        let (data, buffers) = upload(device, case, points.weight(0));
        let params = problem.start.len();
        let parts =
            Parts { driver: &**device, module, data, free: n, params, blocks, host: &mut *host };
        let mut fit = DeviceFit::new(parts).expect("memory");
        let begun = Instant::now();
        let result =
            minimise_resident(&mut fit, problem, &case.options, None, begun, Work::default());
        let kept: Vec<usize> = (0..n).filter(|j| n == 1 || j % 4 != 1).collect();
        let ended = result.map(|outcome| {
            let (at, columns) = (&outcome.params, &outcome.columns);
            let spectrum = fit.spectrum_at(at, columns, &kept).expect("a spectrum");
            let nothing = fit.spectrum_of(&RFactor::zero(n), &kept).expect("a spectrum");
            assert!(nothing.found && nothing.sigma.iter().all(|&s| s == 0.0));
            (outcome, spectrum)
        });
        drop(fit);
        let whole = ended.map(|(outcome, spectrum)| {
            let mut factor = RFactor::zero(n);
            host.factor(&outcome.params, &outcome.columns, &mut factor).expect("a factor");
            Whole { outcome, spectrum, expected: Spectrum::of(&factor, &kept) }
        });
        buffers.into_iter().for_each(|b| device.release(b));
        device.unload(module);
        whole
    })
}

/// The same end as on the host; parameters to 1e-9, singular values to what rounding of the data makes
/// of them.
#[track_caller]
fn check(device: &Arc<Emulator>, case: &Case, blocks: u32, name: &str) {
    let host = case.on_host(None).expect("an outcome");
    let found = fit(device, case, blocks).expect("an outcome");
    let Outcome { termination, params, work, retried, .. } = found.outcome;
    assert_eq!(termination, host.termination, "{name}");
    assert_eq!(retried, host.retried, "{name}");
    // Sums in another order change the last digits, and with them how many steps refine them.
    let (evaluations, expected) = (work.evaluations, host.work.evaluations);
    assert!(
        evaluations.abs_diff(expected) <= 2 + expected / 10,
        "{name}: {evaluations}, {expected}"
    );
    for (p, q) in params.iter().zip(&host.params) {
        assert!((p - q).abs() <= 1e-9 * q.abs(), "{name}: {params:?} for {:?}", host.params);
    }
    let close = |a: &[f64], b: &[f64], tolerance: f64| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance * b.abs())
    };
    let (found, expected) = (found.spectrum, found.expected);
    assert!(found.found && expected.found, "{name}");
    assert!(close(&found.lengths, &expected.lengths, 1e-8), "{name}: {found:?} {expected:?}");
    let relative = 1e-12 * expected.sigma[0];
    for (a, b) in found.sigma.iter().zip(&expected.sigma) {
        assert!((a - b).abs() <= 1e-7 * b + relative, "{name}: {found:?} {expected:?}");
    }
}

#[test]
fn nist_ends_where_the_host_ends() {
    let Some(device) = emulator_or_skip(Settings::default()) else { return };
    for problem in nist::problems() {
        for start in [&problem.start1, &problem.start2] {
            check(&device, &certified(&problem, start), 3, &problem.name);
        }
    }
    assert_eq!(device.live(), 0);
}

#[test]
fn bounds_losses_and_grids() {
    let Some(device) = emulator_or_skip(Settings::default()) else { return };
    for (blocks, seed) in [(1, 0), (2, 5), (7, 6)] {
        device.set_seed(seed);
        check(&device, &decay(), blocks, "decay");
        check(&device, &decay().bound(1, 0.5, 1.1).fixed(0), blocks, "bounded");
    }
    for loss in [Loss::SoftL1 { scale: 0.1 }, Loss::Cauchy { scale: 0.1 }] {
        check(&device, &spoilt().loss(loss), 2, &format!("{loss:?}"));
    }
    assert_eq!(device.live(), 0);
}
