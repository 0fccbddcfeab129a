//! Charts: one or two panels of marks, with frames, ticks and a legend. All plots except maps are charts.

use super::axis::Axis;
use super::canvas::{
    Anchor, Area, Canvas, Color, INK, LABEL, LINE, PART, POINT, Place, THIN, TICK, TITLE,
};
use super::legend::{self, Entry};
use crate::error::PlotError;

/// Approximate distances of adjacent labels along x and y, in pixels.
const APART: [f64; 2] = [85.0, 48.0];

/// A chart with one panel, or with two panels that share the horizontal axis.
#[derive(Debug)]
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) x_label: String,
    /// Panels, from the top.
    pub(super) panels: Vec<Panel>,
    pub(super) legend: Vec<Entry>,
}

#[derive(Debug)]
pub(super) struct Panel {
    pub(super) y: Axis,
    pub(super) label: String,
    /// Marks, in the order in which they are drawn.
    pub(super) marks: Vec<Mark>,
}

/// An element of a chart. Coordinates are values along the axes.
#[derive(Debug)]
pub(super) enum Mark {
    /// A line through points. It is interrupted at points that are not finite.
    Line {
        points: Vec<(f64, f64)>,
        color: Color,
        width: f64,
    },
    /// A dashed line through points.
    Dashed {
        points: Vec<(f64, f64)>,
        color: Color,
        dashes: &'static [f64],
    },
    /// The region between two curves over the same abscissas.
    Band {
        lower: Vec<(f64, f64)>,
        upper: Vec<(f64, f64)>,
        color: Color,
    },
    Disc {
        at: (f64, f64),
        radius: f64,
        filled: bool,
        color: Color,
    },
    Cross {
        at: (f64, f64),
    },
    /// Points that are too many to draw separately; in each pixel column, the range that they cover is drawn.
    Cloud {
        points: Vec<(f64, f64)>,
        color: Color,
    },
}

/// An area of the canvas with its two axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) area: Area,
    pub(super) x: Axis,
    pub(super) y: Axis,
}

impl Mark {
    /// A line of two points.
    pub(super) fn segment(from: (f64, f64), to: (f64, f64), color: Color, width: f64) -> Mark {
        Mark::Line { points: vec![from, to], color, width }
    }

    /// Returns the positions that a legend should not cover.
    fn places(&self, frame: &Frame) -> Vec<Place> {
        match self {
            Mark::Line { points, .. }
            | Mark::Dashed { points, .. }
            | Mark::Cloud { points, .. } => frame.places(points),
            Mark::Band { lower, upper, .. } => [frame.places(lower), frame.places(upper)].concat(),
            Mark::Disc { at, .. } | Mark::Cross { at } => frame.places(&[*at]),
        }
    }

    fn draw(&self, canvas: &mut Canvas, frame: &Frame) {
        let area = &frame.area;
        match self {
            Mark::Line { points, color, width } => {
                canvas.curve(area, &frame.places(points), *color, *width, &[]);
            }
            Mark::Dashed { points, color, dashes } => {
                canvas.curve(area, &frame.places(points), *color, PART, dashes);
            }
            Mark::Band { lower, upper, color } => {
                canvas.between(area, &frame.places(lower), &frame.places(upper), *color);
            }
            Mark::Disc { at, radius, filled, color } => {
                let place = frame.place(*at);
                match (area.holds(place), filled) {
                    (false, _) => {}
                    (true, true) => canvas.disc(place, *radius, *color),
                    (true, false) => canvas.ring(place, *radius, *color),
                }
            }
            Mark::Cross { at } => {
                let (x, y) = frame.place(*at);
                canvas.curve(area, &[(x - 5.0, y), (x + 5.0, y)], POINT, LINE, &[]);
                canvas.curve(area, &[(x, y - 5.0), (x, y + 5.0)], POINT, LINE, &[]);
            }
            Mark::Cloud { points, color } => {
                let width = area.width().max(1.0) as usize;
                let mut covered: Vec<Option<(f64, f64)>> = vec![None; width];
                for (x, y) in frame.places(points) {
                    let at = (x - area.left).clamp(0.0, (width - 1) as f64) as usize;
                    let y = y.clamp(area.top, area.bottom);
                    let (top, bottom) = covered[at].unwrap_or((y, y));
                    covered[at] = Some((top.min(y), bottom.max(y)));
                }
                for (at, range) in covered.into_iter().enumerate() {
                    let Some((top, bottom)) = range else { continue };
                    let left = area.left + at as f64;
                    // At least 1 pixel, the height of a small point.
                    let top = top.min(bottom - 1.0);
                    let strip = Area { left, right: left + 1.0, top, bottom };
                    canvas.rectangle(&strip, *color);
                }
            }
        }
    }
}

impl Chart {
    /// Draws the chart. The legend is placed in a free corner of the upper panel, or above it if no corner is free.
    pub(super) fn draw(&self, size: (u32, u32)) -> Result<Canvas, PlotError> {
        let mut canvas = Canvas::new(size)?;
        let mut frames = self.frames(&canvas, 0.0);
        let (upper, top) = (&self.panels[0], frames[0]);
        let taken: Vec<Place> = upper.marks.iter().flat_map(|mark| mark.places(&top)).collect();
        let corner = legend::free_corner(&self.legend, &top.area, &taken);
        if corner.is_none() {
            frames = self.frames(&canvas, legend::height(&self.legend, top.area.width()));
        }
        for (i, (panel, frame)) in self.panels.iter().zip(&frames).enumerate() {
            panel.marks.iter().for_each(|mark| mark.draw(&mut canvas, frame));
            frame.draw(&mut canvas, i + 1 == self.panels.len());
            canvas.upwards(&panel.label, (16.0, frame.area.middle().1), LABEL);
        }
        let (area, common) = (frames[0].area, frames[0].y_ticks().common);
        match corner {
            Some(corner) => legend::draw_in(&mut canvas, &self.legend, &corner),
            None => {
                let gap = if common.is_empty() { 6.0 } else { 18.0 };
                legend::draw_above(&mut canvas, &self.legend, &area, gap);
            }
        }
        let (middle, bottom) = (area.middle().0, canvas.height - 48.0);
        canvas.text(&self.x_label, (middle, bottom + 32.0), LABEL, Anchor::Middle);
        canvas.text(&self.title, (middle, 18.0), TITLE, Anchor::Middle);
        Ok(canvas)
    }

    /// Returns the frames of the panels, with `above` pixels for a legend above them.
    fn frames(&self, canvas: &Canvas, above: f64) -> Vec<Frame> {
        let title = if self.title.is_empty() { 0.0 } else { 26.0 };
        let (top, bottom) = (22.0 + title + above, canvas.height - 48.0);
        let split = bottom - 0.27 * (bottom - top);
        let spans = match self.panels.as_slice() {
            [_, lower] => {
                // The common factor of the lower panel's labels is between the panels.
                let common = lower.y.ticks(bottom - split, APART[1]).common;
                let between = if common.is_empty() { 8.0 } else { 24.0 };
                vec![(top, split - 8.0), (split + between, bottom)]
            }
            _ => vec![(top, bottom)],
        };
        let (left, right) = (0.0, canvas.width - 18.0);
        let frame = |(panel, (top, bottom)): (&Panel, (f64, f64))| Frame {
            area: Area { left, right, top, bottom },
            x: self.x,
            y: panel.y,
        };
        let mut frames: Vec<Frame> = self.panels.iter().zip(spans).map(frame).collect();
        let widest = frames.iter().map(|frame| frame.y_ticks().width()).fold(0.0, f64::max);
        frames.iter_mut().for_each(|frame| frame.area.left = 36.0 + widest);
        frames
    }
}

impl Frame {
    pub(super) fn place(&self, (x, y): (f64, f64)) -> Place {
        // Positions far outside are clamped, to avoid overflow of the coordinates.
        let part = |axis: &Axis, v: f64| axis.part(v).clamp(-1e6, 1e6);
        let Area { left, bottom, .. } = self.area;
        let x = left + part(&self.x, x) * self.area.width();
        (x, bottom - part(&self.y, y) * self.area.height())
    }

    fn places(&self, points: &[(f64, f64)]) -> Vec<Place> {
        points.iter().map(|&point| self.place(point)).collect()
    }

    pub(super) fn y_ticks(&self) -> super::axis::Ticks {
        self.y.ticks(self.area.height(), APART[1])
    }

    /// Draws the frame, ticks and labels. `numbers`: true if the horizontal axis has labels.
    fn draw(&self, canvas: &mut Canvas, numbers: bool) {
        let Area { left, right, top, bottom } = self.area;
        let (across, up) = (self.x.ticks(self.area.width(), APART[0]), self.y_ticks());
        for (value, length) in across.lengths() {
            let (x, _) = self.place((value, self.y.low));
            canvas.path(&[(x, bottom), (x, bottom - length)], INK, THIN);
            canvas.path(&[(x, top), (x, top + length)], INK, THIN);
        }
        for (value, length) in up.lengths() {
            let (_, y) = self.place((self.x.low, value));
            canvas.path(&[(left, y), (left + length, y)], INK, THIN);
            canvas.path(&[(right, y), (right - length, y)], INK, THIN);
        }
        canvas.outline(&self.area);
        for (value, label) in &up.major {
            let (_, y) = self.place((self.x.low, *value));
            canvas.text(label, (left - 6.0, y), TICK, Anchor::End);
        }
        canvas.text(&up.common, (left, top - 10.0), TICK, Anchor::Start);
        if numbers {
            for (value, label) in &across.major {
                let (x, _) = self.place((*value, self.y.low));
                canvas.text(label, (x, bottom + 12.0), TICK, Anchor::Middle);
            }
            canvas.text(&across.common, (right, bottom + 28.0), TICK, Anchor::End);
        }
    }
}
