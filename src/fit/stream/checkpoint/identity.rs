//! What a checkpoint belongs to: a list of names and values that must be the same, one by one.

use super::bytes::{Malformed, Reader, Writer};

/// Characters of a value that a message shows.
const SHOWN: usize = 72;
/// Of these, characters before the first difference.
const BEFORE: usize = 16;
/// What a value is called where there is none of its name.
const ABSENT: &str = "not given";

/// Names and values in a fixed order: ("model", digest), ("source", …), ….
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity(pub(crate) Vec<(&'static str, String)>);

/// The first thing in which two identities differ, values shortened to the place of the difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) field: String,
    pub(crate) found: String,
    pub(crate) expected: String,
}

impl Difference {
    pub(crate) fn new(field: &str, found: &str, expected: &str) -> Difference {
        let same = found.chars().zip(expected.chars()).take_while(|(a, b)| a == b).count();
        let field = shown(field, 0);
        Difference { field, found: shown(found, same), expected: shown(expected, same) }
    }
}

impl Identity {
    pub(crate) fn write(&self, to: &mut Writer) {
        to.size(self.0.len());
        for (name, value) in &self.0 {
            to.text(name);
            to.text(value);
        }
    }

    /// Compares with the identity that `from` holds next, and leaves what follows it to be read.
    pub(crate) fn compare(&self, from: &mut Reader<'_>) -> Result<Option<Difference>, Malformed> {
        let mut expected = self.0.iter();
        let mut difference = None;
        for _ in 0..from.u64()? {
            let (name, found) = (from.text()?, from.text()?);
            let other = match expected.next() {
                Some((same, value)) if *same == name => {
                    (value != found).then(|| Difference::new(name, found, value))
                }
                _ => Some(Difference::new(name, found, ABSENT)),
            };
            difference = difference.or(other);
        }
        let missing = |(name, value): &(&str, String)| Difference::new(name, ABSENT, value);
        Ok(difference.or_else(|| expected.next().map(missing)))
    }
}

/// `value` on one line and not too long, with the character number `difference` in it.
fn shown(value: &str, difference: usize) -> String {
    let length = value.chars().count();
    let first = difference.saturating_sub(BEFORE).min(length.saturating_sub(SHOWN));
    let mut text = String::new();
    if first > 0 {
        text.push('…');
    }
    for c in value.chars().skip(first).take(SHOWN) {
        if c.is_control() { text.extend(c.escape_default()) } else { text.push(c) }
    }
    if first + SHOWN < length {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(fields: &[(&'static str, &str)]) -> Identity {
        Identity(fields.iter().map(|(name, value)| (*name, value.to_string())).collect())
    }

    /// `here` compared with `there` as read from bytes.
    fn compared(here: &Identity, there: &Identity) -> Option<Difference> {
        let mut writer = Writer::new();
        there.write(&mut writer);
        writer.u8(99);
        let bytes = writer.into_bytes();
        let mut reader = Reader::new(&bytes);
        let difference = here.compare(&mut reader).unwrap();
        assert_eq!(reader.rest(), [99], "what follows is left");
        difference
    }

    fn difference(field: &str, found: &str, expected: &str) -> Option<Difference> {
        let [field, found, expected] = [field, found, expected].map(str::to_owned);
        Some(Difference { field, found, expected })
    }

    #[test]
    fn the_first_difference_is_named() {
        let here = identity(&[("model", "a"), ("source", "b")]);
        assert_eq!(compared(&here, &here), None);
        let there = identity(&[("model", "a"), ("source", "c")]);
        assert_eq!(compared(&here, &there), difference("source", "c", "b"));
        let there = identity(&[("model", "x"), ("source", "y")]);
        assert_eq!(compared(&here, &there), difference("model", "x", "a"));
        let there = identity(&[("model", "a")]);
        assert_eq!(compared(&here, &there), difference("source", ABSENT, "b"));
        assert_eq!(compared(&there, &here), difference("source", "b", ABSENT));
        let there = identity(&[("model", "a"), ("start", "b")]);
        assert_eq!(compared(&here, &there), difference("start", "b", ABSENT));
        assert_eq!(compared(&here, &identity(&[])), difference("model", ABSENT, "a"));
        // The boundary between name and value counts.
        let (here, there) = (identity(&[("ab", "c")]), identity(&[("a", "bc")]));
        assert_eq!(compared(&here, &there), difference("a", "bc", ABSENT));
    }

    #[test]
    fn long_values_are_shortened_to_where_they_differ() {
        let long = "0".repeat(500);
        let other = format!("{}1{}", "0".repeat(300), "0".repeat(199));
        let Difference { found, expected, .. } = Difference::new("field", &long, &other);
        assert_ne!(found, expected);
        assert!(found.chars().count() <= SHOWN + 2, "{found}");
        assert!(expected.starts_with("…0000") && expected.ends_with("000…"), "{expected}");
        assert!(expected.contains('1'), "{expected}");
        // One that ends where the other goes on.
        let Difference { found, expected, .. } = Difference::new("field", &long[1..], &long);
        assert!(found.ends_with('0') && expected.ends_with('0'));
        assert!(Difference::new("a\nb", "c\td", "é").field.contains("\\n"));
        assert_eq!(Difference::new("a", "c\td", "é").found, "c\\td");
        let digest = "f".repeat(64);
        assert_eq!(Difference::new("a", &digest, "b").found, digest, "a digest is shown whole");
    }

    #[test]
    fn a_lie_in_the_count_ends_with_the_bytes() {
        let mut writer = Writer::new();
        writer.u64(u64::MAX);
        let bytes = writer.into_bytes();
        let compared = identity(&[]).compare(&mut Reader::new(&bytes));
        assert_eq!(compared, Err(Malformed::Short { at: 8, needed: 8 }));
    }
}
