//! A table: columns with names, from a text, a NumPy, a Parquet or an Arrow file, which the library reads.

mod choice;
mod input;

pub(crate) use choice::without_unit;

use crate::arguments::TableArguments;
use crate::output::note;
use crate::refusal::{FILE, Outcome, Refusal, USAGE};
use crate::words::visible;
use dualfit::error::SourceError;
use dualfit::source::{Chunk, Column};
use input::{Columns, Input};
use std::path::Path;
use std::sync::Once;

/// Points read at a time.
const AT_A_TIME: usize = 1 << 16;

pub(crate) struct Table {
    /// The file as errors and reports name it.
    pub(crate) name: String,
    /// The columns' names; their numbers from 1 where they have none.
    pub(crate) names: Vec<String>,
    contents: Input,
    /// What was found out of the numbers, at the first time that they are read.
    told: Once,
}

impl Table {
    /// `-` is text on standard input.
    pub(crate) fn open(path: &Path, asked: &TableArguments) -> Outcome<Table> {
        let name = match path == Path::new("-") {
            true => "standard input".into(),
            false => visible(&path.display().to_string()).into_owned(),
        };
        let contents = Input::open(path, &name, asked.text())?;
        let (names, are_words) = match &contents {
            Input::Text(source) => {
                source.notes().iter().for_each(|text| note(as_options(text)));
                (source.names().to_vec(), source.has_names())
            }
            Input::Stored(path, open, have_names) => {
                (open(path).map_err(|why| refused(&why, &name))?.names(), *have_names)
            }
        };
        let called = |(i, name): (usize, &String)| {
            let words: Vec<&str> = name.split_whitespace().collect();
            match are_words && !words.is_empty() {
                true => visible(&words.join(" ")).into_owned(),
                false => (i + 1).to_string(),
            }
        };
        let names = names.iter().enumerate().map(called).collect();
        Ok(Table { name, names, contents, told: Once::new() })
    }

    /// The values of columns, NaN where one is missing.
    pub(crate) fn columns(&self, wanted: &[usize]) -> Outcome<Vec<Vec<f64>>> {
        let failed = |why| refused(&why, &self.name);
        let source: Box<dyn Columns> = match &self.contents {
            Input::Text(source) => source.clone(),
            Input::Stored(path, open, _) => open(path).map_err(failed)?,
        };
        // There is such a column, and it holds no numbers.
        let mut source = source.choose(wanted).map_err(|why| Refusal::usage(why.to_string()))?;
        let mut chunk = Chunk::new(&source.shape(), 0);
        while source.read(&mut chunk, AT_A_TIME).map_err(failed)? > 0 {}
        if chunk.is_empty() {
            let what = "has a row of names and no numbers below it; give at least one row";
            return Err(Refusal::file(format!("{}: {what}", self.name)));
        }
        if let Input::Text(source) = &self.contents {
            self.told.call_once(|| {
                let told = source.notes();
                let chosen = source.as_ref().clone().x(wanted.iter().copied());
                let chosen = chosen.and_then(|source| source.y(wanted[0]));
                let notes = chosen.into_iter().flat_map(|source| source.notes());
                notes.filter(|text| !told.contains(text)).for_each(|text| note(as_options(&text)));
            });
        }
        Ok(chunk.x.into_iter().map(widened).collect())
    }

    /// Where a value stands: `data.csv:17:3`, or `data.npy, row 17, column 3`, both from 1.
    pub(crate) fn place(&self, row: usize, column: usize) -> String {
        let name = self.names.get(column).map_or("?", String::as_str);
        match &self.contents {
            Input::Text(source) => source.place_of(row as u64, column),
            _ => format!("{}, row {}, column {name}", self.name, row + 1),
        }
    }
}

fn widened(column: Column) -> Vec<f64> {
    column.values().to_f64()
}

/// What the library says of a table. What has a place in a text, or an option that decides, is the user's to
/// correct; else the file is no table, or damaged.
fn refused(why: &SourceError, name: &str) -> Refusal {
    let said = visible(&why.to_string()).into_owned();
    let message = as_options(&said);
    let is_usage =
        message != said || why.place.strip_prefix(name).is_some_and(|rest| !rest.is_empty());
    Refusal { message, code: if is_usage { USAGE } else { FILE } }
}

/// Options of the library's reader as the command line has them: `skip_rows: 3` is --skip-rows 3, and white
/// space is said `space`.
fn as_options(text: &str) -> String {
    const OPTIONS: [&str; 5] =
        ["delimiter", "header_rows", "skip_rows", "decimal_comma", "thousands"];
    let mut text = text.to_owned();
    for option in OPTIONS {
        while let Some((before, rest)) = text.split_once(&format!("`{option}"))
            && let Some((value, behind)) = rest.split_once('`')
        {
            let value = value.replace(':', "").to_lowercase().replace("whitespace", "space");
            text = format!("{before}--{}{value}{behind}", option.replace('_', "-"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::as_options;

    #[test]
    fn options_are_said_as_on_the_command_line() {
        assert_eq!(
            as_options("say `header_rows: 1` or `thousands: Comma`, or the `delimiter`; not `x`"),
            "say --header-rows 1 or --thousands comma, or the --delimiter; not `x`"
        );
    }
}
