//! Plots of joint confidence regions of two parameters.

use super::axis::Axis;
use super::canvas::{CONTOURS, Canvas, FAINT, LINE, THIN};
use super::chart::{Chart, Mark, Panel};
use super::legend::{Entry, LegendMark, percent};
use super::settings::methods_of_pictures;
use crate::error::{PlotError, Result};
use dualfit::result::{Contour, ContourLine};

/// A path at one level, as pairs of values of both parameters.
#[derive(Clone, Debug)]
struct DrawnLine {
    level: f64,
    points: Vec<(f64, f64)>,
}

/// Plot of the contours of two parameters, their best values, and the interval of each single parameter as lines across
/// the picture.
#[derive(Clone, Debug)]
pub struct ContourPlot {
    names: [String; 2],
    lines: Vec<DrawnLine>,
    best: Option<(f64, f64)>,
    intervals: [Option<(f64, f64)>; 2],
    size: (u32, u32),
}

methods_of_pictures! {
    /// [`PlotError::Nothing`] if there are fewer than two finite points.
    ContourPlot
}

impl ContourPlot {
    /// Creates an empty plot for the parameters with these names.
    pub fn new(names: [&str; 2]) -> ContourPlot {
        let names = names.map(str::to_owned);
        ContourPlot { names, lines: Vec::new(), best: None, intervals: [None; 2], size: (520, 440) }
    }

    /// Creates a plot of the joint regions that [`CurveFit::contour`](dualfit::CurveFit::contour) computed, with the
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

    /// Adds a line at a confidence level between 0 and 1. `points`: values of the first and the second parameter along
    /// the line; if the first point equals the last one, the line is closed. Lines at the same level have the same
    /// colour.
    #[must_use]
    pub fn line(mut self, level: f64, points: impl IntoIterator<Item = (f64, f64)>) -> ContourPlot {
        self.lines.push(DrawnLine { level, points: points.into_iter().collect() });
        self
    }

    /// Marks the best values.
    #[must_use]
    pub fn best(mut self, first: f64, second: f64) -> ContourPlot {
        self.best = Some((first, second));
        self
    }

    /// Draws the interval of each single parameter.
    #[must_use]
    pub fn intervals(mut self, first: (f64, f64), second: (f64, f64)) -> ContourPlot {
        self.intervals = [Some(first), Some(second)];
        self
    }

    /// Sets width and height in pixels, 520 × 440 by default; a PNG has 2x the pixels along each side.
    #[must_use]
    pub fn size(mut self, width: u32, height: u32) -> ContourPlot {
        self.size = (width, height);
        self
    }

    fn canvas(&self) -> Result<Canvas> {
        let finite = |p: &&(f64, f64)| p.0.is_finite() && p.1.is_finite();
        let points = || self.lines.iter().flat_map(|line| &line.points).filter(finite);
        if points().count() < 2 {
            return Err(PlotError::Nothing { what: "no contour has two finite points" });
        }
        let ends = self.intervals.map(|interval| interval.map_or(Vec::new(), |(a, b)| vec![a, b]));
        let around = |values: Vec<f64>| Axis::around(values.into_iter(), false, 0.08);
        let x = around(points().map(|p| p.0).chain(ends[0].iter().copied()).collect());
        let y = around(points().map(|p| p.1).chain(ends[1].iter().copied()).collect());
        let up = |&end: &f64| Mark::segment((end, y.low), (end, y.high), FAINT, THIN);
        let across = |&end: &f64| Mark::segment((x.low, end), (x.high, end), FAINT, THIN);
        let mut marks: Vec<Mark> =
            ends[0].iter().map(up).chain(ends[1].iter().map(across)).collect();
        let mut levels: Vec<f64> = self.lines.iter().map(|line| line.level).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        let mut legend = Vec::new();
        for (level, color) in levels.into_iter().zip(CONTOURS.into_iter().cycle()) {
            legend.push(Entry::new(LegendMark::Line(color), percent(level)));
            for line in self.lines.iter().filter(|line| line.level == level) {
                marks.push(Mark::Line { points: line.points.clone(), color, width: LINE });
            }
        }
        marks.extend(self.best.map(|at| Mark::Cross { at }));
        let [x_label, label] = self.names.clone();
        let panels = vec![Panel { y, label, marks }];
        Chart { title: String::new(), x, x_label, panels, legend }.draw(self.size)
    }
}
