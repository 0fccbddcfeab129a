//! A build without the feature `cuda`: fits run on the CPU, and a required device is an error that names the feature.
#![cfg(not(feature = "cuda"))]

use dualfit::device::{Costs, Device, devices};
use dualfit::error::NoCuda;
use dualfit::{Backend, CurveFit, Data, Error, Fit};

fn line_through_two_points(backend: Backend) -> Result<Fit, Error> {
    // At this cost of the CPU, `Backend::Auto` would choose any device.
    let costs = Costs::default().cpu_unit_seconds(1.0);
    let line = CurveFit::new(|x, [a]| a * x).costs(costs).backend(backend);
    line.fit(Data::new(&[1.0, 2.0], &[2.0, 4.0])?, [1.0])
}

#[test]
fn auto_uses_the_cpu_and_says_why() {
    let fit = line_through_two_points(Backend::Auto).unwrap();
    assert!((fit.params()[0] - 2.0).abs() < 1e-12, "{fit}");
    assert_eq!(fit.stats().device, None);
    assert_eq!(fit.stats().reason, NoCuda::NotCompiled.to_string());
}

#[test]
fn a_required_device_is_an_error() {
    let refused = [
        line_through_two_points(Backend::cuda(0)).map(drop),
        line_through_two_points(Backend::cuda([0, 1])).map(drop),
        Device::open(0).map(drop),
        devices().map(drop),
    ];
    for refused in refused {
        let error = refused.unwrap_err();
        assert!(
            matches!(error, Error::CudaUnavailable { reason: NoCuda::NotCompiled, .. }),
            "{error}"
        );
        assert!(error.to_string().contains("feature `cuda`"), "{error}");
    }
}
