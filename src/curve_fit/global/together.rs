//! Sets of one model that devices sum up together, with a launch for all.

use super::layout::SetPoints;
use super::sets::SetGroup;
use crate::backend::Backend;
use crate::backend::cuda::passes::PassKind;
use crate::curve_fit::ready::Ready;
use crate::data::loss::Loss;
use crate::data::points::Units;
use crate::error::Result;
use crate::fit::placement::{Placement, PlacementRequest};
use crate::fit::sets_on_device::{SetsAtWork, SetsOnDevice};
use crate::normal::abreast::ABREAST;
use crate::solver::evaluator::DeviceUse;
use crate::solver::outcome::Fault;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Points of a set for each that it goes with, at most. A launch of its own takes about as long as a group of lanes takes for
/// so many points; the groups of all sets are at work side by side.
const POINTS_FOR_EACH: usize = 256;

/// Some sets, and where they are summed up.
pub(super) struct Together<'a> {
    /// Which they are of those that take part.
    pub(super) members: Vec<usize>,
    pub(super) placement: Placement<SetsOnDevice<'a>>,
}

/// For each set the first one whose model does the same; a native one is its own.
pub(super) fn same_models(sets: &[SetPoints<'_, '_>], ready: &[Arc<Ready>]) -> Vec<usize> {
    let (mut by_place, mut by_code) = (HashMap::new(), HashMap::new());
    let first = |(member, SetPoints { set, .. }): (usize, &SetPoints<'_, '_>)| {
        let Some(printed) = &ready[*set].printed else { return member };
        // Models that are one need no look at what they do.
        *by_place
            .entry(Arc::as_ptr(printed))
            .or_insert_with(|| *by_code.entry(printed.program.code()).or_insert(member))
    };
    sets.iter().enumerate().map(first).collect()
}

/// Those of the sets that go together, by the first sets of their models. The others are passed over one by one.
///
/// # Errors
/// As [`Placement::choose`].
pub(super) fn together<'a>(
    wanted: &PlacementRequest<'_>,
    sets: &'a [SetPoints<'_, 'a>],
    (models, ready): (&[usize], &[Arc<Ready>]),
    loss: Loss,
) -> Result<Vec<Together<'a>>> {
    if wanted.backend == Backend::Cpu {
        return Ok(Vec::new());
    }
    let mut alike: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (member, SetPoints { points, .. }) in sets.iter().enumerate() {
        let is_plain = points.units == Units::ORDINARY
            && points.x_sigma.is_exact()
            && points.correlation.is_none();
        if is_plain {
            alike.entry(models[member]).or_default().push(member);
        }
    }
    let mut found = Vec::new();
    for (model, mut members) in alike {
        let Some(printed) = &ready[sets[model].set].printed else { continue };
        let most = POINTS_FOR_EACH * members.len();
        members.retain(|&member| sets[member].points.len() <= most);
        if members.len() < 2 {
            continue;
        }
        let points = members.iter().map(|&member| &sets[member].points).collect();
        if let Some(placement) = SetsOnDevice::place(wanted, printed, points, loss)? {
            found.push(Together { members, placement });
        }
    }
    Ok(found)
}

/// Passes over sets that go together.
pub(super) struct TogetherPasses<'e> {
    members: &'e [usize],
    work: SetsAtWork<'e>,
    /// Room for the parameters of all.
    params: Vec<f64>,
}

impl<'e> TogetherPasses<'e> {
    /// Under a loss; `None` where they are all left to the CPU.
    pub(super) fn new(together: &'e Together<'_>, loss: Loss) -> Result<Option<Self>> {
        let Some(on) = &together.placement.device else { return Ok(None) };
        let members = &together.members;
        Ok(Some(TogetherPasses { members, work: on.at_work(loss)?, params: Vec::new() }))
    }

    /// Makes the sums of the sets, or their factors, at `params` of the joint fit; what is not finite a set makes itself.
    ///
    /// # Errors
    /// The failure of a device, where the CPU is not to go on.
    pub(super) fn pass(
        &mut self,
        kind: PassKind,
        params: &[f64],
        groups: &mut [SetGroup<'_>],
    ) -> std::result::Result<(), Fault> {
        let place = |member: usize| (member / ABREAST, member % ABREAST);
        self.params.clear();
        for &member in self.members {
            let (group, lane) = place(member);
            let own = groups[group].sets[lane].params;
            self.params.extend(own.iter().map(|&k| params[k]));
        }
        self.work.pass(kind, &self.params, |k, numbers| {
            let (group, lane) = place(self.members[k]);
            groups[group].sets[lane].take_numbers(kind, numbers);
        })
    }

    /// Leaves all sets to the CPU from here on.
    pub(super) fn stop(&mut self, reason: &str) {
        self.work.stop(reason.to_owned());
    }

    pub(super) fn device(&self) -> DeviceUse {
        self.work.device()
    }
}
