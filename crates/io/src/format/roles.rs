//! Roles of the columns of a file: x, y and sigma.

use crate::error::listed;
use dualfit::error::SourceError;
use dualfit::source::{Chunk, Column, Shape, Width};

/// Key of a column of a file: its name, or its number from 0.
pub trait ColumnKey: private::Sealed {}

impl<K: private::Sealed> ColumnKey for K {}

/// Key of a column.
#[derive(Clone, Copy, Debug)]
pub enum Key<'a> {
    /// By its number from 0.
    Number(usize),
    /// By its name.
    Name(&'a str),
}

mod private {
    use super::Key;

    pub trait Sealed {
        fn key(&self) -> Key<'_>;
    }

    impl Sealed for usize {
        fn key(&self) -> Key<'_> {
            Key::Number(*self)
        }
    }

    impl Sealed for &str {
        fn key(&self) -> Key<'_> {
            Key::Name(self)
        }
    }

    impl Sealed for String {
        fn key(&self) -> Key<'_> {
            Key::Name(self)
        }
    }

    impl Sealed for &String {
        fn key(&self) -> Key<'_> {
            Key::Name(self)
        }
    }
}

impl Key<'_> {
    /// Returns the index of the column in `names`. The error lists the existing columns.
    fn number_in(self, names: &[String]) -> Result<usize, String> {
        let asked = match self {
            Key::Number(number) if number < names.len() => return Ok(number),
            Key::Number(number) => {
                let count = names.len();
                return Err(format!("there is no column {number}, only {count} numbered from 0"));
            }
            Key::Name(asked) => asked,
        };
        let mut found = (0..names.len()).filter(|&i| names[i] == asked);
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(only),
            (Some(first), Some(second)) => Err(format!(
                "columns {first} and {second} are both called `{asked}`; choose by number"
            )),
            _ => {
                let known = listed(names.iter().map(|name| format!("`{name}`")));
                Err(format!("there is no column `{asked}`; there are: {known}"))
            }
        }
    }
}

pub(crate) use private::Sealed as Find;

/// Role of a column in a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    X(usize),
    Y,
    Sigma,
}

/// Destination of the values of a column of a chunk.
pub(crate) enum Target<'a> {
    F64(&'a mut Vec<f64>),
    F32(&'a mut Vec<f32>),
}

impl<'a> Target<'a> {
    /// Returns the columns of a chunk, in the order of [`Roles::all`].
    #[cfg(any(feature = "parquet", feature = "arrow"))]
    pub(crate) fn all(chunk: &'a mut Chunk) -> impl Iterator<Item = Target<'a>> {
        let Chunk { x, y, sigma } = chunk;
        x.iter_mut().chain([y]).map(Target::from).chain(sigma.as_mut().map(Target::F64))
    }

    /// Returns the column of a chunk with this role; `None` if there is no such column.
    pub(crate) fn of(chunk: &'a mut Chunk, role: Role) -> Option<Target<'a>> {
        let column = match role {
            Role::X(i) => chunk.x.get_mut(i)?,
            Role::Y => &mut chunk.y,
            Role::Sigma => return chunk.sigma.as_mut().map(Target::F64),
        };
        Some(column.into())
    }
}

impl<'a> From<&'a mut Column> for Target<'a> {
    fn from(column: &'a mut Column) -> Target<'a> {
        match column {
            Column::F64(out) => Target::F64(out),
            Column::F32(out) => Target::F32(out),
        }
    }
}

/// Names and roles of the columns of a file. By default x is the first column and y the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Roles {
    pub(crate) x: Vec<usize>,
    pub(crate) y: usize,
    pub(crate) sigma: Option<usize>,
    /// Name of the file, for error messages.
    place: String,
    names: Vec<String>,
    /// For each column, the reason why it cannot be read; `None` if it can be read.
    refused: Vec<Option<String>>,
}

impl Roles {
    /// # Errors
    /// If there are fewer than two columns.
    pub(crate) fn new(names: Vec<String>, place: &str) -> Result<Roles, SourceError> {
        let count = names.len();
        if count < 2 {
            let message = format!("it has {count} column(s); at least two are needed, x and y");
            return Err(SourceError::new(place, message));
        }
        let (place, refused) = (place.into(), Vec::new());
        Ok(Roles { x: vec![0], y: 1, sigma: None, place, names, refused })
    }

    /// Sets, for each column that cannot be read, the reason. It is reported if the column is selected.
    #[cfg(any(feature = "parquet", feature = "arrow"))]
    pub(crate) fn refusing(self, refused: Vec<Option<String>>) -> Roles {
        Roles { refused, ..self }
    }

    /// Creates the roles of columns without names, which get the names `0`, `1`, …
    pub(crate) fn numbered(count: usize, place: &str) -> Result<Roles, SourceError> {
        Roles::new((0..count).map(|i| i.to_string()).collect(), place)
    }

    pub(crate) fn set_x<K: ColumnKey>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<(), SourceError> {
        let x: Result<Vec<usize>, SourceError> = keys.into_iter().map(|k| self.find(&k)).collect();
        self.x = x?;
        if self.x.is_empty() {
            let message = "no column was chosen for x; choose at least one";
            return Err(SourceError::new(&self.place, message));
        }
        Ok(())
    }

    pub(crate) fn find(&self, key: &impl Find) -> Result<usize, SourceError> {
        let found = key.key().number_in(&self.names);
        let column = found.map_err(|message| SourceError::new(&self.place, message))?;
        match self.refused.get(column) {
            Some(Some(why)) => Err(SourceError::new(&self.place, why).in_column(self.name(column))),
            _ => Ok(column),
        }
    }

    /// Returns every role with its column.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Role, usize)> {
        let x = self.x.iter().enumerate().map(|(i, &column)| (Role::X(i), column));
        x.chain([(Role::Y, self.y)]).chain(self.sigma.map(|column| (Role::Sigma, column)))
    }

    /// Returns the columns that have a role, each once, in the order of the file.
    #[cfg(any(test, feature = "parquet", feature = "arrow"))]
    pub(crate) fn used(&self) -> Vec<usize> {
        let mut used: Vec<usize> = self.all().map(|(_, column)| column).collect();
        used.sort_unstable();
        used.dedup();
        used
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    pub(crate) fn name(&self, column: usize) -> &str {
        self.names.get(column).map_or("?", String::as_str)
    }

    pub(crate) fn shape(&self, width: impl Fn(usize) -> Width, points: Option<u64>) -> Shape {
        Shape {
            x: self.x.iter().map(|&column| width(column)).collect(),
            y: width(self.y),
            sigma: self.sigma.is_some(),
            points,
        }
    }

    /// Returns an error if a chunk has other columns than the source, because its columns would get different lengths.
    pub(crate) fn suit(&self, chunk: &Chunk) -> Result<(), SourceError> {
        if chunk.x.len() == self.x.len() && chunk.sigma.is_some() == self.sigma.is_some() {
            return Ok(());
        }
        let message =
            "the chunk has other columns than the source; make it from the source's shape";
        Err(SourceError::new(&self.place, message))
    }

    /// Formats the roles for the fingerprint.
    pub(crate) fn text(&self) -> String {
        format!("x {:?} y {} sigma {:?}", self.x, self.y, self.sigma)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles() -> Roles {
        let names = ["t", "signal", "error", "t"];
        Roles::new(names.map(String::from).to_vec(), "data").unwrap()
    }

    #[test]
    fn columns_go_by_name_and_by_number() {
        let mut roles = roles();
        roles.set_x([3, 0]).unwrap();
        roles.y = roles.find(&"error").unwrap();
        roles.sigma = Some(roles.find(&String::from("signal")).unwrap());
        assert_eq!((roles.x.as_slice(), roles.y, roles.sigma), ([3, 0].as_slice(), 2, Some(1)));
        assert_eq!(roles.used(), [0, 1, 2, 3]);
    }

    #[test]
    fn columns_that_are_not_there_or_there_twice_are_refused() {
        let mut roles = roles();
        let said = roles.find(&"time").unwrap_err().to_string();
        assert_eq!(said, "data: there is no column `time`; there are: `t`, `signal`, `error`, `t`");
        let said = roles.set_x(["t"]).unwrap_err().to_string();
        assert!(said.contains("columns 0 and 3 are both called `t`"), "{said}");
        let said = roles.find(&4).unwrap_err().to_string();
        assert!(said.contains("no column 4, only 4"), "{said}");
        let said = roles.set_x([0; 0]).unwrap_err().to_string();
        assert!(said.contains("no column was chosen"), "{said}");
        assert!(Roles::numbered(1, "data").is_err());
    }
}
