//! Errors of the sets of a joint fit.

use crate::error::{Error, GlobalError};
use crate::threads;
use std::collections::BTreeMap;

/// Number of sets from which several threads are used.
const MANY: usize = 64;

/// Errors of sets, by their positions.
pub(super) type BadSets = BTreeMap<usize, Error>;

/// Returns the results of `work` for each set; uses all threads if there are many sets.
pub(super) fn of_each<T: Send, R: Send>(sets: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    match sets.len() < MANY {
        true => sets.into_iter().map(work).collect(),
        false => threads::map(sets, work),
    }
}

/// Returns the results of all sets, or the errors of some.
pub(super) fn all_good<T>(
    each: Vec<std::result::Result<T, (usize, Error)>>,
) -> std::result::Result<Vec<T>, BadSets> {
    let (mut good, mut bad) = (Vec::with_capacity(each.len()), BadSets::new());
    for made in each {
        match made {
            Ok(made) => good.push(made),
            Err((set, error)) => {
                bad.insert(set, error);
            }
        }
    }
    if bad.is_empty() { Ok(good) } else { Err(bad) }
}

/// Returns the error for bad sets, of which there is at least one. It is the first error alone if there is one bad set
/// or if all sets have the same error; otherwise it lists the bad sets and contains the first error.
pub(super) fn refused(bad: BadSets, sets: usize) -> Error {
    let numbers: Vec<usize> = bad.keys().map(|set| set + 1).collect();
    let first = bad.values().next();
    let alike = bad.len() == sets && bad.values().all(|error| Some(error) == first);
    match bad.into_iter().next() {
        Some((set, error)) if numbers.len() == 1 || alike => in_set(set)(error),
        Some((_, error)) => {
            GlobalError::BadSets { bad: numbers, sets, error: Box::new(error) }.into()
        }
        None => GlobalError::NoSets.into(),
    }
}

/// Returns the error of a set, by its position.
pub(super) fn in_set(set: usize) -> impl Fn(Error) -> Error {
    move |error| GlobalError::InSet { set: set + 1, error: Box::new(error) }.into()
}
