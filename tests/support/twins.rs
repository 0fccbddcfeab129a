//! The smallest fits that together reach every barrier, fence and mask of the kernels, each on its own path.
//! `tests/device/soft_cuda/mutants` repeats their launches with a mistake at each of these places.

#![allow(unreachable_pub, reason = "a test includes this as a private module")]

use super::batches::{self, START, abscissae, decay, decays};
use super::losses::robust;
use super::suite::{self, Place};
use dualfit::device::Processor;
use dualfit::source::SliceSource;
use dualfit::{
    BatchData, CurveFit, Data, Estimator, Loss, Missing, Options, Precision, Sigma, Stream, Var,
};

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
        fn twins_of_slim_batches() {
            $on_device(twins::slim_batches);
        }

        #[test]
        fn twins_of_ends() {
            $on_device(twins::ends);
        }
    };
}
pub(crate) use twins_on;

/// Points of a batch that four lanes share; a warp then holds eight fits.
const POINTS: usize = 128;
/// A mask, although of all points, so that the general kernel runs all fits of a batch.
const ALL: [bool; POINTS] = [true; POINTS];

/// A sum of cosines, linear in all parameters.
fn cosines(params: usize) -> CurveFit {
    CurveFit::dynamic(params, |x, p: &[Var]| {
        let terms = p.iter().enumerate();
        terms.fold(Var::from(0.0), |sum, (k, c)| sum + *c * (x * (0.78 * k as f64)).cos())
    })
}

/// Sums in registers, in tensor cores, in tiles, and by rows; factors. By one block and by several.
pub fn passes(place: Place<'_>) {
    let x = abscissae(300);
    let y = decays(&x, 1);
    let data = Data::new(&x, &y).unwrap();
    suite::compare("registers", &decay(), &data, &START, place);
    let cauchy = decay().loss(Loss::Cauchy { scale: 1.0 });
    suite::compare("a factor", &cauchy, &data, &START, place);
    for params in [9, 17] {
        let what = format!("{params} parameters");
        suite::compare(&what, &cosines(params), &data, &vec![0.1; params], place);
    }
    // The device has little f64, so that the first stage has sums in two floats, which tensor cores do not compute.
    let mixed = place(cosines(9).precision(Precision::Mixed)).fit(data.clone(), [0.1; 9]).unwrap();
    assert!(mixed.converged() && mixed.stats().processor == Processor::Cuda, "{}", mixed.stats());
    let cauchy = cosines(9).loss(Loss::Cauchy { scale: 1.0 });
    suite::compare("a factor of 9", &cauchy, &data, &[0.1; 9], place);
    // Squares beyond what reflections are made of as they are.
    let huge: Vec<f64> = y.iter().map(|y| 1e60 * y).collect();
    let cauchy = decay().loss(Loss::Cauchy { scale: 1e60 });
    let start = [START[0] * 1e60, START[1], START[2] * 1e60];
    suite::compare("a huge factor", &cauchy, &Data::new(&x, &huge).unwrap(), &start, place);
    // Two splits of the points, and more than one point for some threads.
    let long = abscissae(1100);
    let many = decays(&long, 1);
    let many = Data::new(&long, &many).unwrap();
    suite::compare("tensor cores", &cosines(9), &many, &[0.1; 9], place);
    suite::compare("rows", &cosines(33), &many, &[0.1; 33], place);
    for precision in [Precision::Double, Precision::Mixed] {
        let model = place(decay().precision(precision));
        let source = SliceSource::new(&x, &y).unwrap();
        let fit = model.fit_stream(Stream::new(source).subsample(false), START).unwrap();
        assert_eq!(fit.stats().processor, Processor::Cuda, "{}", fit.stats());
    }
}

/// Fits of batches, whose lanes take the steps.
pub fn batches(place: Place<'_>) {
    let x = abscissae(POINTS);
    let mut stack = decays(&x, 3);
    let data = BatchData::shared(&x, &stack).unwrap().mask(&ALL).unwrap();
    let kept = decay().keep_covariance(true);
    batches::check(&kept, &data, START, 0, place);
    batches::check(&kept.clone().bound("p1", 0.0..=0.9), &data, START, 0, place);
    batches::check(&decay().options(Options::default().etol(0.01)), &data, START, 0, place);
    batches::check(&cosines(12), &data, vec![0.1; 12].as_slice(), 0, place);
    let counted = decay().estimator(Estimator::Poisson).bound("p2", 1e-6..);
    let counts: Vec<u16> = stack.iter().map(|y| y.max(0.0) as u16).collect();
    let counts = BatchData::shared(&x, &counts).unwrap().mask(&ALL).unwrap();
    batches::check(&counted, &counts, START, 3, place);
    // A limit that ends the first stage.
    let limited = decay().options(Options::default().max_evaluations(2));
    let limited = limited.loss(Loss::Tukey { scale: 2.0 });
    batches::check(&limited, &data, START, 3, place);
    for fitter in [decay(), decay().bound("p1", 0.0..=0.9)] {
        for precision in [Precision::Mixed, Precision::Single] {
            let fitter = place(fitter.clone().precision(precision));
            fitter.fit_batch(&data, START).unwrap();
        }
    }
    stack.iter_mut().step_by(37).for_each(|y| *y += 30.0);
    let data = BatchData::shared(&x, &stack).unwrap().mask(&ALL).unwrap();
    for loss in robust(2.0) {
        batches::check(&decay().loss(loss), &data, START, 3, place);
    }
}

/// Fits of the slim kernel: more than teams of a warp, and one that leaves.
pub fn slim_batches(place: Place<'_>) {
    let (x, fits) = (abscissae(24), 19);
    let mut stack = decays(&x, fits);
    let counts: Vec<u16> = stack.iter().map(|y| y.max(0.0) as u16).collect();
    let data = BatchData::shared(&x, &stack).unwrap();
    let kept = decay().keep_covariance(true);
    batches::check(&kept, &data, START, 0, place);
    batches::check(&kept.bound("p1", 0.0..=1.2), &data, START, 0, place);
    let counted = decay().estimator(Estimator::Poisson);
    batches::check(&counted, &BatchData::shared(&x, &counts).unwrap(), START, 3, place);
    // One lane of the warp finds that the columns are not finite.
    let mut holed = x.clone();
    holed[2] = f64::NAN;
    let holed = BatchData::shared(&holed, &stack).unwrap().missing(Missing::Omit);
    batches::check(&decay(), &holed, START, fits, place);
    stack.iter_mut().step_by(37).for_each(|y| *y += 30.0);
    let data = BatchData::shared(&x, &stack).unwrap();
    for loss in robust(2.0) {
        batches::check(&decay().loss(loss), &data, START, 3, place);
    }
}

/// The same ends on the device and on the CPU, of fits whose parameters may be anywhere.
fn ends_alike(fitter: &CurveFit, data: &BatchData<'_>, start: &[f64], place: Place<'_>) {
    let [there, here] = batches::both(fitter, data, start, place);
    for (i, (a, b)) in there.iter().zip(here.iter()).enumerate() {
        assert_eq!((a.status(), a.points()), (b.status(), b.points()), "fit {i}");
    }
}

/// Terminations that few fits reach.
pub fn ends(place: Place<'_>) {
    batches::second_runs(place);
    let (x, fits) = (abscissae(POINTS), 3);
    let stack = decays(&x, fits);
    let data = BatchData::shared(&x, &stack).unwrap().mask(&ALL).unwrap();
    // Nothing has an effect at the start.
    let squares = CurveFit::new(|x, [a, b]| (a * x).powi(2) + (b * x.powi(2)).powi(2));
    ends_alike(&squares, &data, &[0.0, 0.0], place);
    // What the points do not determine, and what normal equations do not.
    let sum = CurveFit::new(|x, [a, b, c, d]| a * (-b * x).exp() + c + d).keep_covariance(true);
    ends_alike(&sum, &data, &[15.0, 0.7, 1.0, 2.0], place);
    ends_alike(&sum.bound("p1", 0.0..=0.9), &data, &[15.0, 0.7, 1.0, 2.0], place);
    let powers = CurveFit::new(|x, [a, b, c, d]| {
        let u = x + 100.0;
        a + u * (b + u * (c + u * d))
    });
    let powers = powers.keep_covariance(true);
    ends_alike(&powers, &data, &[1.0; 4], place);
    ends_alike(&powers.bound("p3", 2.0..), &data, &[1.0, 1.0, 1.0, 3.0], place);
    let unused = CurveFit::new(|x, [a, b, c, _d]| a * (-b * x).exp() + c).keep_covariance(true);
    ends_alike(&unused, &data, &[15.0, 0.7, 3.0, 1.0], place);
    // A partial whose square vanishes, at a point of one lane.
    let tiny = CurveFit::new(|x, [a, b]| a * x + b * 1e-170 * (-(1e3 * x).powi(2)).exp());
    ends_alike(&tiny, &data, &[1.0, 1e170], place);
    // The first rows that are folded are nearly nothing.
    let peak = CurveFit::new(|x, [a, b]| a * (-((x - 3.5) / 0.08).powi(2)).exp() + b * x);
    ends_alike(&peak.loss(Loss::Cauchy { scale: 2.0 }), &data, &[1.0, 1.0], place);
    // The error concerns one lane: only the squares of the residuals overflow.
    ends_alike(&cosines(2), &data, &[1e160, 0.1], place);
    let mut starts = vec![START; fits];
    starts[1][2] = f64::NAN;
    batches::check(&decay(), &data, &starts, fits, place);
    let mut sigma = vec![0.5; fits * POINTS];
    sigma[POINTS + 2] = -1.0;
    let data = data.sigma(Sigma::Absolute(&sigma)).unwrap();
    batches::check(&decay(), &data, START, fits, place);
}
