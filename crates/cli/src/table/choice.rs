//! Columns by name or number, as people give them.

use super::Table;
use crate::refusal::{Outcome, Refusal};
use crate::words::{did_you_mean, listed};

impl Table {
    /// The column that is called so; else the one of that number, from 1; else the one whose name differs
    /// only in capitals or in a unit behind it, as "time" and "Time (s)".
    pub(crate) fn find(&self, asked: &str) -> Outcome<usize> {
        let (names, asked) = (self.names(), asked.trim());
        let same = |test: &dyn Fn(&str) -> bool| -> Vec<usize> {
            (0..names.len()).filter(|&column| test(&names[column])).collect()
        };
        let number = asked.parse::<usize>().ok();
        let by_number = || number.filter(|n| (1..=names.len()).contains(n)).map(|n| vec![n - 1]);
        let mut found = same(&|name| name == asked);
        if found.is_empty() {
            found = by_number().unwrap_or_else(|| same(&|name| without_unit(name) == asked));
        }
        if found.is_empty() {
            found = same(&|name| name.eq_ignore_ascii_case(asked));
        }
        if found.is_empty() {
            found = same(&|name| without_unit(name).eq_ignore_ascii_case(asked));
        }
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
        if !pattern.contains(['*', '?']) || self.names().iter().any(|name| name == pattern) {
            return Ok(vec![self.find(pattern)?]);
        }
        let (names, wanted) = (self.names(), pattern.as_bytes());
        let found: Vec<usize> =
            (0..names.len()).filter(|&i| matches(wanted, names[i].as_bytes())).collect();
        match found.is_empty() {
            false => Ok(found),
            true => Err(Refusal::usage(format!(
                "{}: no column matches \"{pattern}\"; the columns are {}",
                self.name,
                self.listed()
            ))),
        }
    }

    /// A column's name as a report prints it: `column 3` where it has none.
    pub(crate) fn called(&self, column: usize) -> String {
        match self.names().get(column) {
            Some(name) if *name != (column + 1).to_string() => name.clone(),
            _ => format!("column {}", column + 1),
        }
    }

    fn listed(&self) -> String {
        listed(self.names().iter().map(String::as_str))
    }
}

/// `Time` of `Time (s)`, `Time [s]` and `Time / s`.
pub(crate) fn without_unit(name: &str) -> &str {
    name.split(['(', '[', '/']).next().map(str::trim).filter(|n| !n.is_empty()).unwrap_or(name)
}

fn matches(pattern: &[u8], name: &[u8]) -> bool {
    // Where the last `*` stands, and how much of the name it has taken.
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == b'?' || Some(&c) == name.get(n) => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    p = at + 1;
                    n = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|&c| c == b'*')
}

#[cfg(test)]
mod tests {
    use super::{matches, without_unit};

    #[test]
    fn patterns_match_as_in_a_shell() {
        let says = |pattern: &str, name: &str| matches(pattern.as_bytes(), name.as_bytes());
        for (pattern, name) in
            [("w*", "well"), ("*", ""), ("a?c", "abc"), ("*1*", "w12"), ("a*b*c", "aXbbYc")]
        {
            assert!(says(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("w*", "aw"), ("?", ""), ("a?c", "ac"), ("a*b", "abc")] {
            assert!(!says(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn units_are_no_part_of_a_name() {
        for name in ["Time (s)", "Time [s]", "Time / s", "Time"] {
            assert_eq!(without_unit(name), "Time");
        }
        assert_eq!(without_unit("(s)"), "(s)");
    }
}
