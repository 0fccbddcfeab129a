//! A number for each pixel as a colour: what a batch found.

use super::axis::{Axis, Frame, room};
use super::blank;
use super::scene::{Anchor, Panel, Scene};
use super::style::{Color, FRAME, INK, TICK, TITLE};
use crate::error::Result;
use crate::error::plot::PlotError;
use std::path::Path;

/// Cells along a side at most; larger maps show the mean of several.
const CELLS: usize = 512;
/// What has no value.
const MISSING: Color = (190, 190, 190);

/// A map of n × m numbers, such as one parameter of all fits of a batch, with a bar that says which colour is
/// which number. The colours are those of viridis, in which equal steps look equal. Numbers that are not
/// finite are grey; those beyond the range have the colour of its end.
#[derive(Clone, Debug)]
pub struct MapPlot {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
    range: Option<(f64, f64)>,
    title: String,
    label: String,
    size: (u32, u32),
}

impl MapPlot {
    /// `values`: row-major, `columns` to a row, the first row at the top.
    ///
    /// # Errors
    /// [`PlotError::Nothing`] if they do not make whole rows.
    pub fn new(values: impl IntoIterator<Item = f64>, columns: usize) -> Result<MapPlot> {
        let values: Vec<f64> = values.into_iter().collect();
        if columns == 0 || values.is_empty() || !values.len().is_multiple_of(columns) {
            let what = "the values of a map do not make whole rows";
            return Err(PlotError::Nothing { what }.into());
        }
        let rows = values.len() / columns;
        let (title, label) = (String::new(), String::new());
        Ok(MapPlot { rows, columns, values, range: None, title, label, size: (560, 460) })
    }

    /// The numbers of the first and the last colour; the smallest and the largest otherwise.
    #[must_use]
    pub fn range(mut self, low: f64, high: f64) -> MapPlot {
        self.range = Some((low, high));
        self
    }

    /// A title; none by default.
    #[must_use]
    pub fn title(mut self, title: &str) -> MapPlot {
        self.title = title.into();
        self
    }

    /// What the colours are, with the unit.
    #[must_use]
    pub fn label(mut self, label: &str) -> MapPlot {
        self.label = label.into();
        self
    }

    /// Width and height in pixels, 560 × 460 by default; a wide map takes less height. A PNG has twice as
    /// many pixels along each side.
    #[must_use]
    pub fn size(mut self, width: u32, height: u32) -> MapPlot {
        self.size = (width, height);
        self
    }

    /// The picture as the text of an SVG file.
    ///
    /// # Errors
    /// [`PlotError::Nothing`] if no value is finite.
    pub fn to_svg(&self) -> Result<String> {
        Ok(self.scene()?.svg()?)
    }

    /// Writes the picture to a file whose name ends in `.svg` or `.png`.
    ///
    /// # Errors
    /// As [`to_svg`](MapPlot::to_svg), and if the file cannot be written or its name says neither.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        Ok(self.scene()?.save(path.as_ref())?)
    }

    fn scene(&self) -> std::result::Result<Scene, PlotError> {
        let mut scene = blank(self.size)?;
        if !self.values.iter().any(|v| v.is_finite()) {
            return Err(PlotError::Nothing { what: "no value of the map is finite" });
        }
        let scale = match self.range {
            Some((low, high)) if low < high && (high - low).is_finite() => {
                Axis { low, high, log: false }
            }
            _ => Axis::around(self.values.iter().copied(), false, 0.0),
        };
        let top = if self.title.is_empty() { 24.0 } else { 44.0 };
        let bottom = scene.height - 34.0;
        let beside = 16.0
            + 16.0
            + room(&scale, bottom - top)
            + if self.label.is_empty() { 4.0 } else { 26.0 };
        let left = 42.0;
        let (wide, high) = (scene.width - left - beside - 10.0, bottom - top);
        let pixel = (wide / self.columns as f64).min(high / self.rows as f64);
        let map = Panel {
            left,
            right: left + pixel * self.columns as f64,
            top,
            bottom: top + pixel * self.rows as f64,
        };
        scene.height = (map.bottom + 34.0).round();
        self.cells(&mut scene, &map, &scale);
        self.frame(&mut scene, &map);
        self.bar(&mut scene, &map, scale);
        if !self.title.is_empty() {
            let middle = 0.5 * (map.left + map.right);
            scene.text(&self.title, (middle, 18.0), TITLE, Anchor::Middle, INK);
        }
        Ok(scene)
    }

    fn cells(&self, scene: &mut Scene, map: &Panel, scale: &Axis) {
        let side = self.rows.max(self.columns).div_ceil(CELLS).max(1);
        let pixel = map.width() / self.columns as f64;
        for row in (0..self.rows).step_by(side) {
            let below = (row + side).min(self.rows);
            let mut run: Option<(usize, Color)> = None;
            let strip = |scene: &mut Scene, from: usize, to: usize, color: Color| {
                let at = |k: usize| map.left + pixel * k as f64;
                let (top, bottom) = (map.top + pixel * row as f64, map.top + pixel * below as f64);
                scene.rectangle(&Panel { left: at(from), right: at(to), top, bottom }, color);
            };
            // Neighbours of one colour are one rectangle.
            for column in (0..self.columns).step_by(side) {
                let color =
                    self.color(row..below, column..(column + side).min(self.columns), scale);
                match run {
                    Some((_, same)) if same == color => {}
                    Some((from, other)) => {
                        strip(scene, from, column, other);
                        run = Some((column, color));
                    }
                    None => run = Some((column, color)),
                }
            }
            if let Some((from, color)) = run {
                strip(scene, from, self.columns, color);
            }
        }
    }

    /// The colour of the mean of a cell's finite values.
    fn color(
        &self,
        rows: std::ops::Range<usize>,
        columns: std::ops::Range<usize>,
        scale: &Axis,
    ) -> Color {
        let (mut sum, mut count) = (0.0, 0.0);
        for row in rows {
            for column in columns.clone() {
                let value = self.values[row * self.columns + column];
                if value.is_finite() {
                    count += 1.0;
                    sum += value;
                }
            }
        }
        if count == 0.0 { MISSING } else { viridis(scale.part(sum / count)) }
    }

    /// Rows and columns are counted from 0, at the middle of their cells.
    fn frame(&self, scene: &mut Scene, map: &Panel) {
        let Panel { left, right, top, bottom } = *map;
        let corners = vec![
            (left, top),
            (right, top),
            (right, bottom),
            (left, bottom),
            (left, top),
            (right, top),
        ];
        scene.path(corners, INK, FRAME);
        let axis = |count: usize| Axis { low: 0.0, high: count as f64 - 1.0, log: false };
        let whole = |label: &String| !label.contains('.');
        let pixel = map.width() / self.columns as f64;
        let across = axis(self.columns).ticks(map.width(), 70.0);
        for (value, label) in across.major.iter().filter(|(_, label)| whole(label)) {
            let x = left + pixel * (value + 0.5);
            scene.line((x, bottom), (x, bottom + 4.0), INK, FRAME);
            scene.text(label, (x, bottom + 14.0), TICK, Anchor::Middle, INK);
        }
        let down = axis(self.rows).ticks(map.height(), 50.0);
        for (value, label) in down.major.iter().filter(|(_, label)| whole(label)) {
            let y = top + pixel * (value + 0.5);
            scene.line((left - 4.0, y), (left, y), INK, FRAME);
            scene.text(label, (left - 7.0, y), TICK, Anchor::End, INK);
        }
    }

    fn bar(&self, scene: &mut Scene, map: &Panel, scale: Axis) {
        const STEPS: usize = 128;
        let left = map.right + 16.0;
        let panel = Panel { left, right: left + 16.0, top: map.top, bottom: map.bottom };
        let height = panel.height() / STEPS as f64;
        for i in 0..STEPS {
            let bottom = panel.bottom - height * i as f64;
            let color = viridis((i as f64 + 0.5) / STEPS as f64);
            scene.rectangle(&Panel { top: bottom - height, bottom, ..panel }, color);
        }
        let frame = Frame { panel, x: Axis { low: 0.0, high: 1.0, log: false }, y: scale };
        let Panel { right, top, bottom, .. } = panel;
        let corners = vec![
            (left, top),
            (right, top),
            (right, bottom),
            (left, bottom),
            (left, top),
            (right, top),
        ];
        scene.path(corners, INK, FRAME);
        let ticks = scale.ticks(panel.height(), 48.0);
        for (value, label) in &ticks.major {
            let (_, y) = frame.place(0.0, *value);
            scene.line((right, y), (right + 4.0, y), INK, FRAME);
            scene.text(label, (right + 7.0, y), TICK, Anchor::Start, INK);
        }
        if !ticks.common.is_empty() {
            scene.text(&ticks.common, (left, top - 11.0), TICK, Anchor::Start, INK);
        }
        if !self.label.is_empty() {
            let beyond = right + room(&scale, panel.height()) + 14.0;
            frame.label_y(scene, &self.label, beyond);
        }
    }
}

/// The colour at a part of the way; 64 shades, so that neighbours share rectangles.
fn viridis(part: f64) -> Color {
    const SHADES: f64 = 64.0;
    let shade = (part.clamp(0.0, 1.0) * SHADES).floor().min(SHADES - 1.0);
    let colorous::Color { r, g, b } = colorous::VIRIDIS.eval_continuous(shade / (SHADES - 1.0));
    (r, g, b)
}
