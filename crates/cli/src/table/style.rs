//! In which style a column's numbers are written: what they show, what was said, and what stays open.

use super::number::{Marks, Style};
use crate::arguments::Thousands;

/// Where in a column, or in all of them, numbers of each kind come first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    first: [Option<usize>; 7],
}

/// Why the numbers of a column cannot be read in one way.
#[derive(Debug, PartialEq)]
pub(super) struct Doubt {
    pub(super) row: usize,
    pub(super) what: &'static str,
    /// A row that contradicts.
    pub(super) other: Option<usize>,
    pub(super) remedy: &'static str,
}

impl Seen {
    pub(super) fn add(&mut self, marks: Marks, row: usize) {
        self.first[marks as usize].get_or_insert(row);
    }

    pub(super) fn first(&self, marks: Marks) -> Option<usize> {
        self.first[marks as usize]
    }

    /// The first number that has a decimal comma, whatever the others have.
    fn comma(&self) -> Option<usize> {
        self.first(Marks::DecimalComma).or(self.first(Marks::PointGroups))
    }

    /// The first number that has a decimal point.
    fn point(&self) -> Option<usize> {
        self.first(Marks::DecimalPoint).or(self.first(Marks::CommaGroups))
    }
}

/// `own`: the column's numbers. `all`: those of all columns, which decide where the column's own do not.
pub(super) fn style(
    own: &Seen,
    all: &Seen,
    decimal_comma: bool,
    thousands: Option<Thousands>,
) -> Result<Style, Doubt> {
    let either = |marks| own.first(marks);
    let asked = match thousands {
        _ if decimal_comma => Some(true),
        Some(Thousands::Point) => Some(true),
        Some(Thousands::Comma) => Some(false),
        _ => None,
    };
    let decimal_comma = match (asked, own.comma(), own.point()) {
        (Some(asked), ..) => asked,
        (None, Some(comma), Some(point)) => {
            let (row, other) = if comma < point { (point, comma) } else { (comma, point) };
            return Err(Doubt {
                row,
                what: match comma < point {
                    true => "has a decimal point",
                    false => "has a decimal comma",
                },
                other: Some(other),
                remedy: "write all decimals alike, or say --decimal-comma or --thousands",
            });
        }
        (None, Some(_), None) => true,
        (None, None, Some(_)) => false,
        // Only numbers such as 1.234 have no other sign of a comma in all of the table.
        (None, None, None) => all.comma().is_some() && all.point().is_none(),
    };
    let groups = match decimal_comma {
        true => (Marks::PointGroups, Thousands::Point, Marks::EitherPoint),
        false => (Marks::CommaGroups, Thousands::Comma, Marks::EitherComma),
    };
    let has_groups = own.first(groups.0).or(all.first(groups.0)).is_some();
    let thousands = thousands.or(has_groups.then_some(groups.1));
    if thousands == Some(groups.1) {
        return Ok(Style { decimal_comma, thousands });
    }
    match either(groups.2) {
        None => Ok(Style { decimal_comma, thousands }),
        Some(row) if decimal_comma => Err(Doubt {
            row,
            what: "may have a decimal point or set thousands apart, in a table of decimal commas",
            other: None,
            remedy: "say --thousands point, or write all decimals alike",
        }),
        Some(row) => Err(Doubt {
            row,
            what: "may have a decimal comma or set thousands apart",
            other: None,
            remedy: "say --decimal-comma or --thousands comma",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(numbers: &[&str]) -> Seen {
        let mut seen = Seen::default();
        for (row, number) in numbers.iter().enumerate() {
            seen.add(Marks::of(number).unwrap(), row);
        }
        seen
    }

    /// The values of numbers beside a column of others.
    fn read(numbers: &[&str], others: &[&str]) -> Option<Vec<f64>> {
        let all = seen(&[numbers, others].concat());
        let style = style(&seen(numbers), &all, false, None).ok()?;
        numbers.iter().map(|number| style.number(number)).collect()
    }

    #[test]
    fn one_reading_is_read() {
        let nothing: [&str; 0] = [];
        assert_eq!(read(&["1", "1.234"], &nothing), Some(vec![1.0, 1.234]));
        assert_eq!(read(&["0,5", "1,234"], &nothing), Some(vec![0.5, 1.234]));
        assert_eq!(read(&["1,234"], &["0,5"]), Some(vec![1.234]));
        assert_eq!(read(&["1,234", "1,234.5"], &nothing), Some(vec![1234.0, 1234.5]));
        assert_eq!(read(&["1,234"], &["2,345,678"]), Some(vec![1234.0]));
        assert_eq!(read(&["1.234", "1.234,5"], &nothing), Some(vec![1234.0, 1234.5]));
        assert_eq!(read(&["1.5"], &["0,5"]), Some(vec![1.5]));
    }

    #[test]
    fn two_readings_are_refused() {
        let nothing: [&str; 0] = [];
        assert_eq!(read(&["1,234"], &nothing), None);
        assert_eq!(read(&["1,234", "1.5"], &nothing), None);
        assert_eq!(read(&["1,234"], &["1.5"]), None);
        assert_eq!(read(&["1.234"], &["0,5"]), None);
        assert_eq!(read(&["1.234", "0,5"], &nothing), None);
        assert_eq!(read(&["1.5", "0,5"], &nothing), None);
        let own = seen(&["1,234"]);
        let said = |comma, thousands| style(&own, &own, comma, thousands).unwrap().number("1,234");
        assert_eq!(said(true, None), Some(1.234));
        assert_eq!(said(false, Some(Thousands::Comma)), Some(1234.0));
    }
}
