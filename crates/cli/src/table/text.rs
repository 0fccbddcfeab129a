//! A text table in memory: where its rows stand, and what the numbers of a column are.

use super::layout::{Layout, names_in_comment};
use super::number::{Kind, Marks, Style, remedy, unquoted};
use super::rows::{Rows, line_of, place};
use super::style::{Seen, style};
use crate::arguments::{Delimiter, TableArguments, Thousands};
use crate::figures::visible;
use crate::output::note;
use crate::refusal::{FILE, Outcome, Refusal};
use crate::words::counted;
use std::sync::Once;

pub(super) struct Text {
    name: String,
    text: String,
    layout: Layout,
    pub(super) names: Vec<String>,
    /// What the numbers of each column look like, and those of all.
    seen: Vec<Seen>,
    all: Seen,
    /// The byte near which each row of numbers begins.
    rows: Vec<usize>,
    decimal_comma: bool,
    thousands: Option<Thousands>,
    told: Once,
    /// The first field behind another that begins with a 0 and another digit.
    torn: Option<(usize, usize)>,
}

impl Text {
    /// `name`: the file as errors name it.
    pub(super) fn read(
        name: &str,
        text: String,
        extension: &str,
        asked: &TableArguments,
    ) -> Outcome<Text> {
        let layout = Layout::of(name, &text, extension, asked)?;
        let mut table = Text {
            name: name.to_owned(),
            layout,
            names: Vec::new(),
            seen: vec![Seen::default(); layout.fields],
            all: Seen::default(),
            rows: Vec::new(),
            decimal_comma: asked.decimal_comma,
            thousands: asked.thousands,
            told: Once::new(),
            torn: None,
            text,
        };
        table.survey()?;
        if table.rows.is_empty() {
            let message = match table.names.is_empty() {
                true => "is empty; a table has rows of numbers",
                false => "has a row of names and no numbers below it; give at least one row",
            };
            return Err(Refusal { message: format!("{name}: {message}"), code: FILE });
        }
        if table.names.is_empty() {
            table.names = match names_in_comment(&table.text, &layout) {
                Some(names) => names,
                None => {
                    table.refuse_torn_numbers(asked)?;
                    (1..=layout.fields).map(|column| column.to_string()).collect()
                }
            };
        }
        Ok(table)
    }

    /// Goes through all rows: names, places, and what the numbers look like.
    fn survey(&mut self) -> Outcome<()> {
        let Layout { start, delimiter, fields, heads } = self.layout;
        let mut rows = Rows::new(self.text.get(start..).unwrap_or_default(), delimiter);
        // Signs that can be nothing else are no part of what is looked at.
        let asked =
            self.thousands.filter(|t| matches!(t, Thousands::Space | Thousands::Apostrophe));
        let marks = |field: &str| match asked {
            None => Marks::of(unquoted(field)),
            Some(thousands) => Marks::of(&unquoted(field).replace(thousands.signs(), "")),
        };
        let mut first = None;
        for nth in 0.. {
            let next = rows.next();
            let next = next.map_err(|why| Refusal::file(format!("{}: {why}", self.name)))?;
            let Some(near) = next.map(|near| start + near) else { return Ok(()) };
            let found = rows.fields();
            let beyond = (fields..found).any(|column| !rows.field(column).trim().is_empty());
            if found < fields || found > fields + 1 || beyond {
                return Err(self.uneven(near, found, first));
            }
            first.get_or_insert(near);
            if nth == 0 && heads > 0 {
                self.names = (0..fields).map(|column| rows.name(column)).collect();
            }
            if nth < heads {
                continue;
            }
            for (column, seen) in self.seen.iter_mut().enumerate() {
                let mut bytes = rows.field(column).bytes();
                if column > 0
                    && bytes.next() == Some(b'0')
                    && bytes.next().is_some_and(|byte| byte.is_ascii_digit())
                {
                    self.torn.get_or_insert((self.rows.len(), column));
                }
                let marks = marks(rows.field(column)).unwrap_or(Marks::None);
                seen.add(marks, self.rows.len());
                self.all.add(marks, self.rows.len());
            }
            self.rows.push(near);
        }
        Ok(())
    }

    /// Where commas separate numbers with decimal commas, or spaces numbers with spaces in them, each part is a
    /// field, and some begin with a 0 and another digit, as no number does. Names that say how many fields
    /// there are settle it.
    fn refuse_torn_numbers(&self, asked: &TableArguments) -> Outcome<()> {
        let sign = match self.layout.delimiter {
            Delimiter::Comma => "comma",
            Delimiter::Space => "space",
            _ => return Ok(()),
        };
        let Some((row, column)) = self.torn.filter(|_| asked.delimiter.is_none()) else {
            return Ok(());
        };
        Err(Refusal::usage(format!(
            "{}: \"{}\" looks like the end of a number with a {sign} in it; separate by semicolons or quote the numbers, or say --delimiter {sign} if it is a number of its own",
            self.place(row, column),
            visible(&self.field(row, column))
        )))
    }

    /// Of a row near a byte, with another number of fields than those before.
    fn uneven(&self, near: usize, found: usize, first: Option<usize>) -> Refusal {
        let Layout { delimiter, fields: expected, .. } = self.layout;
        let here = line_of(&self.text, near);
        let there = match first {
            Some(first) => format!("line {} has", line_of(&self.text, first)),
            None => "the rows below have".into(),
        };
        let remedy = match delimiter {
            _ if found == 1 => "cut off what stands below the table, or begin it with #",
            Delimiter::Comma => "is there a decimal comma, or a quote that is not closed?",
            _ => "put NA where a value is missing, or say the --delimiter",
        };
        let found = counted(found, "field");
        Refusal::usage(format!(
            "{}:{here}: the row has {found} where {there} {expected}; {remedy}",
            self.name
        ))
    }

    /// Says once in which style numbers are read if it is not the usual one and nobody asked for it.
    fn tell(&self, styles: &[Style]) {
        let quoted = |marks: [Marks; 2]| {
            let (marks, row) =
                marks.into_iter().find_map(|m| self.all.first(m).map(|row| (m, row)))?;
            let column = self.seen.iter().position(|seen| seen.first(marks) == Some(row))?;
            Some(format!(
                "\"{}\" at {}",
                visible(&self.field(row, column)),
                self.place(row, column)
            ))
        };
        let (comma, thousands) = (self.decimal_comma, self.thousands);
        let has_comma =
            |style: &Style| style.decimal_comma && !comma && thousands != Some(Thousands::Point);
        if styles.iter().any(has_comma)
            && let Some(found) = quoted([Marks::DecimalComma, Marks::PointGroups])
        {
            note(format!("decimals are read with a comma where they have one, as {found}"));
        }
        let has_groups = |style: &Style| style.thousands.is_some() && thousands.is_none();
        if styles.iter().any(has_groups)
            && let Some(found) = quoted([Marks::CommaGroups, Marks::PointGroups])
        {
            note(format!("thousands are set apart, as in {found}"));
        }
    }

    /// The values of columns, NaN where one is missing.
    pub(super) fn columns(&self, wanted: &[usize]) -> Outcome<Vec<Vec<f64>>> {
        let styles = wanted.iter().map(|&column| self.style(column));
        let styles = styles.collect::<Outcome<Vec<Style>>>()?;
        let mut values = vec![Vec::with_capacity(self.rows.len()); wanted.len()];
        // Of each column the first row that is no number, and how many there are.
        let mut wrong = vec![(None, 0); wanted.len()];
        let Layout { start, delimiter, heads, .. } = self.layout;
        let mut rows = Rows::new(self.text.get(start..).unwrap_or_default(), delimiter);
        let mut nth = 0;
        while let Ok(Some(_)) = rows.next() {
            nth += 1;
            if nth <= heads {
                continue;
            }
            for (i, &column) in wanted.iter().enumerate() {
                let value = styles[i].number(rows.field(column));
                if value.is_none() {
                    wrong[i].0.get_or_insert(values[i].len());
                    wrong[i].1 += 1;
                }
                values[i].push(value.unwrap_or(f64::NAN));
            }
        }
        for (i, (row, wrongs)) in wrong.into_iter().enumerate() {
            if let Some(row) = row {
                return Err(self.no_number(row, wanted[i], styles[i], wrongs));
            }
        }
        self.told.call_once(|| self.tell(&styles));
        Ok(values)
    }

    /// How the numbers of a column are written.
    fn style(&self, index: usize) -> Outcome<Style> {
        let seen = self.seen.get(index).copied().unwrap_or_default();
        style(&seen, &self.all, self.decimal_comma, self.thousands).map_err(|doubt| {
            let quoted = |row| format!("\"{}\"", visible(&self.field(row, index)));
            let place = self.place(doubt.row, index);
            let other = doubt.other.map_or_else(String::new, |row| {
                format!(", and {} has {}", self.place(row, index), quoted(row))
            });
            let (what, remedy) = (doubt.what, doubt.remedy);
            Refusal::usage(format!("{place}: {} {what}{other}; {remedy}", quoted(doubt.row)))
        })
    }

    /// Of the first field of a column that is no number.
    fn no_number(&self, row: usize, index: usize, style: Style, wrongs: usize) -> Refusal {
        let (place, called) = (self.place(row, index), &self.names[index]);
        let field = self.field(row, index);
        let shown: String = visible(field.trim()).chars().take(40).collect();
        let all = wrongs == self.rows.len() && wrongs > 1;
        let what = match remedy(&field, style) {
            None if all => {
                return Refusal::usage(format!(
                    "{place}: column \"{called}\" holds words, as \"{shown}\"; choose columns of numbers with --x and --y"
                ));
            }
            None => "correct it, or write NA where a value is missing",
            Some(remedy) => remedy,
        };
        let further = match row == 0 && Kind::of(&field) == Kind::Word {
            true => {
                let heads = self.layout.heads + 1;
                format!("; if the numbers begin further down, say --header-rows {heads}")
            }
            false => String::new(),
        };
        Refusal::usage(format!(
            "{place}: \"{shown}\" in column \"{called}\" is no number; {what}{further}"
        ))
    }

    fn field(&self, row: usize, column: usize) -> String {
        let near = self.rows.get(row).copied().unwrap_or(self.text.len());
        let text = self.text.get(near..).unwrap_or_default();
        let mut rows = Rows::new(text, self.layout.delimiter);
        match rows.next() {
            Ok(Some(_)) => unquoted(rows.field(column)).to_owned(),
            _ => String::new(),
        }
    }

    /// `data.csv:17:3`, as editors open it.
    pub(super) fn place(&self, row: usize, column: usize) -> String {
        let near = self.rows.get(row).copied().unwrap_or(self.text.len());
        let (line, column) = place(&self.text, near, self.layout.delimiter, column);
        format!("{}:{line}:{column}", self.name)
    }
}
