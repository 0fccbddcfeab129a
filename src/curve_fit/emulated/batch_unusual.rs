//! Unusual fits of batches under every loss and for counts: samples that are not finite, zeros, huge numbers, saturated
//! samples and active bounds; then the same with masks and unequal numbers of points.

use super::batches::{abscissae, both, decay, decays};
use super::{SHARED, assign, losses};
use crate::fit::batch::BatchFitView;
use crate::{BatchData, BatchFit, CurveFit, Estimator, Loss};

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

/// Maximum difference of a parameter, in standard errors; smaller relative differences than 1e-9 are permitted, too.
const DIGITS: f64 = 1e-9;
/// The same under a loss that is not convex. Its negative curvature is replaced in the steps, which therefore shrink only
/// linearly near the minimum. A fit ends if a step changes the cost by less than ftol = 1e-10, relatively. For n points,
/// that is a step of up to sqrt(ftol n) = 6e-5 standard errors; rounding decides if another one follows.
const DIGITS_IF_NOT_CONVEX: f64 = 1e-3;

/// Largest differences of the fits of two batches, relative to the numbers of the CPU.
#[derive(Debug, Default)]
struct Differences {
    params: f64,
    /// Differences of more than 1e-9 in standard errors.
    shifts: f64,
    errors: f64,
    costs: f64,
}

impl Differences {
    fn add(&mut self, a: &BatchFitView<'_>, b: &BatchFitView<'_>) {
        let relative = |p: f64, q: f64, unit: f64| if p == q { 0.0 } else { (p - q).abs() / unit };
        for (k, (&p, &q)) in a.params().iter().zip(b.params()).enumerate() {
            let [error, expected] = [a, b].map(|fit| fit.std_errors()[k]);
            let (of_param, shift) = (relative(p, q, q.abs()), relative(p, q, expected));
            self.params = self.params.max(of_param);
            if of_param > 1e-9 {
                self.shifts = self.shifts.max(shift);
            }
            self.errors = self.errors.max(relative(error, expected, expected));
        }
        self.costs = self.costs.max(relative(a.cost(), b.cost(), b.cost()));
    }
}

/// Compares all fits of a device with those of the CPU. `digits`: maximum difference of a parameter.
fn assert_same(name: &str, digits: f64, [there, here]: &[BatchFit; 2]) {
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
        if of_fit.shifts > digits || of_fit.errors > digits.max(1e-6) || of_fit.costs > 1e-8 {
            wrong.push(format!("fit {i}, {}: {of_fit:?}", b.status()));
        }
        largest.add(&a, &b);
    }
    let (fits, by_host) = (here.n_fits(), there.left_to_cpu());
    println!("{name}: {ended} of {fits} have ended, {by_host} on the host: {largest:?}");
    assert!(wrong.is_empty(), "{name}: {} fits differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(10 * ended > 9 * fits, "{name}: {ended} fits have ended");
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
        let convex = matches!(fitter.loss, Loss::Linear | Loss::SoftL1 { .. } | Loss::Huber { .. });
        let digits = if convex { DIGITS } else { DIGITS_IF_NOT_CONVEX };
        let shared = BatchData::shared(&x, stack).unwrap();
        assert_same(&name, digits, &both(&fitter, &shared, start, &place));

        let (mut xs, mut ragged, mut offsets) = (Vec::new(), Vec::new(), vec![0]);
        for (fit, length) in stack.chunks(POINTS).zip([40, 25, 31].into_iter().cycle()) {
            xs.extend_from_slice(&x[..length]);
            ragged.extend_from_slice(&fit[..length]);
            offsets.push(xs.len());
        }
        let mask: Vec<bool> = (0..xs.len()).map(|i| i % 11 != 4).collect();
        let own = BatchData::own(&xs, &ragged).unwrap().offsets(&offsets).unwrap();
        let own = own.mask(&mask).unwrap();
        assert_same(
            &format!("{name}, unequal lengths"),
            digits,
            &both(&fitter, &own, start, &place),
        );
    }
}
