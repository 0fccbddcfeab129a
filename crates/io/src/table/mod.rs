//! A table of a file: columns by name, of numbers, of times, and of words that divide its rows into groups.

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
