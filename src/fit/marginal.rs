//! Fit of one set of a joint fit: the results restricted to the parameters of the set.

use super::covariance::{Covariance, Direction};
use super::priors::Prior;
use super::warning::Warning;
use super::{Fit, SetOfMany, warnings};
use crate::constants::LEAST_PART;
use crate::data::sigma::Spread;
use crate::model::component::ComponentModel;
use crate::model::native::Model;
use crate::model::ties::Ties;
use crate::normal::small::fold_few;
use crate::normal::{RFactor, Spectrum};
use std::sync::{Arc, OnceLock};

/// One set of a joint fit: its model and its parameters.
pub(crate) struct Seen<'a> {
    /// Model of the set, with the formulas of tied parameters instead of these parameters.
    pub(crate) model: &'a Model,
    pub(crate) ties: &'a Arc<Ties>,
    pub(crate) components: &'a Arc<[ComponentModel]>,
    pub(crate) names: &'a [String],
    /// Position of each parameter of the model among the parameters of the joint fit.
    pub(crate) params: &'a [usize],
    /// Number of the set, counted from 1, and number of sets.
    pub(crate) set: usize,
    pub(crate) sets: usize,
    /// Number of used points of the set.
    pub(crate) points: usize,
    pub(crate) spread: Spread,
}

impl Fit {
    /// Returns the fit restricted to one set. Statistics of the computation are unchanged.
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

    /// Returns the priors of the parameters at the positions `keep`, with positions counted within `keep`.
    fn priors_of(&self, keep: &[usize]) -> Vec<Prior> {
        let own = |prior: &Prior| {
            let param = keep.iter().position(|&k| k == prior.param)?;
            Some(Prior { param, ..*prior })
        };
        self.priors.iter().filter_map(own).collect()
    }

    /// Returns the warnings that concern a set, with the names of its parameters.
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
    /// Returns the covariance of the parameters at the positions `keep`. `estimated`: indices in `keep` of the
    /// estimated parameters. Rank, condition and weak directions are computed after the elimination of all other
    /// parameters.
    fn restricted(&self, keep: &[usize], estimated: &[usize]) -> Covariance {
        let rows: Vec<usize> = estimated.iter().map(|&i| keep[i]).collect();
        let open = self.null.select_rows(&rows);
        // The undetermined directions are orthonormal; therefore a small singular value is a rounding error.
        let lost = match open.is_empty() {
            true => 0,
            false => open.singular_values().iter().filter(|&&s| s > LEAST_PART).count(),
        };
        let undetermined = self.weak.iter().filter(|weak| weak.undetermined);
        let (condition, weak) = match lost {
            0 => {
                let (condition, weak) = self.marginal(&rows, estimated);
                // Points that outweigh all others increase the condition that is computed from the factor.
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

    /// Returns the condition of the Jacobian with respect to the parameters at `rows` after the elimination of all
    /// other parameters, and the least determined direction. `names`: positions of these parameters in the direction.
    ///
    /// Let H be the rows of these parameters in the factor of the covariance, and Hᵀ = QT. The covariance is TᵀT;
    /// therefore T⁻ᵀ is a Jacobian with this covariance. It is lower triangular; in reversed order it is upper
    /// triangular.
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
            // Column j of T⁻¹, which is row j of T⁻ᵀ, by substitution from the diagonal upwards.
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
    /// Returns the components for the parameters at the positions `keep`; `None` if all are 0.
    fn among(&self, keep: &[usize]) -> Option<Direction> {
        let own = |&(k, change): &(usize, f64)| Some((keep.iter().position(|&i| i == k)?, change));
        let parts: Vec<(usize, f64)> = self.parts.iter().filter_map(own).collect();
        (!parts.is_empty()).then_some(Direction { parts, undetermined: self.undetermined })
    }
}

fn chosen<T: Clone>(all: &[T], keep: &[usize]) -> Vec<T> {
    keep.iter().map(|&i| all[i].clone()).collect()
}
