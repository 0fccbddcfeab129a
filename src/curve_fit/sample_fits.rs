//! Fits of a sample of the points on the CPU, from which a large fit or a stream takes its starting point.

use super::CurveFit;
use super::ready::Ready;
use super::search::options::{SearchOptions, SearchWhen};
use crate::backend::Backend;
use crate::backend::cpu::Cpu;
use crate::data::Data;
use crate::data::points::Points;
use crate::data::sample::{Sample, data_of};
use crate::data::sigma::Weights;
use crate::error::Result;
use crate::fit::Fit;
use crate::fit::engine::Request;
use crate::fit::subsample_start::{FitSample, SubsampleStart, Totals};
use crate::host::Instant;
use crate::model::native::Model;
use crate::normal::Normal;
use crate::solver::evaluator::Evaluator;
use crate::solver::observe::end_of;
use crate::solver::options::Options;

/// Maximum number of evaluations of the fit of a sample. A fit that needs more does not lead to a good start.
const SAMPLE_EVALUATIONS: usize = 100;
/// Minimum number of points in memory of which a sample is fitted first.
const LEAST_POINTS: usize = 1 << 19;
/// The maximum size of the sample of a fit in memory is the number of points divided by this number, within the limits of
/// [`SAMPLE_SIZES`]. Without a mask, a sample has more than half of its maximum size.
const SAMPLE_DIVISOR: usize = 1 << 6;
/// Smallest and largest maximum size of a sample. From the result of the fit of 8,192 points or more, one step of all
/// points usually leads to the tolerance for the cost.
const SAMPLE_SIZES: [usize; 2] = [1 << 14, 1 << 17];
/// Minimum `etol` of the fits of a sample: they end within this fraction of a standard error.
const SAMPLE_ETOL: f64 = 0.01;
/// Maximum number of points of the probe: a fit that estimates the number of evaluations of the fit of all points.
const PROBE: usize = 1 << 9;
/// If the probe takes at most as many evaluations, no sample is fitted: three evaluations would remain after it.
const FEW_EVALUATIONS: usize = 4;
/// The same limit for a sample whose tests need a pass over all points at the caller's start.
const FEW_WITH_START: usize = 6;

/// Form of the points of a sample.
#[derive(Clone, Copy)]
pub(super) struct SampleForm<'f> {
    /// Number of independent variables.
    pub(super) x: usize,
    /// Weights of all points; those of the sample have the same meaning.
    pub(super) weights: Weights<'f>,
    pub(super) infinite_x: bool,
}

impl SampleForm<'_> {
    /// Returns the columns of x, y and, if present, sigma as data.
    ///
    /// # Errors
    /// [`Error::EmptyData`](crate::Error::EmptyData) if columns are missing.
    pub(super) fn data<'c>(&'c self, columns: &'c [Vec<f64>]) -> Result<Data<'c>> {
        let weights = |sigma| self.weights.with_values(sigma);
        data_of(columns, self.x, weights, self.infinite_x)
    }
}

/// The model with the settings for the fit of a sample.
pub(super) struct SampleFits<'f> {
    curve: CurveFit,
    ready: &'f Ready,
    form: SampleForm<'f>,
    until: Option<Instant>,
}

impl FitSample for SampleFits<'_> {
    fn fit(&self, columns: &[Vec<f64>], start: &[f64]) -> Result<Fit> {
        self.fit_with_etol(columns, start, self.curve.options.etol.max(SAMPLE_ETOL))
    }

    fn mean_squares(&self, columns: &[Vec<f64>], params: &[f64]) -> Option<Vec<f64>> {
        self.evaluated(columns, params, |cpu, points| {
            let n = self.ready.prepared.free.len();
            let mut normal = Normal::zero(n);
            cpu.normal(params, &vec![1.0; n], &mut normal).ok()?;
            Some(Totals::of(&points.overview()).mean_squares(&normal).collect())
        })
    }

    fn largest_squares(&self, columns: &[Vec<f64>], params: &[f64]) -> Option<Vec<f64>> {
        self.evaluated(columns, params, |cpu, points| {
            // The weights of a robust loss are at most 1; without them, this is an upper limit.
            let mut largest = vec![0.0; self.ready.prepared.free.len()];
            cpu.magnitudes(params, &mut largest).ok()?;
            Some(largest.iter().map(|v| (v / points.units.row).powi(2)).collect())
        })
    }
}

impl SampleFits<'_> {
    /// Fits the columns in the time that is left.
    fn fit_with_etol(&self, columns: &[Vec<f64>], start: &[f64], etol: f64) -> Result<Fit> {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        let options = Options { max_time: left, etol, ..self.curve.options };
        self.curve.clone().options(options).fit(self.form.data(columns)?, start)
    }

    /// Calls `work` with an evaluator of the columns, for these parameters, and the validated columns.
    fn evaluated<R>(
        &self,
        columns: &[Vec<f64>],
        params: &[f64],
        work: impl FnOnce(&mut Cpu<'_>, &Points<'_>) -> Option<R>,
    ) -> Option<R> {
        let data = self.form.data(columns).ok()?;
        let points = self.curve.validate(&data).ok()?;
        let mut cpu = Cpu::new(&self.ready.prepared, &points, self.curve.loss, params);
        work(&mut cpu, &points)
    }
}

impl CurveFit {
    /// Returns the settings for fits of a sample, which end at the time `until`.
    pub(super) fn of_sample<'f>(
        &self,
        ready: &'f Ready,
        form: SampleForm<'f>,
        until: Option<Instant>,
    ) -> SampleFits<'f> {
        // The fit of a sample has no observer. A cancel token stops it in the same way as passes.
        let mut curve = CurveFit { backend: Backend::Cpu, observer: None, ..self.clone() };
        let most = curve.options.max_evaluations.unwrap_or(SAMPLE_EVALUATIONS);
        curve.options.max_evaluations = Some(most.min(SAMPLE_EVALUATIONS));
        SampleFits { curve, ready, form, until }
    }

    /// Adds the result of the fit of a sample as a possible start to the request for a fit of many points in memory.
    /// The request stays as it is in these cases:
    ///
    /// - there are fewer than [`LEAST_POINTS`] points, or the fit takes few evaluations, for example because all free
    ///   parameters are linear;
    /// - a search in a sample found the start, or the caller allows fewer than [`SAMPLE_EVALUATIONS`] evaluations;
    /// - x has errors, y has a covariance matrix, or the model is called for all points at once;
    /// - a device makes the fit.
    pub(super) fn with_sample<'a>(
        &self,
        request: Request<'a>,
        points: &Points<'_>,
    ) -> Result<Request<'a>> {
        let is_suited = match &self.model {
            Ok(Model::Native(native)) => !native.takes_arrays(),
            _ => true,
        };
        let is_plain = points.x_sigma.is_exact() && points.correlation.is_none();
        let is_on_cpu = !request.source.is_on_device();
        let is_wanted = self.subsample
            && request.spent.search.is_none()
            && self.options.max_evaluations.is_none_or(|most| most >= SAMPLE_EVALUATIONS);
        let is_possible = is_suited && is_plain && is_on_cpu;
        if points.used < LEAST_POINTS || !(is_wanted && is_possible) {
            return Ok(request);
        }
        let (begun, free) = (Instant::now(), self.free_positions());
        // Whether a search follows is decided after the fit of all points.
        let search = SearchOptions { when: SearchWhen::Never, ..self.search };
        let curve = CurveFit { search, ..self.clone() };
        let (x, weights, infinite_x) = (points.columns.len(), points.sigma, points.infinite_x);
        let form = SampleForm { x, weights, infinite_x };
        let work = curve.of_sample(self.ready(&free)?, form, end_of(begun, self.options.max_time));
        let start = &request.start;
        let sample = Sample::of(points, PROBE);
        let probe = work.fit_with_etol(sample.columns(), start, self.options.etol);
        let evaluations = probe.map_or(0, |fit| fit.evaluations());
        let [least, largest] = SAMPLE_SIZES;
        let most = (points.used / SAMPLE_DIVISOR).clamp(least, largest);
        let opening = (evaluations > FEW_EVALUATIONS)
            .then(|| SubsampleStart::of(&Sample::of(points, most), start, &free, &work));
        let mut request = request;
        let spent = begun.elapsed();
        request.spent.finding += spent;
        let limit = &mut request.spec.options.max_time;
        *limit = limit.map(|limit| limit.saturating_sub(spent));
        request.sample = opening.filter(|opening| {
            opening.candidate.is_some() && (opening.is_seen_well || evaluations > FEW_WITH_START)
        });
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::{LEAST_POINTS, SAMPLE_SIZES};
    use crate::curve_fit::CurveFit;
    use crate::data::Data;
    use crate::data::points::Points;
    use crate::data::sample::drawn;

    /// Far from the result, so that the fit takes many evaluations.
    const START: [f64; 2] = [0.1, 5.0];

    fn decay() -> CurveFit {
        CurveFit::new(|x, [a, b]| a * (-b * x).exp())
    }

    fn points() -> (Vec<f64>, Vec<f64>) {
        let noise = |i: usize| 0.1 * (17.0 * (i * i % 10_007) as f64).sin();
        let x: Vec<f64> = (0..LEAST_POINTS).map(|i| 4.0 * i as f64 / LEAST_POINTS as f64).collect();
        let y = x.iter().enumerate().map(|(i, x)| 3.0 * (-0.7 * x).exp() + noise(i)).collect();
        (x, y)
    }

    /// The points of the sample lie on one curve, the other points on another.
    #[test]
    fn a_sample_that_all_points_contradict_is_not_used() {
        let (x, mut y) = points();
        let before = decay().fit(Data::new(&x, &y).unwrap(), START).unwrap();
        assert!(before.stats().subsample_points > 0);
        let sample =
            drawn(&Points::validate(&Data::new(&x, &y).unwrap()).unwrap(), SAMPLE_SIZES[0]).0;
        for i in sample {
            y[i] = 5.0 * (-0.2 * x[i]).exp();
        }
        let fit = decay().fit(Data::new(&x, &y).unwrap(), START).unwrap();
        assert!(fit.converged() && fit.stats().subsample_points == 0, "{fit}");
        let alone = decay().subsample(false).fit(Data::new(&x, &y).unwrap(), START).unwrap();
        assert_eq!(fit.params(), alone.params());
        // The pass at the end of the sample's fit is counted.
        assert!(fit.stats().passes > fit.evaluations(), "{fit}");
    }

    #[test]
    fn a_model_of_all_points_has_no_sample() {
        let (x, y) = points();
        let curve = CurveFit::native_arrays(2, |x: &[f64], p, out: &mut [f64]| {
            assert_eq!(x.len(), LEAST_POINTS);
            out.iter_mut().zip(x).for_each(|(out, x)| *out = p[0] * (-p[1] * x).exp());
        });
        let fit = curve.fit(Data::new(&x, &y).unwrap(), START).unwrap();
        assert!(fit.converged() && fit.stats().subsample_points == 0, "{fit}");
    }
}
