//! Pictures of the lessons: an array of numbers as PNG with a colour map, a scale bar and a colour bar. Fits do not
//! need this module.

mod text;

use colorous::Gradient;
use image::imageops::{FilterType, replace, resize};
use image::{Rgb, RgbImage};
use noto_sans_mono_bitmap::RasterHeight;
use std::path::{Path, PathBuf};

/// Mapping of numbers to colours; numbers that are not finite become black.
pub(crate) struct Scale {
    pub(crate) map: Gradient,
    pub(crate) range: [f64; 2],
}

impl Scale {
    fn color(&self, value: f64) -> Rgb<u8> {
        let [low, high] = self.range;
        match value.is_finite() {
            true => Rgb(self
                .map
                .eval_continuous(((value - low) / (high - low)).clamp(0.0, 1.0))
                .into_array()),
            false => Rgb([0; 3]),
        }
    }
}

const WHITE: [f64; 3] = [255.0; 3];
const BLACK: [f64; 3] = [0.0; 3];

/// Draws an image. `values`: rows of `width` numbers; every number becomes a square of `zoom` × `zoom` pixels.
pub(crate) fn draw(values: &[f64], width: usize, zoom: u32, scale: &Scale) -> RgbImage {
    let (columns, rows) = (width as u32, (values.len() / width) as u32);
    let small = RgbImage::from_fn(columns, rows, |x, y| {
        scale.color(values[y as usize * width + x as usize])
    });
    resize(&small, columns * zoom, rows * zoom, FilterType::Nearest)
}

/// Draws a bar of the given length in pixels in the lower right corner, with a label above it.
pub(crate) fn scale_bar(picture: &mut RgbImage, pixels: u32, label: &str) {
    let (right, bottom) = (picture.width() - 24, picture.height() - 24);
    for (x, y) in (right - pixels..right).flat_map(|x| (bottom - 6..bottom).map(move |y| (x, y))) {
        picture.put_pixel(x, y, Rgb([255; 3]));
    }
    write(picture, [right - pixels / 2, bottom - 34], label, WHITE);
}

/// Returns the picture with a colour bar on the right, with five numbers and a unit.
pub(crate) fn color_bar(picture: &RgbImage, scale: &Scale, unit: &str) -> RgbImage {
    let (width, height) = picture.dimensions();
    let mut wide = RgbImage::from_pixel(width + 112, height, Rgb([255; 3]));
    replace(&mut wide, picture, 0, 0);
    let [low, high] = [scale.range[0].min(scale.range[1]), scale.range[0].max(scale.range[1])];
    let (top, length) = (50, height - 70);
    for (x, y) in (0..22).flat_map(|x| (0..length).map(move |y| (x, y))) {
        let share = 1.0 - f64::from(y) / f64::from(length - 1);
        wide.put_pixel(width + 14 + x, top + y, scale.color(low + share * (high - low)));
    }
    for quarter in 0..5 {
        let y = top + (length - 1) * (4 - quarter) / 4;
        (0..6).for_each(|x| wide.put_pixel(width + 36 + x, y, Rgb([0; 3])));
        let value = low + f64::from(quarter) / 4.0 * (high - low);
        write(&mut wide, [width + 76, y - 12], &format!("{value:.0}"), BLACK);
    }
    write(&mut wide, [width + 56, 8], unit, BLACK);
    wide
}

/// Writes text at a position: its horizontal centre and its upper edge.
fn write(picture: &mut RgbImage, [middle, top]: [u32; 2], label: &str, color: [f64; 3]) {
    let size = RasterHeight::Size24;
    let left = middle as usize - text::width(label.chars().count(), size) / 2;
    text::write(picture, [left, top as usize], (label, size), color);
}

/// Writes the picture into the folder named by the program's first argument, or else into `target`.
pub(crate) fn save(picture: &RgbImage, name: &str) -> image::ImageResult<()> {
    let here = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let folder = std::env::args_os().nth(1).map_or_else(here, PathBuf::from);
    std::fs::create_dir_all(&folder)?;
    picture.save(folder.join(name))
}
