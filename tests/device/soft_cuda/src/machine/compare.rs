//! Comparisons.

use super::numbers::{Lanes, double, extended, flushed, single};
use crate::program::{Arithmetic, Combination, Relation, Type};
use std::array::from_fn;
use std::cmp::Ordering;

/// Comparison operator, with the type of its operands. `flush`: if true, subnormal `f32` operands are 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison {
    pub(crate) relation: Relation,
    pub(crate) of: Type,
    pub(crate) flush: bool,
}

impl Comparison {
    fn order(self, left: u64, right: u64) -> Option<Ordering> {
        match self.of {
            Type::F64 => double(left).partial_cmp(&double(right)),
            Type::F32 => {
                let [left, right] = [left, right].map(|bits| flushed(single(bits), self.flush));
                left.partial_cmp(&right)
            }
            of => {
                let [left, right] = [left, right].map(|value| extended(value, of));
                match of.is_signed() {
                    true => Some((left as i64).cmp(&(right as i64))),
                    false => Some(left.cmp(&right)),
                }
            }
        }
    }

    fn holds(self, left: u64, right: u64) -> bool {
        use Ordering::{Equal, Greater, Less};
        let order = self.order(left, right);
        match self.relation {
            Relation::Equal => order == Some(Equal),
            Relation::NotEqual => matches!(order, Some(Less | Greater)),
            Relation::Less => order == Some(Less),
            Relation::LessEqual => matches!(order, Some(Less | Equal)),
            Relation::Greater => order == Some(Greater),
            Relation::GreaterEqual => matches!(order, Some(Greater | Equal)),
            Relation::EqualUnordered => matches!(order, None | Some(Equal)),
            Relation::NotEqualUnordered => order != Some(Equal),
            Relation::LessUnordered => matches!(order, None | Some(Less)),
            Relation::LessEqualUnordered => order != Some(Greater),
            Relation::GreaterUnordered => matches!(order, None | Some(Greater)),
            Relation::GreaterEqualUnordered => order != Some(Less),
            Relation::Ordered => order.is_some(),
            Relation::Unordered => order.is_none(),
        }
    }
}

/// Returns each lane's result, and the result of the negated comparison. If `with` is given, both are combined with its
/// predicate.
pub(crate) fn compare(
    comparison: Comparison,
    left: &Lanes,
    right: &Lanes,
    with: Option<(Combination, Lanes)>,
) -> (Lanes, Lanes) {
    let answer = |l: usize| comparison.holds(left[l], right[l]);
    let combined = |l: usize, answer: bool| {
        let Some((Combination { with, negated, .. }, predicate)) = &with else {
            return answer.into();
        };
        let predicate = (predicate[l] & 1 == 1) != *negated;
        u64::from(match with {
            Arithmetic::And => answer && predicate,
            Arithmetic::Or => answer || predicate,
            _ => answer != predicate,
        })
    };
    (from_fn(|l| combined(l, answer(l))), from_fn(|l| combined(l, !answer(l))))
}
