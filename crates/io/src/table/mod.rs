//! The table of a file: columns by name, with numbers, times, or words that divide the rows into groups.

mod columns;
mod division;
mod groups;
mod input;
mod keys;
mod reader;
mod set;
mod times;

pub use columns::Table;
pub use groups::Groups;
pub use keys::ColumnKeys;
pub use set::DataSet;
