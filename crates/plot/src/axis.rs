//! Axes: mapping of values to positions, and ticks at round numbers.

use super::canvas::{TICK, superscript, text_width};

/// The range of an axis, which is linear or logarithmic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) log: bool,
}

impl Axis {
    /// Returns a linear axis.
    pub(super) fn linear(low: f64, high: f64) -> Axis {
        Axis { low, high, log: false }
    }

    /// Returns an axis from the smallest to the largest finite value, extended at both ends by the fraction `margin` of
    /// this range. If all values are equal, the range encloses this value. A logarithmic axis uses only the positive
    /// values.
    pub(super) fn around(values: impl Iterator<Item = f64>, log: bool, margin: f64) -> Axis {
        let fits = |v: &f64| v.is_finite() && (!log || *v > 0.0);
        let step = |(low, high): (f64, f64), v: f64| (low.min(v), high.max(v));
        let (low, high) = values.filter(fits).fold((f64::INFINITY, f64::NEG_INFINITY), step);
        if low > high {
            let (low, high) = if log { (1.0, 10.0) } else { (0.0, 1.0) };
            return Axis { low, high, log };
        }
        if log {
            let factor = match high / low {
                r if r > 1.0 && r.is_finite() => r.powf(margin),
                _ => 2.0,
            };
            let low = (low / factor).max(f64::MIN_POSITIVE);
            return Axis { low, high: (high * factor).min(1e300), log };
        }
        let span = 0.5 * high - 0.5 * low;
        let more = match span > 1e-14 * low.abs().max(high.abs()) {
            true => 2.0 * margin * span,
            false if high == 0.0 => 1.0,
            false => 0.1 * high.abs(),
        };
        Axis::linear((low - more).max(-1e307), (high + more).min(1e307))
    }

    /// Returns the relative position of a value: 0 at the low end, 1 at the high end. On a logarithmic axis, values
    /// without a logarithm are at −∞.
    pub(super) fn part(&self, value: f64) -> f64 {
        match self.log {
            true if value <= 0.0 => f64::NEG_INFINITY,
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        }
    }

    /// Returns the value at a relative position.
    pub(super) fn at(&self, part: f64) -> f64 {
        match self.log {
            true => (self.low.ln() + part * (self.high.ln() - self.low.ln())).exp(),
            false => self.low + part * (self.high - self.low),
        }
    }

    /// Returns the values at the ends of this number of equal intervals.
    pub(super) fn grid(&self, intervals: usize) -> Vec<f64> {
        (0..=intervals).map(|i| self.at(i as f64 / intervals as f64)).collect()
    }

    /// Returns the ticks for an axis of `pixels` pixels. `apart`: approximate distance of adjacent ticks, in pixels.
    pub(super) fn ticks(&self, pixels: f64, apart: f64) -> Ticks {
        let wanted = (pixels / apart).round() as usize;
        match self.log {
            true => logarithmic(self.low, self.high, wanted),
            false => linear(self.low, self.high, wanted),
        }
    }
}

/// Positions of ticks, and their labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Ticks {
    /// Positions with labels.
    pub(super) major: Vec<(f64, String)>,
    pub(super) minor: Vec<f64>,
    /// Common factor and offset of the labels: `×10⁻⁹`, `+1000`.
    pub(super) common: String,
}

impl Ticks {
    /// Returns the value of each tick with the length of its mark in pixels.
    pub(super) fn lengths(&self) -> impl Iterator<Item = (f64, f64)> {
        let major = self.major.iter().map(|(value, _)| (*value, 5.0));
        major.chain(self.minor.iter().map(|value| (*value, 2.5)))
    }

    /// Returns the width of the longest label in pixels.
    pub(super) fn width(&self) -> f64 {
        self.major.iter().map(|(_, label)| text_width(label, TICK)).fold(0.0, f64::max)
    }
}

/// Returns about `wanted` ticks from `low` to `high`, with a step of 1, 2 or 5 times a power of ten.
pub(super) fn linear(low: f64, high: f64, wanted: usize) -> Ticks {
    let span = high - low;
    if !(span > 0.0 && span.is_finite()) {
        return Ticks::default();
    }
    let rough = span / wanted.max(3) as f64;
    let mut exponent = rough.log10().floor() as i32;
    let unit = |exponent: i32| 10f64.powi(exponent);
    let (times, minors) = match rough / unit(exponent) {
        m if m < 1.5 => (1.0, 5),
        m if m < 3.5 => (2.0, 4),
        m if m < 7.5 => (5.0, 5),
        _ => {
            exponent += 1;
            (1.0, 5)
        }
    };
    // Negative powers of ten are not exact in f64: divide by the positive power instead.
    let value = |k: f64| match exponent < 0 {
        true => k * times / unit(-exponent),
        false => k * times * unit(exponent),
    };
    let step = value(1.0);
    if !(step > 0.0 && step.is_finite()) {
        return Ticks::default();
    }
    let slack = 1e-9 * span;
    let (first, last) = (((low - slack) / step).ceil(), ((high + slack) / step).floor());
    let count = (last - first).clamp(0.0, 100.0) as usize;
    let places: Vec<f64> = (0..=count).map(|i| value(first + i as f64)).collect();
    let within = |v: &f64| *v >= low - slack && *v <= high + slack;
    let small = |i: usize| step * ((first - 1.0) + i as f64 / f64::from(minors));
    let minor = (0..(count + 2) * minors as usize).map(small).filter(within).collect();
    let (labels, common) = labels(&places, exponent);
    Ticks { major: places.into_iter().zip(labels).collect(), minor, common }
}

/// Returns the labels of tick positions, and their common factor and offset. The last digit of the labels has the value
/// 10 to the power `last`.
fn labels(places: &[f64], last: i32) -> (Vec<String>, String) {
    let largest = places.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let span = places.last().unwrap_or(&0.0) - places.first().unwrap_or(&0.0);
    // If the leading digits are the same in all labels, they become a common offset.
    let offset = match largest > 2e4 * span && span > 0.0 {
        true => places.first().copied().unwrap_or(0.0),
        false => 0.0,
    };
    let rest = if offset == 0.0 { largest } else { span };
    let power = match rest.log10().floor() {
        p if p.is_finite() && !(-3.0..5.0).contains(&p) => p as i32,
        _ => 0,
    };
    let decimals = (power - last).max(0) as usize;
    let scale = |v: f64| match power < 0 {
        true => v * 10f64.powi((-power).min(300)) * 10f64.powi((-power - 300).max(0)),
        false => v / 10f64.powi(power),
    };
    let label = |v: &f64| minus(&format!("{:.decimals$}", scale(v - offset) + 0.0));
    let factor = if power == 0 { String::new() } else { format!("×10{}", superscript(power)) };
    let added = match offset {
        0.0 => String::new(),
        o if o < 0.0 => format!(" − {}", -o),
        o => format!(" + {o}"),
    };
    (places.iter().map(label).collect(), format!("{factor}{added}").trim().to_owned())
}

/// Returns ticks at powers of ten from `low` to `high`, both above 0: every k-th power, so that there are about
/// `wanted`. A range of less than about a factor of 20 has linear ticks.
pub(super) fn logarithmic(low: f64, high: f64, wanted: usize) -> Ticks {
    let (from, to) = (low.log10(), high.log10());
    if to - from < 1.3 {
        let Ticks { major, minor, common } = linear(low, high, wanted);
        let positive = |v: &f64| *v > 0.0;
        let major = major.into_iter().filter(|(v, _)| positive(v)).collect();
        return Ticks { major, minor: minor.into_iter().filter(positive).collect(), common };
    }
    let every = ((to - from) / wanted.max(2) as f64).ceil().max(1.0) as i32;
    let (first, last) = ((from - 1e-9).ceil() as i32, (to + 1e-9).floor() as i32);
    let label = |e: i32| match e {
        0 => "1".to_owned(),
        1 => "10".into(),
        _ => format!("10{}", superscript(e)),
    };
    let major = (first..=last).filter(|e| e % every == 0).map(|e| (10f64.powi(e), label(e)));
    let within = |v: &f64| *v >= low && *v <= high;
    let minor: Vec<f64> = match every {
        1 => (first - 1..=last)
            .flat_map(|e| (2..10).map(move |m| f64::from(m) * 10f64.powi(e)))
            .filter(within)
            .collect(),
        _ => (first..=last).map(|e| 10f64.powi(e)).collect(),
    };
    Ticks { major: major.collect(), minor, common: String::new() }
}

/// Replaces hyphens by minus signs, which are as wide as a plus.
fn minus(text: &str) -> String {
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::{linear, logarithmic, superscript};

    fn labels(low: f64, high: f64) -> (Vec<String>, String) {
        let ticks = linear(low, high, 5);
        (ticks.major.into_iter().map(|(_, label)| label).collect(), ticks.common)
    }

    #[test]
    fn ticks_are_round_numbers() {
        let cases: [(f64, f64, &[&str], &str); 8] = [
            (0.0, 1.0, &["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"], ""),
            (-3.2, 3.2, &["−3", "−2", "−1", "0", "1", "2", "3"], ""),
            (0.0, 4.3e-9, &["0", "1", "2", "3", "4"], "×10⁻⁹"),
            (0.0, 4.3e9, &["0", "1", "2", "3", "4"], "×10⁹"),
            (0.0, 430.0, &["0", "100", "200", "300", "400"], ""),
            (656.1, 656.5, &["656.1", "656.2", "656.3", "656.4", "656.5"], ""),
            (1e9, 1e9 + 4.0, &["0", "1", "2", "3", "4"], "+ 1000000000"),
            (0.0, 0.013, &["0.000", "0.002", "0.004", "0.006", "0.008", "0.010", "0.012"], ""),
        ];
        for (low, high, expected, common) in cases {
            let (found, shared) = labels(low, high);
            assert_eq!(found, expected, "{low} to {high}");
            assert_eq!(shared, common, "{low} to {high}");
        }
        for (low, high) in [(0.0, 0.0), (1.0, f64::INFINITY), (f64::NAN, 1.0), (1.0, 1.0 + 1e-16)] {
            assert!(linear(low, high, 5).major.len() < 10);
        }
        for (low, high) in [(1e-310, 3e-310), (-1e300, 1e300), (1.0, 1.0 + 1e-14)] {
            let ticks = linear(low, high, 5);
            assert!(ticks.major.len() < 102, "{ticks:?}");
        }
    }

    #[test]
    fn powers_of_ten_are_raised() {
        let ticks = logarithmic(0.5, 2e3, 6);
        let found: Vec<&str> = ticks.major.iter().map(|(_, label)| label.as_str()).collect();
        assert_eq!(found, ["1", "10", "10²", "10³"]);
        assert_eq!(superscript(-12), "⁻¹²");
        assert_eq!(logarithmic(1e-12, 1.0, 6).major.len(), 7);
        assert_eq!(logarithmic(20.0, 60.0, 5).major[0].1, "20");
    }
}
