//! What stands above the numbers: a preamble, a row of names, a row of units.
//!
//! Whatever is passed over is told, and no number ever is: where a line may be one of the table, or where
//! several may have the names, the user is asked.

use super::layout::tail;
use super::number::Kind;
use super::rows::{Rows, line_of};
use crate::arguments::Delimiter;
use crate::output::note;
use crate::refusal::{Outcome, Refusal};
use crate::words::counted;

/// A row whose fields were looked at.
#[derive(Debug)]
pub(super) struct Line {
    /// The byte near which it begins.
    pub(super) near: usize,
    pub(super) kinds: Vec<Kind>,
    pub(super) last_empty: bool,
    /// Whether a digit stands anywhere in it.
    has_digits: bool,
    /// Whether a field has something in it that separates fields elsewhere.
    has_separators: bool,
    /// Whether it begins as comments of other programs do.
    is_remark: bool,
}

/// Where the table begins, and how many of its rows stand above the numbers.
#[derive(Debug, PartialEq)]
pub(super) struct Head {
    /// The index of the first row.
    pub(super) first: usize,
    pub(super) heads: usize,
}

impl Line {
    /// The rows of a text, up to one that cannot be read.
    pub(super) fn all(text: &str, delimiter: Delimiter) -> Vec<Line> {
        let mut rows = Rows::new(text, delimiter);
        let mut lines = Vec::new();
        while let Ok(Some(near)) = rows.next() {
            let fields = || (0..rows.fields()).map(|column| rows.field(column));
            let first = fields().next().unwrap_or_default().trim_start();
            lines.push(Line {
                near,
                kinds: fields().map(Kind::of).collect(),
                last_empty: fields().next_back().is_some_and(|field| field.trim().is_empty()),
                has_digits: fields().any(|field| field.contains(|c: char| c.is_ascii_digit())),
                has_separators: fields().any(|field| field.contains([',', ';', '\t'])),
                is_remark: first.starts_with(['%', '!', '*']) || first.starts_with("//"),
            });
        }
        lines
    }

    /// Whether it has so many fields; an empty one may follow.
    pub(super) fn fits(&self, fields: usize) -> bool {
        let count = self.kinds.len();
        count == fields || (count == fields + 1 && self.last_empty)
    }

    fn has(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Whether it may be a row of names or units.
    fn is_of_words(&self) -> bool {
        self.has(Kind::Word) && !self.has(Kind::Number) && !self.has(Kind::Value)
    }

    /// Whether it has a word wherever another row has one.
    fn names_all_of(&self, other: &Line) -> bool {
        let mut pairs = self.kinds.iter().zip(&other.kinds);
        pairs.all(|(own, other)| *other != Kind::Word || *own == Kind::Word)
    }

    /// Whether it is as `time,400,410`.
    fn names_by_numbers(&self, fields: usize) -> bool {
        let mut kinds = self.kinds.iter();
        let is_number = |kind: &Kind| matches!(kind, Kind::Number | Kind::Value);
        fields > 2
            && self.fits(fields)
            && kinds.next() == Some(&Kind::Word)
            && kinds.take(fields - 1).all(is_number)
    }

    fn is_of_numbers(&self) -> bool {
        self.has(Kind::Number) && !self.has(Kind::Word) && !self.has(Kind::Value)
    }

    /// Whether it is a row of a table that has words in these columns only.
    fn is_regular(&self, fields: usize, words: &[bool]) -> bool {
        let mut pairs = self.kinds.iter().zip(words);
        self.fits(fields)
            && self.has(Kind::Number)
            && pairs.all(|(kind, word)| *word || matches!(kind, Kind::Number | Kind::Missing))
    }
}

/// What is wrong with the lines above the numbers, and with which.
struct Doubt {
    line: usize,
    what: String,
}

impl Head {
    /// `start`: the byte of the text with which the lines begin.
    pub(super) fn find(
        name: &str,
        text: &str,
        start: usize,
        lines: &[Line],
        fields: usize,
        delimiter: Delimiter,
    ) -> Outcome<Head> {
        let number = |i: usize| {
            let near = lines.get(i).map_or(text.len(), |line| start + line.near);
            line_of(text, near)
        };
        let head = above(lines, fields, delimiter, &number).map_err(|doubt| {
            Refusal::usage(format!("{name}:{}: {}", number(doubt.line), doubt.what))
        })?;
        let at = |row: usize| format!("{name}:{}", number(row));
        match head.first {
            0 => {}
            1 => note(format!("{}: passed over, as it stands above the table", at(0))),
            rows => note(format!(
                "{}: passed over to line {}, as it stands above the table",
                at(0),
                number(rows - 1)
            )),
        }
        let by_numbers = |line: &Line| line.has(Kind::Number) || line.has(Kind::Value);
        if head.heads == 1 && lines.get(head.first).is_some_and(by_numbers) {
            note(format!("{}: taken for names", at(head.first)));
        }
        if head.heads > 1 {
            note(format!("{}: taken for units", at(head.first + 1)));
        }
        Ok(head)
    }
}

/// The names are in the last row of words above the first row that is as those below are; units may stand
/// between. `number`: that of a line in the file.
fn above(
    lines: &[Line],
    fields: usize,
    delimiter: Delimiter,
    number: &dyn Fn(usize) -> usize,
) -> Result<Head, Doubt> {
    let doubt = |line: usize, what: String| Err(Doubt { line, what });
    let words = columns_of_words(lines, fields);
    let Some(mut first) = lines.iter().position(|line| line.is_regular(fields, &words)) else {
        return Ok(Head {
            first: 0,
            heads: usize::from(lines.first().is_some_and(Line::is_of_words)),
        });
    };
    // Rows in which all is missing are rows.
    while first > 0 && lines[first - 1].fits(fields) && !lines[first - 1].has(Kind::Word) {
        if lines[first - 1].has(Kind::Value) {
            break;
        }
        first -= 1;
    }
    let names = |line: &Line| line.fits(fields) && line.is_of_words() && !line.is_remark;
    let last = lines[..first].iter().rposition(names);
    let Some(last) = last.filter(|last| lines[*last..first].iter().all(|line| line.fits(fields)))
    else {
        return nameless(lines, first, fields, delimiter, number);
    };
    // Names stand above all units.
    let above_it = |row: usize| {
        let above = row.checked_sub(1).map(|above| &lines[above]).filter(|above| names(above));
        above.is_some_and(|above| above.names_all_of(&lines[row]))
    };
    let mut top = last;
    while above_it(top) && !lines[top].has_digits {
        top -= 1;
    }
    // A row with digits in it is none of units.
    let many = last - top > 1 || above_it(top);
    while many && above_it(top) {
        top -= 1;
    }
    if many {
        return doubt(
            top,
            format!(
                "lines {} to {} are words, and one of them has the names; say --header-rows {} if it is the first, --skip-rows {} if it is the last",
                number(top),
                number(last),
                1 + last - top,
                number(last) - 1
            ),
        );
    }
    if let Some(above) = top.checked_sub(1).filter(|&above| lines[above].names_by_numbers(fields)) {
        let what = "may have the names, and the row below it the units";
        let (all, below) = (2 + last - top, number(top) - 1);
        return doubt(
            above,
            format!("{what}; say --header-rows {all} if so, --skip-rows {below} if not"),
        );
    }
    for (i, line) in lines[..top].iter().enumerate() {
        let may_be_a_row = line.fits(fields) && line.kinds.first() == Some(&Kind::Number);
        if line.is_of_numbers() || may_be_a_row {
            let what = "has numbers, and below it stands a row of names";
            return doubt(i, format!("{what}; say --skip-rows {} to begin there", number(top) - 1));
        }
    }
    Ok(Head { first: top, heads: 1 + last - top })
}

/// The columns in which most of the last rows have no number.
fn columns_of_words(lines: &[Line], fields: usize) -> Vec<bool> {
    let rows = || tail(lines).iter().filter(|line| line.fits(fields) && line.has(Kind::Number));
    let all = rows().count();
    let is_word = |column: usize| {
        let wordy = |line: &&Line| matches!(line.kinds.get(column), Some(Kind::Word | Kind::Value));
        2 * rows().filter(wordy).count() > all
    };
    (0..fields + 1).map(is_word).collect()
}

/// Of a table without a row of words above its first regular row.
fn nameless(
    lines: &[Line],
    first: usize,
    fields: usize,
    delimiter: Delimiter,
    number: &dyn Fn(usize) -> usize,
) -> Result<Head, Doubt> {
    let doubt = |line: usize, what: String| Err(Doubt { line, what });
    let Some(last) = first.checked_sub(1) else { return Ok(Head { first, heads: 0 }) };
    let remedy = format!("say --skip-rows {} if the table begins below it", number(last));
    let above = &lines[..first];
    if let Some(i) = above.iter().position(Line::is_of_numbers) {
        let (found, expected) = (counted(above[i].kinds.len(), "field"), number(first));
        return doubt(
            i,
            format!("the row has {found} where line {expected} has {fields}; {remedy}"),
        );
    }
    let mixed = above.iter().filter(|line| line.fits(fields) && line.has(Kind::Number)).count();
    if above[last].fits(fields) && !above[last].is_remark {
        // As `time,400,410`: names that are numbers.
        return match above[last].kinds.first() {
            Some(Kind::Word) if mixed < 2 => Ok(Head { first: last, heads: 1 }),
            _ => doubt(
                last,
                format!(
                    "has words and numbers; say --header-rows 1 if it has the names, --header-rows 0 if it is a row of numbers to be corrected; {remedy}"
                ),
            ),
        };
    }
    let is_plain = |line: &Line| line.is_remark || (line.kinds.len() == 1 && !line.has_separators);
    let is_apart = mixed == 0 && number(first) > number(last) + 1 && !above[last].has_separators;
    if is_apart || above.iter().all(is_plain) {
        return Ok(Head { first, heads: 0 });
    }
    let count = above[last].kinds.len();
    let why = match delimiter {
        Delimiter::Space if above[last].has_separators => "is another --delimiter right?",
        Delimiter::Space => "names with spaces in them need another --delimiter, or underscores",
        Delimiter::Comma if fields == 2 * count => {
            "commas that separate cannot be told from decimal ones: separate by semicolons, or quote numbers, and say --decimal-comma"
        }
        Delimiter::Comma => "is there a decimal comma, or a quote that is not closed?",
        _ => "a row of names has one for each column",
    };
    doubt(
        first,
        format!(
            "the row has {} where line {} has {count}; {why}; {remedy}",
            counted(fields, "field"),
            number(last)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(usize, usize), String> {
        let lines = Line::all(text, Delimiter::Comma);
        let fields = lines.last().map_or(0, |line| line.kinds.len());
        let number = |i: usize| line_of(text, lines[i].near);
        match above(&lines, fields, Delimiter::Comma, &number) {
            Ok(head) => Ok((head.first, head.heads)),
            Err(doubt) => Err(doubt.what),
        }
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
            ("0.0,OVLD\n1,2\n3,4\n", "--header-rows"),
            ("0,1.1x\n1,2\n3,4\n", "--header-rows"),
            ("1,2\n3,4\nt,v,w\n1,2,3\n4,5,6\n7,8,9\n", "--skip-rows 2"),
            ("5\n1,2\n3,4\n", "--skip-rows 1"),
            ("a,b\nc,d\nt,v\n1,2\n3,4\n", "--skip-rows 2"),
            ("t,v\ns,m/s2\n1,2\n3,4\n", "--header-rows 2"),
            ("time,400,410\ns,V,V\n0,1,2\n1,1,2\n", "--header-rows 2"),
            ("t,v\n0,5,1,2\n1,5,2,8\n", "--decimal-comma"),
        ] {
            let what = read(text).unwrap_err();
            assert!(what.contains(option), "{text}: {what}");
        }
    }
}
