//! Colours, widths and sizes of letters, in one place.
//!
//! The colours are Okabe and Ito's, which people with any colour vision can tell apart (Wong, Points of
//! view: Color blindness, Nature Methods 8, 441, 2011); bands are the curve's colour, lightened.

/// Red, green and blue.
pub(super) type Color = (u8, u8, u8);

pub(super) const WHITE: Color = (255, 255, 255);
pub(super) const INK: Color = (38, 38, 38);
pub(super) const POINT: Color = (64, 64, 64);
pub(super) const ERROR_BAR: Color = (140, 140, 140);
pub(super) const FAINT: Color = (200, 200, 200);
pub(super) const CURVE: Color = (213, 94, 0);
pub(super) const BAND: Color = (247, 211, 184);
pub(super) const PREDICTION: Color = (253, 238, 227);
/// For curves of parts, one after the other.
pub(super) const PARTS: [Color; 5] =
    [(0, 114, 178), (0, 158, 115), (204, 121, 167), (86, 180, 233), (230, 159, 0)];
/// For contours, from the innermost outwards.
pub(super) const CONTOURS: [Color; 4] =
    [(0, 114, 178), (86, 180, 233), (0, 158, 115), (230, 159, 0)];

/// Widths of lines, in pixels.
pub(super) const FRAME: f64 = 0.9;
pub(super) const LINE: f64 = 1.6;
pub(super) const THIN: f64 = 0.9;

/// Sizes of letters, in pixels.
pub(super) const TITLE: f64 = 15.0;
pub(super) const LABEL: f64 = 14.0;
pub(super) const TICK: f64 = 12.5;
