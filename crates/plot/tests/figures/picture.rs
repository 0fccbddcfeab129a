//! Parser of pictures: reads the marks, and converts their positions to values by the tick labels of the axes.

use roxmltree::{Document, Node};

/// Contents of an SVG.
#[derive(Debug)]
pub(crate) struct Picture {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Centres of discs, in the order in which they were drawn.
    pub(crate) discs: Vec<(f64, f64)>,
    /// Lines with their colours and widths.
    pub(crate) lines: Vec<(String, Vec<(f64, f64)>)>,
    pub(crate) areas: Vec<Vec<(f64, f64)>>,
    pub(crate) texts: Vec<Text>,
}

#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    at: (f64, f64),
    anchor: String,
    turned: bool,
}

/// Scale of an axis, defined by the positions and values of two tick labels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    ends: [(f64, f64); 2],
    /// Offset that is added to the tick labels if it would hide their digits.
    added: f64,
    log: bool,
}

impl Picture {
    /// Parses a picture as XML and reads its marks.
    pub(crate) fn of(svg: &str) -> Picture {
        let document = Document::parse(svg).unwrap_or_else(|why| panic!("{why}\n{svg}"));
        let root = document.root_element();
        let view: Vec<f64> = root.attribute("viewBox").unwrap().split(' ').map(number).collect();
        let mut picture = Picture {
            width: view[2],
            height: view[3],
            discs: Vec::new(),
            lines: Vec::new(),
            areas: Vec::new(),
            texts: Vec::new(),
        };
        for mark in root.children().filter(Node::is_element) {
            let value = |name: &str| number(mark.attribute(name).unwrap());
            match mark.tag_name().name() {
                "circle" => picture.discs.push((value("cx"), value("cy"))),
                "polyline" => {
                    let color = pen(mark);
                    picture.lines.push((color, places(mark)));
                }
                "line" => {
                    let color = pen(mark);
                    let ends = vec![(value("x1"), value("y1")), (value("x2"), value("y2"))];
                    picture.lines.push((color, ends));
                }
                "polygon" => picture.areas.push(places(mark)),
                "text" => picture.texts.push(Text {
                    text: mark.text().unwrap_or_default().trim().to_owned(),
                    at: (value("x"), value("y")),
                    anchor: mark.attribute("text-anchor").unwrap_or_default().to_owned(),
                    turned: mark.attribute("transform").is_some(),
                }),
                "rect" => {}
                other => panic!("<{other}> is not expected"),
            }
        }
        let lines = picture.lines.iter().map(|(_, places)| places);
        let all = lines.chain(&picture.areas).flatten().chain(&picture.discs);
        for &(x, y) in all {
            let inside = (0.0..=picture.width).contains(&x) && (0.0..=picture.height).contains(&y);
            assert!(inside, "{x} {y} is outside");
        }
        picture
    }

    /// Returns the scale of the horizontal axis. `log`: true if it is logarithmic.
    pub(crate) fn across(&self, log: bool) -> Scale {
        let upright = |text: &&Text| !text.turned && text.anchor == "middle";
        let numbers = self.texts.iter().filter(upright).filter(|text| read(&text.text).is_some());
        let numbers: Vec<(f64, f64)> =
            numbers.map(|text| (text.at.0, read(&text.text).unwrap())).collect();
        let lowest = self.texts.iter().map(|text| text.at.1).fold(0.0, f64::max);
        let common = self.texts.iter().find(|text| {
            text.anchor == "end" && text.at.1 > lowest - 400.0 && is_common(&text.text)
        });
        Scale::new(numbers, common.map_or("", |text| &text.text), log)
    }

    /// Returns the scale of the vertical axis of the uppermost panel.
    pub(crate) fn up(&self, log: bool) -> Scale {
        let all: Vec<&Text> = self.texts.iter().filter(|text| text.anchor == "end").collect();
        let of_axis = all.iter().filter(|text| read(&text.text).is_some());
        // The labels of a panel go from bottom to top. The labels of the panel below it follow.
        let mut numbers: Vec<(f64, f64)> = Vec::new();
        for text in of_axis {
            if numbers.last().is_some_and(|(at, _)| text.at.1 > *at) {
                break;
            }
            numbers.push((text.at.1, read(&text.text).unwrap()));
        }
        let common = self.texts.iter().find(|t| t.anchor == "start" && is_common(&t.text));
        Scale::new(numbers, common.map_or("", |text| &text.text), log)
    }

    /// Returns the points of the lines with a colour and width.
    pub(crate) fn line(&self, pen: &str) -> Vec<(f64, f64)> {
        let these = self.lines.iter().filter(|(of, _)| of == pen);
        these.flat_map(|(_, places)| places.iter().copied()).collect()
    }
}

impl Scale {
    fn new(numbers: Vec<(f64, f64)>, common: &str, log: bool) -> Scale {
        let (factor, added) = match common.split_once([' ', '+']) {
            _ if common.is_empty() => (1.0, 0.0),
            _ if !common.starts_with('×') => (1.0, signed(common)),
            Some((factor, added)) => (read(factor).unwrap(), signed(added)),
            None => (read(common).unwrap(), 0.0),
        };
        let [first, .., last] = numbers[..] else { panic!("{numbers:?}") };
        let ends = [first, last].map(|(at, value)| (at, value * factor));
        Scale { ends, added, log }
    }

    /// Returns the position of a value.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let [(p, a), (q, b)] = self.ends;
        let part = match self.log {
            true => ((value / (a + self.added)).ln()) / ((b + self.added) / (a + self.added)).ln(),
            false => ((value - self.added) - a) / (b - a),
        };
        p + part * (q - p)
    }

    /// Returns the value at a position.
    pub(crate) fn value(&self, place: f64) -> f64 {
        let [(p, a), (q, b)] = self.ends;
        let part = (place - p) / (q - p);
        match self.log {
            true => (a + self.added) * ((b + self.added) / (a + self.added)).powf(part),
            false => self.added + a + part * (b - a),
        }
    }
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|why| panic!("{text}: {why}"))
}

/// Returns colour and width of a mark.
fn pen(mark: Node<'_, '_>) -> String {
    format!("{} {}", mark.attribute("stroke").unwrap(), mark.attribute("stroke-width").unwrap())
}

fn places(mark: Node<'_, '_>) -> Vec<(f64, f64)> {
    let pairs = mark.attribute("points").unwrap().split_whitespace();
    pairs.map(|pair| pair.split_once(',').unwrap()).map(|(x, y)| (number(x), number(y))).collect()
}

fn is_common(text: &str) -> bool {
    text.starts_with('×') || text.starts_with("+ ") || text.starts_with("− ")
}

/// Parses a text like `+ 1000`.
fn signed(text: &str) -> f64 {
    let digits = text.trim().trim_start_matches(['+', '−', ' ']);
    let size: f64 = number(digits);
    if text.contains('−') { -size } else { size }
}

/// Parses a number in the format of the axes: `−0.5`, `10⁻³`, `×10⁹`.
fn read(text: &str) -> Option<f64> {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let text = text.strip_prefix('×').unwrap_or(text);
    if let Some(at) = text.find(|c| c == '⁻' || RAISED.contains(&c)) {
        let digit = |c: char| match RAISED.iter().position(|raised| *raised == c) {
            Some(digit) => char::from_digit(digit as u32, 10).unwrap(),
            None => '-',
        };
        let exponent: String = text[at..].chars().map(digit).collect();
        return format!("1e{exponent}").parse().ok().filter(|_| &text[..at] == "10");
    }
    text.replace('−', "-").parse().ok()
}
