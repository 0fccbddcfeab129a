//! Maps: a two-dimensional array of numbers, such as results of a batch, as colours.

use super::axis::Axis;
use super::canvas::{Anchor, Area, Canvas, Color, INK, LABEL, THIN, TICK, TITLE};
use super::settings::methods_of_pictures;
use crate::error::{PlotError, Result};
use std::ops::Range;

/// Maximum number of cells along a side. In larger maps, a cell shows the mean of several numbers.
const CELLS: usize = 512;
/// Approximate distance of adjacent labels of the colour bar, in pixels.
const APART: f64 = 48.0;
/// Fraction of the numbers, at each end, that may be outside of the default range.
const BEYOND: f64 = 1.0 / 400.0;
/// Numbers at the ends are left out of the default range if the range of all numbers is wider than the range without
/// them by more than this factor.
const WILD: f64 = 4.0;
/// Color of missing values.
const MISSING: Color = (190, 190, 190);

/// Map of n × m numbers, such as one parameter of all fits of a batch, with a colour bar. The colour scale is viridis,
/// which is perceptually uniform. Numbers that are not finite are grey. Numbers outside of the range have the colour of
/// its nearest end.
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

methods_of_pictures! {
    /// [`PlotError::Nothing`] if no value is finite.
    MapPlot
}

impl MapPlot {
    /// Creates a map. `values`: in row-major order, with `columns` values per row; the first row is at the top.
    ///
    /// # Errors
    /// [`PlotError::Nothing`] if there are no values, or if their number is not a multiple of `columns`.
    pub fn new(values: impl IntoIterator<Item = f64>, columns: usize) -> Result<MapPlot> {
        let values: Vec<f64> = values.into_iter().collect();
        if columns == 0 || values.is_empty() || !values.len().is_multiple_of(columns) {
            let what = "the values of a map do not make whole rows";
            return Err(PlotError::Nothing { what });
        }
        let rows = values.len() / columns;
        let (title, label) = (String::new(), String::new());
        Ok(MapPlot { rows, columns, values, range: None, title, label, size: (560, 460) })
    }

    /// Sets the range of the colour scale: the numbers that have the first and the last colour. The default is the
    /// smallest and the largest number. Exception: if a quarter of a percent of the numbers at each end make the range
    /// more than 4x as wide, the default leaves these numbers out, and the picture shows their count.
    #[must_use]
    pub fn range(mut self, low: f64, high: f64) -> MapPlot {
        self.range = Some((low, high));
        self
    }

    /// Sets the title. By default there is no title.
    #[must_use]
    pub fn title(mut self, title: &str) -> MapPlot {
        self.title = title.into();
        self
    }

    /// Sets the label of the color scale, with the unit.
    #[must_use]
    pub fn label(mut self, label: &str) -> MapPlot {
        self.label = label.into();
        self
    }

    /// Sets width and height in pixels, 560 × 460 by default; the picture of a wide map is less high. A PNG has 2x the
    /// pixels along each side.
    #[must_use]
    pub fn size(mut self, width: u32, height: u32) -> MapPlot {
        self.size = (width, height);
        self
    }

    fn canvas(&self) -> Result<Canvas> {
        let mut canvas = Canvas::new(self.size)?;
        if !self.values.iter().any(|v| v.is_finite()) {
            return Err(PlotError::Nothing { what: "no value of the map is finite" });
        }
        let scale = match self.range {
            Some((low, high)) if low < high && (high - low).is_finite() => Axis::linear(low, high),
            _ => Axis::around(self.usual().into_iter(), false, 0.0),
        };
        let top = if self.title.is_empty() { 24.0 } else { 44.0 };
        let (left, bottom) = (42.0, canvas.height - 34.0);
        let label = if self.label.is_empty() { 4.0 } else { 26.0 };
        let beside = 40.0 + scale.ticks(bottom - top, APART).width() + label;
        let (wide, high) = (canvas.width - left - beside - 10.0, bottom - top);
        let pixel = (wide / self.columns as f64).min(high / self.rows as f64);
        let (right, bottom) = (left + pixel * self.columns as f64, top + pixel * self.rows as f64);
        let map = Area { left, right, top, bottom };
        canvas.height = (bottom + 34.0).round();
        self.cells(&mut canvas, &map, pixel, &scale);
        self.frame(&mut canvas, &map, pixel);
        self.bar(&mut canvas, &map, &scale);
        canvas.text(&self.title, (map.middle().0, 18.0), TITLE, Anchor::Middle);
        Ok(canvas)
    }

    /// Returns the default range: without outliers that would leave too few colours for the other numbers.
    fn usual(&self) -> [f64; 2] {
        let mut finite: Vec<f64> = self.values.iter().copied().filter(|v| v.is_finite()).collect();
        finite.sort_unstable_by(f64::total_cmp);
        let beyond = (BEYOND * finite.len() as f64) as usize;
        let ends = |beyond: usize| Some([*finite.get(beyond)?, *finite.iter().nth_back(beyond)?]);
        let [low, high] = ends(0).unwrap_or_default();
        match ends(beyond) {
            Some(inner @ [from, to]) if from < to && high - low > WILD * (to - from) => inner,
            _ => [low, high],
        }
    }

    fn cells(&self, canvas: &mut Canvas, map: &Area, pixel: f64, scale: &Axis) {
        let side = self.rows.max(self.columns).div_ceil(CELLS);
        for row in (0..self.rows).step_by(side) {
            let below = (row + side).min(self.rows);
            let top = map.top + pixel * row as f64;
            let bottom = map.top + pixel * below as f64;
            let cells = (0..self.columns).step_by(side);
            let color = |column| self.color(row..below, column, side, scale);
            let colors: Vec<Color> = cells.map(color).collect();
            let mut from = 0;
            // Adjacent cells of the same colour are one rectangle.
            for same in colors.chunk_by(PartialEq::eq) {
                let to = (from + same.len() * side).min(self.columns);
                let (left, right) = (map.left + pixel * from as f64, map.left + pixel * to as f64);
                canvas.rectangle(&Area { left, right, top, bottom }, same[0]);
                from = to;
            }
        }
    }

    /// Returns the colour of the mean of a cell's finite values. A cell has at most `side` columns.
    fn color(&self, rows: Range<usize>, column: usize, side: usize, scale: &Axis) -> Color {
        let columns = column..(column + side).min(self.columns);
        let row = |row| &self.values[row * self.columns..][columns.clone()];
        let finite = rows.flat_map(row).filter(|value| value.is_finite());
        let (sum, count) =
            finite.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
        if count == 0.0 { MISSING } else { viridis(scale.part(sum / count)) }
    }

    /// Draws the frame, with ticks at the centres of rows and columns, which are counted from 0.
    fn frame(&self, canvas: &mut Canvas, map: &Area, pixel: f64) {
        let Area { left, top, bottom, .. } = *map;
        canvas.outline(map);
        let whole = |count: usize, pixels: f64, apart: f64| {
            let ticks = Axis::linear(0.0, count as f64 - 1.0).ticks(pixels, apart).major;
            ticks.into_iter().filter(|(_, label)| !label.contains('.'))
        };
        for (value, label) in whole(self.columns, map.width(), 70.0) {
            let x = left + pixel * (value + 0.5);
            canvas.path(&[(x, bottom), (x, bottom + 4.0)], INK, THIN);
            canvas.text(&label, (x, bottom + 14.0), TICK, Anchor::Middle);
        }
        for (value, label) in whole(self.rows, map.height(), 50.0) {
            let y = top + pixel * (value + 0.5);
            canvas.path(&[(left - 4.0, y), (left, y)], INK, THIN);
            canvas.text(&label, (left - 7.0, y), TICK, Anchor::End);
        }
    }

    /// Draws the colour bar, and the count of the numbers outside of the range.
    fn bar(&self, canvas: &mut Canvas, map: &Area, scale: &Axis) {
        const STEPS: usize = 128;
        let (left, right) = (map.right + 16.0, map.right + 32.0);
        let bar = Area { left, right, ..*map };
        let y = |part: f64| bar.bottom - bar.height() * part;
        for i in 0..STEPS {
            let (from, to) = (i as f64 / STEPS as f64, (i + 1) as f64 / STEPS as f64);
            let step = Area { top: y(to), bottom: y(from), ..bar };
            canvas.rectangle(&step, viridis(0.5 * (from + to)));
        }
        canvas.outline(&bar);
        let ticks = scale.ticks(bar.height(), APART);
        for (value, label) in &ticks.major {
            let y = y(scale.part(*value));
            canvas.path(&[(right, y), (right + 4.0, y)], INK, THIN);
            canvas.text(label, (right + 7.0, y), TICK, Anchor::Start);
        }
        canvas.text(&ticks.common, (left, bar.top - 11.0), TICK, Anchor::Start);
        let behind = right + ticks.width() + 22.0;
        canvas.upwards(&self.label, (behind, bar.middle().1), LABEL);
        let is_beyond = |v: &&f64| v.is_finite() && !(0.0..=1.0).contains(&scale.part(**v));
        let beyond = self.values.iter().filter(is_beyond).count();
        if beyond > 0 {
            let text = format!("{beyond} beyond");
            canvas.text(&text, (bar.middle().0, bar.bottom + 14.0), TICK, Anchor::Middle);
        }
    }
}

/// Returns the colour at a relative position of the scale. There are only 64 shades, so that adjacent cells often share
/// a rectangle.
fn viridis(part: f64) -> Color {
    const SHADES: f64 = 64.0;
    let shade = (part.clamp(0.0, 1.0) * SHADES).floor().min(SHADES - 1.0);
    let colorous::Color { r, g, b } = colorous::VIRIDIS.eval_continuous(shade / (SHADES - 1.0));
    (r, g, b)
}
