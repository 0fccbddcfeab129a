//! Interleaving of the operations on several vectors.
//!
//! A logarithm, for example, is a chain of dependent operations with a latency of a hundred cycles. A processor looks too
//! few instructions ahead to begin with the next vector meanwhile. If the operations on several vectors alternate, it
//! computes one chain while it waits for the others.

use super::operation::{Id, Operation};
use std::ops::Range;

/// Minimum number of operations on one vector before those on the next.
const PART: usize = 12;

/// Returns the operations on this many vectors. `fits`: number of vectors that the fits in lanes occupy; 1 for the points
/// of one fit.
pub(super) fn interleaved(operations: &[Operation], vectors: u8, fits: u8) -> Vec<Operation> {
    let mut all = Vec::with_capacity(usize::from(vectors) * operations.len());
    let mut ids = vec![vec![0; operations.len()]; usize::from(vectors)];
    for part in parts(operations) {
        for vector in 0..vectors {
            for id in part.clone() {
                let operation = operations[id];
                let ahead = match operation {
                    Operation::Constant(_) => 0,
                    Operation::Uniform { .. } => vector % fits,
                    _ => vector,
                };
                let of_vector = &ids[usize::from(vector)];
                let copy = match operation.map(|operand| of_vector[operand as usize]) {
                    Operation::Array { array, .. } => Operation::Array { array, ahead },
                    Operation::Uniform { number, .. } => Operation::Uniform { number, ahead },
                    Operation::Keep { number, value, .. } => {
                        Operation::Keep { number, ahead, value }
                    }
                    copy => copy,
                };
                ids[usize::from(vector)][id] = if ahead == vector {
                    all.push(copy);
                    all.len() as Id - 1
                } else {
                    ids[usize::from(ahead)][id]
                };
            }
        }
    }
    all
}

/// Returns parts of the operations, in order. No truth value is used in a later part, since all vectors share the few mask
/// registers.
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
