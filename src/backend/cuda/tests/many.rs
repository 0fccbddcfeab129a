//! Tests of the sums for more than 32 parameters, which use rows in device memory.

use super::passes::{Passes, Sample, bits, difference, exponentials, parameters, spec};
use super::sums::on_cpu;
use crate::backend::cuda::source::{Arithmetic, Storage};
use crate::data::loss::Loss;

#[test]
fn sums_of_many_parameters_are_those_of_the_cpu() {
    for (n, loss) in [(33, Loss::Linear), (40, Loss::Cauchy { scale: 0.7 }), (100, Loss::Linear)] {
        let program = exponentials(n);
        let spec = spec(&program, loss, Storage::F64, Arithmetic::Double);
        let Some(mut device) = Passes::new(&spec) else { return };
        let (params, columns) = parameters(n);
        let at = (params.as_slice(), columns.as_slice());
        for (c, size) in [0, 1, 31, 32, 33, 129, 257, 1000].into_iter().enumerate() {
            let sample = Sample::new(size, c % 2 == 0);
            device.upload(&sample);
            let (normal, _) = on_cpu(&program, &sample, loss, at);
            for shape in [(1000, 1, 1), (1000, 20, 3), (200, 2, 2)] {
                let mut seen = Vec::new();
                for seed in [0, 5] {
                    device.set_seed(seed);
                    let found = device.chunked(shape, at, 0.1);
                    assert!(seen.is_empty() || seen == bits(&found), "{n} {size} {shape:?}");
                    seen = bits(&found);
                    let error = difference(&found, &normal, n + 1);
                    assert!(error <= 1e-12, "{n} {size} {shape:?}: {error:e}");
                }
            }
        }
    }
}

#[test]
fn what_is_not_finite_reaches_the_sums_of_many_parameters() {
    let n = 40;
    let program = exponentials(n);
    let spec = spec(&program, Loss::Linear, Storage::F64, Arithmetic::Double);
    let Some(mut device) = Passes::new(&spec) else { return };
    let (params, columns) = parameters(n);
    for place in [0, 99, 299] {
        let mut sample = Sample::new(300, false);
        sample.x[place] = f64::NAN;
        device.upload(&sample);
        let sums = device.chunked((200, 3, 2), (&params, &columns), 0.1);
        assert!(sums.iter().all(|s| s.is_nan()), "{place}");
    }
}
