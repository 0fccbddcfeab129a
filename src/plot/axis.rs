//! Axes: from numbers to pixels, and the frame with its ticks.

use super::render::text_width;
use super::scene::{Anchor, Panel, Place, Scene};
use super::style::{FRAME, INK, LABEL, THIN, TICK};
use super::ticks::{self, Ticks};

/// The range of an axis, and whether steps are factors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) log: bool,
}

/// Pixels from one label to the next, about.
pub(super) const APART: [f64; 2] = [85.0, 48.0];

impl Axis {
    /// From the smallest to the largest of the finite `values`, and `margin` of that at both ends; a range
    /// about the value where all are equal. A logarithmic axis shows the positive ones.
    pub(super) fn around(values: impl Iterator<Item = f64>, log: bool, margin: f64) -> Axis {
        let fits = |v: &f64| v.is_finite() && (!log || *v > 0.0);
        let step = |(low, high): (f64, f64), v: f64| (low.min(v), high.max(v));
        let (low, high) = values.filter(fits).fold((f64::INFINITY, f64::NEG_INFINITY), step);
        if low > high {
            return if log {
                Axis { low: 1.0, high: 10.0, log }
            } else {
                Axis { low: 0.0, high: 1.0, log }
            };
        }
        if log {
            let factor = match high / low {
                r if r > 1.0 && r.is_finite() => r.powf(margin),
                _ => 2.0,
            };
            return Axis {
                low: (low / factor).max(f64::MIN_POSITIVE),
                high: (high * factor).min(1e300),
                log,
            };
        }
        let span = 0.5 * high - 0.5 * low;
        let more = match span > 1e-14 * low.abs().max(high.abs()) {
            true => 2.0 * margin * span,
            false if high == 0.0 => 1.0,
            false => 0.1 * high.abs(),
        };
        Axis { low: (low - more).max(-1e307), high: (high + more).min(1e307), log }
    }

    /// The part of the way from the low end to the high one.
    pub(super) fn part(&self, value: f64) -> f64 {
        match self.log {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        }
    }

    /// The value at a part of the way.
    pub(super) fn at(&self, part: f64) -> f64 {
        match self.log {
            true => (self.low.ln() + part * (self.high.ln() - self.low.ln())).exp(),
            false => self.low + part * (self.high - self.low),
        }
    }

    pub(super) fn ticks(&self, pixels: f64, apart: f64) -> Ticks {
        let wanted = (pixels / apart).round() as usize;
        match self.log {
            true => ticks::logarithmic(self.low, self.high, wanted),
            false => ticks::linear(self.low, self.high, wanted),
        }
    }
}

/// Two axes in a panel.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) panel: Panel,
    pub(super) x: Axis,
    pub(super) y: Axis,
}

/// Pixels left of a panel that the numbers of a vertical axis of this height take.
pub(super) fn room(axis: &Axis, height: f64) -> f64 {
    let ticks = axis.ticks(height, APART[1]);
    ticks.major.iter().map(|(_, label)| text_width(label, TICK)).fold(0.0, f64::max) + 8.0
}

impl Frame {
    pub(super) fn place(&self, x: f64, y: f64) -> Place {
        let Panel { left, bottom, .. } = self.panel;
        // Far outside is as good as further outside, and has no overflow.
        let part = |axis: &Axis, v: f64| axis.part(v).clamp(-1e6, 1e6);
        (
            left + part(&self.x, x) * self.panel.width(),
            bottom - part(&self.y, y) * self.panel.height(),
        )
    }

    pub(super) fn places(&self, x: &[f64], y: &[f64]) -> Vec<Place> {
        x.iter().zip(y).map(|(&x, &y)| self.place(x, y)).collect()
    }

    /// Frame, ticks and numbers. `numbers`: whether the horizontal axis has any.
    pub(super) fn draw(&self, scene: &mut Scene, numbers: bool) {
        let Panel { left, right, top, bottom } = self.panel;
        let (across, up) = (
            self.x.ticks(self.panel.width(), APART[0]),
            self.y.ticks(self.panel.height(), APART[1]),
        );
        let small = across.minor.iter().map(|v| (*v, 2.5));
        for (value, length) in across.major.iter().map(|(v, _)| (*v, 5.0)).chain(small) {
            let (x, _) = self.place(value, self.y.low);
            scene.line((x, bottom), (x, bottom - length), INK, THIN);
            scene.line((x, top), (x, top + length), INK, THIN);
        }
        let small = up.minor.iter().map(|v| (*v, 2.5));
        for (value, length) in up.major.iter().map(|(v, _)| (*v, 5.0)).chain(small) {
            let (_, y) = self.place(self.x.low, value);
            scene.line((left, y), (left + length, y), INK, THIN);
            scene.line((right, y), (right - length, y), INK, THIN);
        }
        let corners = vec![
            (left, top),
            (right, top),
            (right, bottom),
            (left, bottom),
            (left, top),
            (right, top),
        ];
        scene.path(corners, INK, FRAME);
        for (value, label) in &up.major {
            let (_, y) = self.place(self.x.low, *value);
            scene.text(label, (left - 6.0, y), TICK, Anchor::End, INK);
        }
        if !up.common.is_empty() {
            scene.text(&up.common, (left, top - 10.0), TICK, Anchor::Start, INK);
        }
        if numbers {
            for (value, label) in &across.major {
                let (x, _) = self.place(*value, self.y.low);
                scene.text(label, (x, bottom + 12.0), TICK, Anchor::Middle, INK);
            }
            if !across.common.is_empty() {
                scene.text(&across.common, (right, bottom + 28.0), TICK, Anchor::End, INK);
            }
        }
    }

    pub(super) fn label_x(&self, scene: &mut Scene, label: &str) {
        let middle = 0.5 * (self.panel.left + self.panel.right);
        scene.text(label, (middle, self.panel.bottom + 32.0), LABEL, Anchor::Middle, INK);
    }

    /// `from_left`: pixels from the left edge of the picture to the middle of the letters.
    pub(super) fn label_y(&self, scene: &mut Scene, label: &str, from_left: f64) {
        let middle = 0.5 * (self.panel.top + self.panel.bottom);
        scene.upwards(label, (from_left, middle), LABEL, INK);
    }
}
