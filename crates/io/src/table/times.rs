//! Conversion of a column of dates or times to seconds since its first value.

use crate::format::cell::{Cell, is_missing};
use crate::moment::{Clock, DateOrder, Moment, fault, looks_like_time};

/// State of the conversion.
pub(super) struct Times {
    pub(super) seconds: Vec<f64>,
    pub(super) first: Option<Moment>,
    /// Order of day and month that the caller has set.
    order: Option<DateOrder>,
    /// The last value; times of day must not decrease.
    last: f64,
}

/// The rejected text and its error; `None` as the error if the text is not a time.
pub(super) type Wrong = (String, Option<&'static str>);

impl Times {
    pub(super) fn new(order: Option<DateOrder>) -> Times {
        Times { seconds: Vec::new(), first: None, order, last: f64::NEG_INFINITY }
    }

    pub(super) fn add(&mut self, cell: Cell<'_>) -> Result<(), Wrong> {
        let (moment, text) = match cell {
            Cell::Missing => (None, ""),
            Cell::Text(text) if is_missing(text) => (None, ""),
            Cell::Time(moment) => (Some(moment), ""),
            Cell::Whole(number) => return Err((number.to_string(), None)),
            Cell::Text(text) => {
                match Moment::parse(text, self.order).filter(|_| looks_like_time(text)) {
                    Some(moment) => (Some(moment), text),
                    None if self.first.is_none() && !looks_like_time(text) => {
                        return Err((text.into(), None));
                    }
                    None => return Err((text.into(), Some(fault(text, self.order)))),
                }
            }
        };
        let Some(moment) = moment else {
            self.seconds.push(f64::NAN);
            return Ok(());
        };
        let wrong = |fault| {
            let text = if text.is_empty() { moment.to_string() } else { text.into() };
            Err((text, Some(fault)))
        };
        let first = *self.first.get_or_insert(moment);
        if moment.clock != first.clock {
            return wrong(
                "is of another kind than the column's first; write all of a column as dates, as times of day, or as both, and all with an offset from UTC or none",
            );
        }
        let seconds = moment.since(first);
        if moment.clock == Clock::OfDay && seconds < self.last {
            return wrong(
                "is before the time above it, and no date says of which day; write the dates, too, as 2026-02-01T18:30:00",
            );
        }
        self.last = seconds;
        self.seconds.push(seconds);
        Ok(())
    }
}
