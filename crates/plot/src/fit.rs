//! Plots of fits: data, curve, bands and residuals.

use super::axis::Axis;
use super::canvas::{
    BAND, CURVE, Canvas, Color, DASHES, ERROR_BAR, FAINT, LINE, PARTS, POINT, PREDICTION, THIN,
};
use super::chart::{Chart, Mark, Panel};
use super::legend::{Entry, LegendMark, percent};
use super::settings::{Settings, methods_of_pictures, methods_of_settings};
use dualfit::{Data, Estimator, Fit, Matrix, Sigma};

use crate::error::{PlotError, Result};
use dualfit::result::{Band, Component, NewPoint};

/// Number of intervals of the grid on which the curve is evaluated.
const CURVE_POINTS: usize = 1500;
/// Maximum number of points that are drawn separately.
const DISTINCT: usize = 3000;

/// Plot of a fit with one independent variable: points with error bars, the curve and, optionally, bands and a panel of
/// residuals.
///
/// Masked points are hollow. More than 3000 points are shown as the range that they cover in each pixel column.
#[derive(Clone, Debug)]
pub struct FitPlot<'a> {
    pub(super) fit: &'a Fit,
    data: Data<'a>,
    settings: Settings,
    prediction: Option<f64>,
    legend: bool,
    parts: Vec<FurtherCurve>,
    components: bool,
}

/// Curve in addition to the fit: a component, or a curve of the caller.
#[derive(Clone, Debug)]
struct FurtherCurve {
    name: String,
    x: Vec<f64>,
    y: Vec<f64>,
}

/// The points of the plot.
pub(super) struct DrawnPoints {
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    /// Standard deviations; `None` if they are unknown.
    pub(super) sigma: Option<Vec<f64>>,
    /// True for each fitted point.
    counts: Vec<bool>,
}

methods_of_settings!(FitPlot<'_>);
methods_of_pictures! {
    /// A [`PlotError`] if the data have several independent variables, no finite point, or values that a logarithmic
    /// axis cannot show (counts of 0 are left out instead); the errors of [`Fit::predict`] and of the bands.
    FitPlot<'_>
}

impl<'a> FitPlot<'a> {
    /// Creates a plot of `fit`, which was fitted to `data`.
    pub fn new(fit: &'a Fit, data: impl Into<Data<'a>>) -> FitPlot<'a> {
        FitPlot {
            fit,
            data: data.into(),
            settings: Settings::default(),
            prediction: None,
            legend: true,
            parts: Vec::new(),
            components: false,
        }
    }

    /// Draws the [prediction band](Fit::prediction_band) of this level, for new observations with the same errors as
    /// the fitted ones.
    #[must_use]
    pub fn prediction_band(mut self, level: f64) -> FitPlot<'a> {
        self.prediction = Some(level);
        self
    }

    /// Shows or hides the legend; by default it is shown.
    #[must_use]
    pub fn legend(mut self, legend: bool) -> FitPlot<'a> {
        self.legend = legend;
        self
    }

    /// Draws the [components](Fit::components) of a sum of models, for example each peak and the background, as dashed
    /// lines with their prefixes as names. If a confidence band is drawn, each component also gets its band. A model
    /// without components, or with a single one, draws nothing.
    #[must_use]
    pub fn components(mut self, components: bool) -> FitPlot<'a> {
        self.components = components;
        self
    }

    /// Draws a further curve: values `y` at the abscissas `x`.
    #[must_use]
    pub fn component(mut self, name: &str, x: &[f64], y: &[f64]) -> FitPlot<'a> {
        self.parts.push(FurtherCurve { name: name.into(), x: x.to_vec(), y: y.to_vec() });
        self
    }

    fn canvas(&self) -> Result<Canvas> {
        let points = self.points(self.settings.log)?;
        let indices = || points.finite();
        let range = Axis::around(indices().map(|i| points.x[i]), self.settings.log.0, 0.0);
        let grid = range.grid(CURVE_POINTS);
        let curve = self.fit.predict(&grid)?;
        let many = points.y.len() > DISTINCT;
        let data = if many { LegendMark::Area(ERROR_BAR) } else { LegendMark::Point };
        let name = match self.unseen(&points) {
            0 => "data".to_owned(),
            zeros => format!("data ({zeros} zeros not shown)"),
        };
        let mut legend = vec![Entry::new(data, name)];
        if indices().any(|i| !points.counts[i]) {
            legend.push(Entry::new(LegendMark::Hollow, "masked"));
        }
        legend.push(Entry::new(LegendMark::Line(CURVE), "fit"));

        let sigma = points.sigma.as_deref();
        let heights = || points.heights().chain(curve.iter().copied());
        let components = self.components_over(&grid)?;
        // On a logarithmic axis, the tails of a peak, which approach 0, do not extend the range.
        let least = heights().filter(|y| *y > 0.0).fold(f64::INFINITY, f64::min);
        let of_parts = components.iter().chain(&self.parts).flat_map(|part| &part.y).copied();
        let of_parts = of_parts.filter(|y| !self.settings.log.1 || *y >= least);
        let y = Axis::around(heights().chain(of_parts), self.settings.log.1, 0.06);
        let mut marks = Vec::new();
        for (part, &color) in self.parts.iter().zip(PARTS.iter().cycle()) {
            marks.push(Mark::Line { points: over(&part.x, &part.y), color, width: LINE });
            legend.push(Entry::new(LegendMark::Line(color), part.name.as_str()));
        }
        for (i, part) in components.iter().enumerate() {
            let color = PARTS[i % PARTS.len()];
            let dashes = DASHES[i / PARTS.len() % DASHES.len()];
            marks.push(Mark::Dashed { points: over(&part.x, &part.y), color, dashes });
            legend.push(Entry::new(LegendMark::Dashed(color, dashes), part.name.as_str()));
        }
        if let (Some(level), false) = (self.settings.band, components.is_empty()) {
            for (i, band) in self.fit.component_bands(&grid, level)?.into_iter().enumerate() {
                let (lower, upper) = (over(&grid, &band.lower), over(&grid, &band.upper));
                let color = pale(PARTS[i % PARTS.len()]);
                marks.insert(0, Mark::Band { lower, upper, color });
            }
        }
        let mut add = |band: Band, color: Color, level: f64, of: &str| {
            let (lower, upper) = (over(&grid, &band.lower), over(&grid, &band.upper));
            marks.insert(0, Mark::Band { lower, upper, color });
            legend.push(Entry::new(LegendMark::Area(color), format!("{} {of}", percent(level))));
        };
        if let Some(level) = self.settings.band {
            add(self.fit.confidence_band(&grid, level)?, BAND, level, "confidence");
        }
        if let Some(level) = self.prediction {
            let band = self.fit.prediction_band(&grid, level, NewPoint::Fitted)?;
            add(band, PREDICTION, level, "prediction");
        }
        marks.extend(points.marks(&points.y, sigma, POINT));
        marks.push(Mark::Line { points: over(&grid, &curve), color: CURVE, width: LINE });

        let mut panels = vec![Panel { y, label: self.settings.y_label.clone(), marks }];
        let x = Axis::around(indices().map(|i| points.x[i]), self.settings.log.0, 0.03);
        if self.settings.residuals {
            panels.push(self.residual_panel(&points, &x)?);
        }
        let (title, x_label) = (self.settings.title.clone(), self.settings.x_label.clone());
        let legend = if self.legend { legend } else { Vec::new() };
        Chart { title, x, x_label, panels, legend }.draw(self.settings.size)
    }

    /// Returns the components of a sum as curves named by their prefixes; empty if components are not drawn.
    fn components_over(&self, grid: &[f64]) -> Result<Vec<FurtherCurve>> {
        let all = if self.components { self.fit.components(grid)? } else { Vec::new() };
        let curve = |component: Component| {
            let name = match component.name.trim_end_matches('_') {
                "" => component.name.clone(),
                name => name.to_owned(),
            };
            FurtherCurve { name, x: grid.to_vec(), y: component.values }
        };
        Ok(if all.len() > 1 { all.into_iter().map(curve).collect() } else { Vec::new() })
    }

    /// Returns the points. `log`: true for a logarithmic horizontal and vertical axis.
    pub(super) fn points(&self, log: (bool, bool)) -> Result<DrawnPoints> {
        let [column] = self.data.x_columns() else {
            return Err(PlotError::Columns { columns: self.data.x_columns().len() });
        };
        let n = self.data.len();
        let (x, y) = (column.to_f64(), self.data.y_values().to_f64());
        let shown = |i: usize| x[i].is_finite() && y[i].is_finite();
        let counts: Vec<bool> = (0..n)
            .map(|i| shown(i) && self.data.mask_values().is_none_or(|mask| mask[i]))
            .collect();
        if !(0..n).any(shown) {
            return Err(PlotError::Nothing { what: "no point has finite coordinates" });
        }
        for (axis, values, log) in [("x", &x, log.0), ("y", &y, log.1)] {
            let zero = |v: f64| v == 0.0 && axis == "y" && self.of_counts();
            let bad = (0..n).find(|&i| log && counts[i] && values[i] <= 0.0 && !zero(values[i]));
            if let Some(index) = bad {
                return Err(PlotError::NotPositive { axis, index, value: values[index] });
            }
        }
        let diagonal = |matrix: &Matrix| matrix.diagonal().iter().map(|v| v.sqrt()).collect();
        let relative = |sigma: Vec<f64>| {
            let factor = self.fit.residual_std_error();
            factor.map(|factor| sigma.iter().map(|s| s * factor).collect())
        };
        let sigma = match self.data.y_sigma() {
            Sigma::Constant(sigma) => Some(vec![sigma; n]),
            Sigma::Absolute(sigma) => Some(sigma.to_vec()),
            Sigma::Relative(sigma) => relative(sigma.to_vec()),
            Sigma::Covariance(matrix) => Some(diagonal(matrix)),
            Sigma::RelativeCovariance(matrix) => relative(diagonal(matrix)),
            _ => None,
        };
        Ok(DrawnPoints { x, y, sigma, counts })
    }

    fn of_counts(&self) -> bool {
        self.fit.estimator() == Estimator::Poisson
    }

    /// Returns the number of counts of 0 that a logarithmic axis cannot show.
    fn unseen(&self, points: &DrawnPoints) -> usize {
        let zeros =
            points.y.iter().zip(&points.counts).filter(|(y, counts)| **counts && **y == 0.0);
        if self.settings.log.1 && self.of_counts() { zeros.count() } else { 0 }
    }

    /// Returns the panel of residuals, divided by their standard deviations if these are known.
    fn residual_panel(&self, points: &DrawnPoints, x: &Axis) -> Result<Panel> {
        let Residuals { values, label, most } = self.scaled_residuals(points)?;
        let mut marks = points.marks(&values, None, POINT);
        // The line at zero is drawn below separate points, but above a cloud of points.
        let at = usize::from(values.len() > DISTINCT);
        marks.insert(at, Mark::segment((x.low, 0.0), (x.high, 0.0), CURVE, THIN));
        Ok(Panel { y: Residuals::axis(most), label: label.to_owned(), marks })
    }

    pub(super) fn scaled_residuals(&self, points: &DrawnPoints) -> Result<Residuals> {
        let (mut values, model) = (self.fit.residuals(&self.data)?, self.fit.predict(&points.x)?);
        let counts = self.of_counts();
        for (i, residual) in values.iter_mut().enumerate() {
            *residual /= match &points.sigma {
                _ if counts => model[i].sqrt(),
                Some(sigma) => sigma[i],
                None => 1.0,
            };
        }
        let fitted =
            values.iter().zip(&points.counts).filter(|(r, counts)| **counts && r.is_finite());
        let most = fitted.map(|(residual, _)| residual.abs()).fold(0.0, f64::max);
        let known = counts || points.sigma.is_some();
        Ok(Residuals { values, label: if known { "residual / σ" } else { "residual" }, most })
    }
}

/// Residuals of all points, divided by their standard deviations if these are known.
pub(super) struct Residuals {
    pub(super) values: Vec<f64>,
    pub(super) label: &'static str,
    /// Largest magnitude of the residual of a fitted point.
    pub(super) most: f64,
}

impl Residuals {
    /// Returns the vertical axis for residuals of at most this magnitude.
    pub(super) fn axis(most: f64) -> Axis {
        let most = if most > 0.0 { 1.15 * most.min(1e306) } else { 1.0 };
        Axis::linear(-most, most)
    }
}

impl DrawnPoints {
    /// Returns the indices of the points with finite coordinates.
    pub(super) fn finite(&self) -> impl Iterator<Item = usize> {
        (0..self.x.len()).filter(|&i| self.x[i].is_finite() && self.y[i].is_finite())
    }

    /// Returns the heights of the finite points and of the ends of their error bars.
    pub(super) fn heights(&self) -> impl Iterator<Item = f64> {
        let error = |i: usize| self.sigma.as_ref().map_or(0.0, |sigma| sigma[i]);
        self.finite().flat_map(move |i| [self.y[i], self.y[i] - error(i), self.y[i] + error(i)])
    }

    /// Returns the marks of the points at the heights `y`, with error bars if `sigma` is given. More than [`DISTINCT`]
    /// points are drawn as one cloud.
    pub(super) fn marks(&self, y: &[f64], sigma: Option<&[f64]>, color: Color) -> Vec<Mark> {
        let shown = |i: &usize| self.x[*i].is_finite() && y[*i].is_finite();
        let shown: Vec<usize> = (0..y.len()).filter(shown).collect();
        if y.len() > DISTINCT {
            let points = shown.iter().map(|&i| (self.x[i], y[i])).collect();
            let color = if color == POINT { ERROR_BAR } else { pale(color) };
            return vec![Mark::Cloud { points, color }];
        }
        let radius = match shown.len() {
            0..=120 => 2.7,
            121..=500 => 2.0,
            _ => 1.3,
        };
        let bar = |&i: &usize| {
            let error = sigma?[i];
            let (from, to) = ((self.x[i], y[i] - error), (self.x[i], y[i] + error));
            let color = if self.counts[i] { ERROR_BAR } else { FAINT };
            error.is_finite().then(|| Mark::segment(from, to, color, THIN))
        };
        let disc = |&i: &usize| {
            let (at, filled) = ((self.x[i], y[i]), self.counts[i]);
            Mark::Disc { at, radius, filled, color }
        };
        shown.iter().filter_map(bar).chain(shown.iter().map(disc)).collect()
    }
}

/// Returns the points of a curve.
pub(super) fn over(x: &[f64], y: &[f64]) -> Vec<(f64, f64)> {
    x.iter().copied().zip(y.iter().copied()).collect()
}

/// Returns a light shade of a colour, for areas behind lines of this colour.
pub(super) fn pale((r, g, b): Color) -> Color {
    let pale = |part: u8| 255 - (255 - part) / 5;
    (pale(r), pale(g), pale(b))
}
