//! Dates and times in tables.

use std::fmt;

/// A date, a time of day, or both: the first value of a column of dates or times, from which the others are counted.
///
/// `Display` formats it in ISO 8601, in UTC if the offset from UTC is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    pub(crate) clock: Clock,
    /// Nanoseconds since 1970-01-01T00:00:00 on this clock; for a time of day, since midnight.
    pub(crate) nanoseconds: i128,
}

/// Time scale of a moment. Moments of different scales cannot be subtracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(any(feature = "csv", feature = "parquet", feature = "arrow")),
    expect(dead_code, reason = "arrays of NumPy have no times")
)]
pub(crate) enum Clock {
    /// Dates with times whose offset from UTC is known.
    Universal,
    /// Dates with times, without a time zone.
    Local,
    /// Dates alone.
    Calendar,
    /// Times of day alone.
    OfDay,
}

impl Moment {
    /// Returns the seconds since 1970-01-01T00:00:00, in UTC if the offset is known, otherwise in the local time of the
    /// table. For a time of day: the seconds since midnight.
    pub fn seconds(self) -> f64 {
        seconds(self.nanoseconds)
    }

    /// Returns true if the offset from UTC is known, so that the moment is an instant.
    pub fn is_universal(self) -> bool {
        self.clock == Clock::Universal
    }

    /// Returns the seconds since `first`, a moment of the same clock.
    pub(crate) fn since(self, first: Moment) -> f64 {
        seconds(self.nanoseconds - first.nanoseconds)
    }
}

/// Converts nanoseconds to seconds. The result is the nearest f64 if the time is a multiple of one of `UNITS` with a
/// factor of at most 53 bits, because then only the division rounds.
fn seconds(nanoseconds: i128) -> f64 {
    const UNITS: [(i128, f64); 4] =
        [(1, 1e9), (1_000, 1e6), (1_000_000, 1e3), (1_000_000_000, 1.0)];
    let exact = |(unit, _): &&(i128, f64)| {
        nanoseconds % unit == 0 && (nanoseconds / unit).unsigned_abs() <= 1 << 53
    };
    let (unit, per_second) = UNITS.iter().find(exact).unwrap_or(&UNITS[0]);
    (nanoseconds / unit) as f64 / per_second
}

/// Order of day and month in numeric dates that do not begin with the year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DateOrder {
    /// `13.02.2026`
    DayFirst,
    /// `02/13/2026`
    MonthFirst,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Returns the number of a month from its English name or from the first three or more letters of it.
fn month(word: &str) -> Option<usize> {
    let word = word.to_ascii_lowercase();
    let found = MONTHS.iter().position(|month| word.len() >= 3 && month.starts_with(&word));
    Some(found? + 1)
}

/// Returns the three parts of the date at the beginning of a text, and the remaining text.
fn date_parts(text: &str) -> Option<([&str; 3], &str)> {
    let digit = |c: Option<u8>| c.is_some_and(|c| c.is_ascii_digit());
    let bytes = text.as_bytes();
    let ends = |i: usize| match bytes[i] {
        b' ' => true,
        b'T' | b't' => digit(bytes[..i].last().copied()) && digit(bytes.get(i + 1).copied()),
        _ => false,
    };
    let (date, behind) = text.split_at((0..bytes.len()).find(|&i| ends(i)).unwrap_or(bytes.len()));
    let is_part = |part: &&str| {
        let is_number = (1..=4).contains(&part.len()) && part.bytes().all(|c| digit(Some(c)));
        is_number || month(part).is_some()
    };
    let parts = |sign| -> Option<[&str; 3]> {
        let parts: Vec<&str> = date.split(sign).filter(is_part).collect();
        parts.try_into().ok().filter(|_| date.matches(sign).count() == 2)
    };
    Some((['-', '/', '.'].into_iter().find_map(parts)?, behind))
}

/// Converts the date at the beginning of a text to ISO 8601. `None` if the order of its parts is unknown.
#[cfg(any(feature = "csv", feature = "parquet", feature = "arrow"))]
fn in_iso_order(text: &str, order: Option<DateOrder>) -> Option<String> {
    let ([first, second, third], behind) = date_parts(text)?;
    let number =
        |part: &str| month(part).map_or_else(|| part.to_owned(), |month| month.to_string());
    let [year, month, day] = match (month(first), month(second), order) {
        _ if first.len() == 4 && month(first).is_none() => [first, second, third],
        (None, Some(_), _) | (None, None, Some(DateOrder::DayFirst)) => [third, second, first],
        (Some(_), None, _) | (None, None, Some(DateOrder::MonthFirst)) => [third, first, second],
        _ => return None,
    };
    Some(format!("{year}-{:0>2}-{:0>2}{behind}", number(month), number(day)))
}

/// Returns true if a text has the form of a date (three numbers or names of months, separated by `-`, `/` or `.`) or of
/// a time (digits around `:`). The date or time need not be valid.
pub(crate) fn looks_like_time(text: &str) -> bool {
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let is_clock = || {
        text.split_once(':').is_some_and(|(hour, rest)| {
            digit(text.chars().next()) && digit(hour.chars().last()) && digit(rest.chars().next())
        })
    };
    date_parts(text).is_some() || is_clock()
}

/// The error and the remedy for a text that has the form of a date or time but is not valid.
pub(crate) fn fault(text: &str, order: Option<DateOrder>) -> &'static str {
    let is_year_last = date_parts(text).is_some_and(|(parts, _)| parts[0].len() < 4);
    match (is_year_last, order) {
        (true, None) => {
            "does not say which number is the day and which the month; say `date_order`, or write 2026-02-01 for the first of February"
        }
        (true, Some(_)) => {
            "is no date in the order that `date_order` says; write a day and a month that there are and all four digits of the year"
        }
        (false, _) => {
            "is no date or time of ISO 8601; write 2026-02-01, 18:30:00, 2026-02-01T18:30:00 or, with a time zone, 2026-02-01T18:30:00+01:00"
        }
    }
}

#[cfg(any(feature = "csv", feature = "parquet", feature = "arrow"))]
mod calendar {
    use super::{Clock, DateOrder, Moment, in_iso_order};
    use jiff::civil::{Date, DateTime, Time};
    use jiff::{Timestamp, tz::TimeZone};

    impl Moment {
        /// Parses a date or time in ISO 8601, with `T` or a space before the time. The parts of the date may have
        /// another order if the name of a month or `order` determines it.
        pub(crate) fn parse(text: &str, order: Option<DateOrder>) -> Option<Moment> {
            let text = in_iso_order(text, order).unwrap_or_else(|| text.to_owned());
            let since_1970 = |moment: DateTime| {
                Some(moment.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond())
            };
            let (date, time) = match text.split_once([' ', 'T', 't']) {
                Some((date, time)) => (Some(date), Some(time)),
                None if text.contains(':') => (None, Some(&text[..])),
                None => (Some(&text[..]), None),
            };
            let has_zone = time.is_some_and(|time| time.contains(['+', '-', 'Z', 'z', '[']));
            let (clock, nanoseconds) = match (date, time) {
                (Some(_), Some(_)) if has_zone => {
                    (Clock::Universal, text.parse::<Timestamp>().ok()?.as_nanosecond())
                }
                (Some(_), Some(_)) => (Clock::Local, since_1970(text.parse().ok()?)?),
                (Some(date), None) => {
                    (Clock::Calendar, since_1970(date.parse::<Date>().ok()?.into())?)
                }
                (None, Some(time)) if !has_zone => {
                    let time = time.parse::<Time>().ok()?;
                    (Clock::OfDay, since_1970(Date::constant(1970, 1, 1).to_datetime(time))?)
                }
                _ => return None,
            };
            Some(Moment { clock, nanoseconds })
        }

        /// Formats the moment in ISO 8601; `None` if the year is out of its range.
        pub(super) fn written(self) -> Option<String> {
            let instant = Timestamp::from_nanosecond(self.nanoseconds).ok()?;
            let moment = TimeZone::UTC.to_datetime(instant);
            Some(match self.clock {
                Clock::Universal => instant.to_string(),
                Clock::Local => moment.to_string(),
                Clock::Calendar => moment.date().to_string(),
                Clock::OfDay => moment.time().to_string(),
            })
        }
    }
}

#[cfg(not(any(feature = "csv", feature = "parquet", feature = "arrow")))]
impl Moment {
    /// Returns `None`: no enabled reader has dates or times.
    pub(crate) fn parse(_: &str, _: Option<DateOrder>) -> Option<Moment> {
        None
    }

    fn written(self) -> Option<String> {
        None
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.written() {
            Some(text) => f.write_str(&text),
            None => write!(f, "{} s since 1970", self.seconds()),
        }
    }
}
