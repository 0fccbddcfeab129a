//! Names that were meant: the nearest of those that there are, and lists that stay short.

/// The name among `known` that differs from `asked` in the fewest letters, if those are few.
pub(crate) fn nearest<'a>(
    asked: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let most = match asked.chars().count() {
        0 | 1 => 0,
        letters => 1 + letters / 3,
    };
    let near = known.into_iter().map(|name| (distance(asked, name), name));
    near.filter(|(letters, _)| *letters <= most).min_by_key(|(letters, _)| *letters).map(|n| n.1)
}

/// ` (did you mean "time"?)`, or nothing.
pub(crate) fn did_you_mean<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(asked, known).map_or_else(String::new, |name| format!(" (did you mean \"{name}\"?)"))
}

/// The names with commas between them, the first twenty if there are more.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 20;
    let names: Vec<&str> = names.into_iter().collect();
    let more = match names.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", names[..names.len().min(MOST)].join(", "))
}

/// `1 point`, `2 points`.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// Letters that must be put in, left out or replaced to make one name of the other, upper and lower
/// case being the same: Levenshtein's distance, by rows of its table.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn names_that_are_nearly_right_are_found() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(nearest("tim", ["signal", "time", "sigma"]), Some("time"));
        assert_eq!(nearest("Signal", ["signal", "time"]), Some("signal"));
        assert_eq!(nearest("A", ["a", "b"]), Some("a"));
        assert_eq!(nearest("z", ["a", "b"]), None);
    }
}
