//! The name that was meant.

/// The name among `known` that differs from `asked` in the fewest letters, if those are few: put in, left
/// out, replaced or exchanged with the next. Upper and lower case are the same.
pub fn nearest<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Longer names are compared by their beginnings.
    const LONGEST: usize = 40;
    let small = |name: &str| name.to_lowercase().chars().take(LONGEST).collect::<String>();
    let asked = small(asked);
    let letters = asked.chars().count();
    let most = if letters < 2 { 0 } else { 1 + letters / 4 };
    let near = known.into_iter().map(|name| (strsim::osa_distance(&asked, &small(name)), name));
    near.filter(|(letters, _)| *letters <= most).min_by_key(|(letters, _)| *letters).map(|n| n.1)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn names_that_are_nearly_right_are_found() {
        assert_eq!(nearest("kitten", ["sitten"]), Some("sitten"));
        assert_eq!(nearest("kitten", ["sitting"]), None, "three letters of six");
        assert_eq!(nearest("", ["abc"]), None);
        assert_eq!(nearest("fti", ["batch", "fit"]), Some("fit"));
        assert_eq!(nearest("tim", ["signal", "time", "sigma"]), Some("time"));
        assert_eq!(nearest("Signal", ["signal", "time"]), Some("signal"));
        assert_eq!(nearest("A", ["a", "b"]), Some("a"));
        assert_eq!(nearest("c", ["a", "b"]), None);
        assert_eq!(nearest("zebra", ["signal", "time"]), None);
        assert_eq!(nearest("kitten", ["sitting"]), None, "three letters differ");
        assert_eq!(nearest("kitten", ["sittin"]), Some("sittin"), "two do");
    }
}
