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
    /// Any number of spaces and tabulators; those around a row are nothing. No field is empty.
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
    /// `1 234.5`, also with a space that does not break, or is thin.
    Space,
    /// `1'234.5`
    Apostrophe,
}

impl Thousands {
    /// The characters that stand for it.
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
/// commas under a row of names. Options that are `None` are detected, from the beginning of the text or, for number
/// formats, from the whole text, which is then read one additional time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CsvOptions {
    /// Separator of fields. A comma by default.
    pub delimiter: Option<Delimiter>,
    /// Rows above the numbers: the first has the names of the columns, others units and remarks. One by
    /// default; 0 where there is none.
    pub header_rows: Option<usize>,
    /// Lines passed over before the table. None by default.
    pub skip_rows: Option<usize>,
    /// Lines that begin with this byte are passed over. `#` by default; `None` where there are none.
    pub comment: Option<u8>,
    /// If true, decimals are written with a comma. False by default.
    pub decimal_comma: Option<bool>,
    /// Separator of thousands. By default there is none; with decimal commas, or if those are detected,
    /// `None` means that it is detected, too.
    pub thousands: Option<Thousands>,
    /// In which order dates are written that do not begin with the year nor name the month. By default those are
    /// refused, since they have two meanings.
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
    /// Detects all properties of tables from instruments and spreadsheets: the delimiter, a preamble, rows of names
    /// and units, decimal commas, thousands. An ambiguous table is an error that names the option that
    /// decides; assumptions are listed in [`CsvSource::notes`](super::CsvSource::notes).
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
