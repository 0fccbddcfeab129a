//! Canvas for lines, areas, discs and text, in pixels. It is written as SVG; for a PNG, `resvg` rasterises this SVG.

use crate::error::PlotError;
use dualfit::text::visible;
use resvg::{tiny_skia, usvg};
use std::path::Path;

/// A position: pixels from the left and from the top.
pub(super) type Place = (f64, f64);

/// Red, green and blue.
pub(super) type Color = (u8, u8, u8);

// The colours are from the palette of Okabe and Ito, which people with any colour vision can distinguish (Wong, Points
// of view: Color blindness, Nature Methods 8, 441, 2011). Bands have a lighter shade of the curve's colour.
pub(super) const WHITE: Color = (255, 255, 255);
pub(super) const INK: Color = (38, 38, 38);
pub(super) const POINT: Color = (64, 64, 64);
pub(super) const ERROR_BAR: Color = (140, 140, 140);
pub(super) const FAINT: Color = (200, 200, 200);
pub(super) const CURVE: Color = (213, 94, 0);
pub(super) const BAND: Color = (247, 211, 184);
pub(super) const PREDICTION: Color = (253, 238, 227);
/// Colours of components and further curves, in their order.
pub(super) const PARTS: [Color; 5] =
    [(0, 114, 178), (0, 158, 115), (204, 121, 167), (86, 180, 233), (230, 159, 0)];
/// Colours of contours, from the innermost outwards.
pub(super) const CONTOURS: [Color; 4] =
    [(0, 114, 178), (86, 180, 233), (0, 158, 115), (230, 159, 0)];

/// Dash patterns of components: alternating lengths of marks and gaps, in pixels. The first five components have the
/// first pattern, the next five the second, and so on.
pub(super) const DASHES: [&[f64]; 3] = [&[6.0, 3.0], &[1.5, 2.5], &[8.0, 2.5, 1.5, 2.5]];

/// Widths of lines, in pixels.
pub(super) const LINE: f64 = 1.6;
pub(super) const PART: f64 = 1.3;
pub(super) const THIN: f64 = 0.9;

/// Font sizes, in pixels.
pub(super) const TITLE: f64 = 15.0;
pub(super) const LABEL: f64 = 14.0;
pub(super) const TICK: f64 = 12.5;

/// Allowed lengths of a side, in pixels.
const SIDES: std::ops::RangeInclusive<u32> = 160..=8192;
/// Units of the SVG's coordinates per pixel. The coordinates are integers.
const FINE: f64 = 10.0;
/// Pixels of a PNG per pixel of the picture, in each direction.
const ENLARGED: f32 = 2.0;
/// Font that does not depend on the fonts of the machine: Ubuntu Light, under the Ubuntu font licence.
const LETTERS: &[u8] = epaint_default_fonts::UBUNTU_LIGHT;
/// Size of superscript digits relative to the font size.
const RAISED: f64 = 0.72;

/// Part of a text that is at the given position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A rectangle, given by the positions of its sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// A picture of `width` × `height` pixels. `marks`: the elements of the SVG.
#[derive(Debug)]
pub(super) struct Canvas {
    pub(super) width: f64,
    pub(super) height: f64,
    marks: String,
}

impl Area {
    pub(super) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(super) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub(super) fn middle(&self) -> Place {
        (0.5 * (self.left + self.right), 0.5 * (self.top + self.bottom))
    }

    pub(super) fn holds(&self, (x, y): Place) -> bool {
        (self.left..=self.right).contains(&x) && (self.top..=self.bottom).contains(&y)
    }

    /// Returns the area extended by `more` pixels on each side.
    pub(super) fn widened(&self, more: f64) -> Area {
        let Area { left, right, top, bottom } = *self;
        Area { left: left - more, right: right + more, top: top - more, bottom: bottom + more }
    }

    fn corners(&self) -> [Place; 4] {
        let Area { left, right, top, bottom } = *self;
        [(left, top), (right, top), (right, bottom), (left, bottom)]
    }

    /// Returns the part of a line inside the area (clipping algorithm of Liang and Barsky).
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

impl Canvas {
    /// Creates an empty picture.
    ///
    /// # Errors
    /// [`PlotError::Size`] if a side is too short or too long.
    pub(super) fn new((width, height): (u32, u32)) -> Result<Canvas, PlotError> {
        match SIDES.contains(&width) && SIDES.contains(&height) {
            true => Ok(Canvas { width: width.into(), height: height.into(), marks: String::new() }),
            false => Err(PlotError::Size { width, height }),
        }
    }

    pub(super) fn path(&mut self, places: &[Place], color: Color, width: f64) {
        self.dashed_path(places, color, width, &[]);
    }

    /// Draws a line. `dashes`: alternating lengths of marks and gaps, in pixels; empty for a solid line.
    pub(super) fn dashed_path(
        &mut self,
        places: &[Place],
        color: Color,
        width: f64,
        dashes: &[f64],
    ) {
        if places.len() > 1 {
            let lengths: Vec<String> =
                dashes.iter().map(|&length| fine(length).to_string()).collect();
            let dashes = match lengths.is_empty() {
                true => String::new(),
                false => format!(" stroke-dasharray=\"{}\"", lengths.join(" ")),
            };
            self.marks += &format!(
                "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{dashes} points=\"{}\"/>\n",
                hex(color),
                fine(width),
                points(places)
            );
        }
    }

    /// Draws a curve within an area. The curve is interrupted outside of the area and at positions that are not finite.
    pub(super) fn curve(
        &mut self,
        area: &Area,
        places: &[Place],
        color: Color,
        width: f64,
        dashes: &[f64],
    ) {
        let mut piece: Vec<Place> = Vec::new();
        for pair in places.windows(2) {
            let finite = pair.iter().all(|p| p.0.is_finite() && p.1.is_finite());
            let inside = area.clip(pair[0], pair[1]).filter(|_| finite);
            if inside.is_none_or(|(from, _)| piece.last() != Some(&from)) {
                self.dashed_path(&simplified(&std::mem::take(&mut piece)), color, width, dashes);
                piece.extend(inside.map(|(from, _)| from));
            }
            piece.extend(inside.map(|(_, to)| to));
        }
        self.dashed_path(&simplified(&piece), color, width, dashes);
    }

    /// Fills the region between two curves over the same abscissas, within an area.
    pub(super) fn between(&mut self, area: &Area, lower: &[Place], upper: &[Place], color: Color) {
        let held = |(x, y): Place| (x.clamp(area.left, area.right), y.clamp(area.top, area.bottom));
        let both: Vec<(Place, Place)> = lower.iter().copied().zip(upper.iter().copied()).collect();
        let known = |((x, low), (_, high)): &(Place, Place)| {
            x.is_finite() && !low.is_nan() && !high.is_nan()
        };
        for piece in both.split(|pair| !known(pair)).filter(|piece| piece.len() > 1) {
            let (low, high): (Vec<Place>, Vec<Place>) =
                piece.iter().map(|&(low, high)| (held(low), held(high))).unzip();
            let mut places = simplified(&low);
            places.extend(simplified(&high).into_iter().rev());
            self.polygon(&places, color, "");
        }
    }

    /// Draws a rectangle. Its sides are not antialiased, so that no seam is visible between adjacent rectangles.
    pub(super) fn rectangle(&mut self, area: &Area, color: Color) {
        self.polygon(&area.corners(), color, " shape-rendering=\"crispEdges\"");
    }

    fn polygon(&mut self, places: &[Place], color: Color, sides: &str) {
        let (fill, points) = (hex(color), points(places));
        self.marks += &format!("<polygon fill=\"{fill}\"{sides} points=\"{points}\"/>\n");
    }

    /// Draws the sides of an area.
    pub(super) fn outline(&mut self, area: &Area) {
        let [a, b, c, d] = area.corners();
        self.path(&[a, b, c, d, a, b], INK, THIN);
    }

    pub(super) fn disc(&mut self, (x, y): Place, radius: f64, color: Color) {
        let (x, y, radius) = (fine(x), fine(y), fine(radius));
        self.marks +=
            &format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{}\"/>\n", hex(color));
    }

    /// Draws a circle that is white inside.
    pub(super) fn ring(&mut self, center: Place, radius: f64, color: Color) {
        self.disc(center, radius + 0.5, color);
        self.disc(center, radius - 0.5, WHITE);
    }

    pub(super) fn text(&mut self, text: &str, at: Place, size: f64, anchor: Anchor) {
        self.write(text, at, size, anchor, "");
    }

    /// Draws a text rotated by 90°, which reads upwards.
    pub(super) fn upwards(&mut self, text: &str, at: Place, size: f64) {
        let turned = format!(" transform=\"rotate(270, {}, {})\"", fine(at.0), fine(at.1));
        self.write(text, at, size, Anchor::Middle, &turned);
    }

    fn write(&mut self, text: &str, (x, y): Place, size: f64, anchor: Anchor, turned: &str) {
        if text.is_empty() {
            return;
        }
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let (x, y, size, ink) = (fine(x), fine(y), fine(size), hex(INK));
        // The first font is the one with which `text_width` measures.
        self.marks += &format!(
            "<text x=\"{x}\" y=\"{y}\" dy=\"0.33em\" text-anchor=\"{anchor}\" font-size=\"{size}\" \
             font-family=\"Ubuntu, Helvetica, Arial, sans-serif\" fill=\"{ink}\"{turned}>{text}</text>\n"
        );
    }

    pub(super) fn svg(&self) -> String {
        let (width, height) = (self.width, self.height);
        let (wide, high, marks) = (fine(width), fine(height), &self.marks);
        format!(
            "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {wide} {high}\" \
             xmlns=\"http://www.w3.org/2000/svg\">\n\
             <rect width=\"{wide}\" height=\"{high}\" fill=\"#FFFFFF\"/>\n{marks}</svg>\n"
        )
    }

    /// Returns the bytes of a PNG, or the error of the rasteriser.
    fn png(&self) -> Result<Vec<u8>, String> {
        let mut options = usvg::Options::default();
        options.fontdb_mut().load_font_data(LETTERS.to_vec());
        let svg = raised(&self.svg());
        let tree = usvg::Tree::from_str(&svg, &options).map_err(|error| error.to_string())?;
        let size = tree.size().to_int_size().scale_by(ENLARGED).ok_or("the picture is empty")?;
        let pixels = tiny_skia::Pixmap::new(size.width(), size.height());
        let mut pixels = pixels.ok_or("the picture is too large")?;
        let scale = tiny_skia::Transform::from_scale(ENLARGED, ENLARGED);
        resvg::render(&tree, scale, &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| error.to_string())
    }

    /// Writes the picture in the format of the file's extension.
    pub(super) fn save(&self, path: &Path) -> Result<(), PlotError> {
        let unwritten = |message: String| PlotError::NotWritten { path: path.into(), message };
        let kind = path.extension().map(|kind| kind.to_string_lossy().to_ascii_lowercase());
        let bytes = match kind.as_deref() {
            Some("svg") => self.svg().into_bytes(),
            Some("png") => self.png().map_err(unwritten)?,
            _ => return Err(PlotError::Extension { path: path.into() }),
        };
        std::fs::write(path, bytes).map_err(|error| unwritten(error.to_string()))
    }
}

/// Returns the width of a text in pixels.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let letters = ttf_parser::Face::parse(LETTERS, 0).ok();
    let width = |c: char| {
        let (c, size) = lowered(c).map_or((c, 1.0), |plain| (plain, RAISED));
        let known = letters.as_ref().and_then(|letters| {
            let advance = letters.glyph_hor_advance(letters.glyph_index(c)?)?;
            Some(f64::from(advance) / f64::from(letters.units_per_em()))
        });
        size * known.unwrap_or(0.55)
    };
    size * visible(text).chars().map(width).sum::<f64>()
}

/// Replaces superscript characters by shifted ordinary digits, because the font contains only a few superscripts.
fn raised(svg: &str) -> String {
    let pieces = svg.split_inclusive(|c| lowered(c).is_none());
    let raise = |piece: &str| {
        let digits: String = piece.chars().map_while(lowered).collect();
        let rest: String = piece.chars().filter(|&c| lowered(c).is_none()).collect();
        match digits.is_empty() {
            true => rest,
            false => format!(
                "<tspan font-size=\"{}%\" baseline-shift=\"55%\">{digits}</tspan>{rest}",
                100.0 * RAISED
            ),
        }
    };
    pieces.map(raise).collect()
}

/// Converts pixels to units of the SVG.
fn fine(pixels: f64) -> i64 {
    (pixels * FINE).round() as i64
}

fn hex((red, green, blue): Color) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

fn points(places: &[Place]) -> String {
    let points: Vec<String> =
        places.iter().map(|&(x, y)| format!("{},{}", fine(x), fine(y))).collect();
    points.join(" ")
}

/// Removes positions of a line that change it by less than a twentieth of a pixel (algorithm of Douglas and Peucker).
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

const RAISED_DIGITS: [char; 11] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹', '⁻'];

/// Formats an integer in superscript characters.
pub(super) fn superscript(number: i32) -> String {
    let raised = |c: char| match c.to_digit(10) {
        Some(d) => RAISED_DIGITS.get(d as usize).copied().unwrap_or(c),
        None => '⁻',
    };
    number.to_string().chars().map(raised).collect()
}

/// Returns the ordinary form of a superscript character; `None` for other characters.
fn lowered(c: char) -> Option<char> {
    let at = RAISED_DIGITS.iter().position(|r| *r == c)?;
    char::from_digit(at as u32, 10).or(Some('−'))
}
