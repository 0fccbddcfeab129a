//! What points are recognised by: a digest of sizes and of a part of the values.

use sha2::{Digest as _, Sha256};

/// A SHA-256 of parts; each part's length goes in before it, so that no two lists of parts are alike.
pub(crate) struct Digest(Sha256);

impl Digest {
    pub(crate) fn new() -> Digest {
        Digest(Sha256::new())
    }

    pub(crate) fn bytes(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    pub(crate) fn number(&mut self, value: u64) {
        self.0.update(value.to_le_bytes());
    }

    /// In hexadecimal digits.
    pub(crate) fn text(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// At most `count` different places in `0..len`, evenly spread, the first and the last among them.
pub(crate) fn spread(len: u64, count: u64) -> impl Iterator<Item = u64> {
    let picked = len.min(count);
    let place = move |i: u64| (i as u128 * (len - 1) as u128 / (picked - 1).max(1) as u128) as u64;
    (0..picked).map(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_is_from_the_first_to_the_last() {
        assert_eq!(spread(0, 4).count(), 0);
        assert_eq!(spread(1, 4).collect::<Vec<_>>(), [0]);
        assert_eq!(spread(3, 4).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(spread(100, 4).collect::<Vec<_>>(), [0, 33, 66, 99]);
        assert_eq!(spread(u64::MAX, 2).collect::<Vec<_>>(), [0, u64::MAX - 1]);
        assert_eq!(spread(9, 1).collect::<Vec<_>>(), [0]);
    }
}
