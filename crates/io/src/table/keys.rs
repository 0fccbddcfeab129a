//! Keys of one column or several.

use crate::format::roles::{Find, Key};

/// Keys of columns by name or by number from 0: one key, such as `"t"`, or several, such as `["t", "T"]`.
pub trait ColumnKeys: private::Sealed {}

impl<K: private::Sealed> ColumnKeys for K {}

pub(super) use private::Sealed as Keys;

mod private {
    use super::Key;

    pub trait Sealed {
        fn keys(&self) -> Vec<Key<'_>>;
    }
}

macro_rules! one {
    ($($key:ty),*) => {
        $(impl Keys for $key {
            fn keys(&self) -> Vec<Key<'_>> {
                vec![self.key()]
            }
        })*
    };
}
one!(usize, &str, String, &String);

impl<K: Find, const N: usize> Keys for [K; N] {
    fn keys(&self) -> Vec<Key<'_>> {
        self.iter().map(Find::key).collect()
    }
}

impl<K: Find> Keys for &[K] {
    fn keys(&self) -> Vec<Key<'_>> {
        self.iter().map(Find::key).collect()
    }
}

impl<K: Find> Keys for Vec<K> {
    fn keys(&self) -> Vec<Key<'_>> {
        self.iter().map(Find::key).collect()
    }
}

impl<K: Find> Keys for &Vec<K> {
    fn keys(&self) -> Vec<Key<'_>> {
        self.iter().map(Find::key).collect()
    }
}
