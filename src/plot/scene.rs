//! A picture as a list of marks in pixels, before it is written in any format.

use super::style::Color;
use crate::error::visible::visible;

/// A place: pixels from the left and from the top.
pub(super) type Place = (f64, f64);

/// Which part of a text lies at its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Clone, Debug)]
pub(super) enum Mark {
    Path { places: Vec<Place>, color: Color, width: f64 },
    Area { places: Vec<Place>, color: Color },
    Disc { center: Place, radius: f64, color: Color },
    Ring { center: Place, radius: f64, color: Color, width: f64 },
    Text { text: String, at: Place, size: f64, anchor: Anchor, upwards: bool, color: Color },
}

#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) marks: Vec<Mark>,
}

/// A rectangle by its sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Panel {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Panel {
    pub(super) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(super) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    fn holds(&self, (x, y): Place) -> bool {
        (self.left..=self.right).contains(&x) && (self.top..=self.bottom).contains(&y)
    }

    /// The part of a line that lies inside (Liang and Barsky's clipping).
    fn clip(&self, (x0, y0): Place, (x1, y1): Place) -> Option<(Place, Place)> {
        let (dx, dy) = (x1 - x0, y1 - y0);
        let (mut from, mut to) = (0.0, 1.0);
        let sides = [
            (-dx, x0 - self.left),
            (dx, self.right - x0),
            (-dy, y0 - self.top),
            (dy, self.bottom - y0),
        ];
        for (direction, distance) in sides {
            if direction == 0.0 {
                if distance < 0.0 {
                    return None;
                }
            } else if direction < 0.0 {
                from = f64::max(from, distance / direction);
            } else {
                to = f64::min(to, distance / direction);
            }
        }
        let at = |t: f64| (x0 + t * dx, y0 + t * dy);
        (from <= to).then(|| (at(from), at(to)))
    }
}

impl Scene {
    pub(super) fn new(width: f64, height: f64) -> Scene {
        Scene { width, height, marks: Vec::new() }
    }

    pub(super) fn path(&mut self, places: Vec<Place>, color: Color, width: f64) {
        if places.len() > 1 {
            self.marks.push(Mark::Path { places, color, width });
        }
    }

    pub(super) fn line(&mut self, from: Place, to: Place, color: Color, width: f64) {
        self.path(vec![from, to], color, width);
    }

    /// A curve within a panel; it is cut where it leaves it and where a place is not finite.
    pub(super) fn curve(&mut self, panel: &Panel, places: &[Place], color: Color, width: f64) {
        let mut piece: Vec<Place> = Vec::new();
        for pair in places.windows(2) {
            let finite = pair.iter().all(|p| p.0.is_finite() && p.1.is_finite());
            match panel.clip(pair[0], pair[1]).filter(|_| finite) {
                Some((from, to)) => {
                    if piece.last() != Some(&from) {
                        self.path(simplified(&std::mem::take(&mut piece)), color, width);
                        piece.push(from);
                    }
                    piece.push(to);
                }
                None => self.path(simplified(&std::mem::take(&mut piece)), color, width),
            }
        }
        self.path(simplified(&piece), color, width);
    }

    /// What lies between two curves over the same abscissas, within a panel.
    pub(super) fn between(
        &mut self,
        panel: &Panel,
        lower: &[Place],
        upper: &[Place],
        color: Color,
    ) {
        let held =
            |&(x, y): &Place| (x.clamp(panel.left, panel.right), y.clamp(panel.top, panel.bottom));
        let finite = |p: &Place| p.0.is_finite() && !p.1.is_nan();
        let both = lower.iter().zip(upper);
        let mut piece: (Vec<Place>, Vec<Place>) = Default::default();
        let mut pieces = Vec::new();
        for (low, high) in both {
            if finite(low) && finite(high) {
                piece.0.push(held(low));
                piece.1.push(held(high));
            } else if !piece.0.is_empty() {
                pieces.push(std::mem::take(&mut piece));
            }
        }
        pieces.push(piece);
        for (low, high) in pieces.into_iter().filter(|(low, _)| low.len() > 1) {
            let mut places = simplified(&low);
            places.extend(simplified(&high).into_iter().rev());
            self.marks.push(Mark::Area { places, color });
        }
    }

    pub(super) fn area(&mut self, places: Vec<Place>, color: Color) {
        self.marks.push(Mark::Area { places, color });
    }

    pub(super) fn rectangle(&mut self, panel: &Panel, color: Color) {
        let Panel { left, right, top, bottom } = *panel;
        self.area(vec![(left, top), (right, top), (right, bottom), (left, bottom)], color);
    }

    pub(super) fn disc(&mut self, panel: &Panel, center: Place, radius: f64, color: Color) {
        if panel.holds(center) {
            self.marks.push(Mark::Disc { center, radius, color });
        }
    }

    pub(super) fn ring(&mut self, panel: &Panel, center: Place, radius: f64, color: Color) {
        if panel.holds(center) {
            self.marks.push(Mark::Ring { center, radius, color, width: 1.0 });
        }
    }

    pub(super) fn text(&mut self, text: &str, at: Place, size: f64, anchor: Anchor, color: Color) {
        let text = visible(text).into_owned();
        self.marks.push(Mark::Text { text, at, size, anchor, upwards: false, color });
    }

    /// A text that reads from below.
    pub(super) fn upwards(&mut self, text: &str, at: Place, size: f64, color: Color) {
        let (text, anchor) = (visible(text).into_owned(), Anchor::Middle);
        self.marks.push(Mark::Text { text, at, size, anchor, upwards: true, color });
    }
}

/// The places that a line needs to stay within a twentieth of a pixel (Douglas and Peucker's algorithm).
fn simplified(places: &[Place]) -> Vec<Place> {
    const TOLERANCE: f64 = 0.05;
    let Some(last) = places.len().checked_sub(1).filter(|last| *last > 1) else {
        return places.to_vec();
    };
    let mut kept = vec![false; places.len()];
    (kept[0], kept[last]) = (true, true);
    let mut spans = vec![(0, last)];
    while let Some((from, to)) = spans.pop() {
        let ((x0, y0), (x1, y1)) = (places[from], places[to]);
        let length = (x1 - x0).hypot(y1 - y0);
        let distance = |&(x, y): &Place| match length > 0.0 {
            true => ((x - x0) * (y1 - y0) - (y - y0) * (x1 - x0)).abs() / length,
            false => (x - x0).hypot(y - y0),
        };
        let inner = places[from..to].iter().map(distance).enumerate().skip(1);
        if let Some((at, far)) = inner.max_by(|a, b| a.1.total_cmp(&b.1))
            && far > TOLERANCE
        {
            kept[from + at] = true;
            spans.extend([(from, from + at), (from + at, to)]);
        }
    }
    places.iter().zip(kept).filter(|(_, kept)| *kept).map(|(place, _)| *place).collect()
}
