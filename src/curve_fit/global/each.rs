//! Work on each set, and errors of some sets.

use crate::error::Error;
use crate::threads;
use std::collections::BTreeMap;

/// Number of sets from which several threads are used.
const MANY: usize = 64;

/// Errors of sets, by their positions.
pub(super) type BadSets = BTreeMap<usize, Error>;

/// Results of `work` for each set, on all threads if there are many sets.
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
