//! Lookup of columns by name or number, as the user gives them.

use super::{Table, refused};
use crate::refusal::{Outcome, Refusal};
use crate::words::listed;
use dualfit_io::TableError;
use wildmatch::WildMatch;

impl Table {
    /// Returns the column with exactly this name, or with this number (from 1), or else the column that the library
    /// finds, for example by its name without the unit.
    pub(crate) fn find(&self, asked: &str) -> Outcome<usize> {
        let (names, asked) = (&self.names, asked.trim());
        let is_name = self.table.has_names() && names.iter().any(|name| name == asked);
        match asked.parse::<usize>() {
            Ok(number) if !is_name && (1..=names.len()).contains(&number) => Ok(number - 1),
            Ok(number) if !is_name => Err(Refusal::usage(format!(
                "{}: there is no column {number}; the columns are 1 to {}: {}",
                self.name,
                names.len(),
                self.listed()
            ))),
            _ => self.table.find(asked).map_err(|why| match why {
                TableError::SameName { first, second, .. } => Refusal::usage(format!(
                    "{}: columns {} and {} are both called \"{asked}\"; choose by number",
                    self.name,
                    first + 1,
                    second + 1
                )),
                TableError::UnknownColumn { place, name, .. } => {
                    let known = names.clone();
                    Refusal::usage(TableError::UnknownColumn { place, name, known }.to_string())
                }
                why => refused(&why, &self.name),
            }),
        }
    }

    /// Returns the columns of a comma-separated list, or the column whose name contains the commas.
    pub(crate) fn find_all(&self, asked: &str) -> Outcome<Vec<usize>> {
        match self.find(asked) {
            Ok(column) => Ok(vec![column]),
            Err(error) if !asked.contains(',') => Err(error),
            Err(_) => asked.split(',').map(|name| self.find(name)).collect(),
        }
    }

    /// Returns the columns whose names match a pattern (`*`: any characters, `?`: one character), or the column with
    /// exactly this name.
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

    /// Returns true if the column has a name other than its number.
    pub(crate) fn has_name(&self, column: usize) -> bool {
        self.names.get(column).is_some_and(|name| *name != (column + 1).to_string())
    }

    /// Returns a column's name for reports: `column 3` if it has no name.
    pub(crate) fn called(&self, column: usize) -> String {
        match self.has_name(column) {
            true => self.names[column].clone(),
            false => format!("column {}", column + 1),
        }
    }

    pub(crate) fn listed(&self) -> String {
        listed(self.names.iter().map(String::as_str))
    }
}
