//! Unusual fits of batches under every loss and for counts: samples that are not finite, zeros, huge numbers, saturated
//! samples and active bounds; then the same with masks and unequal numbers of points.

use super::batches::{abscissae, both, decay, decays};
use super::{SHARED, assign, losses};
use crate::fit::batch::BatchFitView;
use crate::{BatchData, BatchFit, CurveFit, Estimator};

const POINTS: usize = 40;
/// Distance between the fits of the same kind.
const KINDS: usize = 64;
/// Data of zeros determine no rate of a decay: the parameters are not unique.
const ZEROS: usize = 9;

/// Returns the number of fits of each loss: 128, or as many as `DUALFIT_SLIM_FITS` says.
fn number() -> usize {
    let said = std::env::var("DUALFIT_SLIM_FITS").ok();
    said.map_or(2 * KINDS, |n| n.parse().expect("DUALFIT_SLIM_FITS is a number"))
}

/// Returns decays on an offset of 5, in some of which samples are unusual.
fn samples(fits: usize) -> Vec<f64> {
    let mut stack = decays(&abscissae(POINTS), fits);
    for (i, fit) in stack.chunks_mut(POINTS).enumerate() {
        match i % KINDS {
            3 => fit[17] = f64::NAN,
            5 => fit[0] = f64::INFINITY,
            ZEROS => fit.fill(0.0),
            11 => fit.iter_mut().for_each(|y| *y *= 1e200),
            20 => fit.iter_mut().for_each(|y| *y = y.min(12.0)),
            _ => {}
        }
    }
    stack
}

/// Largest differences of the fits of two batches that end alike.
#[derive(Debug, Default)]
struct Differences {
    params: f64,
    errors: f64,
    costs: f64,
}

impl Differences {
    /// Adds those of a fit, relative to the numbers of `b`. A parameter may also differ by 1e-9 standard errors.
    fn add(&mut self, a: &BatchFitView<'_>, b: &BatchFitView<'_>) {
        let relative = |p: f64, q: f64| if p == q { 0.0 } else { (p - q).abs() / q.abs() };
        for (k, (&p, &q)) in a.params().iter().zip(b.params()).enumerate() {
            let errors = [a, b].map(|fit| fit.std_errors()[k]);
            if (p - q).abs() > 1e-9 * errors[1] {
                self.params = self.params.max(relative(p, q));
            }
            self.errors = self.errors.max(relative(errors[0], errors[1]));
        }
        self.costs = self.costs.max(relative(a.cost(), b.cost()));
    }
}

/// Compares all fits of a device with those of the CPU.
fn assert_same(name: &str, [there, here]: &[BatchFit; 2]) {
    let (mut largest, mut wrong, mut ended) = (Differences::default(), Vec::new(), 0);
    for (i, (a, b)) in there.iter().zip(here.iter()).enumerate() {
        let same_bounds = i % KINDS == ZEROS || a.at_bound().eq(b.at_bound());
        if a.status() != b.status() || a.points() != b.points() || !same_bounds {
            wrong.push(format!("fit {i}: {} and {}", a.status(), b.status()));
            continue;
        }
        if !b.status().is_determined() || i % KINDS == ZEROS {
            continue;
        }
        ended += 1;
        let mut of_fit = Differences::default();
        of_fit.add(&a, &b);
        if of_fit.params > 1e-9 || of_fit.errors > 1e-6 || of_fit.costs > 1e-8 {
            wrong.push(format!("fit {i}, {}: {of_fit:?}", b.status()));
        }
        largest.add(&a, &b);
    }
    println!(
        "{name}: {ended} of {} have ended, {} on the host: {largest:?}",
        here.n_fits(),
        there.left_to_cpu()
    );
    assert!(wrong.is_empty(), "{name}: {} fits differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(10 * ended > 9 * here.n_fits(), "{name}: {ended} fits have ended");
}

#[test]
fn unusual_fits_of_all_losses_end_as_on_the_cpu() {
    let Some((_, device)) = &*SHARED else { return };
    let place = |model: CurveFit| assign(model, device, false);
    let stack = samples(number());
    let counts: Vec<f64> = stack.iter().map(|y| (8.0 * y).round()).collect();
    let x = abscissae(POINTS);
    let bounded = decay().bound("p2", 5.0..);
    let start = [15.0, 0.7, 6.0];
    let robust = losses::robust(0.4).into_iter();
    let robust = robust.map(|loss| (bounded.clone().loss(loss), &stack, start));
    let poisson = decay().estimator(Estimator::Poisson).bound("p0", 0.0..).bound("p2", 40.0..);
    let cases = [(bounded.clone(), &stack, start), (poisson, &counts, [120.0, 0.7, 48.0])];
    for (fitter, stack, start) in cases.into_iter().chain(robust) {
        let name = format!("{:?}, {:?}", fitter.loss, fitter.estimator);
        let shared = BatchData::shared(&x, stack).unwrap();
        assert_same(&name, &both(&fitter, &shared, start, &place));

        let (mut xs, mut ragged, mut offsets) = (Vec::new(), Vec::new(), vec![0]);
        for (fit, length) in stack.chunks(POINTS).zip([40, 25, 31].into_iter().cycle()) {
            xs.extend_from_slice(&x[..length]);
            ragged.extend_from_slice(&fit[..length]);
            offsets.push(xs.len());
        }
        let mask: Vec<bool> = (0..xs.len()).map(|i| i % 11 != 4).collect();
        let own = BatchData::own(&xs, &ragged).unwrap().offsets(&offsets).unwrap();
        let own = own.mask(&mask).unwrap();
        assert_same(&format!("{name}, unequal lengths"), &both(&fitter, &own, start, &place));
    }
}
