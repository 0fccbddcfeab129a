//! Layout of an open text table, and errors in its rows and numbers.

use super::heads::counted;
use super::layout::TextLayout;
use super::numbers::{FieldKind, MarkSurvey, Marks, Style, remedy};
use super::options::{CsvOptions, Delimiter, Thousands};
use super::pieces::Pieces;
use super::rows::{TableRows, Text};
use crate::csv::quotes::decoded;
use crate::format::file::DataFile;
use dualfit::error::SourceError;
use dualfit::text::visible;

/// Layout of an open table.
pub(super) struct Sheet {
    pub(super) options: CsvOptions,
    layout: TextLayout,
    /// Names of the columns, if they have names.
    pub(super) names: Option<Vec<String>>,
    /// Survey of the marks (commas, points, separators of thousands) in the numbers; `None` if the number format is
    /// not detected.
    survey: Option<MarkSurvey>,
}

/// Properties of the fields of some rows.
struct Look {
    survey: MarkSurvey,
    /// Row and column of the first field that begins with 0 and another digit, like the end of a split number.
    torn: Option<(u64, usize)>,
    is_utf8: bool,
}

impl Look {
    fn new(fields: usize) -> Look {
        Look { survey: MarkSurvey::new(fields), torn: None, is_utf8: true }
    }

    /// Adds the properties of the rows that follow.
    fn add(&mut self, next: Look) {
        self.survey.append(next.survey);
        self.torn = self.torn.or(next.torn);
        self.is_utf8 &= next.is_utf8;
    }
}

impl Sheet {
    pub(super) fn open(file: DataFile, options: CsvOptions) -> Result<Sheet, SourceError> {
        let layout = TextLayout::of(file, &options)?;
        if options.decimal_comma == Some(true) && options.thousands == Some(Thousands::Comma) {
            let what = "a comma cannot mark decimals and thousands";
            let what = format!("`decimal_comma` and `thousands: Comma`: {what}");
            return Err(layout.text.file.error(what));
        }
        let names = layout.names()?;
        let mut sheet = Sheet { options, layout, names, survey: None };
        if sheet.options.decimal_comma != Some(false) || sheet.options.thousands.is_some() {
            sheet.look_through()?;
        }
        Ok(sheet)
    }

    pub(super) fn text(&self) -> &Text {
        &self.layout.text
    }

    /// Number of columns.
    pub(super) fn columns(&self) -> usize {
        self.layout.fields
    }

    /// Returns the rows of numbers.
    pub(super) fn rows(&self) -> Result<TableRows<'static>, SourceError> {
        let mut rows = self.text().rows(self.layout.start);
        for _ in 0..self.layout.heads {
            self.next_row(&mut rows)?;
        }
        Ok(rows)
    }

    /// Advances to the next row and returns its position; `None` after the last row. A row with a wrong number of
    /// fields is an error.
    pub(super) fn next_row(&self, rows: &mut TableRows<'_>) -> Result<Option<u64>, SourceError> {
        let Some(near) = rows.next()? else { return Ok(None) };
        let (found, expected) = (rows.fields(), self.layout.fields);
        let is_empty = |column| decoded(rows.field(column)).trim().is_empty();
        // An empty field after a final delimiter is allowed. If the last name is empty, the columns include this field.
        let last_name = self.names.as_ref().and_then(|names| names.last());
        let may_follow = || last_name.is_none_or(|name| !name.is_empty());
        if found == expected || (found == expected + 1 && is_empty(expected) && may_follow()) {
            return Ok(Some(near));
        }
        let first = self.text().line(self.layout.start);
        let there = match first == self.text().line(near) {
            true => "the rows below have".into(),
            false => format!("line {first} has"),
        };
        let remedy = match self.text().delimiter {
            _ if found == 1 => "cut off what stands below the table, or begin it with #",
            Delimiter::Comma => "is there a decimal comma, or a quote that is not closed?",
            _ => "put NA where a value is missing, or say the `delimiter`",
        };
        let what = format!("the row has {} where {there} {expected}; {remedy}", counted(found));
        Err(self.text().error_at(near, what))
    }

    /// Reads all rows to detect the number formats.
    fn look_through(&mut self) -> Result<(), SourceError> {
        let TextLayout { start, heads, fields, .. } = self.layout;
        let (mut rows, mut look) = (self.text().rows(start), Look::new(fields));
        for _ in 0..heads {
            if self.next_row(&mut rows)?.is_some() {
                look.is_utf8 &= rows.is_utf8();
            }
        }
        let mut pieces = Pieces::new(self.text());
        pieces.go_to(rows.near());
        loop {
            let looks = pieces.each(|rows| self.look(rows).ok());
            if looks.is_empty() {
                break;
            }
            looks.into_iter().for_each(|(_, next)| look.add(next));
        }
        look.add(self.look(&mut self.text().rows(pieces.at))?);
        if let Some((near, column)) = look.torn.filter(|_| self.names.is_none()) {
            self.refuse_torn_number(near, column)?;
        }
        self.survey = Some(look.survey);
        if !look.is_utf8 {
            let name = self.text().file.place();
            let note = format!("{name}: is no UTF-8; its letters are read as Latin-1");
            self.layout.notes.push(note);
        }
        Ok(())
    }

    /// Returns the properties of the fields of some rows.
    fn look(&self, rows: &mut TableRows<'_>) -> Result<Look, SourceError> {
        // Characters that can only separate thousands are ignored.
        let thousands = self.options.thousands;
        let apart = thousands.filter(|t| matches!(t, Thousands::Space | Thousands::Apostrophe));
        let mut look = Look::new(self.layout.fields);
        while let Some(near) = self.next_row(rows)? {
            look.is_utf8 &= rows.is_utf8();
            for column in 0..self.layout.fields {
                let field = decoded(rows.field(column));
                if column > 0 && matches!(field.as_bytes(), [b'0', b'0'..=b'9', ..]) {
                    look.torn.get_or_insert((near, column));
                }
                look.survey.add(column, near, &field, apart);
            }
        }
        Ok(look)
    }

    /// Returns an error for a field that looks like the end of a number. A delimiter that also occurs in the numbers
    /// (a decimal comma, a space between thousands) splits them, and some of the parts begin with 0 and another digit,
    /// unlike numbers. This is not tested if there are names: their number confirms the number of fields.
    fn refuse_torn_number(&self, near: u64, column: usize) -> Result<(), SourceError> {
        let (sign, option) = match self.text().delimiter {
            _ if self.options.delimiter.is_some() => return Ok(()),
            Delimiter::Comma => ("comma", "Comma"),
            Delimiter::Whitespace => ("space", "Whitespace"),
            _ => return Ok(()),
        };
        let field = self.quoted(near, column);
        Err(SourceError::new(
            self.text().place(near, column),
            format!(
                "{field} looks like the end of a number with a {sign} in it; separate by semicolons or quote the numbers, or say `delimiter: {option}` if it is a number of its own"
            ),
        ))
    }

    /// Returns an error if commas separate fields and numbers have points between thousands: in such numbers a comma
    /// is the decimal mark.
    fn refuse_commas_of_two_kinds(&self, survey: &MarkSurvey) -> Result<(), SourceError> {
        let CsvOptions { delimiter, decimal_comma, thousands, .. } = self.options;
        let found_out = delimiter.is_none() && decimal_comma.is_none() && thousands.is_none();
        let grouped = survey.place([Marks::PointGroups; 2]);
        let commas = found_out && self.text().delimiter == Delimiter::Comma;
        let Some((near, column)) = grouped.filter(|_| commas) else { return Ok(()) };
        let field = self.quoted(near, column);
        if field.contains(',') {
            return Ok(());
        }
        Err(SourceError::new(
            self.text().place(near, column),
            format!(
                "{field} has points between thousands, where commas are decimal ones, and commas separate fields here; separate by semicolons, or say `thousands: Point`"
            ),
        ))
    }

    /// Returns notes about uncertain detections, including unusual number formats that no option has set.
    pub(super) fn notes(&self, styles: &[Style]) -> Vec<String> {
        let mut notes = self.layout.notes.clone();
        let Some(survey) = &self.survey else { return notes };
        let mut note = |what: &str, marks| {
            if let Some((near, column)) = survey.place(marks) {
                let place = self.text().place(near, column);
                notes.push(format!("{what} {} at {place}", self.quoted(near, column)));
            }
        };
        let (comma, thousands) = (self.options.decimal_comma, self.options.thousands);
        let said = comma.is_some() || thousands == Some(Thousands::Point);
        if !said && styles.iter().any(|style| style.decimal_comma) {
            let what = "decimals are read with a comma where they have one, as";
            note(what, [Marks::DecimalComma, Marks::PointGroups]);
        }
        if thousands.is_none() && styles.iter().any(|style| style.thousands.is_some()) {
            note("thousands are set apart, as in", [Marks::CommaGroups, Marks::PointGroups]);
        }
        notes
    }

    /// Returns the number format of a column.
    pub(super) fn style(&self, column: usize) -> Result<Style, SourceError> {
        let Some(survey) = &self.survey else { return Ok(Style::PLAIN) };
        self.refuse_commas_of_two_kinds(survey)?;
        survey.style(column, &self.options).map_err(|doubt| {
            let place = |row| (self.text().place(row, column), self.quoted(row, column));
            let ((at, shown), what, remedy) = (place(doubt.row), doubt.what, doubt.remedy);
            let other = doubt.other.map(place);
            let other = other.map_or_else(String::new, |(at, it)| format!(", and {at} has {it}"));
            SourceError::new(at, format!("{shown} {what}{other}; {remedy}"))
        })
    }

    /// Returns the error for a field that is not a number. `near`: position in bytes near the beginning of the row.
    /// `is_first`: true for the first row of numbers.
    pub(super) fn no_number(
        &self,
        (near, is_first): (u64, bool),
        (column, name): (usize, &str),
        style: Style,
    ) -> SourceError {
        /// Maximum number of rows that are read to distinguish a mistake from a column of words.
        const MOST: usize = 1000;
        let mut rows = self.text().part(near);
        let mut fields = Vec::new();
        while let (true, Ok(Some(_))) = (fields.len() < MOST, rows.next()) {
            fields.push(decoded(rows.field(column)).into_owned());
        }
        let field = fields.first().map_or("", String::as_str);
        let (place, shown) = (self.text().place(near, column), self.quoted(near, column));
        let known = remedy(field, style);
        let is_number = |field: &String| style.number(field).is_some();
        if is_first && known.is_none() && fields.len() > 1 && !fields.iter().any(is_number) {
            let what = format!("column \"{name}\" holds words, as {shown}");
            return SourceError::new(place, format!("{what}; choose columns of numbers"));
        }
        let remedy = known.unwrap_or("correct it, or write NA where a value is missing");
        let mut message = format!("{shown} in column \"{name}\" is no number; {remedy}");
        if is_first && FieldKind::of(field) == FieldKind::Word {
            let heads = self.layout.heads + 1;
            message += &format!("; if the numbers begin further down, say `header_rows: {heads}`");
        }
        SourceError::new(place, message)
    }

    /// Returns a field in quotes, shortened for a message.
    fn quoted(&self, near: u64, column: usize) -> String {
        const MOST: usize = 60;
        let mut rows = self.text().part(near);
        let words = rows.next().map(|_| rows.words(column)).unwrap_or_default();
        let shown: String = visible(&words).chars().take(MOST).collect();
        format!("\"{shown}\"")
    }
}
