//! Points of a fit: columns of a table, without the rows that the options leave out.

use crate::arguments::TableArguments;
use crate::arguments::words::{Pairs, Range};
use crate::output::note;
use crate::refusal::{Outcome, Refusal};
use crate::table::Table;
use crate::words::{counted, without_unit};
use dualfit::{Data, Sigma};

/// Roles of the columns of a table, by index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Roles {
    pub(crate) x: Vec<usize>,
    pub(crate) y: usize,
    pub(crate) sigma: Option<usize>,
}

impl Roles {
    /// Returns the columns of the independent variables and of sigma. By default x is the first column, or the second
    /// column if the first contains the groups. `by`: the column with the groups.
    pub(crate) fn of_points(
        table: &Table,
        asked: &TableArguments,
        by: Option<usize>,
    ) -> Outcome<(Vec<usize>, Option<usize>)> {
        let first = usize::from(by == Some(0));
        let x = asked.x.as_deref().map_or(Ok(vec![first]), |names| table.find_all(names))?;
        let sigma = asked.sigma.as_deref().map(|name| table.find(name)).transpose()?;
        Ok((x, sigma))
    }

    /// Returns the roles with one response. By default the response is the first column that has no other role.
    pub(crate) fn choose(
        table: &Table,
        asked: &TableArguments,
        y: Option<&str>,
        by: Option<usize>,
    ) -> Outcome<Roles> {
        let (x, sigma) = Roles::of_points(table, asked, by)?;
        let free = |column: &usize| !x.contains(column) && ![sigma, by].contains(&Some(*column));
        let y = match y {
            Some(name) => table.find(name)?,
            None => (0..table.names.len()).find(free).ok_or_else(|| {
                Refusal::usage(format!(
                    "{}: has {} and none is left for y; is the --delimiter right?",
                    table.name,
                    counted(table.names.len(), "column")
                ))
            })?,
        };
        Ok(Roles { x, y, sigma })
    }

    /// Prints a note if an unused column seems to contain the errors of y.
    pub(crate) fn hint_at_errors(&self, table: &Table) {
        const NAMES: &str = "sigma err error errors yerr y_err std sd uncertainty dy stderr s";
        let y = without_unit(&table.names[self.y]).to_lowercase();
        let of_y = ["err", "error", "sigma", "std", "sd"].map(|word| format!("{y}_{word}"));
        let is_error = |name: &str| {
            NAMES.split(' ').any(|known| known == name) || of_y.iter().any(|known| known == name)
        };
        let looks = |&column: &usize| {
            let used = self.x.contains(&column) || self.y == column;
            !used && is_error(&without_unit(&table.names[column]).to_lowercase())
        };
        if self.sigma.is_none()
            && let Some(column) = (0..table.names.len()).find(looks)
        {
            let (name, y) = (&table.names[column], table.called(self.y));
            note(format!(
                "column \"{name}\" is not used; with --sigma \"{name}\" it gives the standard deviations of {y}"
            ));
        }
    }
}

pub(crate) struct Points<'a> {
    pub(crate) table: &'a Table,
    pub(crate) roles: Roles,
    pub(crate) x: Vec<Vec<f64>>,
    pub(crate) y: Vec<f64>,
    pub(crate) sigma: Option<Vec<f64>>,
    relative: bool,
    /// Row in the table, one per point.
    rows: Vec<usize>,
    /// Number of rows left out because of a missing value, and because a value was out of range.
    pub(crate) missing: usize,
    pub(crate) outside: usize,
}

/// Columns of the table that the points are taken from.
pub(crate) struct Values<'a> {
    table: &'a Table,
    roles: Roles,
    asked: &'a TableArguments,
    /// Indices of `columns` in the table: columns of the roles in their order, then columns of the ranges.
    used: Vec<usize>,
    columns: Vec<Vec<f64>>,
    ranges: Vec<(usize, Range)>,
}

impl<'a> Values<'a> {
    pub(crate) fn read(
        table: &'a Table,
        roles: Roles,
        asked: &'a TableArguments,
    ) -> Outcome<Values<'a>> {
        let mut used = roles.x.clone();
        used.push(roles.y);
        used.extend(roles.sigma);
        let mut ranges = Vec::new();
        for (name, ends) in Pairs::of(&asked.range) {
            ranges.push((used.len(), ends));
            let alone = name == "x" && roles.x.len() == 1 && table.find(&name).is_err();
            used.push(if alone { roles.x[0] } else { table.find(&name)? });
        }
        let columns = table.columns(&used)?;
        Ok(Values { table, roles, asked, used, columns, ranges })
    }

    /// Returns the points of all rows.
    pub(crate) fn points(&self) -> Outcome<Points<'a>> {
        self.points_of(0..self.columns[0].len())
    }

    /// Returns the points of some rows.
    pub(crate) fn points_of(
        &self,
        asked_rows: impl IntoIterator<Item = usize>,
    ) -> Outcome<Points<'a>> {
        let Values { table, roles, asked, used, columns, ranges } = self;
        let (y, roles_used) =
            (roles.x.len(), roles.x.len() + 1 + usize::from(roles.sigma.is_some()));
        let (mut rows, mut missing, mut outside, mut first_missing) = (Vec::new(), 0, 0, None);
        for row in asked_rows {
            let value = |at: usize| columns[at][row];
            // An infinite sigma is not a missing value: the point has weight 0.
            let known = |at: usize| value(at).is_finite() || (at > y && !value(at).is_nan());
            if ranges.iter().any(|&(at, (low, high))| !(low..=high).contains(&value(at))) {
                outside += 1;
            } else if let Some(at) = (0..roles_used).find(|&at| !known(at)) {
                missing += 1;
                first_missing.get_or_insert((row, used[at], value(at)));
            } else {
                rows.push(row);
            }
        }
        let kept = |at: usize| -> Vec<f64> { rows.iter().map(|&row| columns[at][row]).collect() };
        let sigma = roles.sigma.map(|_| kept(y + 1));
        if let Some((point, s)) = sigma.iter().flatten().enumerate().find(|(_, s)| **s <= 0.0) {
            let column = used[y + 1];
            let place = table.place(rows[point], column);
            return Err(Refusal::usage(format!(
                "{place}: sigma is {s}; it must be positive: correct it, or leave such rows out with --range \"{}=1e-300..\"",
                table.names[column]
            )));
        }
        if let Some((row, column, value)) = first_missing.filter(|_| !asked.skip_missing) {
            let (place, called) = (table.place(row, column), table.called(column));
            let what = if value.is_nan() { "has no value" } else { "is infinite" };
            return Err(Refusal::usage(format!(
                "{place}: {called} {what} ({}); fill it in, or say --skip-missing",
                counted(missing, "such row")
            )));
        }
        if rows.is_empty() {
            return Err(Refusal::usage(format!(
                "{}: no row is left: {}; widen --range or choose other columns",
                table.name,
                left_out(missing, outside)
            )));
        }
        let (x, y) = ((0..y).map(kept).collect(), kept(y));
        let relative = asked.relative;
        let roles = roles.clone();
        Ok(Points { table, roles, x, y, sigma, relative, rows, missing, outside })
    }
}

impl<'a> Points<'a> {
    /// Reads the points of all rows.
    pub(crate) fn take(
        table: &'a Table,
        roles: Roles,
        asked: &'a TableArguments,
    ) -> Outcome<Points<'a>> {
        Values::read(table, roles, asked)?.points()
    }

    /// Returns the points as data of the library.
    pub(crate) fn data(&self) -> dualfit::Result<Data<'_>> {
        let columns: Vec<&[f64]> = self.x.iter().map(Vec::as_slice).collect();
        let data = Data::new(columns, &self.y)?;
        match &self.sigma {
            None => Ok(data),
            Some(sigma) if self.relative => data.sigma(Sigma::Relative(sigma)),
            Some(sigma) => data.sigma(Sigma::Absolute(sigma)),
        }
    }

    /// Returns the location of the response of a point.
    pub(crate) fn place(&self, point: usize) -> String {
        let row = self.rows.get(point).copied().unwrap_or_default();
        self.table.place(row, self.roles.y)
    }
}

/// Describes the rows that were left out; empty if there are none.
pub(crate) fn left_out(missing: usize, outside: usize) -> String {
    let parts = [(missing, "with a missing value left out"), (outside, "out of range")];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts = parts.map(|(count, why)| format!("{} {why}", counted(count, "row")));
    parts.collect::<Vec<_>>().join(", ")
}
