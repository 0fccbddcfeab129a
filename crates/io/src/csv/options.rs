//! Options for the layout of a text table.

use crate::moment::DateOrder;

/// Separator of the fields of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delimiter {
    /// `,`
    #[default]
    Comma,
    /// `;`
    Semicolon,
    /// A tabulator.
    Tab,
    /// Any number of spaces and tabulators; at the beginning and end of a row they are ignored. No field is empty.
    Whitespace,
    /// Another character, given by its byte.
    Byte(u8),
}

impl Delimiter {
    pub(super) fn byte(self) -> u8 {
        match self {
            Delimiter::Comma => b',',
            Delimiter::Semicolon => b';',
            Delimiter::Tab => b'\t',
            Delimiter::Whitespace => b' ',
            Delimiter::Byte(byte) => byte,
        }
    }
}

/// Separator of thousands in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Thousands {
    /// `1,234.5`
    Comma,
    /// `1.234,5`
    Point,
    /// `1 234.5`, also with a no-break space or a thin space.
    Space,
    /// `1'234.5`
    Apostrophe,
}

impl Thousands {
    /// Returns the characters of this separator.
    pub(super) fn signs(self) -> &'static [char] {
        match self {
            Thousands::Comma => &[','],
            Thousands::Point => &['.'],
            Thousands::Space => &[' ', '\u{a0}', '\u{2009}', '\u{202f}'],
            Thousands::Apostrophe => &['\'', '\u{2019}'],
        }
    }
}

/// The layout of a text table. [`detected`](CsvOptions::detected) detects all properties; `default` is a table with
/// commas under a row of names. Most options are detected if they are `None`: number formats from the whole text, which
/// is then read one additional time, and the others from the beginning of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CsvOptions {
    /// Separator of fields. A comma by default.
    pub delimiter: Option<Delimiter>,
    /// Number of rows above the numbers: the first contains the names of the columns, others contain units and remarks.
    /// One by default; 0 for a table without names.
    pub header_rows: Option<usize>,
    /// Number of lines to skip before the table. 0 by default.
    pub skip_rows: Option<usize>,
    /// First byte of comment lines, which are skipped. `#` by default; `None` if there are no comments.
    pub comment: Option<u8>,
    /// If true, numbers have a decimal comma. False by default.
    pub decimal_comma: Option<bool>,
    /// Separator of thousands. `None`, the default, means no separator if `decimal_comma` is `Some(false)`; otherwise
    /// the separator is detected.
    pub thousands: Option<Thousands>,
    /// Order of day and month in numeric dates that do not begin with the year. By default such dates are an error,
    /// because they are ambiguous.
    pub date_order: Option<DateOrder>,
}

/// One setter per field.
macro_rules! setters {
    ($($field:ident: $kind:ty),+ $(,)?) => {
        impl CsvOptions {
            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](#structfield.", stringify!($field), ").")]
                #[must_use]
                pub fn $field(mut self, $field: impl Into<Option<$kind>>) -> CsvOptions {
                    self.$field = $field.into();
                    self
                }
            )+
        }
    };
}

setters! {
    delimiter: Delimiter,
    header_rows: usize,
    skip_rows: usize,
    comment: u8,
    decimal_comma: bool,
    thousands: Thousands,
    date_order: DateOrder,
}

impl Default for CsvOptions {
    fn default() -> CsvOptions {
        CsvOptions {
            delimiter: Some(Delimiter::Comma),
            header_rows: Some(1),
            skip_rows: Some(0),
            comment: Some(b'#'),
            decimal_comma: Some(false),
            thousands: None,
            date_order: None,
        }
    }
}

impl CsvOptions {
    /// Options that detect all properties of tables from instruments and spreadsheets: the delimiter, a preamble, rows
    /// of names and units, decimal commas, separators of thousands. If a table is ambiguous, the error names the option
    /// that decides. [`CsvSource::notes`](super::CsvSource::notes) lists the assumptions.
    pub fn detected() -> CsvOptions {
        CsvOptions {
            delimiter: None,
            header_rows: None,
            skip_rows: None,
            decimal_comma: None,
            ..CsvOptions::default()
        }
    }
}
