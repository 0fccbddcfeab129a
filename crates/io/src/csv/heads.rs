//! Detection of the lines above the numbers: a preamble, a row of names, a row of units.
//!
//! Skipped lines are reported, and no number is skipped. If a line may belong to the table, or if several lines may
//! contain the names, the detection returns an error with the option that decides.

use super::numbers::FieldKind;
use super::options::Delimiter;
use super::rows::Text;
use crate::csv::quotes::decoded;
use dualfit::error::SourceError;
use std::collections::BTreeMap;

/// A row with the kinds of its fields.
#[derive(Debug)]
pub(super) struct Line {
    /// Byte position at or before the start of the row; only empty lines and comments are between.
    pub(super) near: u64,
    pub(super) kinds: Vec<FieldKind>,
    pub(super) last_empty: bool,
    /// True if the line contains a digit.
    has_digits: bool,
    /// True if a field contains a comma, a semicolon or a tab, which separate fields in other tables.
    has_separators: bool,
    /// True if the line begins with a comment marker of other programs: `%`, `!`, `*` or `//`.
    is_remark: bool,
}

impl Line {
    /// Returns the rows of a text, up to the first one that cannot be read.
    pub(super) fn all(text: &Text) -> Vec<Line> {
        let mut rows = text.part(0);
        let mut lines = Vec::new();
        while let Ok(Some(near)) = rows.next() {
            let fields: Vec<_> = (0..rows.fields()).map(|i| decoded(rows.field(i))).collect();
            let first = fields.first().map_or("", |field| field.trim_start());
            lines.push(Line {
                near,
                kinds: fields.iter().map(|field| FieldKind::of(field)).collect(),
                last_empty: fields.last().is_some_and(|field| field.trim().is_empty()),
                has_digits: fields.iter().any(|f| f.contains(|c: char| c.is_ascii_digit())),
                has_separators: fields.iter().any(|field| field.contains([',', ';', '\t'])),
                is_remark: first.starts_with(['%', '!', '*']) || first.starts_with("//"),
            });
        }
        lines
    }

    /// Returns true if the line has this number of fields, possibly followed by an empty field.
    pub(super) fn fits(&self, fields: usize) -> bool {
        let count = self.kinds.len();
        count == fields || (count == fields + 1 && self.last_empty)
    }

    pub(super) fn is_cut(&self) -> bool {
        self.kinds.len() > 1
    }

    fn has(&self, kind: FieldKind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Returns true if the line may be a row of names or units.
    fn is_of_words(&self) -> bool {
        self.has(FieldKind::Word) && !self.has(FieldKind::Number) && !self.has(FieldKind::Value)
    }

    fn is_of_numbers(&self) -> bool {
        self.has(FieldKind::Number) && !self.has(FieldKind::Word) && !self.has(FieldKind::Value)
    }

    /// Returns true if the line has a word in every field in which `other` has a word.
    fn names_all_of(&self, other: &Line) -> bool {
        let mut pairs = self.kinds.iter().zip(&other.kinds);
        pairs.all(|(own, other)| *other != FieldKind::Word || *own == FieldKind::Word)
    }

    /// Returns true for a line like `time,400,410`, in which numbers are the names of columns.
    fn names_by_numbers(&self, fields: usize) -> bool {
        let mut kinds = self.kinds.iter();
        let is_number = |kind: &FieldKind| matches!(kind, FieldKind::Number | FieldKind::Value);
        fields > 2
            && self.fits(fields)
            && kinds.next() == Some(&FieldKind::Word)
            && kinds.take(fields - 1).all(is_number)
    }

    /// Returns true for a row of numbers of a table. `words`: true for the columns that may contain words.
    fn is_regular(&self, fields: usize, words: &[bool]) -> bool {
        let mut pairs = self.kinds.iter().zip(words);
        self.fits(fields)
            && self.has(FieldKind::Number)
            && pairs
                .all(|(kind, word)| *word || matches!(kind, FieldKind::Number | FieldKind::Missing))
    }
}

/// Returns the second half of the lines, which contains the numbers.
pub(super) fn tail<T>(lines: &[T]) -> &[T] {
    lines.get(lines.len() / 2..).unwrap_or_default()
}

/// Returns the most frequent number of fields in the second half of the lines. The last field is not counted if it is
/// empty in all lines with this number of fields.
pub(super) fn width(lines: &[Line]) -> usize {
    let mut often = BTreeMap::new();
    for line in tail(lines) {
        *often.entry(line.kinds.len()).or_insert(0) += 1;
    }
    let most = often.into_iter().max_by_key(|&(fields, lines)| (lines, fields));
    let Some((fields, _)) = most else { return 0 };
    let used = lines.iter().any(|line| line.kinds.len() == fields && !line.last_empty);
    if used || fields < 2 { fields } else { fields - 1 }
}

/// Beginning of the table, and the number of its rows above the numbers.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Head {
    /// Index of the first row of the table.
    pub(super) first: usize,
    pub(super) heads: usize,
}

/// The beginning of a text, with the number of fields in the rows of its table.
pub(super) struct Beginning<'a> {
    pub(super) text: &'a Text,
    pub(super) lines: &'a [Line],
    pub(super) fields: usize,
}

impl Beginning<'_> {
    /// Returns the beginning of the table, and notes on the lines that were skipped or interpreted as names or units.
    pub(super) fn head(&self) -> Result<(Head, Vec<String>), SourceError> {
        let head = self.above()?;
        let (name, mut notes) = (self.text.file.place(), Vec::new());
        let mut note = |row, what: &str| notes.push(format!("{name}:{}: {what}", self.number(row)));
        let over = "as it stands above the table";
        match head.first {
            0 => {}
            1 => note(0, &format!("passed over, {over}")),
            rows => note(0, &format!("passed over to line {}, {over}", self.number(rows - 1))),
        }
        let by_numbers = |line: &Line| line.has(FieldKind::Number) || line.has(FieldKind::Value);
        if head.heads == 1 && self.lines.get(head.first).is_some_and(by_numbers) {
            note(head.first, "taken for names");
        }
        if head.heads > 1 {
            note(head.first + 1, "taken for units");
        }
        Ok((head, notes))
    }

    /// Returns the line of the file that contains a row.
    fn number(&self, row: usize) -> u64 {
        self.lines.get(row).map_or(0, |line| self.text.line(line.near))
    }

    fn doubt<T>(&self, row: usize, what: String) -> Result<T, SourceError> {
        let near = self.lines.get(row).map_or(0, |line| line.near);
        Err(self.text.error_at(near, what))
    }

    /// Finds the row of names: the last row of words above the first regular row of numbers. A row of units may follow
    /// it.
    fn above(&self) -> Result<Head, SourceError> {
        let &Beginning { lines, fields, .. } = self;
        let words = self.columns_of_words();
        let Some(mut first) = lines.iter().position(|line| line.is_regular(fields, &words)) else {
            let heads = usize::from(lines.first().is_some_and(Line::is_of_words));
            return Ok(Head { first: 0, heads });
        };
        // Rows with only missing values belong to the table.
        let is_missing = |line: &Line| line.kinds.iter().all(|kind| *kind == FieldKind::Missing);
        while first > 0 && lines[first - 1].fits(fields) && is_missing(&lines[first - 1]) {
            first -= 1;
        }
        let names = |line: &Line| line.fits(fields) && line.is_of_words() && !line.is_remark;
        let last = lines[..first].iter().rposition(names);
        let Some(last) =
            last.filter(|&last| lines[last..first].iter().all(|line| line.fits(fields)))
        else {
            return self.nameless(first);
        };
        // A row of names has a word in each column that has a unit.
        let above_it = |row: usize| {
            let above = row.checked_sub(1).map(|above| &lines[above]).filter(|above| names(above));
            above.is_some_and(|above| above.names_all_of(&lines[row]))
        };
        let mut top = last;
        while above_it(top) && !lines[top].has_digits {
            top -= 1;
        }
        // A row with digits is not a row of units.
        let many = last - top > 1 || above_it(top);
        while many && above_it(top) {
            top -= 1;
        }
        let (heads, below) = (1 + last - top, self.number(top) - 1);
        if many {
            let (from, to) = (self.number(top), self.number(last));
            let what = format!("lines {from} to {to} are words, and one of them has the names");
            let remedy = format!(
                "say `header_rows: {heads}` if it is the first, `skip_rows: {}` if it is the last",
                to - 1
            );
            return self.doubt(top, format!("{what}; {remedy}"));
        }
        if let Some(above) = top.checked_sub(1).filter(|&row| lines[row].names_by_numbers(fields)) {
            let what = "may have the names, and the row below it the units";
            let remedy = format!("`header_rows: {}` if so, `skip_rows: {below}` if not", heads + 1);
            return self.doubt(above, format!("{what}; say {remedy}"));
        }
        let may_be_a_row = |line: &Line| {
            line.is_of_numbers()
                || (line.fits(fields) && line.kinds.first() == Some(&FieldKind::Number))
        };
        if let Some(row) = lines[..top].iter().position(may_be_a_row) {
            let what = "has numbers, and below it stands a row of names";
            return self.doubt(row, format!("{what}; say `skip_rows: {below}` to begin there"));
        }
        Ok(Head { first: top, heads })
    }

    /// Returns, for each column, true if most rows in the second half of the lines have a text in it.
    fn columns_of_words(&self) -> Vec<bool> {
        let is_row = |line: &&Line| line.fits(self.fields) && line.has(FieldKind::Number);
        let rows: Vec<&Line> = tail(self.lines).iter().filter(is_row).collect();
        let is_word = |column: usize| {
            let wordy = |line: &&&Line| {
                matches!(line.kinds.get(column), Some(FieldKind::Word | FieldKind::Value))
            };
            2 * rows.iter().filter(wordy).count() > rows.len()
        };
        (0..=self.fields).map(is_word).collect()
    }

    /// Returns the [`Head`] of a table that has no row of words above its first regular row.
    fn nameless(&self, first: usize) -> Result<Head, SourceError> {
        let &Beginning { text, lines, fields } = self;
        let Some(last) = first.checked_sub(1) else { return Ok(Head::default()) };
        let remedy = format!("say `skip_rows: {}` if the table begins below it", self.number(last));
        let (above, lowest) = (&lines[..first], &lines[last]);
        if let Some(row) = above.iter().position(Line::is_of_numbers) {
            let (found, expected) = (counted(above[row].kinds.len()), self.number(first));
            let what = format!("the row has {found} where line {expected} has {fields}");
            return self.doubt(row, format!("{what}; {remedy}"));
        }
        let mixed =
            above.iter().filter(|line| line.fits(fields) && line.has(FieldKind::Number)).count();
        if lowest.fits(fields) && !lowest.is_remark {
            // Numbers as names, as in `time,400,410`.
            if lowest.kinds.first() == Some(&FieldKind::Word) && mixed < 2 {
                return Ok(Head { first: last, heads: 1 });
            }
            let what = "has words and numbers; say `header_rows: 1` if it has the names, `header_rows: 0` if it is a row of numbers to be corrected";
            return self.doubt(last, format!("{what}; {remedy}"));
        }
        let is_plain =
            |line: &Line| line.is_remark || (line.kinds.len() == 1 && !line.has_separators);
        let is_apart = self.number(first) > self.number(last) + 1 && !lowest.has_separators;
        if (mixed == 0 && is_apart) || above.iter().all(is_plain) {
            return Ok(Head { first, heads: 0 });
        }
        let count = lowest.kinds.len();
        let why = match text.delimiter {
            Delimiter::Whitespace if lowest.has_separators => "is another `delimiter` right?",
            Delimiter::Whitespace => {
                "names with spaces in them need another `delimiter`, or underscores"
            }
            Delimiter::Comma if fields == 2 * count => {
                "commas that separate cannot be told from decimal ones: separate by semicolons, or quote numbers, and say `decimal_comma`"
            }
            Delimiter::Comma => "is there a decimal comma, or a quote that is not closed?",
            _ => "a row of names has one for each column",
        };
        let (found, other) = (counted(fields), self.number(last));
        self.doubt(
            first,
            format!("the row has {found} where line {other} has {count}; {why}; {remedy}"),
        )
    }
}

/// Returns `1 field`, `2 fields`.
pub(super) fn counted(fields: usize) -> String {
    format!("{fields} field{}", if fields == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::file::DataFile;
    use std::sync::Arc;

    fn read(text: &str) -> Result<(usize, usize), String> {
        let file = Arc::new(DataFile::in_memory("t".into(), text.as_bytes().into()));
        let text = Text { file, delimiter: Delimiter::Comma, comment: Some(b'#') };
        let lines = Line::all(&text);
        let fields = lines.last().map_or(0, |line| line.kinds.len());
        let head = Beginning { text: &text, lines: &lines, fields }.above();
        head.map(|head| (head.first, head.heads)).map_err(|why| why.message)
    }

    #[test]
    fn names_units_and_preambles_are_told_apart() {
        for (text, found) in [
            ("1,2\n3,4\n", (0, 0)),
            ("t,v\n1,2\n3,4\n", (0, 1)),
            ("t,v\ns,mV\n1,2\n3,4\n", (0, 2)),
            ("t,v\nNA,NA\n1,2\n3,4\n", (0, 1)),
            ("t,v\noff,1\n1,2\n3,4\n", (0, 1)),
            ("Made on Monday\nGain,5\nt,ch1\n1,2\n3,4\n", (2, 1)),
            ("Title\n1,2\n3,4\n", (1, 0)),
            ("% a, b, c\n1,2\n3,4\n", (1, 0)),
            ("Sample, A, Monday\n\n1,2\n3,4\n", (1, 0)),
            ("Sample,,\nt,v,\n1,2\n3,4\n", (1, 1)),
            ("sample,1,2\nsample,3,4\n", (0, 0)),
            ("name,t,v\nsample,1,2\nsample,3,4\n", (0, 1)),
            ("time,400,410\n0,1,2\n1,1,2\n", (0, 1)),
            ("time,2-theta\n0,1\n1,1\n", (0, 1)),
            ("\"1,5\",2\n\"2,5\",3\n", (0, 0)),
        ] {
            assert_eq!(read(text), Ok(found), "{text}");
        }
    }

    #[test]
    fn what_may_be_a_number_is_asked_about() {
        for (text, option) in [
            ("0.0,OVLD\n1,2\n3,4\n", "header_rows"),
            ("0,1.1x\n1,2\n3,4\n", "header_rows"),
            ("1,2\n3,4\nt,v,w\n1,2,3\n4,5,6\n7,8,9\n", "skip_rows: 2"),
            ("5\n1,2\n3,4\n", "skip_rows: 1"),
            ("a,b\nc,d\nt,v\n1,2\n3,4\n", "skip_rows: 2"),
            ("t,v\ns,m/s2\n1,2\n3,4\n", "header_rows: 2"),
            ("time,400,410\ns,V,V\n0,1,2\n1,1,2\n", "header_rows: 2"),
            ("t,v\n0,5,1,2\n1,5,2,8\n", "decimal_comma"),
        ] {
            let what = read(text).unwrap_err();
            assert!(what.contains(option), "{text}: {what}");
        }
    }
}
