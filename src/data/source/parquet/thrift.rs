//! A walk over bytes in Thrift's compact protocol that only asks whether lists are as long as they say.
//!
//! The decoder passes over what it does not know entry by entry, and over some entries without reading a
//! byte: a damaged number of thousands of millions of them would keep it busy for seconds. Here every
//! entry of a list takes a byte at least, as the protocol has it.

/// Structures within structures that are walked into; Parquet's have six.
const DEEPEST: usize = 32;

/// Whether a structure begins these bytes and ends within them.
pub(super) fn is_sound(bytes: &[u8]) -> bool {
    Walk { bytes }.structure(0).is_some()
}

/// The bytes that are left.
struct Walk<'a> {
    bytes: &'a [u8],
}

impl Walk<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first)
    }

    fn pass(&mut self, count: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    /// A number of seven bits to a byte.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// How many entries follow, which have a byte each at least.
    fn entries(&mut self, count: u64) -> Option<u64> {
        (count <= self.bytes.len() as u64).then_some(count)
    }

    fn structure(&mut self, depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        loop {
            let field = self.byte()?;
            if field == 0 {
                return Some(());
            }
            // A field's number follows where it is not told by its distance from the one before.
            if field >> 4 == 0 {
                self.number()?;
            }
            // Truth values are told by their type.
            if !matches!(field & 0xf, 1 | 2) {
                self.value(field & 0xf, depth)?;
            }
        }
    }

    /// A value of the kind that the protocol numbers so.
    fn value(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            1..=3 => self.pass(1),
            4..=6 => self.number().map(drop),
            7 => self.pass(8),
            8 => {
                let length = self.number()?;
                self.pass(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.number()?,
                    count => count.into(),
                };
                for _ in 0..self.entries(count)? {
                    self.entry(head & 0xf, depth)?;
                }
                Some(())
            }
            11 => {
                let count = self.number()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                for _ in 0..self.entries(count)? {
                    self.entry(kinds >> 4, depth)?;
                    self.entry(kinds & 0xf, depth)?;
                }
                Some(())
            }
            12 => self.structure(depth + 1),
            _ => None,
        }
    }

    /// A value within a list; lists in lists count as structures.
    fn entry(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > DEEPEST { None } else { self.value(kind, depth + 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::is_sound;

    #[test]
    fn structures_end_where_they_say() {
        // A field of each kind: true, byte, i32, double, text "ab", list of two i32, map of one, structure.
        let sound = [
            0x11, 0x13, 7, 0x15, 0x80, 0x01, 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0x18, 2, b'a', b'b',
            0x19, 0x25, 1, 2, 0x1b, 1, 0x55, 3, 4, 0x1c, 0x05, 9, 1, 0, 0,
        ];
        assert!(is_sound(&sound));
        assert!((0..sound.len()).all(|cut| !is_sound(&sound[..cut])));
    }

    #[test]
    fn lists_longer_than_their_bytes_are_found() {
        // Four thousand million truth values.
        assert!(!is_sound(&[0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]));
        // Structures without end.
        assert!(!is_sound(&[0x1c; 1000]));
        assert!(!is_sound(&[0x19; 1000]));
    }
}
