//! Names, lists, numbers and tables as people read them.

use crate::output::{TITLE, styled};

pub(crate) use dualfit::shared::{nearest, significant, visible, without_unit};

/// ` (did you mean "time"?)`, or nothing.
pub(crate) fn did_you_mean<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(asked, known).map_or_else(String::new, |name| format!(" (did you mean \"{name}\"?)"))
}

/// The names with commas between them, the first twenty if there are more.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 20;
    let names: Vec<&str> = names.into_iter().collect();
    let more = match names.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", names[..names.len().min(MOST)].join(", "))
}

/// `1 point`, `2 points`.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// A formula may be written on several lines.
pub(crate) fn on_a_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A time as it is read fastest: `52 µs`, `3.1 ms`, `0.42 s`.
pub(crate) fn seconds(value: f64) -> String {
    let units = [(1e-3, 1e6, "µs"), (1.0, 1e3, "ms"), (f64::INFINITY, 1.0, "s")];
    let unit = units.into_iter().find(|(below, ..)| value < *below);
    let (_, times, unit) = unit.unwrap_or((0.0, 1.0, "s"));
    format!("{} {unit}", significant(value * times, 3))
}

/// Lines of rows under titles: the first column to the left, the others to the right, two spaces between them.
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
