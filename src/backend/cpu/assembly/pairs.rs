//! Interleaving of two iterations of a loop.
//!
//! A logarithm, for example, is a chain of dependent operations with a latency of a hundred cycles. A processor looks too
//! few instructions ahead to begin the next iteration meanwhile. If the operations of two iterations alternate, it
//! computes one chain while it waits for the other.

use super::operation::{Id, Operation};
use std::ops::Range;

/// Minimum number of operations of one iteration before the operations of the other.
const PART: usize = 12;

/// Returns the operations of two iterations, the second for the next eight points. The products of the first iteration
/// precede those of the second in each sum.
pub(super) fn in_pairs(operations: &[Operation]) -> Vec<Operation> {
    let mut pairs = Vec::with_capacity(2 * operations.len());
    let mut ids = [(); 2].map(|()| vec![0; operations.len()]);
    for part in parts(operations) {
        for iteration in 0..2 {
            for id in part.clone() {
                let operation = operations[id];
                if operation.lies_in_memory() && iteration > 0 {
                    ids[1][id] = ids[0][id];
                    continue;
                }
                let paired = match operation {
                    Operation::Array { array, .. } => {
                        Operation::Array { array, ahead: iteration > 0 }
                    }
                    _ => operation.map(|operand| ids[iteration][operand as usize]),
                };
                ids[iteration][id] = pairs.len() as Id;
                pairs.push(paired);
            }
        }
    }
    pairs
}

/// Returns parts of the operations, in order. No truth value is used in a later part, since both iterations share the few
/// mask registers.
fn parts(operations: &[Operation]) -> Vec<Range<usize>> {
    let is_truth = |operation: &Operation| {
        use Operation::{Both, Compare, Either, Not};
        matches!(operation, Compare(..) | Both(..) | Either(..) | Not(_))
    };
    let mut last_use: Vec<usize> = (0..operations.len()).collect();
    for (i, operation) in operations.iter().enumerate() {
        operation.for_each_operand(|id| last_use[id as usize] = i);
    }
    let (mut parts, mut start, mut open) = (Vec::new(), 0, 0);
    for (i, operation) in operations.iter().enumerate() {
        if is_truth(operation) {
            open = open.max(last_use[i]);
        }
        let end = i + 1;
        if end == operations.len() || (open <= i && end - start >= PART) {
            parts.push(start..end);
            start = end;
        }
    }
    parts
}
