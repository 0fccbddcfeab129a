//! A scene as SVG or PNG, through the backends of `plotters`.
//!
//! Backends count whole pixels, so that everything is drawn larger than it is: the SVG has tenths of a
//! pixel, the PNG is averaged over squares of pixels, which smooths all edges alike.

use super::scene::{Anchor, Mark, Place, Scene};
use super::style::{Color, WHITE};
use super::ticks::lowered;
use crate::error::plot::PlotError;
use crate::error::visible::visible;
use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, FontTransform, IntoFont, RGBColor, ShapeStyle, TextStyle};
use std::path::Path;
use std::sync::Once;

/// Parts of a pixel in an SVG.
const FINE: f64 = 10.0;
/// Pixels of a PNG per pixel of the picture, and pixels drawn for each of those, along each side.
const ENLARGED: u32 = 2;
const SMOOTHED: u32 = 2;
/// What plotters calls the size of a font, in ems.
const FONT: f64 = 1.24;
const FAMILY: &str = "sans-serif";

/// Letters that are there whatever fonts the machine has: Ubuntu Light, under the Ubuntu font licence.
fn register_font() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        let letters = epaint_default_fonts::UBUNTU_LIGHT;
        // A font that cannot be read leaves pictures without text, and is tested not to be one.
        let _ = plotters::style::register_font(FAMILY, FontStyle::Normal, letters);
    });
}

/// Pixels that a text takes along its line.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    register_font();
    let pieces = pieces(&visible(text), size);
    let width = |(text, size, _): &(String, f64, f64)| {
        // Measured large, because widths are whole pixels.
        let font = (FAMILY, 10.0 * size * FONT).into_font();
        let measured = font.box_size(text).map(|(width, _)| 0.1 * f64::from(width));
        measured.unwrap_or(0.55 * size * text.chars().count() as f64)
    };
    pieces.iter().map(width).sum()
}

/// A text as parts with their sizes and how far each is raised.
fn pieces(text: &str, size: f64) -> Vec<(String, f64, f64)> {
    let mut pieces: Vec<(String, f64, f64)> = Vec::new();
    for c in text.chars() {
        let (c, raised) = lowered(c).map_or((c, 0.0), |plain| (plain, 0.42));
        match pieces.last_mut() {
            Some((text, _, up)) if *up == raised * size => text.push(c),
            _ if raised > 0.0 => pieces.push((c.into(), 0.72 * size, raised * size)),
            _ => pieces.push((c.into(), size, 0.0)),
        }
    }
    pieces
}

impl Scene {
    pub(super) fn svg(&self) -> Result<String, PlotError> {
        register_font();
        let mut text = String::new();
        let size = ((self.width * FINE) as u32, (self.height * FINE) as u32);
        {
            let mut backend = SVGBackend::with_string(&mut text, size);
            let drawn = self.draw(&mut backend, FINE, true).and_then(|()| backend.present().ok());
            drawn.ok_or(PlotError::Nothing { what: "the picture could not be put together" })?;
        }
        let header = format!("<svg width=\"{}\" height=\"{}\" ", size.0, size.1);
        let sized = format!("<svg width=\"{}\" height=\"{}\" ", self.width, self.height);
        // What the letters were measured with comes first.
        let family =
            ("font-family=\"sans-serif\"", "font-family=\"Ubuntu, Helvetica, Arial, sans-serif\"");
        let text = text.replacen(&header, &sized, 1).replace(" opacity=\"1\"", "");
        Ok(text.replace(family.0, family.1))
    }

    fn png(&self, path: &Path) -> Result<(), PlotError> {
        register_font();
        let unwritten = |message: String| PlotError::NotWritten { path: path.into(), message };
        let (width, height) = (self.width as u32 * ENLARGED, self.height as u32 * ENLARGED);
        let (wide, high) = (width * SMOOTHED, height * SMOOTHED);
        let mut large = vec![255; wide as usize * high as usize * 3];
        {
            let mut backend = BitMapBackend::with_buffer(&mut large, (wide, high));
            let scale = f64::from(ENLARGED * SMOOTHED);
            let drawn = self.draw(&mut backend, scale, false).and_then(|()| backend.present().ok());
            drawn.ok_or(PlotError::Nothing { what: "the picture could not be put together" })?;
        }
        let small = averaged(&large, wide as usize, width as usize, height as usize);
        let mut file = BitMapBackend::new(path, (width, height));
        file.blit_bitmap((0, 0), (width, height), &small).map_err(|e| unwritten(e.to_string()))?;
        file.present().map_err(|e| unwritten(e.to_string()))
    }

    /// Writes the picture in the format that the name of the file says.
    pub(super) fn save(&self, path: &Path) -> Result<(), PlotError> {
        let kind = path.extension().map(|kind| kind.to_string_lossy().to_ascii_lowercase());
        match kind.as_deref() {
            Some("svg") => std::fs::write(path, self.svg()?).map_err(|error| {
                PlotError::NotWritten { path: path.into(), message: error.to_string() }
            }),
            Some("png") => self.png(path),
            _ => Err(PlotError::Extension { path: path.into() }),
        }
    }

    /// `vectors`: lines have joints and letters superscripts of their own. `None` if the backend fails, which
    /// those in memory do not.
    fn draw<B: DrawingBackend>(&self, to: &mut B, scale: f64, vectors: bool) -> Option<()> {
        let at = |(x, y): Place| ((x * scale).round() as i32, (y * scale).round() as i32);
        let far = at((self.width, self.height));
        to.draw_rect((0, 0), far, &style(WHITE), true).ok()?;
        for mark in &self.marks {
            match mark {
                Mark::Path { places, color, width } => {
                    let style = style(*color).stroke_width((width * scale).round().max(1.0) as u32);
                    match vectors {
                        true => to.draw_path(places.iter().map(|&p| at(p)), &style).ok()?,
                        false => stroke(to, places, *color, *width, &at)?,
                    }
                }
                Mark::Area { places, color } => {
                    to.fill_polygon(places.iter().map(|&p| at(p)), &style(*color)).ok()?;
                }
                Mark::Disc { center, radius, color } => {
                    let radius = (radius * scale).round() as u32;
                    to.draw_circle(at(*center), radius, &style(*color), true).ok()?;
                }
                Mark::Ring { center, radius, color, width } => {
                    let outer = ((radius + 0.5 * width) * scale).round() as u32;
                    let inner = ((radius - 0.5 * width) * scale).round() as u32;
                    to.draw_circle(at(*center), outer, &style(*color), true).ok()?;
                    to.draw_circle(at(*center), inner, &style(WHITE), true).ok()?;
                }
                Mark::Text { .. } => text(to, mark, scale, vectors)?,
            }
        }
        Some(())
    }
}

fn style(color: Color) -> ShapeStyle {
    ShapeStyle::from(&RGBColor(color.0, color.1, color.2)).filled()
}

/// A line as rectangles with discs at the joints.
fn stroke<B: DrawingBackend>(
    to: &mut B,
    places: &[Place],
    color: Color,
    width: f64,
    at: &dyn Fn(Place) -> (i32, i32),
) -> Option<()> {
    let half = 0.5 * width;
    for pair in places.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        let length = (x1 - x0).hypot(y1 - y0);
        if length > 0.0 {
            let (u, v) = (half * (y1 - y0) / length, half * (x0 - x1) / length);
            let corners =
                [(x0 + u, y0 + v), (x1 + u, y1 + v), (x1 - u, y1 - v), (x0 - u, y0 - v)].map(at);
            to.fill_polygon(corners, &style(color)).ok()?;
        }
    }
    let radius = at((half, 0.0)).0.max(0) as u32;
    if radius > 1 && places.len() > 2 {
        for &place in &places[1..places.len() - 1] {
            to.draw_circle(at(place), radius, &style(color), true).ok()?;
        }
    }
    Some(())
}

fn text<B: DrawingBackend>(to: &mut B, mark: &Mark, scale: f64, vectors: bool) -> Option<()> {
    let Mark::Text { text, at: (x, y), size, anchor, upwards, color } = mark else {
        return Some(());
    };
    let rgb = RGBColor(color.0, color.1, color.2);
    let mut write = |text: &str, size: f64, along: f64, up: f64, anchor: Anchor| {
        let horizontal = match anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let turn = if *upwards { FontTransform::Rotate270 } else { FontTransform::None };
        let font = (FAMILY, size * FONT * scale).into_font().transform(turn);
        let style = TextStyle::from(font).color(&rgb).pos(Pos::new(horizontal, VPos::Center));
        // Bitmaps have their letters a little higher in the line than an SVG has.
        let up = if vectors { up } else { up - 0.16 * size };
        let (dx, dy) = if *upwards { (-up, -along) } else { (along, -up) };
        let place = (((x + dx) * scale).round() as i32, ((y + dy) * scale).round() as i32);
        to.draw_text(text, &style, place).ok()
    };
    if vectors {
        return write(text, *size, 0.0, 0.0, *anchor);
    }
    let whole = text_width(text, *size);
    let mut along = match anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -0.5 * whole,
        Anchor::End => -whole,
    };
    for (part, size, up) in pieces(text, *size) {
        write(&part, size, along, up, Anchor::Start)?;
        along += text_width(&part, size);
    }
    Some(())
}

/// The mean of each square of pixels.
fn averaged(large: &[u8], wide: usize, width: usize, height: usize) -> Vec<u8> {
    let side = wide / width.max(1);
    let mut small = Vec::with_capacity(width * height * 3);
    for y in 0..height {
        for x in 0..width {
            for channel in 0..3 {
                let square = (0..side * side).map(|k| {
                    let (row, column) = (y * side + k / side, x * side + k % side);
                    u32::from(large[(row * wide + column) * 3 + channel])
                });
                let count = (side * side) as u32;
                small.push(((square.sum::<u32>() + count / 2) / count) as u8);
            }
        }
    }
    small
}
