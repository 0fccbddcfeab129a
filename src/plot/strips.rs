//! More points than can be told apart: what they cover, pixel by pixel.

use super::scene::{Panel, Place};

/// Points up to which each is drawn.
pub(super) const DISTINCT: usize = 3000;

/// For each pixel of the panel's width with points in it its abscissa and the top and bottom of them.
pub(super) fn strips(panel: &Panel, places: impl Iterator<Item = Place>) -> Vec<(f64, f64, f64)> {
    let width = panel.width().max(1.0) as usize;
    let mut found: Vec<Option<(f64, f64)>> = vec![None; width];
    for (x, y) in places.filter(|(x, y)| x.is_finite() && y.is_finite()) {
        let at = (x - panel.left).clamp(0.0, (width - 1) as f64) as usize;
        let y = y.clamp(panel.top, panel.bottom);
        let (top, bottom) = found[at].unwrap_or((y, y));
        found[at] = Some((top.min(y), bottom.max(y)));
    }
    let strip = |(i, range): (usize, Option<(f64, f64)>)| {
        let (top, bottom) = range?;
        // At least as high as a small point.
        Some((panel.left + i as f64 + 0.5, top.min(bottom - 1.0), bottom))
    };
    found.into_iter().enumerate().filter_map(strip).collect()
}
