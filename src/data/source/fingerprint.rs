//! Fingerprints of sources.

use sha2::{Digest, Sha256};

/// SHA-256 of parts of the contents of a source, for [`Source::fingerprint`](super::Source::fingerprint). The length of each
/// part is hashed before it, so that different lists of parts have different fingerprints.
///
/// ```
/// let mut fingerprint = dualfit::source::Fingerprint::new();
/// fingerprint.number(3);
/// fingerprint.bytes(b"abc");
/// assert_eq!(fingerprint.text().len(), 64);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Fingerprint(Sha256);

impl Fingerprint {
    /// Without parts.
    pub fn new() -> Fingerprint {
        Fingerprint::default()
    }

    /// Adds bytes.
    pub fn bytes(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    /// Adds a number.
    pub fn number(&mut self, value: u64) {
        self.0.update(value.to_le_bytes());
    }

    /// Returns the hash in 64 hexadecimal digits.
    pub fn text(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// At most `count` different places in `0..len`, evenly distributed, with the first and the last.
pub(crate) fn evenly_distributed(len: u64, count: u64) -> impl Iterator<Item = u64> {
    let picked = len.min(count);
    let place = move |i: u64| (i as u128 * (len - 1) as u128 / (picked - 1).max(1) as u128) as u64;
    (0..picked).map(place)
}

#[cfg(test)]
mod tests {
    use super::evenly_distributed;

    #[test]
    fn places_reach_from_the_first_to_the_last() {
        assert_eq!(evenly_distributed(0, 4).count(), 0);
        assert_eq!(evenly_distributed(1, 4).collect::<Vec<_>>(), [0]);
        assert_eq!(evenly_distributed(3, 4).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(evenly_distributed(100, 4).collect::<Vec<_>>(), [0, 33, 66, 99]);
        assert_eq!(evenly_distributed(u64::MAX, 2).collect::<Vec<_>>(), [0, u64::MAX - 1]);
        assert_eq!(evenly_distributed(9, 1).collect::<Vec<_>>(), [0]);
    }
}
