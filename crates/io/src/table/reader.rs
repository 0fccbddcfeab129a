//! Reader of the columns of a file of any format.

use crate::format::cell::Cell;
use crate::format::source::{FileSource, Format};
use crate::moment::DateOrder;
use dualfit::error::SourceError;
use dualfit::source::{Chunk, Column, Source};

pub(super) use crate::error::Result;

/// Number of points per read.
const AT_A_TIME: usize = 1 << 16;

/// A file whose columns can be read any number of times.
pub(super) trait Columns: Send {
    /// Returns another reader of the same file.
    fn again(&self) -> Box<dyn Columns>;

    fn names(&self) -> &[String];

    /// Returns true if the names come from the file.
    fn has_names(&self) -> bool;

    /// Returns the values of columns of numbers; NaN if a value is missing.
    fn numbers(&mut self, columns: &[usize]) -> Result<Vec<Vec<f64>>>;

    /// Calls [`Format::has_no_numbers`].
    fn has_no_numbers(&mut self, columns: &[usize]) -> Result<Vec<bool>, SourceError>;

    /// Calls [`Format::cells`].
    fn cells(&mut self, column: usize, each: &mut dyn FnMut(Cell<'_>) -> bool) -> Result<bool>;

    /// Calls [`Format::date_order`].
    fn date_order(&self) -> Option<DateOrder>;

    /// Returns the uncertain properties detected in the text and in the numbers of these columns.
    fn notes(&mut self, columns: &[usize]) -> Result<Vec<String>, SourceError>;

    /// Calls [`Format::line`].
    fn line(&self, row: u64, column: usize) -> Option<String>;
}

impl<F: Format + Clone + 'static> FileSource<F> {
    fn choose(&mut self, columns: &[usize]) -> Result<(), SourceError> {
        if let Some((last, others)) = columns.split_last() {
            self.roles.set_x(if others.is_empty() { columns } else { others }.iter().copied())?;
            self.roles.y = self.roles.find(last)?;
            self.restart();
        }
        Ok(())
    }
}

impl<F: Format + Clone + 'static> Columns for FileSource<F> {
    fn again(&self) -> Box<dyn Columns> {
        Box::new(self.clone())
    }

    fn names(&self) -> &[String] {
        self.roles.names()
    }

    fn has_names(&self) -> bool {
        self.format.has_names()
    }

    fn numbers(&mut self, columns: &[usize]) -> Result<Vec<Vec<f64>>> {
        if columns.is_empty() {
            return Ok(Vec::new());
        }
        self.choose(columns)?;
        let mut chunk = Chunk::new(&self.shape(), 0);
        while self.read(&mut chunk, AT_A_TIME)? > 0 {}
        self.unchanged()?;
        let found = chunk.x.into_iter().chain([chunk.y]).take(columns.len());
        Ok(found.map(widened).collect())
    }

    fn has_no_numbers(&mut self, columns: &[usize]) -> Result<Vec<bool>, SourceError> {
        self.format.has_no_numbers(columns)
    }

    fn cells(&mut self, column: usize, each: &mut dyn FnMut(Cell<'_>) -> bool) -> Result<bool> {
        let are_cells = self.format.cells(&self.roles, column, each)?;
        self.unchanged()?;
        Ok(are_cells)
    }

    fn date_order(&self) -> Option<DateOrder> {
        self.format.date_order()
    }

    fn notes(&mut self, columns: &[usize]) -> Result<Vec<String>, SourceError> {
        self.choose(columns)?;
        Ok(self.format.notes())
    }

    fn line(&self, row: u64, column: usize) -> Option<String> {
        self.format.line(row, column)
    }
}

fn widened(column: Column) -> Vec<f64> {
    match column {
        Column::F64(values) => values,
        other => other.values().to_f64(),
    }
}
