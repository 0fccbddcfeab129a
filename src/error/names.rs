//! Errors of names and settings of parameters.

use super::{Error, Result, short};
use crate::error::quote::{is_unshowable, visible};
use std::collections::HashMap;

/// Reason why a parameter or a derived quantity cannot have a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name contains a character that ends a line, changes the text direction or is invisible.
    #[error(
        "the name `{}` has a character that cannot be shown; leave it out of the name",
        visible(name)
    )]
    Unshowable {
        /// The name.
        name: String,
    },
    /// The name of a parameter is not valid in the formula of a tie or a derived quantity.
    #[error(
        "no formula can contain the parameter name `{name}`; use letters, digits and _, a letter first"
    )]
    NotAWord {
        /// The name.
        name: String,
    },
    /// Two parameters or derived quantities have the same name.
    #[error("the name `{name}` belongs to both {first} and {second}; {remedy}")]
    Taken {
        /// The name.
        name: String,
        /// Owner of the name: `a parameter`, `` `a` of set 1 ``, `gaussian`.
        first: String,
        /// The second owner.
        second: String,
        /// The remedy.
        remedy: String,
    },
    /// The formula of a derived quantity depends on the quantity itself.
    #[error(
        "the derived quantity `{name}` follows from itself; write its formula in terms of parameters and other quantities"
    )]
    Circular {
        /// The name.
        name: String,
    },
}

/// Error for an invalid setting of one parameter: its typical size or its prior.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the {what} of `{name}` is {}; it must be {requirement}", short(value))]
pub struct SettingError {
    /// `scale` or `sigma of the prior`.
    pub what: &'static str,
    /// The parameter.
    pub name: String,
    /// The value given.
    pub value: f64,
    /// The requirement.
    pub requirement: &'static str,
}

impl NameError {
    /// Returns the error for a name that belongs to both `first` and `second`.
    pub(crate) fn taken(name: &str, first: &str, second: &str, remedy: &str) -> Error {
        let [name, first, second, remedy] = [name, first, second, remedy].map(str::to_owned);
        NameError::Taken { name, first, second, remedy }.into()
    }
}

/// Checks that all names can be printed in a report or a plot.
///
/// # Errors
/// [`NameError::Unshowable`] for the first name that cannot be printed.
pub(crate) fn check_shown<'a>(names: impl IntoIterator<Item = &'a String>) -> Result<()> {
    match names.into_iter().find(|name| name.contains(is_unshowable)) {
        Some(name) => Err(NameError::Unshowable { name: name.clone() }.into()),
        None => Ok(()),
    }
}

/// Checks that the names of the parameters differ.
///
/// # Errors
/// [`NameError::Taken`] for the first parameter with the name of an earlier parameter.
pub(crate) fn check_distinct(names: &[String]) -> Result<()> {
    let mut first = HashMap::with_capacity(names.len());
    let twice = names.iter().enumerate().find_map(|(j, name)| Some((first.insert(name, j)?, j)));
    match twice {
        Some((i, j)) => {
            let [first, second] = [i, j].map(|k| format!("parameter {k}"));
            Err(NameError::taken(&names[i], &first, &second, "names must differ"))
        }
        None => Ok(()),
    }
}

/// Returns the position of a parameter.
///
/// # Errors
/// [`Error::UnknownParameter`] if no parameter has this name; `remedy` tells the user where to correct the name.
pub(crate) fn position(names: &[String], name: &str, remedy: impl Into<String>) -> Result<usize> {
    names.iter().position(|known| known == name).ok_or_else(|| Error::UnknownParameter {
        name: name.to_owned(),
        known: names.to_vec(),
        remedy: remedy.into(),
    })
}
