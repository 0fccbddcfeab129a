//! Legends: explanations of the marks, placed where they do not cover data.

use super::canvas::{Anchor, Area, Canvas, Color, LINE, PART, POINT, Place, TICK, text_width};

/// An entry of a legend: a mark and its explanation.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) sample: LegendMark,
    pub(super) text: String,
}

/// Sample of a mark in a legend.
#[derive(Clone, Copy, Debug)]
pub(super) enum LegendMark {
    Point,
    Hollow,
    Line(Color),
    /// A line with a point, dashed if the pattern is not empty.
    Marked(Color, &'static [f64]),
    Dashed(Color, &'static [f64]),
    Area(Color),
    Nothing,
}

/// Height of a line of text, and width of a sample with the gap after it, in pixels.
const ROW: f64 = 18.0;
const SAMPLE: f64 = 30.0;

impl Entry {
    pub(super) fn new(sample: LegendMark, text: impl Into<String>) -> Entry {
        Entry { sample, text: text.into() }
    }

    /// Returns the width of the entry in pixels, with the gap after it.
    fn width(&self) -> f64 {
        SAMPLE + text_width(&self.text, TICK) + 18.0
    }

    fn draw(&self, canvas: &mut Canvas, (x, y): Place) {
        let middle = (x + 11.0, y);
        match self.sample {
            LegendMark::Point => canvas.disc(middle, 2.6, POINT),
            LegendMark::Hollow => canvas.ring(middle, 2.6, POINT),
            LegendMark::Line(color) => canvas.path(&[(x, y), (x + 22.0, y)], color, LINE),
            LegendMark::Marked(color, dashes) => {
                canvas.dashed_path(&[(x, y), (x + 22.0, y)], color, LINE, dashes);
                canvas.disc(middle, 2.6, color);
            }
            LegendMark::Dashed(color, dashes) => {
                canvas.dashed_path(&[(x, y), (x + 22.0, y)], color, PART, dashes);
            }
            LegendMark::Area(color) => {
                let area = Area { left: x, right: x + 22.0, top: y - 5.0, bottom: y + 5.0 };
                canvas.rectangle(&area, color);
            }
            LegendMark::Nothing => {}
        }
        canvas.text(&self.text, (x + SAMPLE, y), TICK, Anchor::Start);
    }
}

/// Arranges the entries in rows of at most `width` pixels. Returns, for each entry, its row and its distance from the
/// left.
fn rows(entries: &[Entry], width: f64) -> Vec<(usize, f64)> {
    let (mut row, mut used) = (0, 0.0);
    let place = |entry: &Entry| {
        if used > 0.0 && used + entry.width() > width {
            (row, used) = (row + 1, 0.0);
        }
        let place = (row, used);
        used += entry.width();
        place
    };
    entries.iter().map(place).collect()
}

/// Returns the height in pixels of a legend above an area of this `width`, with a gap above the legend.
pub(super) fn height(entries: &[Entry], width: f64) -> f64 {
    rows(entries, width).last().map_or(0.0, |(row, _)| ROW * (row + 1) as f64 + 4.0)
}

/// Returns a corner of the area in which the entries, one below the other, cover no place in `taken`; `None` if there
/// is no such corner.
pub(super) fn free_corner(entries: &[Entry], area: &Area, taken: &[Place]) -> Option<Area> {
    let widest = entries.iter().map(Entry::width).fold(0.0, f64::max);
    let (width, height) = (widest - 10.0, ROW * entries.len() as f64 + 6.0);
    if width > 0.6 * area.width() || height > 0.6 * area.height() {
        return None;
    }
    let Area { left, right, top, bottom } = *area;
    let (left, right, top, bottom) = (left + 8.0, right - 8.0, top + 6.0, bottom - 6.0);
    let corners = [
        (right - width, top),
        (left, top),
        (right - width, bottom - height),
        (left, bottom - height),
    ];
    let corner = |(left, top)| Area { left, right: left + width, top, bottom: top + height };
    let is_free = |corner: &Area| !taken.iter().any(|&place| corner.widened(6.0).holds(place));
    corners.into_iter().map(corner).find(is_free)
}

/// Draws the entries in a corner, one below the other.
pub(super) fn draw_in(canvas: &mut Canvas, entries: &[Entry], corner: &Area) {
    for (i, entry) in entries.iter().enumerate() {
        entry.draw(canvas, (corner.left, corner.top + ROW * (i as f64 + 0.5)));
    }
}

/// Draws the entries above the area, which has [`height`] free pixels above the gap.
pub(super) fn draw_above(canvas: &mut Canvas, entries: &[Entry], area: &Area, gap: f64) {
    let top = area.top - gap - height(entries, area.width());
    for (entry, (row, along)) in entries.iter().zip(rows(entries, area.width())) {
        entry.draw(canvas, (area.left + along, top + ROW * (row as f64 + 0.5)));
    }
}

/// Formats a level between 0 and 1 for legends: `68.27 %`.
pub(super) fn percent(level: f64) -> String {
    format!("{} %", (1e4 * level).round() / 100.0)
}
