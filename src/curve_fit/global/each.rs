//! What is done for each set, and what is wrong with some.

use crate::error::Error;
use crate::threads;
use std::collections::BTreeMap;

/// So many sets are worth several threads, whatever they are.
const MANY: usize = 64;

/// What is wrong with sets, by their positions.
pub(super) type BadSets = BTreeMap<usize, Error>;

/// What `work` makes of each set, on all threads where these are many.
pub(super) fn of_each<T: Send, R: Send>(sets: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    match sets.len() < MANY {
        true => sets.into_iter().map(work).collect(),
        false => threads::map(sets, work),
    }
}

/// What was made of all sets, or what is wrong with some.
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
