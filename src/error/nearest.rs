//! The name that was meant. The program `dualfit` includes this file, too.

/// The name among `known` that differs from `asked` in the fewest letters, if those are few.
pub(crate) fn nearest<'a>(
    asked: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    /// Longer names are compared by their beginnings.
    const LONGEST: usize = 40;
    let asked: Vec<char> = asked.to_lowercase().chars().take(LONGEST).collect();
    let most = if asked.len() < 2 { 0 } else { 1 + asked.len() / 4 };
    let near = known.into_iter().map(|name| (distance(&asked, name), name));
    near.filter(|(letters, _)| *letters <= most).min_by_key(|(letters, _)| *letters).map(|n| n.1)
}

/// Letters that must be put in, left out, replaced or exchanged with the next to make one name of the other,
/// upper and lower case being the same: the distance of Damerau and Levenshtein, by rows of its table.
fn distance(from: &[char], to: &str) -> usize {
    let to: Vec<char> = to.to_lowercase().chars().collect();
    let mut rows = [vec![0; from.len() + 1], (0..=from.len()).collect(), vec![0; from.len() + 1]];
    for i in 0..to.len() {
        let [before, above, row] = &mut rows;
        row[0] = i + 1;
        for j in 0..from.len() {
            let replaced = above[j] + usize::from(from[j] != to[i]);
            row[j + 1] = replaced.min(row[j] + 1).min(above[j + 1] + 1);
            if i > 0 && j > 0 && from[j] == to[i - 1] && from[j - 1] == to[i] {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        rows.rotate_left(1);
    }
    rows[1][from.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn names_that_are_nearly_right_are_found() {
        let kitten: Vec<char> = "kitten".chars().collect();
        assert_eq!(distance(&kitten, "sitting"), 3);
        assert_eq!(distance(&[], "abc"), 3);
        assert_eq!(nearest("fti", ["batch", "fit"]), Some("fit"));
        assert_eq!(nearest("tim", ["signal", "time", "sigma"]), Some("time"));
        assert_eq!(nearest("Signal", ["signal", "time"]), Some("signal"));
        assert_eq!(nearest("A", ["a", "b"]), Some("a"));
        assert_eq!(nearest("c", ["a", "b"]), None);
        assert_eq!(nearest("zebra", ["signal", "time"]), None);
    }
}
