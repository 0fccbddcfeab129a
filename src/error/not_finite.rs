//! Remedies for values that are not finite.

use std::fmt;

/// Remedies for a value of the data that is not finite, beside its removal and [`Missing::Omit`](crate::Missing::Omit).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NonFiniteRemedies {
    /// If the entry takes a mask: all but streams.
    pub mask: bool,
    /// If it is an x that is infinite, which [`Data::allow_infinite_x`](crate::Data::allow_infinite_x) permits.
    pub infinite_x: bool,
}

impl fmt::Display for NonFiniteRemedies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.mask {
            true => "remove it, mask it, or use Missing::Omit",
            false => "remove it, or use Missing::Omit",
        })?;
        match self.infinite_x {
            true => f.write_str("; infinite x can be allowed with allow_infinite_x(true)"),
            false => Ok(()),
        }
    }
}
