//! Starting points of the fits of a batch, adapted from the results of a few of these fits.
//!
//! A template is the result of one of these fits, either unchanged or moved such that its position parameters are at
//! the point with the largest or smallest response. A greedy selection keeps the few templates that lower the costs of
//! the searched fits most. Each fit of the batch starts from the template with the lowest cost for its own points.

use super::Screen;
use super::ranges::Along;
use super::screen::Candidate;
use crate::curve_fit::CurveFit;
use crate::curve_fit::ready::Ready;
use crate::data::points::Points;
use crate::error::Result;
use crate::model::native::Model;
use crate::model::units;
use std::sync::Arc;

/// Number of fits whose results become templates.
pub(in crate::curve_fit) const SEARCHED: usize = 24;
/// Number of trials (one template for one fit) for the whole batch. A batch of n fits keeps at most `TRIED / n`
/// templates, but this limit is clamped to `KEPT`.
const TRIED: usize = 100_000;
/// Range to which the limit `TRIED / n` is clamped.
const KEPT: (usize, usize) = (3, 24);
/// A template is kept if it lowers the logarithm of the cost of at least one fit by more than this.
const GAIN: f64 = 2.0;

/// Location to which the position parameters of a template are moved.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Own,
    Largest,
    Least,
}

/// Points and the result of their fit.
pub(in crate::curve_fit) struct FitEnd<'p> {
    pub(in crate::curve_fit) points: Points<'p>,
    /// One value per parameter.
    pub(in crate::curve_fit) params: Vec<f64>,
    pub(in crate::curve_fit) cost: f64,
    pub(in crate::curve_fit) evaluations: usize,
}

/// Templates of starts, and the model in which only the linear parameters are free.
pub(in crate::curve_fit) struct Templates<'a> {
    linear: Arc<Ready>,
    bounds: &'a [(f64, f64)],
    /// Position parameters, each with the quantity with which the model compares it.
    positions: Vec<(usize, Along)>,
    templates: Vec<(Vec<f64>, Place)>,
}

impl<'a> Templates<'a> {
    /// Selects the templates that suit the fits `found` best. `fits`: number of fits of the batch; `linear`: the model
    /// with only its linear parameters free; `unknown`: positions of the parameters that are searched.
    ///
    /// # Errors
    /// Errors in the model.
    pub(in crate::curve_fit) fn of(
        curve: &'a CurveFit,
        (linear, unknown): (Arc<Ready>, &[usize]),
        found: &[FitEnd<'_>],
        fits: usize,
    ) -> Result<Templates<'a>> {
        let positions = match &curve.effective_model()? {
            Model::Traced(program) => {
                let (units, positions) = (units::of_params(program), program.positions());
                let of =
                    |&i: &usize| Some((i, Along::of(program, units[i].as_ref(), positions[i])?));
                unknown.iter().filter_map(of).collect()
            }
            Model::Native(_) => Vec::new(),
        };
        let bounds = &curve.bounds[..];
        let mut all = Templates { linear, bounds, positions, templates: Vec::new() };
        let places = match all.positions.is_empty() {
            true => &[Place::Own][..],
            false => &[Place::Own, Place::Largest, Place::Least],
        };
        let of =
            |end: &FitEnd<'_>| places.iter().map(|&p| (end.params.clone(), p)).collect::<Vec<_>>();
        all.templates = found.iter().flat_map(of).collect();
        // Logarithm of the cost of each template for each searched fit.
        let mut costs = Vec::with_capacity(found.len());
        for end in found {
            let tried = all.tried(&end.points);
            let cost = |c: &Option<Candidate>| {
                c.as_ref().map_or(f64::INFINITY, |c| c.cost.max(f64::MIN_POSITIVE).ln())
            };
            costs.push(tried.iter().map(cost).collect::<Vec<f64>>());
        }
        let mut kept: Vec<usize> = Vec::new();
        let mut least = vec![f64::MAX; found.len()];
        let most = (TRIED / fits.max(1)).clamp(KEPT.0, KEPT.1).min(all.templates.len());
        while kept.len() < most {
            let total = |k: usize| -> f64 {
                costs.iter().zip(&least).map(|(costs, least)| costs[k].min(*least)).sum()
            };
            let left = (0..all.templates.len()).filter(|k| !kept.contains(k));
            let Some(best) = left.min_by(|&a, &b| total(a).total_cmp(&total(b))) else { break };
            let gain = |(costs, least): (&Vec<f64>, &f64)| least - costs[best];
            if !costs.iter().zip(&least).map(gain).any(|gain| gain > GAIN) {
                break;
            }
            least.iter_mut().zip(&costs).for_each(|(least, costs)| *least = least.min(costs[best]));
            kept.push(best);
        }
        all.templates = kept.into_iter().map(|k| all.templates[k].clone()).collect();
        Ok(all)
    }

    /// Returns the template with the lowest cost as the starting point of a fit; `None` if the model is not finite at
    /// any template.
    pub(in crate::curve_fit) fn start(&self, points: &Points<'_>) -> Option<Vec<f64>> {
        let tried = self.tried(points).into_iter().flatten();
        tried.min_by(|a, b| a.cost.total_cmp(&b.cost)).map(|best| best.params)
    }

    /// Computes the cost of each template for the points of a fit.
    fn tried(&self, points: &Points<'_>) -> Vec<Option<Candidate>> {
        let measured = points.as_measurements();
        let points = measured.as_ref().unwrap_or(points);
        let screen = Screen { prepared: &self.linear.prepared, points, bounds: self.bounds };
        let (mut least, mut largest) = (0, 0);
        if self.templates.iter().any(|(_, place)| *place != Place::Own) {
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for i in points.kept() {
                let y = points.y.at(i);
                if y < low {
                    (low, least) = (y, i);
                }
                if y > high {
                    (high, largest) = (y, i);
                }
            }
        }
        let placed = |(params, place): &(Vec<f64>, Place)| {
            let mut params = params.clone();
            let point = match place {
                Place::Own => return params,
                Place::Largest => largest,
                Place::Least => least,
            };
            let x: Vec<f64> = points.columns.iter().map(|column| column.at(point)).collect();
            for (k, along) in &self.positions {
                let (lower, upper) = self.bounds[*k];
                params[*k] = along.at(&x, &params).clamp(lower, upper);
            }
            params
        };
        screen.each(&self.templates.iter().map(placed).collect::<Vec<_>>())
    }
}
