//! Sorting of numbers.

/// Returns the positions of the values in ascending order of value (argsort); equal values keep their order.
pub(crate) fn ascending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    order
}
