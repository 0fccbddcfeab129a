//! The error of conversions that cannot fail.

use super::Error;
use std::convert::Infallible;

/// What converts without fail into [`Values`](crate::Values) has this error, which there is none of.
impl From<Infallible> for Error {
    fn from(never: Infallible) -> Error {
        match never {}
    }
}
