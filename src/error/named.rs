//! Names with numbers, as messages quote them.

use std::fmt;

/// A name and the value it had, as errors quote parameters and variables.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// Name of the parameter or variable.
    pub name: String,
    /// Its value when the error was found.
    pub value: f64,
}

/// A list of named values, printed as `a = 1, b = 2`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedValues(pub Vec<Named>);

/// A number as it is, or with an exponent where that is much shorter.
pub(crate) fn short(value: &f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        magnitude if (1e-4..1e9).contains(&magnitude) => value.to_string(),
        _ if !value.is_finite() => value.to_string(),
        _ => format!("{value:e}"),
    }
}

impl NamedValues {
    pub(crate) fn new<S: AsRef<str>>(names: &[S], values: &[f64]) -> Self {
        let pairs = names.iter().zip(values);
        NamedValues(pairs.map(|(n, &value)| Named { name: n.as_ref().to_owned(), value }).collect())
    }
}

impl fmt::Display for NamedValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, Named { name, value }) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            write!(f, "{separator}{name} = {}", short(value))?;
        }
        Ok(())
    }
}
