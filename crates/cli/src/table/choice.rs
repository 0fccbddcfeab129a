//! Columns by name or number, as people give them.

use super::Table;
use crate::refusal::{Outcome, Refusal};
use crate::words::{did_you_mean, listed};
use wildmatch::WildMatch;

/// Whether a column of this number, from 0, and name is meant.
type Test<'a> = dyn Fn(usize, &str) -> bool + 'a;

impl Table {
    /// The column that is called so; else the one of that number, from 1; else the one whose name differs
    /// only in capitals or in a unit behind it, as "time" and "Time (s)".
    pub(crate) fn find(&self, asked: &str) -> Outcome<usize> {
        let (names, asked) = (&self.names, asked.trim());
        let number = asked.parse::<usize>().ok();
        let tests: [&Test<'_>; 5] = [
            &|_, name| name == asked,
            &|column, _| number == Some(column + 1),
            &|_, name| without_unit(name) == asked,
            &|_, name| name.eq_ignore_ascii_case(asked),
            &|_, name| without_unit(name).eq_ignore_ascii_case(asked),
        ];
        let passing = |test: &Test<'_>| -> Vec<usize> {
            (0..names.len()).filter(|&column| test(column, &names[column])).collect()
        };
        let mut found = tests.into_iter().map(passing);
        let found = found.find(|columns| !columns.is_empty()).unwrap_or_default();
        match (&found[..], number) {
            ([only], _) => Ok(*only),
            ([first, second, ..], _) => Err(Refusal::usage(format!(
                "{}: columns {} and {} are both called \"{asked}\"; choose by number",
                self.name,
                first + 1,
                second + 1
            ))),
            ([], Some(number)) => Err(Refusal::usage(format!(
                "{}: there is no column {number}; the columns are 1 to {}: {}",
                self.name,
                names.len(),
                self.listed()
            ))),
            ([], None) => Err(Refusal::usage(format!(
                "{}: there is no column \"{asked}\"{}; the columns are {}",
                self.name,
                did_you_mean(asked, names.iter().map(|name| without_unit(name))),
                self.listed()
            ))),
        }
    }

    /// The columns that commas separate, or the one with commas in its name.
    pub(crate) fn find_all(&self, asked: &str) -> Outcome<Vec<usize>> {
        match self.find(asked) {
            Ok(column) => Ok(vec![column]),
            Err(error) if !asked.contains(',') => Err(error),
            Err(_) => asked.split(',').map(|name| self.find(name)).collect(),
        }
    }

    /// The columns whose names match a pattern, in which `*` stands for any letters and `?` for one; or
    /// the one that is called so.
    pub(crate) fn find_matching(&self, pattern: &str) -> Outcome<Vec<usize>> {
        if !pattern.contains(['*', '?']) || self.names.iter().any(|name| name == pattern) {
            return Ok(vec![self.find(pattern)?]);
        }
        let wanted = WildMatch::new(pattern);
        let found: Vec<usize> =
            (0..self.names.len()).filter(|&i| wanted.matches(&self.names[i])).collect();
        match found.is_empty() {
            false => Ok(found),
            true => Err(Refusal::usage(format!(
                "{}: no column matches \"{pattern}\"; the columns are {}",
                self.name,
                self.listed()
            ))),
        }
    }

    /// Whether it is called otherwise than by its number.
    pub(crate) fn has_name(&self, column: usize) -> bool {
        self.names.get(column).is_some_and(|name| *name != (column + 1).to_string())
    }

    /// A column's name as a report prints it: `column 3` where it has none.
    pub(crate) fn called(&self, column: usize) -> String {
        match self.has_name(column) {
            true => self.names[column].clone(),
            false => format!("column {}", column + 1),
        }
    }

    fn listed(&self) -> String {
        listed(self.names.iter().map(String::as_str))
    }
}

/// `Time` of `Time (s)`, `Time [s]` and `Time / s`.
pub(crate) fn without_unit(name: &str) -> &str {
    name.split(['(', '[', '/']).next().map(str::trim).filter(|n| !n.is_empty()).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::without_unit;

    #[test]
    fn units_are_no_part_of_a_name() {
        for name in ["Time (s)", "Time [s]", "Time / s", "Time"] {
            assert_eq!(without_unit(name), "Time");
        }
        assert_eq!(without_unit("(s)"), "(s)");
    }
}
