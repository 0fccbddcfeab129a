//! A table in memory: columns with names, from a text, a NumPy or a Parquet file.

mod choice;
mod heads;
mod input;
mod layout;
mod number;
mod rows;
mod stored;
mod style;
mod text;

pub(crate) use choice::without_unit;

use crate::arguments::{TableArguments, Thousands};
use crate::figures::visible;
use crate::refusal::{Outcome, Refusal};
use input::Input;
use std::path::Path;
use stored::Stored;
use text::Text;

pub(crate) struct Table {
    /// The file as errors and reports name it.
    pub(crate) name: String,
    contents: Contents,
}

enum Contents {
    Text(Box<Text>),
    Stored(Stored),
}

impl Table {
    /// `-` is text on standard input.
    pub(crate) fn open(path: &Path, asked: &TableArguments) -> Outcome<Table> {
        if asked.decimal_comma && asked.thousands == Some(Thousands::Comma) {
            let what = "a comma cannot mark decimals and thousands";
            return Err(Refusal::usage(format!("--decimal-comma --thousands comma: {what}")));
        }
        let name = match path == Path::new("-") {
            true => "standard input".into(),
            false => visible(&path.display().to_string()).into_owned(),
        };
        let contents = match input::read(path, &name)? {
            Input::Stored(format) => Contents::Stored(Stored::open(path, format)?),
            Input::Text(text) => {
                let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
                let text = Text::read(&name, text, &extension.to_lowercase(), asked)?;
                Contents::Text(Box::new(text))
            }
        };
        Ok(Table { name, contents })
    }

    /// The columns' names; their numbers from 1 where they have none.
    pub(crate) fn names(&self) -> &[String] {
        match &self.contents {
            Contents::Text(text) => &text.names,
            Contents::Stored(stored) => &stored.names,
        }
    }

    /// The values of columns, NaN where one is missing.
    pub(crate) fn columns(&self, wanted: &[usize]) -> Outcome<Vec<Vec<f64>>> {
        match &self.contents {
            Contents::Text(text) => text.columns(wanted),
            Contents::Stored(stored) => stored.columns(wanted),
        }
    }

    /// Where a value stands.
    pub(crate) fn place(&self, row: usize, column: usize) -> String {
        match &self.contents {
            Contents::Text(text) => text.place(row, column),
            Contents::Stored(stored) => stored.place(row, column),
        }
    }
}
