//! The data of a fit with its curve, bands and residuals.

use super::axis::{APART, Axis, Frame, room};
use super::blank;
use super::legend::{self, Sample};
use super::scene::{Anchor, Panel, Place, Scene};
use super::strips::{DISTINCT, strips};
use super::style::{
    BAND, CURVE, ERROR_BAR, FAINT, INK, LINE, PARTS, POINT, PREDICTION, THIN, TITLE,
};
use crate::data::Data;
use crate::data::estimator::Estimator;
use crate::data::sigma::Sigma;
use crate::error::Result;
use crate::error::plot::PlotError;
use crate::fit::Fit;
use crate::fit::bands::Band;
use crate::fit::bands::new_point::NewPoint;
use std::path::Path;

/// Points of the curve.
const CURVE_POINTS: usize = 1500;

/// A picture of a fit over its one independent variable: points with error bars, the curve and, as asked for,
/// bands and a panel of residuals.
///
/// Points that were masked are hollow. Of more than some thousand points the picture shows which part of
/// each pixel's width they cover.
#[derive(Clone, Debug)]
pub struct FitPlot<'a> {
    fit: &'a Fit,
    data: &'a Data<'a>,
    title: String,
    x_label: String,
    y_label: String,
    size: (u32, u32),
    log: (bool, bool),
    band: Option<f64>,
    prediction: Option<f64>,
    residuals: bool,
    legend: bool,
    parts: Vec<Part>,
}

/// A further curve.
#[derive(Clone, Debug)]
struct Part {
    name: String,
    x: Vec<f64>,
    y: Vec<f64>,
}

/// What is drawn, as numbers.
struct Numbers {
    x: Vec<f64>,
    y: Vec<f64>,
    sigma: Option<Vec<f64>>,
    counts: Vec<bool>,
    /// Over `grid`.
    grid: Vec<f64>,
    curve: Vec<f64>,
    band: Option<Band>,
    prediction: Option<Band>,
    /// Of each point, standardised where that can be.
    residuals: Option<Vec<f64>>,
}

impl<'a> FitPlot<'a> {
    /// Of `fit`, which was fitted to `data`.
    pub fn new(fit: &'a Fit, data: &'a Data<'a>) -> FitPlot<'a> {
        FitPlot {
            fit,
            data,
            title: String::new(),
            x_label: "x".into(),
            y_label: "y".into(),
            size: (640, 480),
            log: (false, false),
            band: None,
            prediction: None,
            residuals: false,
            legend: true,
            parts: Vec::new(),
        }
    }

    /// A title; none by default, as in papers.
    #[must_use]
    pub fn title(mut self, title: &str) -> FitPlot<'a> {
        self.title = title.into();
        self
    }

    /// What the horizontal axis is, with its unit: `"time / s"`.
    #[must_use]
    pub fn x_label(mut self, label: &str) -> FitPlot<'a> {
        self.x_label = label.into();
        self
    }

    /// What the vertical axis is, with its unit.
    #[must_use]
    pub fn y_label(mut self, label: &str) -> FitPlot<'a> {
        self.y_label = label.into();
        self
    }

    /// Width and height in pixels, 640 × 480 by default; a PNG has twice as many along each side.
    #[must_use]
    pub fn size(mut self, width: u32, height: u32) -> FitPlot<'a> {
        self.size = (width, height);
        self
    }

    /// Draws the horizontal axis logarithmically.
    #[must_use]
    pub fn log_x(mut self, log: bool) -> FitPlot<'a> {
        self.log.0 = log;
        self
    }

    /// Draws the vertical axis logarithmically.
    #[must_use]
    pub fn log_y(mut self, log: bool) -> FitPlot<'a> {
        self.log.1 = log;
        self
    }

    /// Draws the [confidence band](Fit::confidence_band) of this level.
    #[must_use]
    pub fn band(mut self, level: f64) -> FitPlot<'a> {
        self.band = Some(level);
        self
    }

    /// Draws the [prediction band](Fit::prediction_band) of this level, for observations like the fitted
    /// ones.
    #[must_use]
    pub fn prediction_band(mut self, level: f64) -> FitPlot<'a> {
        self.prediction = Some(level);
        self
    }

    /// Draws a panel of residuals y − model below, over their standard deviations where these are known.
    #[must_use]
    pub fn residuals(mut self, residuals: bool) -> FitPlot<'a> {
        self.residuals = residuals;
        self
    }

    /// Whether it is said which mark means what; so by default.
    #[must_use]
    pub fn legend(mut self, legend: bool) -> FitPlot<'a> {
        self.legend = legend;
        self
    }

    /// Draws a further curve, such as one peak of several: values `y` at the abscissas `x`.
    #[must_use]
    pub fn component(mut self, name: &str, x: &[f64], y: &[f64]) -> FitPlot<'a> {
        self.parts.push(Part { name: name.into(), x: x.to_vec(), y: y.to_vec() });
        self
    }

    /// The picture as the text of an SVG file.
    ///
    /// # Errors
    /// A [`PlotError`] if the data have several independent variables, nothing finite, or values that a
    /// logarithmic axis cannot show; what [`Fit::predict`] and the bands refuse.
    pub fn to_svg(&self) -> Result<String> {
        Ok(self.scene()?.svg()?)
    }

    /// Writes the picture to a file whose name ends in `.svg` or `.png`.
    ///
    /// # Errors
    /// As [`to_svg`](FitPlot::to_svg), and if the file cannot be written or its name says neither.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        Ok(self.scene()?.save(path.as_ref())?)
    }

    fn scene(&self) -> Result<Scene> {
        let mut scene = blank(self.size)?;
        let numbers = self.numbers()?;
        let entries = if self.legend { self.entries(&numbers) } else { Vec::new() };
        let title = if self.title.is_empty() { 0.0 } else { 26.0 };
        let plain = self.layout(&scene, &numbers, title);
        let mut corner = scene.clone();
        let taken = self.draw_upper(&mut corner, &plain.0, &numbers);
        let (upper, lower) = match legend::in_corner(&mut corner, &entries, &plain.0.panel, &taken)
        {
            true => {
                scene = corner;
                plain
            }
            false => {
                let gap = legend::height(&entries, plain.0.panel.width()) + 4.0;
                let frames = self.layout(&scene, &numbers, title + gap);
                self.draw_upper(&mut scene, &frames.0, &numbers);
                let common = !frames.0.y.ticks(frames.0.panel.height(), APART[1]).common.is_empty();
                legend::above(
                    &mut scene,
                    &entries,
                    &frames.0.panel,
                    if common { 18.0 } else { 6.0 },
                );
                frames
            }
        };
        upper.draw(&mut scene, lower.is_none());
        upper.label_y(&mut scene, &self.y_label, 16.0);
        if let (Some(lower), Some(residuals)) = (&lower, &numbers.residuals) {
            self.draw_lower(&mut scene, lower, &numbers, residuals);
        }
        lower.as_ref().unwrap_or(&upper).label_x(&mut scene, &self.x_label);
        if title > 0.0 {
            let middle = 0.5 * (upper.panel.left + upper.panel.right);
            scene.text(&self.title, (middle, 18.0), TITLE, Anchor::Middle, INK);
        }
        Ok(scene)
    }

    fn numbers(&self) -> Result<Numbers> {
        let [column] = self.data.columns.as_slice() else {
            return Err(PlotError::Columns { columns: self.data.columns.len() }.into());
        };
        let n = self.data.len();
        let x: Vec<f64> = (0..n).map(|i| column.at(i)).collect();
        let y: Vec<f64> = (0..n).map(|i| self.data.y.at(i)).collect();
        let shown = |i: usize| x[i].is_finite() && y[i].is_finite();
        let counts: Vec<bool> =
            (0..n).map(|i| shown(i) && self.data.mask.is_none_or(|mask| mask[i])).collect();
        if !(0..n).any(shown) {
            return Err(PlotError::Nothing { what: "no point has finite coordinates" }.into());
        }
        for (axis, values, log) in [("x", &x, self.log.0), ("y", &y, self.log.1)] {
            let bad = (0..n).find(|&i| log && counts[i] && values[i] <= 0.0);
            if let Some(index) = bad {
                return Err(PlotError::NotPositive { axis, index, value: values[index] }.into());
            }
        }
        let range = Axis::around((0..n).filter(|&i| shown(i)).map(|i| x[i]), self.log.0, 0.0);
        let grid: Vec<f64> =
            (0..=CURVE_POINTS).map(|i| range.at(i as f64 / CURVE_POINTS as f64)).collect();
        let curve = self.fit.predict(&grid)?;
        let band = self.band.map(|level| self.fit.confidence_band(&grid, level)).transpose()?;
        let predicted = |level| self.fit.prediction_band(&grid, level, NewPoint::Fitted);
        let prediction = self.prediction.map(predicted).transpose()?;
        let sigma = self.sigma(n);
        let residuals = match self.residuals {
            true => Some(self.standardised(&x, sigma.as_deref())?),
            false => None,
        };
        Ok(Numbers { x, y, sigma, counts, grid, curve, band, prediction, residuals })
    }

    /// Standard deviations of the points, if something is known of them.
    fn sigma(&self, n: usize) -> Option<Vec<f64>> {
        match self.data.sigma {
            Sigma::Unknown => None,
            Sigma::Relative(sigma) => {
                let factor = self.fit.residual_std_error()?;
                Some(sigma.iter().map(|s| s * factor).collect())
            }
            Sigma::Absolute(sigma) => Some(sigma.to_vec()),
            Sigma::Constant(sigma) => Some(vec![sigma; n]),
            Sigma::Covariance(matrix) => Some(matrix.diagonal().iter().map(|v| v.sqrt()).collect()),
        }
    }

    fn standardised(&self, x: &[f64], sigma: Option<&[f64]>) -> Result<Vec<f64>> {
        let (residuals, model) = (self.fit.residuals(self.data)?, self.fit.predict(x)?);
        let unit = |i: usize| match (self.fit.estimator, sigma) {
            (Estimator::Poisson, _) => model[i].sqrt(),
            (_, Some(sigma)) => sigma[i],
            _ => 1.0,
        };
        Ok(residuals.iter().enumerate().map(|(i, residual)| residual / unit(i)).collect())
    }

    fn entries(&self, numbers: &Numbers) -> Vec<(Sample, String)> {
        let points = match numbers.y.len() > DISTINCT {
            true => Sample::Area(ERROR_BAR),
            false => Sample::Point(POINT),
        };
        let mut entries = vec![(points, "data".to_owned())];
        let masked = |i: usize| !numbers.counts[i] && numbers.y[i].is_finite();
        if (0..numbers.y.len()).any(masked) {
            entries.push((Sample::Hollow(POINT), "masked".into()));
        }
        entries.push((Sample::Line(CURVE), "fit".into()));
        for (part, color) in self.parts.iter().zip(PARTS.iter().cycle()) {
            entries.push((Sample::Line(*color), part.name.clone()));
        }
        let percent = |level: f64| format!("{} %", (1e4 * level).round() / 100.0);
        if let Some(level) = self.band {
            entries.push((Sample::Area(BAND), format!("{} confidence", percent(level))));
        }
        if let Some(level) = self.prediction {
            entries.push((Sample::Area(PREDICTION), format!("{} prediction", percent(level))));
        }
        entries
    }

    /// The frames of data and residuals, `above` pixels below the top.
    fn layout(&self, scene: &Scene, numbers: &Numbers, above: f64) -> (Frame, Option<Frame>) {
        let shown = |i: &usize| numbers.x[*i].is_finite() && numbers.y[*i].is_finite();
        let points = || (0..numbers.x.len()).filter(shown);
        let error = |i: usize| numbers.sigma.as_ref().map_or(0.0, |sigma| sigma[i]);
        let ends = points().flat_map(|i| [numbers.y[i] - error(i), numbers.y[i] + error(i)]);
        let ends = ends.chain(numbers.curve.iter().copied());
        let ends = ends.chain(points().map(|i| numbers.y[i]));
        let x = Axis::around(points().map(|i| numbers.x[i]), self.log.0, 0.03);
        let y = Axis::around(ends, self.log.1, 0.06);
        let bottom = scene.height - 48.0;
        let top = 22.0 + above;
        let deviations = numbers.residuals.as_ref().map(|residuals| {
            let counted = (0..residuals.len()).filter(|&i| numbers.counts[i]);
            let largest = counted.map(|i| residuals[i].abs()).filter(|r| r.is_finite());
            let most = largest.fold(0.0, f64::max);
            let most = if most > 0.0 { 1.15 * most.min(1e306) } else { 1.0 };
            Axis { low: -most, high: most, log: false }
        });
        let split = bottom - 0.27 * (bottom - top);
        // A power of ten of the residuals stands between the panels.
        let common =
            deviations.is_some_and(|axis| !axis.ticks(bottom - split, APART[1]).common.is_empty());
        let between = if common { 24.0 } else { 8.0 };
        let upper_bottom = if deviations.is_some() { split - 8.0 } else { bottom };
        let rooms = [Some((y, upper_bottom - top)), deviations.map(|axis| (axis, bottom - split))];
        let room = rooms.into_iter().flatten().map(|(axis, height)| room(&axis, height));
        let left = 28.0 + room.fold(0.0, f64::max);
        let right = scene.width - 18.0;
        let upper = Frame { panel: Panel { left, right, top, bottom: upper_bottom }, x, y };
        let lower = deviations.map(|y| Frame {
            panel: Panel { left, right, top: split + between, bottom },
            x,
            y,
        });
        (upper, lower)
    }

    /// Draws all but the frame; returns the places that a legend should not cover.
    fn draw_upper(&self, scene: &mut Scene, frame: &Frame, numbers: &Numbers) -> Vec<Place> {
        let panel = &frame.panel;
        let curve = frame.places(&numbers.grid, &numbers.curve);
        let mut taken = curve.clone();
        for (band, color) in [(&numbers.prediction, PREDICTION), (&numbers.band, BAND)] {
            if let Some(band) = band {
                let [lower, upper] =
                    [&band.lower, &band.upper].map(|y| frame.places(&numbers.grid, y));
                scene.between(panel, &lower, &upper, color);
                taken.extend(lower.into_iter().chain(upper));
            }
        }
        for (part, color) in self.parts.iter().zip(PARTS.iter().cycle()) {
            let places = frame.places(&part.x, &part.y);
            scene.curve(panel, &places, *color, LINE);
            taken.extend(places);
        }
        taken.extend(points(scene, frame, numbers, &numbers.y, numbers.sigma.as_deref()));
        scene.curve(panel, &curve, CURVE, LINE);
        taken
    }

    fn draw_lower(&self, scene: &mut Scene, frame: &Frame, numbers: &Numbers, residuals: &[f64]) {
        let zero = [frame.place(frame.x.low, 0.0), frame.place(frame.x.high, 0.0)];
        let many = residuals.len() > DISTINCT;
        if many {
            points(scene, frame, numbers, residuals, None);
        }
        scene.curve(&frame.panel, &zero, CURVE, THIN);
        if !many {
            points(scene, frame, numbers, residuals, None);
        }
        frame.draw(scene, true);
        let known = numbers.sigma.is_some() || self.fit.estimator == Estimator::Poisson;
        frame.label_y(scene, if known { "residual / σ" } else { "residual" }, 16.0);
    }
}

/// Points with their error bars, or what many points cover; returns their places.
fn points(
    scene: &mut Scene,
    frame: &Frame,
    numbers: &Numbers,
    y: &[f64],
    sigma: Option<&[f64]>,
) -> Vec<Place> {
    let shown = |i: &usize| numbers.x[*i].is_finite() && y[*i].is_finite();
    let places: Vec<(usize, Place)> =
        (0..y.len()).filter(shown).map(|i| (i, frame.place(numbers.x[i], y[i]))).collect();
    let panel = &frame.panel;
    if places.len() > DISTINCT {
        let mut taken = Vec::new();
        for (x, top, bottom) in strips(panel, places.iter().map(|(_, place)| *place)) {
            scene.line((x, top), (x, bottom), ERROR_BAR, 1.0);
            taken.extend([(x, top), (x, bottom)]);
        }
        return taken;
    }
    let radius = match places.len() {
        0..=120 => 2.7,
        121..=500 => 2.0,
        _ => 1.3,
    };
    let mut taken = Vec::new();
    for &(i, _) in &places {
        if let Some(error) = sigma.map(|sigma| sigma[i]).filter(|error| error.is_finite()) {
            let ends =
                [frame.place(numbers.x[i], y[i] - error), frame.place(numbers.x[i], y[i] + error)];
            let color = if numbers.counts[i] { ERROR_BAR } else { FAINT };
            // The lower end of a bar may have no logarithm.
            let ends = ends.map(|(x, y)| (x, if y.is_nan() { panel.bottom } else { y }));
            scene.curve(panel, &ends, color, THIN);
            taken.extend(ends);
        }
    }
    for &(i, place) in &places {
        match numbers.counts[i] {
            true => scene.disc(panel, place, radius, POINT),
            false => scene.ring(panel, place, radius, POINT),
        }
        taken.push(place);
    }
    taken
}
