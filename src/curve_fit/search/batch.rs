//! Starts of many fits of one model: the results of a few of them are adapted to all others.
//!
//! A template is the result of one of these fits, as it is or moved so that its positions are at the point of the
//! largest or the least response. Of all templates those few are kept that are best for most of the searched fits. Each
//! fit starts from the template with the least cost in its own points.

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

/// Fits whose results are templates.
pub(in crate::curve_fit) const SEARCHED: usize = 24;
/// Trials of templates for the whole batch. The quotient with the number of fits is the largest number of templates,
const TRIED: usize = 100_000;
/// within these limits.
const KEPT: (usize, usize) = (3, 24);
/// A template is kept if it lowers the logarithm of the cost of some fit by more than this.
const GAIN: f64 = 2.0;

/// The place to which the positions of a template are moved.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Own,
    Largest,
    Least,
}

/// The end of the fit of some points.
pub(in crate::curve_fit) struct FitEnd<'p> {
    pub(in crate::curve_fit) points: Points<'p>,
    /// One value per parameter.
    pub(in crate::curve_fit) params: Vec<f64>,
    pub(in crate::curve_fit) cost: f64,
    pub(in crate::curve_fit) evaluations: usize,
}

/// Templates of starts, and the model in which the linear parameters alone are free.
pub(in crate::curve_fit) struct Templates<'a> {
    linear: Arc<Ready>,
    bounds: &'a [(f64, f64)],
    /// Parameters that are positions, each with what it is compared with.
    positions: Vec<(usize, Along)>,
    templates: Vec<(Vec<f64>, Place)>,
}

impl<'a> Templates<'a> {
    /// The templates that match the fits `found` best. `fits`: number of fits of the batch; `linear`: the model with its linear
    /// parameters alone free; `unknown`: positions of the parameters that are searched for.
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
        // The logarithm of the cost of each template in each searched fit.
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

    /// The start of a fit: the template with the least cost; `None` if the model has no finite value at any.
    pub(in crate::curve_fit) fn start(&self, points: &Points<'_>) -> Option<Vec<f64>> {
        let tried = self.tried(points).into_iter().flatten();
        tried.min_by(|a, b| a.cost.total_cmp(&b.cost)).map(|best| best.params)
    }

    /// Each template in the points of a fit.
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
