//! Contour lines by marching squares (Lorensen and Cline's marching cubes, 1987, in two dimensions).

use std::collections::BTreeMap;

/// An edge of the grid: its first corner, and true if the edge points upwards.
type Edge = (usize, usize, bool);

/// Computes the lines of `level` for values over the grid a × b, one row per value of b. The interpolation is linear in
/// the square roots of the values, because the values grow nearly quadratically. Cells with a NaN corner have no line.
pub(super) fn lines(a: &[f64], b: &[f64], values: &[f64], level: f64) -> Vec<Vec<(f64, f64)>> {
    let root = |i: usize, j: usize| {
        let value = values[j * a.len() + i];
        if value.is_nan() { value } else { value.max(0.0).sqrt() }
    };
    let level = level.max(0.0).sqrt();
    // For each crossed edge, the edges to which the line continues: at most one in the cell on either side.
    let mut joined: BTreeMap<Edge, Vec<Edge>> = BTreeMap::new();
    for j in 0..b.len().saturating_sub(1) {
        for i in 0..a.len().saturating_sub(1) {
            let corners = [root(i, j), root(i + 1, j), root(i + 1, j + 1), root(i, j + 1)];
            if corners.iter().any(|c| c.is_nan()) {
                continue;
            }
            let inside = corners.map(|c| c < level);
            let edges = [(i, j, false), (i + 1, j, true), (i, j + 1, false), (i, j, true)];
            let crossed: Vec<usize> =
                (0..4).filter(|&k| inside[k] != inside[(k + 1) % 4]).collect();
            let pairs = match crossed[..] {
                [p, q] => vec![(p, q)],
                // Saddle: the mean of the corners determines which corners are connected.
                [p, q, r, s] => {
                    let middle = 0.25 * corners.iter().sum::<f64>() < level;
                    if middle == inside[0] { vec![(p, q), (r, s)] } else { vec![(s, p), (q, r)] }
                }
                _ => continue,
            };
            for (p, q) in pairs {
                joined.entry(edges[p]).or_default().push(edges[q]);
                joined.entry(edges[q]).or_default().push(edges[p]);
            }
        }
    }
    let place = |(i, j, up): Edge| {
        let (k, l) = if up { (i, j + 1) } else { (i + 1, j) };
        let part = (level - root(i, j)) / (root(k, l) - root(i, j));
        let between = |from: f64, to: f64| from * (1.0 - part) + to * part;
        (between(a[i], a[k]), between(b[j], b[l]))
    };
    let mut paths = Vec::new();
    // Open paths are followed first, from their ends; the remaining paths are closed.
    for open in [true, false] {
        while let Some(begin) =
            joined.iter().find(|(_, next)| !open || next.len() == 1).map(|(edge, _)| *edge)
        {
            let mut path = vec![place(begin)];
            let mut at = begin;
            while let Some(next) = take(&mut joined, at) {
                path.push(place(next));
                at = next;
            }
            paths.push(path);
        }
    }
    paths
}

/// Removes the next edge of a path from the grid and returns it.
fn take(joined: &mut BTreeMap<Edge, Vec<Edge>>, at: Edge) -> Option<Edge> {
    let next = joined.get_mut(&at)?.pop();
    if joined.get(&at).is_some_and(Vec::is_empty) {
        joined.remove(&at);
    }
    let next = next?;
    if let Some(back) = joined.get_mut(&next) {
        if let Some(k) = back.iter().position(|edge| *edge == at) {
            back.swap_remove(k);
        }
        if back.is_empty() {
            joined.remove(&next);
        }
    }
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::lines;

    fn grid(n: usize, of: impl Fn(f64, f64) -> f64) -> (Vec<f64>, Vec<f64>) {
        let axis: Vec<f64> = (0..n).map(|i| -2.0 + 4.0 * i as f64 / (n - 1) as f64).collect();
        let values = axis.iter().flat_map(|&b| axis.iter().map(move |&a| (a, b)));
        let values = values.map(|(a, b)| of(a, b)).collect();
        (axis, values)
    }

    #[test]
    fn a_circle_is_one_closed_path() {
        let (axis, values) = grid(42, |a, b| a * a + b * b);
        let paths = lines(&axis, &axis, &values, 1.0);
        assert_eq!(paths.len(), 1);
        let path = &paths[0];
        assert_eq!(path.first(), path.last());
        assert!(path.len() > 60);
        assert!(path.iter().all(|(a, b)| (a.hypot(*b) - 1.0).abs() < 2e-3));
        // The area by the shoelace formula is π within the accuracy of the grid.
        let area: f64 = path.windows(2).map(|w| 0.5 * (w[0].0 * w[1].1 - w[1].0 * w[0].1)).sum();
        assert!((area.abs() - std::f64::consts::PI).abs() < 0.01, "{area}");
    }

    #[test]
    fn two_regions_and_open_ones_have_their_own_paths() {
        let (axis, values) = grid(81, |a, b| (a * a - 1.0).powi(2) + b * b);
        assert_eq!(lines(&axis, &axis, &values, 0.25).len(), 2);
        let (axis, values) = grid(41, |a, _| a * a);
        let open = lines(&axis, &axis, &values, 1.0);
        assert_eq!(open.len(), 2);
        assert!(open.iter().all(|path| path.len() == 41 && path[0] != path[40]));
        assert!(lines(&axis, &axis, &vec![f64::NAN; 41 * 41], 1.0).is_empty());
    }
}
