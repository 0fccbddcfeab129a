//! Sums of one part of a distributed fit on a device. The points stay in device memory between requests.

use crate::backend::Precision;
use crate::backend::cuda::passes::Leaves;
use crate::backend::cuda::source::{Arithmetic, FEW_PARAMETERS};
use crate::backend::stream::{Answer, At, GROUP_POINTS, Question, Terms};
use crate::curve_fit::{CurveFit, Ready};
use crate::data::points::{Given, Points};
use crate::data::summary::Overview;
use crate::data::validate_stream::pieces_of;
use crate::error::Result;
use crate::fit::execution::{Execution, FitOnDevice};
use crate::fit::placement::Placement;
use crate::normal::{GROUP, Normal, RFactor};

/// Backend of a part, and the totals over all points for which the backend was selected.
pub(super) struct PartOnDevice {
    overview: Overview,
    place: Execution,
}

impl PartOnDevice {
    /// Selects the backend.
    ///
    /// # Errors
    /// If a required device is not available.
    fn choose(
        curve: &CurveFit,
        ready: &Ready,
        points: &Points<'_>,
        overview: &Overview,
    ) -> Result<PartOnDevice> {
        let mut wanted = curve.wanted(None);
        wanted.costs.segment_points = GROUP_POINTS as usize;
        let rule = (curve.loss, Precision::Double);
        let kernels = (ready.printed.as_ref(), ready.prepared.free.len());
        let place = Execution::of(&wanted, rule, kernels, points)?;
        Ok(PartOnDevice { overview: *overview, place })
    }

    /// Computes the sums of a request over all points of a part on a device. `first`: number of the first point.
    /// Returns `None` if the CPU must compute them, because the device does not support the request or failed.
    ///
    /// # Errors
    /// Errors of a required device.
    pub(super) fn answer(
        kept: &mut Option<PartOnDevice>,
        (curve, ready): (&CurveFit, &Ready),
        (given, overview, first): (Given<'_>, &Overview, u64),
        (terms, question): (&Terms, &Question),
    ) -> Result<Option<Answer>> {
        let free = ready.prepared.free.len();
        let is_of_device = match question {
            Question::Normal(_) => true,
            Question::Factor(_) => free <= FEW_PARAMETERS,
            _ => false,
        };
        if !is_of_device || terms.most_weight.is_finite() {
            return Ok(None);
        }
        let is_known = |chosen: &PartOnDevice| chosen.overview == *overview;
        if kept.as_ref().is_some_and(|c| is_known(c) && c.place.device.is_none()) {
            return Ok(None);
        }
        let points = &Points::part(given, overview);
        let mut chosen = match kept.take().filter(is_known) {
            Some(chosen) => chosen,
            None => PartOnDevice::choose(curve, ready, points, overview)?,
        };
        let end = pieces_of(first + points.len() as u64);
        let leaves = Leaves { first: pieces_of(first), of_segment: GROUP, end };
        let answer = match &chosen.place.device {
            None => None,
            Some(on) => match sums(on, points, leaves, (terms, question), free) {
                Ok(answer) => Some(answer),
                Err(error) if on.may_take_over() => {
                    chosen.place = Placement::on_cpu(error.to_string());
                    None
                }
                // The failure is not stored: the device may work again at the next request.
                Err(error) => return Err(error),
            },
        };
        *kept = Some(chosen);
        Ok(answer)
    }
}

fn sums(
    on: &FitOnDevice,
    points: &Points<'_>,
    leaves: Leaves,
    (terms, question): (&Terms, &Question),
    free: usize,
) -> Result<Answer> {
    let mut passes = on.passes(points, (terms.loss, Arithmetic::Double), leaves)?;
    let failed = |error| on.failed(error);
    Ok(match question {
        Question::Factor(At { params, columns }) => {
            let like = RFactor::zero(free);
            Answer::Factor(passes.tree(params, columns, &like).map_err(failed)?)
        }
        Question::Normal(At { params, columns }) => {
            let like = Normal::zero(free);
            Answer::Normal(passes.tree(params, columns, &like).map_err(failed)?)
        }
        other => other.unanswered(free, leaves.first),
    })
}
