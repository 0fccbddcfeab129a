//! Tests on a real CUDA device: the suite of all devices, memory over many fits, resident data.
//!
//! Without a device each test prints why it is skipped. `tests/device/pack` carries this test to a
//! machine that has a GPU and no Rust.

#[path = "support/around.rs"]
mod around;
#[path = "support/at_once.rs"]
mod at_once;
#[path = "support/batches.rs"]
mod batches;
#[path = "support/batches_f32.rs"]
mod batches_f32;
#[path = "support/failing.rs"]
mod failing;
#[path = "support/losses.rs"]
mod losses;
#[path = "support/nist.rs"]
mod nist;
#[path = "support/several.rs"]
mod several;
#[path = "support/streams.rs"]
mod streams;
#[path = "support/suite.rs"]
mod suite;
#[path = "support/twins.rs"]
mod twins;

use dualfit::device::{Costs, Device, Devices, Processor};
use dualfit::{Backend, CurveFit, Data, Error};

/// The number of the device under test, or the reason why there is none.
fn device() -> Option<usize> {
    let required = std::env::var("DUALFIT_REQUIRE").is_ok_and(|r| r.contains("cuda"));
    match dualfit::device::devices() {
        Ok(devices) if !devices.is_empty() => {
            let wanted = std::env::var("DUALFIT_DEVICE").ok().and_then(|d| d.parse().ok());
            Some(wanted.unwrap_or(0))
        }
        Ok(_) if required => panic!("DUALFIT_REQUIRE asks for a device and there is none"),
        Err(reason) if required => panic!("DUALFIT_REQUIRE asks for a device: {reason}"),
        Ok(_) => {
            eprintln!("SKIP (no CUDA device)");
            None
        }
        Err(reason) => {
            eprintln!("SKIP ({reason})");
            None
        }
    }
}

fn on_device(test: impl FnOnce(suite::Place<'_>)) {
    if let Some(ordinal) = device() {
        test(&|model: CurveFit| model.backend(Backend::cuda(ordinal)));
    }
}

suite::tests_on!(on_device);
batches::batches_on!(on_device);
batches_f32::batches_f32_on!(on_device);
streams::streams_on!(on_device);
around::around_on!(on_device);
twins::twins_on!(on_device);
at_once::at_once_on!(on_device);
several::several_on!(on_devices);

/// On the device under test and on those like it.
fn on_devices(test: impl FnOnce(several::Shared<'_>)) {
    let Some(ordinal) = device() else { return };
    let twins: Vec<usize> = at_once::alike(ordinal).iter().map(|d| d.ordinal).collect();
    test(&|model: CurveFit, devices: usize| {
        Some(model.backend(Backend::cuda(twins.get(..devices)?)))
    });
}

#[test]
fn devices_alike_give_the_same_bits() {
    if device().is_some() {
        at_once::devices_alike_give_the_same_bits();
    }
}

#[test]
fn whatever_call_fails_nothing_is_lost() {
    // The call that fails on demand may be part of this search.
    if std::env::var_os("SOFT_CUDA_FAIL").is_some() || device().is_some() {
        failing::whatever_call_fails_nothing_is_lost();
    }
}

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
}

fn line(n: usize) -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..n).map(|i| 10.0 * i as f64 / n as f64).collect();
    let y = x.iter().map(|x| 2.0 * (-0.5 * x).exp() + 0.3 + 0.01 * (97.0 * x).sin()).collect();
    (x, y)
}

/// With costs that make any device worthwhile.
#[test]
fn auto_uses_the_device_or_says_why_it_cannot() {
    let (x, y) = line(1000);
    let costs = Costs::default().cpu_unit_seconds(1.0).startup_seconds(0.0).compile_seconds(0.0);
    let model = decay().backend(Backend::Auto).costs(costs);
    let fit = model.fit(Data::new(&x, &y).unwrap(), [2.5, 0.8, 0.1]).unwrap();
    assert!(fit.converged());
    let stats = fit.stats();
    match dualfit::device::devices() {
        Ok(_) => assert_eq!(stats.processor, Processor::Cuda, "{}", stats.reason),
        Err(Error::CudaUnavailable { reason, .. }) => {
            assert_eq!((stats.processor, &stats.reason), (Processor::Cpu, &reason.to_string()));
        }
        Err(other) => panic!("{other}"),
    }
    let small = decay().fit(Data::new(&x, &y).unwrap(), [2.5, 0.8, 0.1]).unwrap();
    assert_eq!(small.stats().processor, Processor::Cpu);
    assert!(small.stats().reason.contains("too little"), "{}", small.stats().reason);
}

/// Of devices alike.
#[test]
fn auto_takes_all_devices_alike_unless_one_is_named() {
    let Some(ordinal) = device() else { return };
    let twins = at_once::alike(ordinal);
    let (name, alike) = (&twins[0].name, twins.len());
    let (x, y) = line(5000);
    let costs = Costs::default().cpu_unit_seconds(1.0).startup_seconds(0.0).compile_seconds(0.0);
    let model = decay().costs(costs.segment_points(1000_usize));
    let fit = model.fit(Data::new(&x, &y).unwrap(), [2.5, 0.8, 0.1]).unwrap();
    let many = alike > 1 && std::env::var_os("DUALFIT_DEVICE").is_none();
    let expected = if many { format!("{alike} \u{d7} {name}") } else { name.clone() };
    assert_eq!(fit.stats().device, Some(expected), "{}", fit.stats().reason);
    let one =
        model.backend(Backend::cuda(ordinal)).fit(Data::new(&x, &y).unwrap(), [2.5, 0.8, 0.1]);
    assert_eq!(fit.params(), one.unwrap().params());
}

#[test]
fn devices_that_are_not_there_are_said() {
    let Some(ordinal) = device() else { return };
    let count = dualfit::device::devices().unwrap().len();
    let (x, y) = line(100);
    let fit = |backend| {
        decay().backend(backend).fit(Data::new(&x, &y).unwrap(), [2.5, 0.8, 0.1]).map(|_| ())
    };
    let missing = fit(Backend::cuda([ordinal, count])).unwrap_err();
    let said = format!("there is no CUDA device {count}, only {count} device(s)");
    assert!(missing.to_string().contains(&said), "{missing}");
    let none = fit(Backend::cuda([])).unwrap_err();
    assert!(none.to_string().contains("the list of devices is empty"), "{none}");
    fit(Backend::cuda(Devices::All)).unwrap();
}

#[test]
fn uploaded_data_serve_many_models() {
    let Some(ordinal) = device() else { return };
    let (x, y) = line(100_000);
    let device = Device::open(ordinal).unwrap();
    let data = device.upload(Data::new(&x, &y).unwrap()).unwrap();
    let first = decay().fit(&data, [2.5, 0.8, 0.1]).unwrap();
    let again = decay().fit(&data, [2.5, 0.8, 0.1]).unwrap();
    assert!(first.converged());
    assert_eq!(first.params(), again.params());
    let line = CurveFit::new(|x, [a, b]| a * x + b).fit(&data, [0.0, 0.0]).unwrap();
    assert!(line.converged() && line.cost() > first.cost());
}

#[test]
fn a_thousand_fits_leave_the_memory_as_it_was() {
    let Some(ordinal) = device() else { return };
    let (x, y) = line(1 << 16);
    let model = decay().backend(Backend::cuda(ordinal));
    let fit = || model.fit(Data::new(&x, &y).unwrap(), [2.5, 0.8, 0.1]).unwrap();
    let free =
        || dualfit::device::devices().unwrap()[ordinal].memory_free.expect("the free memory");
    (0..10).for_each(|_| assert!(fit().converged()));
    let before = free();
    (0..1000).for_each(|_| assert!(fit().converged()));
    let lost = before.saturating_sub(free());
    assert!(lost < 8 << 20, "{lost} bytes were not given back");
}
