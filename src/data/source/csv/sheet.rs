//! What is known of a text table that has been opened, and what is wrong with its rows and numbers.

use super::heads::counted;
use super::layout::Layout;
use super::numbers::{Kind, Marks, Style, Survey, remedy};
use super::rows::{Rows, Text, decoded};
use super::{CsvOptions, Delimiter, Thousands};
use crate::error::source::SourceError;
use crate::error::visible::visible;
use std::borrow::Cow;

/// What is known of a table that has been opened.
pub(super) struct Sheet {
    pub(super) text: Text,
    pub(super) options: CsvOptions,
    pub(super) layout: Layout,
    pub(super) has_names: bool,
    pub(super) notes: Vec<String>,
    /// What its numbers look like, where that was to be found out.
    pub(super) survey: Option<Survey>,
}

impl Sheet {
    /// The next row, if it has as many fields as all.
    pub(super) fn next_row(&self, rows: &mut Rows) -> Result<Option<u64>, SourceError> {
        let Some(near) = rows.next()? else { return Ok(None) };
        let (found, expected) = (rows.fields(), self.layout.fields);
        let is_empty = |column| decoded(rows.field(column)).trim().is_empty();
        if found == expected || (found == expected + 1 && is_empty(expected)) {
            return Ok(Some(near));
        }
        let first = self.text.line(self.layout.start);
        let there = match first == self.text.line(near) {
            true => "the rows below have".into(),
            false => format!("line {first} has"),
        };
        let remedy = match self.text.delimiter {
            _ if found == 1 => "cut off what stands below the table, or begin it with #",
            Delimiter::Comma => "is there a decimal comma, or a quote that is not closed?",
            _ => "put NA where a value is missing, or say the `delimiter`",
        };
        let what = format!("the row has {} where {there} {expected}; {remedy}", counted(found));
        Err(self.text.error_at(near, what))
    }

    /// Goes through all rows, if it is to be found out what the numbers look like.
    pub(super) fn looked_through(mut self) -> Result<Sheet, SourceError> {
        if self.options.decimal_comma == Some(false) && self.options.thousands.is_none() {
            return Ok(self);
        }
        let Layout { start, heads, fields } = self.layout;
        // Signs that can be nothing else are no part of what is looked at.
        let thousands = self.options.thousands;
        let apart = thousands.filter(|t| matches!(t, Thousands::Space | Thousands::Apostrophe));
        let (mut rows, mut survey) = (self.text.rows(start), Survey::new(fields));
        let (mut nth, mut torn, mut is_utf8) = (0, None, true);
        while let Some(near) = self.next_row(&mut rows)? {
            is_utf8 &= matches!(rows.letters(), Cow::Borrowed(_));
            nth += 1;
            for column in (0..fields).filter(|_| nth > heads) {
                let field = decoded(rows.field(column));
                if column > 0 && matches!(field.as_bytes(), [b'0', b'0'..=b'9', ..]) {
                    torn.get_or_insert((near, column));
                }
                survey.add(column, near, &field, apart);
            }
        }
        if let Some((near, column)) = torn.filter(|_| !self.has_names) {
            self.refuse_torn_number(near, column)?;
        }
        self.survey = Some(survey);
        if !is_utf8 {
            let name = self.text.contents.name();
            self.notes.push(format!("{name}: is no UTF-8; its letters are read as Latin-1"));
        }
        Ok(self)
    }

    /// Where commas separate numbers with decimal commas, or spaces numbers with spaces in them, each part is
    /// a field, and some begin with a 0 and another digit, as no number does. Names that say how many fields
    /// there are settle it.
    fn refuse_torn_number(&self, near: u64, column: usize) -> Result<(), SourceError> {
        let (sign, option) = match self.text.delimiter {
            _ if self.options.delimiter.is_some() => return Ok(()),
            Delimiter::Comma => ("comma", "Comma"),
            Delimiter::Whitespace => ("space", "Whitespace"),
            _ => return Ok(()),
        };
        let field = self.quoted(near, column);
        Err(SourceError::new(
            self.text.place(near, column),
            format!(
                "{field} looks like the end of a number with a {sign} in it; separate by semicolons or quote the numbers, or say `delimiter: {option}` if it is a number of its own"
            ),
        ))
    }

    /// In which styles numbers are read, where they are not the usual ones and were not said.
    pub(super) fn notes_of(&self, styles: &[Style]) -> Vec<String> {
        let Some(survey) = &self.survey else { return Vec::new() };
        let found = |marks: [Marks; 2]| {
            let (near, column) = marks.into_iter().find_map(|marks| survey.place(marks))?;
            Some(format!("{} at {}", self.quoted(near, column), self.text.place(near, column)))
        };
        let (comma, thousands) = (self.options.decimal_comma, self.options.thousands);
        let said = comma.is_some() || thousands == Some(Thousands::Point);
        let mut notes = Vec::new();
        if !said && styles.iter().any(|style| style.decimal_comma) {
            let what = "decimals are read with a comma where they have one, as";
            let found = found([Marks::DecimalComma, Marks::PointGroups]);
            notes.extend(found.map(|found| format!("{what} {found}")));
        }
        if thousands.is_none() && styles.iter().any(|style| style.thousands.is_some()) {
            let found = found([Marks::CommaGroups, Marks::PointGroups]);
            notes.extend(found.map(|found| format!("thousands are set apart, as in {found}")));
        }
        notes
    }

    /// How the numbers of a column are written.
    pub(super) fn style(&self, column: usize) -> Result<Style, SourceError> {
        let Some(survey) = &self.survey else { return Ok(Style::PLAIN) };
        let style = survey.style(column, self.options.decimal_comma, self.options.thousands);
        style.map_err(|doubt| {
            let other = doubt.other.map_or_else(String::new, |near| {
                format!(", and {} has {}", self.text.place(near, column), self.quoted(near, column))
            });
            let what = format!("{} {}{other}", self.quoted(doubt.row, column), doubt.what);
            let place = self.text.place(doubt.row, column);
            SourceError::new(place, format!("{what}; {}", doubt.remedy))
        })
    }

    /// Of a field in the row that begins near a byte, the `row`th of numbers.
    pub(super) fn no_number(
        &self,
        (near, row): (u64, u64),
        (column, name): (usize, &str),
        style: Style,
    ) -> SourceError {
        /// Rows that are looked at to tell a mistake from a column of words.
        const MOST: usize = 1000;
        let mut rows = self.text.rows(near);
        let mut fields = Vec::new();
        while let (true, Ok(Some(_))) = (fields.len() < MOST, rows.next()) {
            fields.push(decoded(rows.field(column)).into_owned());
        }
        let field = fields.first().map_or("", String::as_str);
        let (place, shown) = (self.text.place(near, column), self.quoted(near, column));
        let known = remedy(field, style);
        let is_number = |field: &String| style.number(field).is_some();
        if row == 1 && known.is_none() && fields.len() > 1 && !fields.iter().any(is_number) {
            let what = format!("column \"{name}\" holds words, as {shown}");
            return SourceError::new(place, format!("{what}; choose columns of numbers"));
        }
        let remedy = known.unwrap_or("correct it, or write NA where a value is missing");
        let mut message = format!("{shown} in column \"{name}\" is no number; {remedy}");
        if row == 1 && Kind::of(field) == Kind::Word {
            let heads = self.layout.heads + 1;
            message += &format!("; if the numbers begin further down, say `header_rows: {heads}`");
        }
        SourceError::new(place, message)
    }

    /// A field as a message shows it.
    fn quoted(&self, near: u64, column: usize) -> String {
        const MOST: usize = 60;
        let mut rows = self.text.rows(near);
        let words = rows.next().map(|_| rows.words(column)).unwrap_or_default();
        let shown: String = visible(&words).chars().take(MOST).collect();
        format!("\"{shown}\"")
    }
}
