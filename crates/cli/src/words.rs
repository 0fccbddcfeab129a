//! Formatting of names, lists, numbers and tables for people.

use crate::output::{TITLE, styled};

pub(crate) use dualfit::text::{nearest, significant, visible};
pub(crate) use dualfit_io::without_unit;

/// Returns ` (did you mean "time"?)`, or an empty text if no known name is similar.
pub(crate) fn did_you_mean<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(asked, known).map_or_else(String::new, |name| format!(" (did you mean \"{name}\"?)"))
}

/// Joins names with commas: at most 20, then the number of the others.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 20;
    let names: Vec<&str> = names.into_iter().collect();
    let more = match names.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", names[..names.len().min(MOST)].join(", "))
}

/// Returns `1 point`, `2 points`.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// Converts 0.95 to 95 and 0.9973 to 99.73, without rounding errors.
pub(crate) fn percent(level: f64) -> f64 {
    (1e8 * level).round() / 1e6
}

/// Joins a formula of several lines into one line.
pub(crate) fn on_a_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Formats a time in a suitable unit, with three digits: `52.0 µs`, `3.10 ms`.
pub(crate) fn seconds(value: f64) -> String {
    let units = [(1e-3, 1e6, "µs"), (1.0, 1e3, "ms"), (f64::INFINITY, 1.0, "s")];
    let unit = units.into_iter().find(|(below, ..)| value < *below);
    let (_, times, unit) = unit.unwrap_or((0.0, 1.0, "s"));
    format!("{} {unit}", significant(value * times, 3))
}

/// Formats a table with titles: the first column is left-aligned, the others right-aligned, two spaces between columns.
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
    let rows = rows.iter().map(|row| line(row));
    std::iter::once(styled(TITLE, line(titles))).chain(rows).collect()
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
        assert!(lines[0].contains("fit     a"), "{lines:?}");
        assert_eq!(lines[1..], ["µ1   10.5", "b       2"]);
    }
}
