//! A tool: draws a Chrome trace file of `dualfit::ChromeTrace` as a picture, with one lane per thread, nested spans
//! below each other, a time axis, and a legend with the count and total time of each name.
//!
//! ```text
//! cargo run --example trace_picture -- trace.json trace.png [from to]
//! ```
//!
//! `from` and `to`: limits of the shown time, in milliseconds since the first span.

#[path = "picture/text.rs"]
mod text;

use image::{Rgb, RgbImage};
use noto_sans_mono_bitmap::RasterHeight::{self, Size16};
use serde_json::Value;
use std::collections::BTreeMap;
use std::error::Error;

const WIDTH: usize = 1600;
const MARGIN: usize = 16;
const ROW: usize = 22;
const LETTERS: RasterHeight = Size16;
const INK: [f64; 3] = [30.0; 3];

/// A span on its thread; times in milliseconds.
struct Span {
    name: String,
    begin: f64,
    end: f64,
    depth: usize,
}

/// The spans of each thread, with its name.
type Lanes = BTreeMap<u64, (String, Vec<Span>)>;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, range @ ..] = &arguments[..] else {
        println!("usage: trace_picture trace.json trace.png [from to], times in milliseconds");
        return Ok(());
    };
    let mut lanes = read(&serde_json::from_str(&std::fs::read_to_string(from)?)?)?;
    if let [begin, end] = range {
        cut(&mut lanes, begin.parse()?, end.parse()?);
    }
    draw(&lanes).save(to)?;
    println!("{to} shows {} spans", lanes.values().map(|(_, spans)| spans.len()).sum::<usize>());
    Ok(())
}

/// Reads the spans by pairing begin and end events. A span without an end lasts to the last event; an end without a
/// begin is ignored.
fn read(file: &Value) -> Result<Lanes, Box<dyn Error>> {
    let events = file.as_array().ok_or("the file is no array of events")?;
    let time = |event: &Value| event["ts"].as_f64().map(|t| 1e-3 * t);
    let first = events.iter().filter_map(time).fold(f64::INFINITY, f64::min);
    let last = events.iter().filter_map(time).fold(f64::NEG_INFINITY, f64::max);
    let mut lanes = Lanes::new();
    let mut open: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for event in events {
        let thread = event["tid"].as_u64().unwrap_or(0);
        let (lane, spans) = lanes.entry(thread).or_default();
        let open = open.entry(thread).or_default();
        let name = event["name"].as_str().unwrap_or("?");
        match (event["ph"].as_str(), time(event)) {
            (Some("M"), _) => *lane = event["args"]["name"].as_str().unwrap_or("?").to_owned(),
            (Some("B"), Some(begin)) => {
                let (begin, end) = (begin - first, last - first);
                open.push(spans.len());
                spans.push(Span { name: name.to_owned(), begin, end, depth: open.len() - 1 });
            }
            (Some("E"), Some(end)) => {
                if let Some(span) = open.pop() {
                    spans[span].end = end - first;
                }
            }
            _ => {}
        }
    }
    lanes.retain(|_, (_, spans)| !spans.is_empty());
    if lanes.is_empty() { Err("the file has no spans".into()) } else { Ok(lanes) }
}

/// Keeps the spans between two times, in milliseconds since the first span.
fn cut(lanes: &mut Lanes, begin: f64, end: f64) {
    for (_, spans) in lanes.values_mut() {
        spans.retain(|span| span.end > begin && span.begin < end);
        for span in spans {
            (span.begin, span.end) = (span.begin.max(begin) - begin, span.end.min(end) - begin);
        }
    }
    lanes.retain(|_, (_, spans)| !spans.is_empty());
}

/// Returns the count and total time of each name, sorted by descending time.
fn totals(lanes: &Lanes) -> Vec<(&str, usize, f64)> {
    let mut totals: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
    for span in lanes.values().flat_map(|(_, spans)| spans) {
        let total = totals.entry(&span.name).or_default();
        *total = (total.0 + 1, total.1 + span.end - span.begin);
    }
    let mut totals: Vec<_> = totals.into_iter().map(|(name, (n, time))| (name, n, time)).collect();
    totals.sort_by(|a, b| b.2.total_cmp(&a.2));
    totals
}

fn draw(lanes: &Lanes) -> RgbImage {
    let totals = totals(lanes);
    let color = |name: &str| {
        let index = totals.iter().position(|total| total.0 == name).unwrap_or(0);
        Rgb(colorous::SET3[index % colorous::SET3.len()].into_array())
    };
    let all = lanes.values().flat_map(|(_, spans)| spans);
    let length = all.map(|span| span.end).fold(0.0, f64::max).max(1e-6);
    let scale = (WIDTH - 2 * MARGIN) as f64 / length;
    let at = |time: f64| MARGIN + (time * scale).round() as usize;
    let rows = |spans: &[Span]| 1 + spans.iter().map(|span| span.depth).max().unwrap_or(0);
    let height = |spans: &[Span]| (1 + rows(spans)) * ROW + ROW / 2;
    let lanes_height: usize = lanes.values().map(|(_, spans)| height(spans)).sum();
    let columns = 4;
    let legend = totals.len().div_ceil(columns) * ROW;
    let size = [WIDTH, 2 * MARGIN + lanes_height + 2 * ROW + legend];
    let mut picture = RgbImage::from_pixel(size[0] as u32, size[1] as u32, Rgb([255; 3]));

    let floor = MARGIN + lanes_height;
    let step = tick(length / 8.0);
    for number in 0..=(length / step) as usize {
        let (time, label) = (number as f64 * step, in_units(number as f64 * step));
        fill(&mut picture, [at(time), MARGIN], [1, lanes_height], Rgb([225; 3]));
        let width = text::width(label.chars().count(), LETTERS);
        let left = at(time).saturating_sub(width / 2).clamp(MARGIN, WIDTH - MARGIN - width);
        text::write(&mut picture, [left, floor + 3], (&label, LETTERS), INK);
    }
    let mut top = MARGIN;
    for (name, spans) in lanes.values() {
        text::write(&mut picture, [MARGIN, top + 3], (&format!("thread {name}"), LETTERS), INK);
        for span in spans {
            let (left, y) = (at(span.begin), top + (1 + span.depth) * ROW);
            // A white pixel separates adjacent spans if they are wide enough.
            let width = (at(span.end) - left).max(1);
            let inner = if width > 3 { width - 1 } else { width };
            fill(&mut picture, [left, y], [inner, ROW - 2], color(&span.name));
            if text::width(span.name.chars().count(), LETTERS) + 6 <= width {
                text::write(&mut picture, [left + 3, y + 2], (&span.name, LETTERS), INK);
            }
        }
        top += height(spans);
    }
    for (i, (name, count, time)) in totals.iter().enumerate() {
        let column = (WIDTH - 2 * MARGIN) / columns;
        let corner = [MARGIN + i % columns * column, floor + 2 * ROW + i / columns * ROW];
        fill(&mut picture, corner, [ROW - 6, ROW - 6], color(name));
        let label = format!("{name}  {count} x  {}", in_units(*time));
        text::write(&mut picture, [corner[0] + ROW, corner[1]], (&label, LETTERS), INK);
    }
    picture
}

fn fill(picture: &mut RgbImage, [left, top]: [usize; 2], size: [usize; 2], color: Rgb<u8>) {
    for (x, y) in (left..left + size[0]).flat_map(|x| (top..top + size[1]).map(move |y| (x, y))) {
        if let Some(pixel) = picture.get_pixel_mut_checked(x as u32, y as u32) {
            *pixel = color;
        }
    }
}

/// Returns the smallest of 1, 2 or 5 times a power of ten that is not below `least`.
fn tick(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= least);
    factor.unwrap_or(10.0) * power
}

fn in_units(milliseconds: f64) -> String {
    let (unit, name) = match milliseconds {
        0.0 => return "0".into(),
        1e3.. => (1e3, "s"),
        1.0.. => (1.0, "ms"),
        _ => (1e-3, "µs"),
    };
    let text = format!("{:.2}", milliseconds / unit);
    format!("{} {name}", text.trim_end_matches('0').trim_end_matches('.'))
}
