//! Text in pictures.

use image::RgbImage;
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};

const WEIGHT: FontWeight = FontWeight::Regular;

/// Returns the width of text with the given number of letters, in pixels.
pub(crate) fn width(letters: usize, size: RasterHeight) -> usize {
    letters * get_raster_width(WEIGHT, size)
}

/// Writes text with its upper left corner at a position; pixels outside the picture are left out.
pub(crate) fn write(
    picture: &mut RgbImage,
    [left, top]: [usize; 2],
    (text, size): (&str, RasterHeight),
    color: [f64; 3],
) {
    let step = width(1, size);
    for (i, letter) in text.chars().filter_map(|c| get_raster(c, WEIGHT, size)).enumerate() {
        for (y, row) in letter.rows().enumerate() {
            for (x, &ink) in row.iter().enumerate() {
                let at = ((left + i * step + x) as u32, (top + y) as u32);
                let Some(pixel) = picture.get_pixel_mut_checked(at.0, at.1) else { continue };
                let share = f64::from(ink) / 255.0;
                for (channel, ink) in pixel.0.iter_mut().zip(color) {
                    *channel = (f64::from(*channel) * (1.0 - share) + ink * share).round() as u8;
                }
            }
        }
    }
}
