//! A fit as one of several sets sees it, which knows only some of its parameters.

use super::covariance::{Covariance, Direction};
use super::priors::Prior;
use super::warning::Warning;
use super::{Fit, warnings};
use crate::constants::LEAST_PART;
use crate::data::sigma::Spread;
use crate::model::component::ComponentModel;
use crate::model::native::Model;
use crate::model::ties::Ties;
use crate::normal::small::fold_few;
use crate::normal::{RFactor, Spectrum};
use std::sync::{Arc, OnceLock};

/// A set: its model and its parameters.
pub(crate) struct Seen<'a> {
    /// With the formulas of tied parameters in their places.
    pub(crate) model: &'a Model,
    pub(crate) ties: &'a Arc<Ties>,
    pub(crate) components: &'a Arc<[ComponentModel]>,
    pub(crate) names: &'a [String],
    /// The position of each of the model's parameters among those of the fit.
    pub(crate) params: &'a [usize],
    /// The set, counted from 1, and how many there are.
    pub(crate) set: usize,
    pub(crate) sets: usize,
    /// Points of the set that count.
    pub(crate) points: usize,
    pub(crate) spread: Spread,
}

/// Of which fit of several sets a fit shows a part, and which.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct SetOfMany {
    /// Counted from 1.
    pub(crate) set: usize,
    pub(crate) sets: usize,
    /// Points of the set that count.
    pub(crate) points: usize,
    /// Directions that the data determine in the space of the parameters of all sets.
    pub(crate) rank: usize,
    /// Priors of the parameters of all sets.
    #[cfg_attr(feature = "json", serde(default))]
    pub(crate) priors: usize,
}

impl Fit {
    /// The fit as a set sees it. Statistics stay.
    pub(crate) fn restricted(&self, seen: &Seen<'_>) -> Fit {
        let Seen { params: keep, set, sets, points, spread, .. } = *seen;
        let fixed = chosen(&self.fixed, keep);
        let at_bound = chosen(&self.at_bound, keep);
        let estimated: Vec<usize> =
            (0..keep.len()).filter(|&i| !fixed[i] && at_bound[i].is_none()).collect();
        let mut fit = Fit {
            model: seen.model.clone(),
            names: seen.names.to_vec(),
            start: chosen(&self.start, keep),
            params: chosen(&self.params, keep),
            fixed,
            bounds: chosen(&self.bounds, keep),
            at_bound,
            covariance: self.covariance.restricted(keep, &estimated),
            ties: seen.ties.clone(),
            components: seen.components.clone(),
            derived: Vec::new(),
            formulas: Vec::new(),
            warnings: Vec::new(),
            priors: self.priors_of(keep),
            part: Some(SetOfMany {
                set,
                sets,
                points,
                rank: self.covariance.rank,
                priors: self.priors.len(),
            }),
            spread,
            loss: self.loss,
            estimator: self.estimator,
            scaled: self.scaled,
            cost: self.cost,
            row_unit: self.row_unit,
            cost_unit: self.cost_unit,
            weight: self.weight,
            scatter: self.scatter,
            deviance: self.deviance,
            omitted: self.omitted,
            ignored: self.ignored,
            termination: self.termination,
            stats: self.stats.clone(),
            points: self.points,
        };
        fit.warnings = self.warnings_of(&fit, keep);
        fit
    }

    /// The priors of the parameters at the positions `keep`, by their positions among these.
    fn priors_of(&self, keep: &[usize]) -> Vec<Prior> {
        let own = |prior: &Prior| {
            let param = keep.iter().position(|&k| k == prior.param)?;
            Some(Prior { param, ..*prior })
        };
        self.priors.iter().filter_map(own).collect()
    }

    /// The warnings that concern a set, under the names of its parameters.
    fn warnings_of(&self, set: &Fit, keep: &[usize]) -> Vec<Warning> {
        let own = |name: &String| {
            let i = keep.iter().position(|&k| self.names[k] == *name)?;
            Some(set.names[i].clone())
        };
        let of_set = set.part.map(|part| part.set - 1);
        let concerns = |warning: &&Warning| match warning {
            Warning::CorrelatedResiduals { set: other @ Some(_), .. } => *other == of_set,
            _ => true,
        };
        let said = self.warnings.iter().filter(concerns);
        let said = said.filter_map(|warning| warning.renamed(&own));
        let mut found: Vec<Warning> = said.collect();
        let said = |name: &String| {
            let is_said = |w: &Warning| match w {
                Warning::UnusedParameter { name: n } | Warning::NoSlope { name: n } => n == name,
                _ => false,
            };
            found.iter().any(is_said)
        };
        let said: Vec<bool> = set.names.iter().map(said).collect();
        found.extend(warnings::weak(set, &said));
        found
    }
}

impl Covariance {
    /// Of the parameters at the positions `keep`, of which those at `estimated` were estimated. Rank,
    /// condition and weak directions are those of what the data say of these parameters, the others
    /// eliminated.
    fn restricted(&self, keep: &[usize], estimated: &[usize]) -> Covariance {
        let rows: Vec<usize> = estimated.iter().map(|&i| keep[i]).collect();
        let open = self.null.select_rows(&rows);
        // Directions are orthonormal; a small remainder is rounding.
        let lost = match open.is_empty() {
            true => 0,
            false => open.singular_values().iter().filter(|&&s| s > LEAST_PART).count(),
        };
        let undetermined = self.weak.iter().filter(|weak| weak.undetermined);
        let (condition, weak) = match lost {
            0 => {
                let (condition, weak) = self.marginal(&rows, estimated);
                // Points that outweigh the others make the one of the half the larger.
                (condition.min(self.condition), weak)
            }
            _ => (f64::INFINITY, undetermined.filter_map(|weak| weak.among(keep)).collect()),
        };
        Covariance {
            errors: chosen(&self.errors, keep),
            half: self.half.select_rows(keep).into(),
            unscaled: self.unscaled.select_rows(keep).into(),
            null: self.null.select_rows(keep).into(),
            units: chosen(&self.units, keep),
            rank: rows.len() - lost,
            condition,
            weak,
            matrices: OnceLock::new(),
        }
    }

    /// The condition of the Jacobian by the parameters at `rows` after the elimination of the others, and
    /// its least determined direction, by the positions `names`.
    ///
    /// With H their rows of the half of the covariance, and Hᵀ = QT, the covariance is TᵀT and the
    /// triangular T⁻ᵀ such a Jacobian. It is lower triangular; counted from its end it is an upper one.
    fn marginal(&self, rows: &[usize], names: &[usize]) -> (f64, Vec<Direction>) {
        let rows = self.unscaled.select_rows(rows);
        let (m, width) = rows.shape();
        let mut columns = vec![0.0; m * width];
        let mut lengths = vec![0.0; m];
        for c in 0..m {
            let row: Vec<f64> = rows.row(c).iter().copied().collect();
            lengths[c] = super::covariance::norm(&row);
            let column = columns[c * width..][..width].iter_mut();
            column.zip(row).for_each(|(out, value)| *out = value / lengths[c]);
        }
        let mut t = vec![0.0; m * m];
        fold_few(&mut t, m, &mut columns, width);
        let mut factor = RFactor::zero(m);
        for j in 0..m {
            // Column j of T⁻¹, a row of T⁻ᵀ, by substitution from its diagonal upwards.
            let mut column = vec![0.0; m];
            for i in (0..=j).rev() {
                let known: f64 = (i + 1..=j).map(|k| t[k * m + i] * column[k]).sum();
                column[i] = (f64::from(u8::from(i == j)) - known) / t[i * m + i];
            }
            for (i, value) in column.iter().enumerate().take(j + 1) {
                factor.r[(m - 1 - i) * (m + 1) + m - 1 - j] = *value;
            }
        }
        let all: Vec<usize> = (0..m).collect();
        let Spectrum { lengths: scales, sigma, v, found } = Spectrum::of(&factor, &all);
        let (Some(largest), Some(smallest), true) = (sigma.first(), sigma.last(), found) else {
            return (if m == 0 { 1.0 } else { f64::INFINITY }, Vec::new());
        };
        let part = |c: usize| {
            let at = m - 1 - c;
            (names[c], v[(m - 1) * m + at], lengths[c] / scales[at])
        };
        let parts = super::covariance::parts((0..m).map(part));
        (largest / smallest, vec![Direction { parts, undetermined: false }])
    }
}

impl Direction {
    /// Its components for the parameters at the positions `keep`; `None` if they are 0.
    fn among(&self, keep: &[usize]) -> Option<Direction> {
        let own = |&(k, change): &(usize, f64)| Some((keep.iter().position(|&i| i == k)?, change));
        let parts: Vec<(usize, f64)> = self.parts.iter().filter_map(own).collect();
        (!parts.is_empty()).then_some(Direction { parts, undetermined: self.undetermined })
    }
}

fn chosen<T: Clone>(all: &[T], keep: &[usize]) -> Vec<T> {
    keep.iter().map(|&i| all[i].clone()).collect()
}
