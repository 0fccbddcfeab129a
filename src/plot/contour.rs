//! The region of two parameters that agrees with the data.

use super::axis::{Axis, Frame, room};
use super::blank;
use super::legend::{self, Sample};
use super::scene::{Panel, Place, Scene};
use super::style::{CONTOURS, FAINT, INK, LINE, POINT, THIN};
use crate::curve_fit::profile::contour::{Contour, ContourLine};
use crate::error::Result;
use crate::error::plot::PlotError;
use std::path::Path;

/// A path of one level, as points of both parameters.
#[derive(Clone, Debug)]
struct Line {
    level: f64,
    points: Vec<(f64, f64)>,
}

/// The contours of two parameters, the best values, and the interval of each parameter alone as lines across.
#[derive(Clone, Debug)]
pub struct ContourPlot {
    names: [String; 2],
    lines: Vec<Line>,
    best: Option<(f64, f64)>,
    intervals: [Option<(f64, f64)>; 2],
    size: (u32, u32),
}

impl ContourPlot {
    /// Of the parameters with these names.
    pub fn new(names: [&str; 2]) -> ContourPlot {
        let names = names.map(str::to_owned);
        ContourPlot { names, lines: Vec::new(), best: None, intervals: [None; 2], size: (520, 440) }
    }

    /// The lines around the joint regions that [`CurveFit::contour`](crate::CurveFit::contour) computed, and the
    /// best values.
    pub fn of(contour: &Contour) -> ContourPlot {
        let [first, second] = &contour.names;
        let plot = ContourPlot::new([first, second]).best(contour.best[0], contour.best[1]);
        let paths = |line: &ContourLine| {
            let level = line.level;
            line.paths.clone().into_iter().map(move |path| (level, path))
        };
        let paths = contour.lines.iter().flat_map(paths);
        paths.fold(plot, |plot, (level, path)| plot.line(level, path))
    }

    /// Adds a line at a confidence level between 0 and 1: values of the first and the second parameter along it,
    /// in order; equal ends close it. Lines of one level have one colour.
    #[must_use]
    pub fn line(mut self, level: f64, points: impl IntoIterator<Item = (f64, f64)>) -> ContourPlot {
        self.lines.push(Line { level, points: points.into_iter().collect() });
        self
    }

    /// Marks the best values.
    #[must_use]
    pub fn best(mut self, first: f64, second: f64) -> ContourPlot {
        self.best = Some((first, second));
        self
    }

    /// Shows the interval of each parameter alone.
    #[must_use]
    pub fn intervals(mut self, first: (f64, f64), second: (f64, f64)) -> ContourPlot {
        self.intervals = [Some(first), Some(second)];
        self
    }

    /// Width and height in pixels, 520 × 440 by default; a PNG has twice as many along each side.
    #[must_use]
    pub fn size(mut self, width: u32, height: u32) -> ContourPlot {
        self.size = (width, height);
        self
    }

    /// The picture as the text of an SVG file.
    ///
    /// # Errors
    /// [`PlotError::Nothing`] without a line of two finite points.
    pub fn to_svg(&self) -> Result<String> {
        Ok(self.scene()?.svg()?)
    }

    /// Writes the picture to a file whose name ends in `.svg` or `.png`.
    ///
    /// # Errors
    /// As [`to_svg`](ContourPlot::to_svg), and if the file cannot be written or its name says neither.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        Ok(self.scene()?.save(path.as_ref())?)
    }

    fn scene(&self) -> std::result::Result<Scene, PlotError> {
        let mut scene = blank(self.size)?;
        let finite = |p: &&(f64, f64)| p.0.is_finite() && p.1.is_finite();
        let points = || self.lines.iter().flat_map(|line| &line.points).filter(finite);
        if points().count() < 2 {
            return Err(PlotError::Nothing { what: "no contour has two finite points" });
        }
        let bounds = |interval: Option<(f64, f64)>| interval.into_iter().flat_map(|(a, b)| [a, b]);
        let first = points().map(|p| p.0).chain(bounds(self.intervals[0]));
        let second = points().map(|p| p.1).chain(bounds(self.intervals[1]));
        let (x, y) = (Axis::around(first, false, 0.08), Axis::around(second, false, 0.08));
        let levels = self.levels();
        let entries: Vec<(Sample, String)> = levels
            .iter()
            .map(|&(level, color)| {
                (Sample::Line(color), format!("{} %", (1e4 * level).round() / 100.0))
            })
            .collect();
        let (top, bottom) = (26.0, scene.height - 48.0);
        let left = 28.0 + room(&y, bottom - top);
        let mut panel = Panel { left, right: scene.width - 18.0, top, bottom };
        let mut frame = Frame { panel, x, y };
        let mut taken: Vec<Place> = Vec::new();
        for line in &self.lines {
            taken.extend(line.points.iter().map(|p| frame.place(p.0, p.1)));
        }
        let mut trial = scene.clone();
        let inside = legend::in_corner(&mut trial, &entries, &panel, &taken);
        if !inside {
            panel.top += legend::height(&entries, panel.width()) + 4.0;
            frame.panel = panel;
        }
        self.across(&mut scene, &frame);
        for line in &self.lines {
            let color = levels.iter().find(|(level, _)| *level == line.level).map_or(INK, |l| l.1);
            let places: Vec<Place> = line.points.iter().map(|p| frame.place(p.0, p.1)).collect();
            scene.curve(&panel, &places, color, LINE);
        }
        if let Some((a, b)) = self.best {
            let (x, y) = frame.place(a, b);
            scene.curve(&panel, &[(x - 5.0, y), (x + 5.0, y)], POINT, LINE);
            scene.curve(&panel, &[(x, y - 5.0), (x, y + 5.0)], POINT, LINE);
        }
        match inside {
            true => drop(legend::in_corner(&mut scene, &entries, &panel, &taken)),
            false => legend::above(&mut scene, &entries, &panel, 18.0),
        }
        frame.draw(&mut scene, true);
        frame.label_x(&mut scene, &self.names[0]);
        frame.label_y(&mut scene, &self.names[1], 16.0);
        Ok(scene)
    }

    /// The levels, ascending, with their colours.
    fn levels(&self) -> Vec<(f64, super::style::Color)> {
        let mut levels: Vec<f64> = self.lines.iter().map(|line| line.level).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        levels.into_iter().zip(CONTOURS.into_iter().cycle()).collect()
    }

    fn across(&self, scene: &mut Scene, frame: &Frame) {
        for end in self.intervals[0].into_iter().flat_map(|(a, b)| [a, b]) {
            let ends = [frame.place(end, frame.y.low), frame.place(end, frame.y.high)];
            scene.curve(&frame.panel, &ends, FAINT, THIN);
        }
        for end in self.intervals[1].into_iter().flat_map(|(a, b)| [a, b]) {
            let ends = [frame.place(frame.x.low, end), frame.place(frame.x.high, end)];
            scene.curve(&frame.panel, &ends, FAINT, THIN);
        }
    }
}
