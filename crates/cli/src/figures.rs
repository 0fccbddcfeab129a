//! Numbers as people read them.

pub(crate) use dualfit::shared::{significant, visible};

/// A time as it is read fastest: `52 µs`, `3.1 ms`, `0.42 s`.
pub(crate) fn seconds(value: f64) -> String {
    let units = [(1e-3, 1e6, "µs"), (1.0, 1e3, "ms"), (f64::INFINITY, 1.0, "s")];
    let unit = units.into_iter().find(|(below, ..)| value < *below);
    let (_, times, unit) = unit.unwrap_or((0.0, 1.0, "s"));
    format!("{} {unit}", significant(value * times, 3))
}

/// Rows under titles: the first column to the left, the others to the right, two spaces between them.
pub(crate) fn aligned(titles: &[String], rows: &[Vec<String>]) -> Vec<String> {
    let cell = |row: &[String], i: usize| row.get(i).map_or(0, |text| text.chars().count());
    let widths: Vec<usize> = (0..titles.len())
        .map(|i| rows.iter().map(|row| cell(row, i)).fold(cell(titles, i), usize::max))
        .collect();
    let line = |row: &[String]| {
        let cells = row.iter().zip(&widths).enumerate().map(|(i, (text, width))| {
            let room = " ".repeat(width - text.chars().count().min(*width));
            if i == 0 { format!("{text}{room}") } else { format!("{room}{text}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    std::iter::once(titles).chain(rows.iter().map(Vec::as_slice)).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_significant_digits() {
        for (value, text) in [
            (9.99, "10"),
            (0.001_234, "0.0012"),
            (-123_456.0, "-123456"),
            (1.5e-7, "1.5e-7"),
            (2e200, "2.0e200"),
            (0.0, "0"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(significant(value, 2), text);
        }
        assert_eq!(seconds(0.000_052), "52.0 µs");
        assert_eq!(seconds(3.25), "3.25 s");
    }

    #[test]
    fn columns_stand_under_their_titles() {
        let cells = |row: &[&str]| row.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let lines = aligned(&cells(&["fit", "a"]), &[cells(&["µ1", "10.5"]), cells(&["b", "2"])]);
        assert_eq!(lines, ["fit     a", "µ1   10.5", "b       2"]);
    }
}
