//! Profile likelihood of two parameters, and the contour lines of their joint confidence regions.

use super::contour_lines::lines;
use super::interval::ProfileNode;
use super::refits::Refits;
use super::{CurveFit, Profile};
use crate::data::Data;
use crate::error::uncertainty::UncertaintyError;
use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::fit::distributions::{check_level, joint};
use crate::observe::span;
use crate::setters::setters;
use crate::threads;

/// Maximum number of grid points along a parameter.
const MOST_POINTS: usize = 2000;
/// Default number of grid points along a parameter: fine for data with few points, coarse for data with many points.
const FINE: usize = 101;
const COARSE: usize = 41;
/// Number of data points above which the grid is coarse, because each grid point is a fit.
const MANY: usize = 10_000;
/// Relative margin of the grid around the outermost region.
const MARGIN: f64 = 0.05;
/// Extent of the grid, in standard errors, in a direction in which the region is open.
const OPEN_REACH: f64 = 6.0;

/// Request for [`CurveFit::contour`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ContourOptions {
    /// Number of grid points along each parameter; the lines are interpolated between grid points. `None`, the default,
    /// means 101, which resolves strongly curved regions, or 41 if the data have more than 10,000 points.
    pub points: Option<[usize; 2]>,
    /// Joint confidence levels of the lines, 0.6827 and 0.95 by default.
    pub levels: Vec<f64>,
    /// The range of each parameter; `None`, the default, means the extent of the outermost region.
    pub ranges: [Option<(f64, f64)>; 2],
}

setters!(ContourOptions {
    points: Option<[usize; 2]>,
    levels: Vec<f64>,
    ranges: [Option<(f64, f64)>; 2],
});

impl Default for ContourOptions {
    fn default() -> ContourOptions {
        ContourOptions { points: None, levels: vec![0.6827, 0.95], ranges: [None, None] }
    }
}

/// Profile likelihood of two parameters on a grid, with contour lines.
#[derive(Clone, Debug)]
pub struct Contour {
    /// Names of the two parameters.
    pub names: [String; 2],
    /// Their best values.
    pub best: [f64; 2],
    /// Grid values of the first parameter, ascending.
    pub a: Vec<f64>,
    /// Grid values of the second parameter, ascending.
    pub b: Vec<f64>,
    /// (S(a, b) − S(â, b̂))/s², minimised over the other parameters, with one row of `a.len()` values per value of `b`.
    /// NaN if the refit failed.
    pub excess: Vec<f64>,
    /// The lines, one entry per level in the given order.
    pub lines: Vec<ContourLine>,
    /// A fit with a lower cost than the given fit, if a refit found one. The contours then belong to a wrong minimum.
    pub better: Option<Box<Fit>>,
}

/// The border of a joint confidence region.
#[derive(Clone, Debug, PartialEq)]
pub struct ContourLine {
    /// The joint confidence level.
    pub level: f64,
    /// The excess on the line: 2 F(2, dof; level), or the chi-square quantile if errors are absolute.
    pub excess: f64,
    /// Paths of points (a, b). The first and last point of a closed path are equal; open paths end at the edge of the
    /// grid.
    pub paths: Vec<Vec<(f64, f64)>>,
}

impl CurveFit {
    /// Computes the profile likelihood of the two parameters `names`, and the contour lines of their joint confidence
    /// regions. At each point of a grid, the cost is minimised over all other parameters. On a line, S (twice the cost)
    /// exceeds its minimum by s² · 2 F(2, dof; level), or by the chi-square quantile if sigma is absolute or y are
    /// counts. The options can set the grid. By default, the grid covers the outermost region within the bounds, which
    /// is estimated from the two profiles. Rows of the grid are computed on all cores.
    ///
    /// ```
    /// use dualfit::result::ContourOptions;
    /// use dualfit::{CurveFit, Data};
    /// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 7.0];
    /// let y = [8.3, 10.3, 19.0, 16.0, 15.6, 19.8];
    /// let demand = CurveFit::new(|x, [limit, rate]| limit * (1.0 - (-rate * x).exp()))
    ///     .names(["limit", "rate"]);
    /// let data = Data::new(&x, &y)?;
    /// let fit = demand.fit(&data, [20.0, 0.5])?;
    /// let options = ContourOptions::default().levels([0.5]);
    /// let contour = demand.contour(&fit, data, ["limit", "rate"], &options)?;
    /// assert_eq!(contour.lines[0].paths.len(), 1);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`profile`](CurveFit::profile); [`Error::BadOption`] for a level outside (0, 1), or for fewer than
    /// 2 or more than 2000 grid points along a parameter; [`Error::RangeOfStarts`] for a range that is empty, not
    /// finite or outside the bounds.
    pub fn contour<'a>(
        &self,
        fit: &Fit,
        data: impl Into<Data<'a>>,
        names: [&str; 2],
        options: &ContourOptions,
    ) -> Result<Contour> {
        let data = data.into();
        let _span = span!(INFO, "contour", points = data.y.len());
        options.levels.iter().try_for_each(|&level| check_level(level))?;
        let usual = if data.y.len() > MANY { COARSE } else { FINE };
        let sides = options.points.unwrap_or([usual; 2]);
        for points in sides {
            if !(2..=MOST_POINTS).contains(&points) {
                let (name, value) = ("points of a contour", points as f64);
                return Err(Error::BadOption { name, value, requirement: "from 2 to 2000" });
            }
        }
        let positions = [self.profiled(names[0])?, self.profiled(names[1])?];
        if positions[0] == positions[1] {
            let (reason, remedy) = ("it was given twice", "give two different parameters");
            return Err(
                UncertaintyError::NoProfile { name: names[0].into(), reason, remedy }.into()
            );
        }
        let dof = fit.scatter_freedom();
        let level = options.levels.iter().copied().fold(0.5, f64::max);
        let reach = joint(level, 2.0, dof);
        let single = |which: usize| -> Result<Profile> {
            let refits = Refits::new(self, fit, data.clone(), &[positions[which]])?;
            Profile::walked(&refits, reach, level, dof)
        };
        let (first, second) = threads::join(|| single(0), || single(1));
        let profiles = [first?, second?];
        let refits = Refits::new(self, fit, data.clone(), &positions)?;
        let axis = |which: usize| -> Result<Vec<f64>> {
            let (lower, upper) = match options.ranges[which] {
                Some(range) => checked(range, refits.bounds(which), names[which])?,
                None => extent(&profiles[which], &refits, which, reach),
            };
            let last = sides[which] - 1;
            let at = |i: usize| {
                let part = i as f64 / last as f64;
                lower * (1.0 - part) + upper * part
            };
            Ok((0..=last).map(at).collect())
        };
        let (a, b) = (axis(0)?, axis(1)?);
        let rows = threads::map(&b, |&b| row(&refits, &profiles[1], &a, b));
        let nodes: Vec<ProfileNode> = rows.iter().flatten().flatten().cloned().collect();
        let excess: Vec<f64> =
            rows.iter().flatten().map(|n| n.as_ref().map_or(f64::NAN, |n| n.excess)).collect();
        let line = |&level: &f64| {
            let excess_there = joint(level, 2.0, dof);
            ContourLine { level, excess: excess_there, paths: lines(&a, &b, &excess, excess_there) }
        };
        let lines = options.levels.iter().map(line).collect();
        let better = match refits.better(&nodes)? {
            Some(better) => Some(Box::new(better)),
            None => profiles.iter().find_map(|profile| profile.better.clone()),
        };
        let best = [0, 1].map(|which| refits.best_value(which));
        Ok(Contour { names: names.map(str::to_owned), best, a, b, excess, lines, better })
    }
}

/// Returns the extent, along one parameter, of the region whose excess is at most `reach`.
fn extent(profile: &Profile, refits: &Refits<'_>, which: usize, reach: f64) -> (f64, f64) {
    let value = profile.value();
    let size = if value == 0.0 { 1.0 } else { value.abs() };
    let far = OPEN_REACH * refits.error(which).unwrap_or(0.1 * size);
    let ends = [false, true].map(|above| {
        let sign = if above { 1.0 } else { -1.0 };
        let (end, _) = profile.end(reach, above);
        if end.is_finite() { end } else { value + sign * far }
    });
    let margin = MARGIN * (ends[1] - ends[0]);
    let (lower, upper) = refits.bounds(which);
    ((ends[0] - margin).max(lower), (ends[1] + margin).min(upper))
}

fn checked((lower, upper): (f64, f64), bounds: (f64, f64), name: &str) -> Result<(f64, f64)> {
    let inside = lower >= bounds.0 && upper <= bounds.1;
    let fault = match () {
        () if !(lower.is_finite() && upper.is_finite()) => "both ends must be finite".to_owned(),
        () if lower >= upper => "the lower end must be below the upper one".to_owned(),
        () if !inside => format!("it must lie in the bounds [{}, {}]", bounds.0, bounds.1),
        () => return Ok((lower, upper)),
    };
    Err(Error::RangeOfStarts { name: name.to_owned(), lower, upper, fault })
}

/// Computes a row of the grid, at the value `b` of the second parameter. It begins at the value of the first parameter
/// in the nearest node of the second parameter's profile, and proceeds outwards. Each refit starts from the result of
/// its neighbour.
fn row(refits: &Refits<'_>, profile: &Profile, a: &[f64], b: f64) -> Vec<Option<ProfileNode>> {
    let distance = |node: &&ProfileNode| (node.value - b).abs();
    let nearest = profile.nodes.iter().min_by(|m, n| distance(m).total_cmp(&distance(n)));
    let Some(nearest) = nearest else { return vec![None; a.len()] };
    let center = nearest.params[refits.position(0)];
    let begin = a.partition_point(|&a| a < center).min(a.len() - 1);
    let mut found: Vec<Option<ProfileNode>> = vec![None; a.len()];
    let mut walk = |order: &mut dyn Iterator<Item = usize>| {
        let mut start = nearest.params.clone();
        for i in order {
            let node = refits.at(&[a[i], b], &[&start, &nearest.params]);
            if let Some(node) = &node {
                start.clone_from(&node.params);
            }
            found[i] = node;
        }
    };
    walk(&mut (begin..a.len()));
    walk(&mut (0..begin).rev());
    found
}
