//! Closest points of the curve to measured points whose x has errors (orthogonal distance regression).
//!
//! With the residual r = (f(ξ) − y)/σ and the shifts uₖ = (ξₖ − xₖ)/σₓₖ, the closest point ξ minimises
//! (r² + ‖u‖²)/2, a separate problem for each point. At the minimum the gradient vanishes: a·r + u = 0 with the
//! slopes aₖ = ∂f/∂xₖ σₓₖ/σ. Therefore the distance is d = ±√(r² + ‖u‖²) = r·√(1 + ‖a‖²). Its partial ∂d/∂p is
//! ∂f/∂p at ξ, divided by σ√(1 + ‖a‖²), since changes of ξ have only a second-order effect. So a fit of d is an
//! ordinary least-squares problem with exact partials (Boggs, Byrd and Schnabel, SIAM J. Sci. Stat. Comput. 8 (1987)
//! 1052, treat the shifts as unknowns instead).
//!
//! Newton's method finds a minimum from the measured x ([`newton`]). It uses the exact second derivatives of f, and its
//! steps never increase the distance. If the curvature is large, there may be a closer minimum, which a scan finds
//! ([`scan`]). So a pass depends only on the parameters, not on previous passes. And d is continuous: |d| is the
//! minimum of several smooth functions. All kinks of d² point upwards, and a minimum of the cost is never at such a
//! kink. Without the scan, d could jump between the distances of different local minima.

mod bends;
mod measured;
mod newton;
mod scan;

use super::code::BLOCK;
use super::kernels::{self, Kernels};
use super::machine::{Block, Inputs};
use crate::data::points::Points;
use crate::data::values::Values;
use crate::error::Result;
use crate::model::native::Model;
use bends::Bends;
use measured::{Curve, Measured};
pub(crate) use measured::{SlopeCode, SlopeNumbers};
use newton::Searches;
use scan::Scan;

/// Minimum relative decrease of the distance for which another minimum replaces the first one. It exceeds the rounding
/// errors.
const CLOSER: f64 = 1e-9;

/// Distances of the points of a block, and the factors of their rows.
#[derive(Clone, Copy)]
pub(super) struct Distances<'a> {
    /// Distances in row units, with the sign of the residual.
    pub(super) distance: &'a [f64],
    /// Row unit divided by σ√(1 + ‖a‖²).
    pub(super) factor: &'a [f64],
}

/// A block of points.
#[derive(Clone, Copy)]
pub(super) struct BlockPoints<'a> {
    /// The independent variables at which the model was evaluated.
    pub(super) inputs: &'a Inputs<'a>,
    pub(super) block: Block<'a>,
    /// Flags of the points, 0 for those to leave out; `None` if the block has used points only.
    pub(super) used: Option<&'a [u8]>,
    /// Distances, if x has errors.
    pub(super) distances: Option<Distances<'a>>,
}

/// Scratch memory to find the closest points of a block.
#[derive(Default)]
pub(super) struct ClosestPoints {
    measured: Measured,
    bends: Bends,
    searches: Searches,
    scan: Scan,
    /// Searches from the starting points of the scan.
    further: Searches,
}

/// Returns the closest points of all measured points, including masked ones.
///
/// # Errors
/// Returns [`Error::ModelKind`](crate::error::Error::ModelKind) if the model is native.
pub(crate) fn closest_points(
    model: &Model,
    points: &Points<'_>,
    params: &[f64],
) -> Result<Closest> {
    let slopes = SlopeCode::new(model, points.x_sigma.inexact())?;
    let mut numbers = SlopeNumbers::default();
    slopes.uniforms(params, &mut numbers);
    let mut found = Closest { x: vec![Vec::new(); points.columns.len()], ..Closest::default() };
    let mut room = ClosestPoints::default();
    for start in (0..points.len()).step_by(BLOCK) {
        let len = BLOCK.min(points.len() - start);
        room.find((&slopes, &numbers), kernels::detect(), points, (Block::Run(start), len));
        found.x.iter_mut().zip(&room.searches.at).for_each(|(x, at)| x.extend(&at[..len]));
        let Distances { distance, factor } = room.distances(len);
        found.distance.extend(distance);
        found.factor.extend(factor);
    }
    Ok(found)
}

/// Closest points of all points, and their distances in row units.
#[derive(Default)]
pub(crate) struct Closest {
    /// One column per independent variable.
    pub(crate) x: Vec<Vec<f64>>,
    /// Distances with the sign of model − y.
    pub(crate) distance: Vec<f64>,
    /// Factors of the partials with respect to parameters.
    pub(crate) factor: Vec<f64>,
}

impl ClosestPoints {
    /// Finds the closest points of a block at the parameters from which `numbers` were computed.
    pub(super) fn find(
        &mut self,
        (code, numbers): (&SlopeCode, &SlopeNumbers),
        kernels: &Kernels,
        points: &Points<'_>,
        (block, len): (Block<'_>, usize),
    ) {
        let ClosestPoints { measured, bends, searches, scan, further } = self;
        let curve = Curve { code, numbers, kernels };
        measured.load(points, &code.inexact, (block, len));
        bends.clear(measured.k);
        searches.clear();
        for point in 0..len {
            searches.push(point, code.inexact.iter().map(|_| 0.0));
        }
        searches.run(curve, measured, bends);
        if let ([at], 1) = (&searches.at[..], measured.k) {
            bends.learn_between(&at[..len], &searches.tangents[..len]);
        }
        for starts in scan.starts(curve, measured, searches, bends).chunks(BLOCK) {
            further.clear();
            for start in starts {
                further.push(start.point, (0..measured.k).map(|j| start.shift(j)));
            }
            further.run(curve, measured, bends);
            for (lane, start) in starts.iter().enumerate() {
                let distance = searches.distance[start.point].abs();
                if further.distance[lane].abs() < (1.0 - CLOSER) * distance {
                    searches.replace(start.point, further, lane, measured.k);
                }
            }
        }
        let unit = points.units.row;
        for numbers in [&mut searches.distance, &mut searches.factor] {
            numbers[..len].iter_mut().for_each(|number| *number *= unit);
        }
    }

    /// Returns the independent variables of the closest points.
    pub(super) fn columns(&self) -> Vec<Values<'_>> {
        self.searches.at.iter().map(|column| Values::F64(column)).collect()
    }

    pub(super) fn distances(&self, len: usize) -> Distances<'_> {
        let Searches { distance, factor, .. } = &self.searches;
        Distances { distance: &distance[..len], factor: &factor[..len] }
    }
}
