//! Which mark means what, where no data are.

use super::render::text_width;
use super::scene::{Anchor, Panel, Place, Scene};
use super::style::{Color, INK, LINE, TICK};

/// How an entry looks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sample {
    Point(Color),
    Hollow(Color),
    Line(Color),
    Area(Color),
}

/// Height of a line of text, and width of a sample with the gap behind it.
const ROW: f64 = 18.0;
const SAMPLE: f64 = 30.0;

/// The entries beside each other in rows of at most `width` pixels.
fn rows(entries: &[(Sample, String)], width: f64) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let mut used = f64::INFINITY;
    for (i, (_, text)) in entries.iter().enumerate() {
        let needs = SAMPLE + text_width(text, TICK) + 18.0;
        match rows.last_mut() {
            Some(row) if used + needs <= width => row.push(i),
            _ => {
                rows.push(vec![i]);
                used = 0.0;
            }
        }
        used += needs;
    }
    rows
}

/// Pixels that the legend takes above a panel.
pub(super) fn height(entries: &[(Sample, String)], width: f64) -> f64 {
    ROW * rows(entries, width).len() as f64
}

/// The corner of the panel in which the entries, one below the other, cover none of the `taken` places.
fn free_corner(entries: &[(Sample, String)], panel: &Panel, taken: &[Place]) -> Option<Panel> {
    let widest = entries.iter().map(|(_, text)| text_width(text, TICK)).fold(0.0, f64::max);
    let (width, height) = (SAMPLE + widest + 8.0, ROW * entries.len() as f64 + 6.0);
    if width > 0.6 * panel.width() || height > 0.6 * panel.height() {
        return None;
    }
    let (left, top) = (panel.left + 8.0, panel.top + 6.0);
    let (right, bottom) = (panel.right - 8.0, panel.bottom - 6.0);
    let corners = [
        Panel { left: right - width, right, top, bottom: top + height },
        Panel { left, right: left + width, top, bottom: top + height },
        Panel { left: right - width, right, top: bottom - height, bottom },
        Panel { left, right: left + width, top: bottom - height, bottom },
    ];
    let is_free = |corner: &Panel| {
        let inside = |&(x, y): &Place| {
            x > corner.left - 6.0
                && x < corner.right + 6.0
                && y > corner.top - 6.0
                && y < corner.bottom + 6.0
        };
        !taken.iter().any(inside)
    };
    corners.into_iter().find(is_free)
}

fn entry(scene: &mut Scene, (sample, text): &(Sample, String), (x, y): Place) {
    let everywhere = Panel { left: f64::MIN, right: f64::MAX, top: f64::MIN, bottom: f64::MAX };
    let middle = (x + 11.0, y);
    match *sample {
        Sample::Point(color) => scene.disc(&everywhere, middle, 2.6, color),
        Sample::Hollow(color) => scene.ring(&everywhere, middle, 2.6, color),
        Sample::Line(color) => scene.line((x, y), (x + 22.0, y), color, LINE),
        Sample::Area(color) => {
            let area = Panel { left: x, right: x + 22.0, top: y - 5.0, bottom: y + 5.0 };
            scene.rectangle(&area, color);
        }
    }
    scene.text(text, (x + SAMPLE, y), TICK, Anchor::Start, INK);
}

/// Puts the entries into a free corner, if there is one. Whether there was.
pub(super) fn in_corner(
    scene: &mut Scene,
    entries: &[(Sample, String)],
    panel: &Panel,
    taken: &[Place],
) -> bool {
    let Some(corner) = free_corner(entries, panel, taken) else { return false };
    for (i, one) in entries.iter().enumerate() {
        entry(scene, one, (corner.left, corner.top + ROW * (i as f64 + 0.5)));
    }
    true
}

/// Puts the entries above the panel, where [`height`] pixels are free.
pub(super) fn above(scene: &mut Scene, entries: &[(Sample, String)], panel: &Panel, gap: f64) {
    let rows = rows(entries, panel.width());
    let top = panel.top - gap - ROW * rows.len() as f64;
    for (i, row) in rows.iter().enumerate() {
        let mut x = panel.left;
        for &k in row {
            entry(scene, &entries[k], (x, top + ROW * (i as f64 + 0.5)));
            x += SAMPLE + text_width(&entries[k].1, TICK) + 18.0;
        }
    }
}
