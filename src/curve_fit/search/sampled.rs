//! A sample of the points of a fit.

use crate::data::loss::Estimator;
use crate::data::points::Points;
use crate::data::sample::{Sample, SampleHalf, data_of};
use crate::data::sigma::Weights;
use crate::error::Result;

/// Calls `work` with a sample of at most `most` of the points; with all points if there are at most `most`, or if
/// they are correlated.
pub(super) fn on_sample<R>(
    points: &Points<'_>,
    most: usize,
    work: impl FnOnce(&Points<'_>) -> Result<R>,
) -> Result<R> {
    if points.used <= most || points.correlation.is_some() {
        return work(points);
    }
    let mut sample = Sample::new(points.columns.len(), points.sigmas().is_some(), most);
    sample.add(points, 0);
    let columns = sample.part(SampleHalf::All);
    let weights = |own: Option<_>| match (points.sigma, own) {
        (Weights::Each { absolute, .. }, Some(sigma)) => Weights::Each { sigma, absolute },
        (sigma, _) => sigma,
    };
    let data = data_of(&columns, points.columns.len(), weights, points.infinite_x)?;
    let mut sampled = Points::validate(&data)?;
    if points.estimator == Estimator::Poisson {
        sampled.count_events()?;
    }
    work(&sampled)
}
