//! Fits as small as may be that together come to every barrier, fence and mask of the kernels, each by a path of its own.
//! `tests/device/soft_cuda/mutants` makes their launches again with a mistake at each of those.

#![allow(unreachable_pub, reason = "a test includes this as a private module")]

use super::batches::{self, START, abscissae, decay, decays};
use super::losses::robust;
use super::suite::{self, Place};
use dualfit::{BatchData, CurveFit, Data, Estimator, Loss, Options, Precision, Var};

/// The tests, each handed to `$on_device`, which calls it with a [`Place`] or skips it.
macro_rules! twins_on {
    ($on_device:ident) => {
        #[test]
        fn twins_of_passes() {
            $on_device(twins::passes);
        }

        #[test]
        fn twins_of_batches() {
            $on_device(twins::batches);
        }

        #[test]
        fn twins_of_ends() {
            $on_device(twins::ends);
        }
    };
}
pub(crate) use twins_on;

/// Points of a batch that four lanes share, so that a warp has eight fits.
const POINTS: usize = 64;

/// A sum of cosines, linear in all parameters.
fn cosines(params: usize) -> CurveFit {
    CurveFit::dynamic(params, |x, p: &[Var]| {
        let terms = p.iter().enumerate();
        terms.fold(Var::from(0.0), |sum, (k, c)| sum + *c * (x * (0.78 * k as f64)).cos())
    })
}

/// Sums in registers, in tiles, and by rows; factors. By one block and by several.
pub fn passes(place: Place<'_>) {
    let x = abscissae(300);
    let y = decays(&x, 1);
    let data = Data::new(&x, &y).unwrap();
    suite::compare("registers", &decay(), &data, &START, place);
    let cauchy = decay().loss(Loss::Cauchy { scale: 1.0 });
    suite::compare("a factor", &cauchy, &data, &START, place);
    let mixed = decay().precision(Precision::Mixed);
    place(mixed).fit(data.clone(), START).unwrap();
    for params in [9, 17, 33] {
        let what = format!("{params} parameters");
        suite::compare(&what, &cosines(params), &data, &vec![0.1; params], place);
    }
    let cauchy = cosines(9).loss(Loss::Cauchy { scale: 1.0 });
    suite::compare("a factor of 9", &cauchy, &data, &[0.1; 9], place);
}

/// Fits of batches, whose lanes take the steps.
pub fn batches(place: Place<'_>) {
    let x = abscissae(POINTS);
    let mut stack = decays(&x, 3);
    let data = BatchData::shared(&x, &stack).unwrap();
    let kept = decay().keep_covariance(true);
    batches::check(&kept, &data, START, 0, place);
    batches::check(&kept.clone().bound("p1", 0.0..=0.9), &data, START, 0, place);
    batches::check(&decay().options(Options::default().etol(0.01)), &data, START, 0, place);
    for precision in [Precision::Mixed, Precision::Single] {
        let fitter = place(decay().precision(precision));
        fitter.fit_batch(&data, START).unwrap();
    }
    batches::check(&cosines(12), &data, vec![0.1; 12].as_slice(), 0, place);
    let counted = decay().estimator(Estimator::Poisson).bound("p2", 1e-6..);
    let counts: Vec<u16> = stack.iter().map(|y| y.max(0.0) as u16).collect();
    batches::check(&counted, &BatchData::shared(&x, &counts).unwrap(), START, 3, place);
    stack.iter_mut().step_by(37).for_each(|y| *y += 30.0);
    let data = BatchData::shared(&x, &stack).unwrap();
    for loss in robust(2.0) {
        batches::check(&decay().loss(loss), &data, START, 3, place);
    }
}

/// Ends that few fits come to.
pub fn ends(place: Place<'_>) {
    batches::second_runs(place);
}
