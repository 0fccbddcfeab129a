//! Points of a fit: columns of a table, without the rows that the options leave out.

use crate::arguments::TableArguments;
use crate::arguments::words::{Pairs, Range};
use crate::deviation::{Deviation, is_number_of_column};
use crate::output::note;
use crate::refusal::{Outcome, Refusal};
use crate::table::Table;
use crate::words::{counted, without_unit};
use dualfit::{Data, Matrix, Sigma};
use std::path::Path;

/// Columns of the independent variables, by index, and the standard deviations of the points.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Inputs {
    pub(crate) x: Vec<usize>,
    pub(crate) sigma: Option<Deviation>,
    /// One per independent variable, or none if x is exact.
    pub(crate) x_sigma: Vec<Deviation>,
}

impl Inputs {
    /// Resolves the options. By default x is the first column, or the second column if the first contains the groups.
    /// `by`: the column with the groups.
    pub(crate) fn choose(
        table: &Table,
        asked: &TableArguments,
        by: Option<usize>,
    ) -> Outcome<Inputs> {
        let first = usize::from(by == Some(0));
        let x = asked.x.as_deref().map_or(Ok(vec![first]), |names| table.find_all(names))?;
        let sigma = asked.sigma.as_deref();
        let sigma = sigma.map(|text| Deviation::read(table, "--sigma", text, false)).transpose()?;
        let texts = match asked.x_sigma.as_deref() {
            None => Vec::new(),
            // The name of a column may contain commas.
            Some(text) if !text.contains(',') || table.find(text).is_ok() => vec![text],
            Some(text) => text.split(',').collect(),
        };
        if !texts.is_empty() && texts.len() != x.len() {
            return Err(Refusal::usage(format!(
                "--x-sigma has {} for {}; give one for each in the order of --x, and 0.0 if a variable is exact",
                counted(texts.len(), "standard deviation"),
                counted(x.len(), "independent variable")
            )));
        }
        let x_sigma = texts.into_iter().map(|text| Deviation::read(table, "--x-sigma", text, true));
        Ok(Inputs { x, sigma, x_sigma: x_sigma.collect::<Outcome<_>>()? })
    }

    /// Returns true if a column is an independent variable or contains standard deviations.
    pub(crate) fn uses(&self, column: usize) -> bool {
        self.x.contains(&column) || self.columns_of_errors().any(|used| used == column)
    }

    /// Returns the columns of sigma and of the errors of x, in this order.
    fn columns_of_errors(&self) -> impl Iterator<Item = usize> {
        self.sigma.iter().chain(&self.x_sigma).filter_map(|deviation| deviation.column())
    }
}

/// Roles of the columns of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Roles {
    pub(crate) inputs: Inputs,
    /// Index of the response.
    pub(crate) y: usize,
}

impl Roles {
    /// Returns the roles with one response. By default the response is the first column that has no other role.
    pub(crate) fn choose(
        table: &Table,
        asked: &TableArguments,
        y: Option<&str>,
        by: Option<usize>,
    ) -> Outcome<Roles> {
        let inputs = Inputs::choose(table, asked, by)?;
        let free = |column: &usize| !inputs.uses(*column) && by != Some(*column);
        let y = match y {
            Some(name) => table.find(name)?,
            None => (0..table.names.len()).find(free).ok_or_else(|| {
                let columns = inputs.sigma.is_some_and(|sigma| sigma.column().is_some());
                let text = asked.sigma.as_deref().map(str::trim);
                let remedy = match text.filter(|text| columns && is_number_of_column(text)) {
                    Some(text) => format!("a constant sigma is written --sigma {text}.0"),
                    None => "is the --delimiter right?".into(),
                };
                Refusal::usage(format!(
                    "{}: has {} and none is left for y; {remedy}",
                    table.name,
                    counted(table.names.len(), "column")
                ))
            })?,
        };
        Roles { inputs, y }.checked(table, asked)
    }

    /// Returns an error if a column of errors, given by its number, is x or y: the number was probably meant as the
    /// standard deviation. With `--relative`, such a column makes errors proportional to x or y.
    pub(crate) fn checked(self, table: &Table, asked: &TableArguments) -> Outcome<Roles> {
        let Roles { inputs: Inputs { x, sigma, .. }, y } = &self;
        let text = asked.sigma.as_deref().map_or("", str::trim);
        let column = sigma.and_then(Deviation::column).filter(|_| is_number_of_column(text));
        match column.filter(|column| (x.contains(column) || y == column) && !asked.relative) {
            None => Ok(self),
            Some(column) => {
                let role = if *y == column { "y" } else { "x" };
                Err(Refusal::usage(format!(
                    "--sigma {text} is column {text}, which is {role} (\"{}\"); a constant standard deviation is written --sigma {text}.0",
                    table.called(column)
                )))
            }
        }
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
            let used = self.inputs.uses(column) || self.y == column;
            !used && is_error(&without_unit(&table.names[column]).to_lowercase())
        };
        if self.inputs.sigma.is_none()
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
    /// Standard deviations of y, one per point.
    pub(crate) sigma: Option<Vec<f64>>,
    /// Standard deviations of each independent variable, one per point or one for all; empty if x is exact.
    x_sigma: Vec<Vec<f64>>,
    /// Covariance matrix of y, in place of sigma.
    covariance: Option<Matrix>,
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
        let mut used = roles.inputs.x.clone();
        used.push(roles.y);
        used.extend(roles.inputs.columns_of_errors());
        let mut ranges = Vec::new();
        for (name, ends) in Pairs::of(&asked.range) {
            ranges.push((used.len(), ends));
            let x = &roles.inputs.x;
            let alone = name == "x" && x.len() == 1 && table.find(&name).is_err();
            used.push(if alone { x[0] } else { table.find(&name)? });
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
        let Roles { inputs, .. } = roles;
        let y = inputs.x.len();
        let roles_used = y + 1 + inputs.columns_of_errors().count();
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
        // Columns of errors follow y.
        let mut next = y;
        let mut deviations = |deviation: &Deviation| match deviation {
            Deviation::Constant(value) => (vec![*value], None),
            Deviation::Column(_) => {
                next += 1;
                (kept(next), Some(used[next]))
            }
        };
        let refused = |point: usize, column: usize, what: &str, remedy: &str| {
            let place = table.place(rows[point], column);
            let name = &table.names[column];
            let range = format!("leave such rows out with --range \"{name}={remedy}\"");
            Err(Refusal::usage(format!("{place}: {what}: correct it, or {range}")))
        };
        let sigma = inputs.sigma.as_ref().map(&mut deviations);
        if let Some((sigma, Some(column))) = &sigma
            && let Some(point) = sigma.iter().position(|s| *s <= 0.0)
        {
            let what = format!("sigma is {}; it must be positive", sigma[point]);
            return refused(point, *column, &what, "1e-300..");
        }
        let sigma = sigma.map(|(sigma, column)| match column {
            Some(_) => sigma,
            None => vec![sigma[0]; rows.len()],
        });
        let mut x_sigma = Vec::new();
        for (sigma, column) in inputs.x_sigma.iter().map(deviations) {
            let valid = |s: &f64| (0.0..f64::INFINITY).contains(s);
            if let (Some(column), Some(point)) = (column, sigma.iter().position(|s| !valid(s))) {
                let what = format!(
                    "the sigma of x is {}; it must be 0 or positive, and finite",
                    sigma[point]
                );
                return refused(point, column, &what, "0..1e300");
            }
            x_sigma.push(sigma);
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
        let covariance = None;
        Ok(Points {
            table,
            roles,
            x,
            y,
            sigma,
            x_sigma,
            covariance,
            relative,
            rows,
            missing,
            outside,
        })
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

    /// Reads the covariance matrix of y from a table: a row and a column for each row of the points' table, without
    /// names.
    pub(crate) fn with_covariance(
        mut self,
        path: &Path,
        asked: &TableArguments,
    ) -> Outcome<Points<'a>> {
        let matrix = self.table.open_another(path, asked)?;
        let columns = matrix.columns(&(0..matrix.names.len()).collect::<Vec<_>>())?;
        let (height, width) = (columns.first().map_or(0, Vec::len), columns.len());
        let rows = self.table.columns(&[self.roles.y])?.first().map_or(0, Vec::len);
        if (height, width) != (rows, rows) {
            return Err(Refusal::usage(format!(
                "--covariance {}: the matrix has {} and {} for a table of {}; give a row and a column for each row of the table, without names",
                matrix.name,
                counted(height, "row"),
                counted(width, "column"),
                counted(rows, "row")
            )));
        }
        let used = self.rows.len();
        let at = |i: usize, j: usize| columns[self.rows[j]][self.rows[i]];
        if let Some((i, j)) =
            (0..used * used).map(|k| (k / used, k % used)).find(|&(i, j)| !at(i, j).is_finite())
        {
            return Err(Refusal::usage(format!(
                "{}: the covariance is {}; it must be finite",
                matrix.place(self.rows[i], self.rows[j]),
                at(i, j)
            )));
        }
        self.covariance = Some(Matrix::from_fn(used, used, at));
        Ok(self)
    }

    /// Returns the points as data of the library.
    pub(crate) fn data(&self) -> dualfit::Result<Data<'_>> {
        let columns: Vec<&[f64]> = self.x.iter().map(Vec::as_slice).collect();
        let data = Data::new(columns, &self.y)?;
        if let Some(matrix) = &self.covariance {
            return data.sigma(match self.relative {
                true => Sigma::RelativeCovariance(matrix),
                false => Sigma::Covariance(matrix),
            });
        }
        let data = match (&self.sigma, self.roles.inputs.sigma) {
            (Some(sigma), _) if self.relative => data.sigma(Sigma::Relative(sigma))?,
            (Some(_), Some(Deviation::Constant(sigma))) => data.sigma(Sigma::Constant(sigma))?,
            (Some(sigma), _) => data.sigma(Sigma::Absolute(sigma))?,
            (None, _) => data,
        };
        match &self.x_sigma[..] {
            [] => Ok(data),
            columns => data.x_sigma(columns.iter().map(Vec::as_slice).collect::<Vec<_>>()),
        }
    }

    /// Returns true if `--covariance` was given.
    pub(crate) fn has_covariance(&self) -> bool {
        self.covariance.is_some()
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
