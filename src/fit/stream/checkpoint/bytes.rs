//! Numbers and texts as bytes: little-endian, lengths before contents, floats by their bits.
//!
//! Everything that is read is checked. A length is believed only as far as there are bytes for it,
//! so that nothing is allocated on its word.

/// Why bytes cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("it ends at byte {at}, where {needed} more were expected")]
    Short { at: usize, needed: u64 },
    #[error("the text at byte {at} is no UTF-8")]
    Text { at: usize },
    #[error("byte {at} is {found}, where only 0 and 1 have a meaning")]
    Flag { at: usize, found: u8 },
    #[error("the number at byte {at} is {found}, more than this machine counts to")]
    Size { at: usize, found: u64 },
    #[error("the {what} before byte {at} is {found}, which it cannot be")]
    Range { what: &'static str, at: usize, found: u64 },
    #[error("{left} bytes are left over at byte {at}")]
    Long { at: usize, left: usize },
}

/// Bytes as they are written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn new() -> Writer {
        Writer::default()
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn flag(&mut self, value: bool) {
        self.u8(value.into());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.raw(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.raw(&value.to_le_bytes());
    }

    pub(crate) fn size(&mut self, value: usize) {
        self.u64(value as u64);
    }

    /// By its bits: NaN and −0 come back as they were.
    pub(crate) fn f64(&mut self, value: f64) {
        self.u64(value.to_bits());
    }

    pub(crate) fn f64s(&mut self, values: &[f64]) {
        self.size(values.len());
        for value in values {
            self.f64(*value);
        }
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.size(bytes.len());
        self.raw(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// `write` is called with the value if there is one.
    pub(crate) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Writer, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    /// Bytes without a length before them.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

/// Bytes that a [`Writer`] wrote, or that lie.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        let [value] = self.array()?;
        Ok(value)
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Malformed> {
        let at = self.at;
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            found => Err(Malformed::Flag { at, found }),
        }
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn size(&mut self) -> Result<usize, Malformed> {
        let at = self.at;
        let found = self.u64()?;
        usize::try_from(found).map_err(|_| Malformed::Size { at, found })
    }

    pub(crate) fn f64(&mut self) -> Result<f64, Malformed> {
        Ok(f64::from_bits(self.u64()?))
    }

    pub(crate) fn f64s(&mut self) -> Result<Vec<f64>, Malformed> {
        let length = self.u64()?;
        let (values, _) = self.take(length.saturating_mul(8))?.as_chunks();
        Ok(values.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.u64()?;
        self.take(length)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        let at = self.at;
        std::str::from_utf8(self.bytes()?).map_err(|_| Malformed::Text { at })
    }

    /// `read` is called if there is a value.
    pub(crate) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Reader<'a>) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    /// What to say of a number that was read and has no meaning.
    pub(crate) fn out_of_range(&self, what: &'static str, found: u64) -> Malformed {
        Malformed::Range { what, at: self.at, found }
    }

    /// All that has not been read.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// That all has been read.
    pub(crate) fn finish(self) -> Result<(), Malformed> {
        let (at, left) = (self.at, self.rest().len());
        if left == 0 { Ok(()) } else { Err(Malformed::Long { at, left }) }
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let short = Malformed::Short { at: self.bytes.len(), needed: N as u64 };
        self.take(N as u64)?.try_into().map_err(|_| short)
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], Malformed> {
        let left = self.bytes.get(self.at..).unwrap_or_default();
        let taken = usize::try_from(length).ok().and_then(|length| left.get(..length));
        let needed = length.saturating_sub(left.len() as u64);
        let taken = taken.ok_or(Malformed::Short { at: self.bytes.len(), needed })?;
        self.at += taken.len();
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads in the order that the bytes of `order` say, until something is wrong.
    fn read_all(bytes: &[u8], order: &[u8]) -> Result<(), Malformed> {
        let mut reader = Reader::new(bytes);
        for kind in order {
            match kind % 8 {
                0 => drop(reader.u8()?),
                1 => drop(reader.u64()?),
                2 => drop(reader.f64()?),
                3 => drop(reader.f64s()?),
                4 => drop(reader.text()?),
                5 => drop(reader.option(Reader::f64s)?),
                6 => drop(reader.size()?),
                _ => drop(reader.bytes()?),
            }
        }
        reader.finish()
    }

    fn sample() -> Vec<u8> {
        let mut writer = Writer::new();
        writer.u8(7);
        writer.u32(0x0102_0304);
        writer.u64(u64::MAX);
        writer.size(12);
        writer.f64s(&[1.5, -0.0, f64::INFINITY]);
        writer.text("αβ");
        writer.option(Some(2.5), Writer::f64);
        writer.option(None, Writer::f64);
        writer.bytes(&[1, 2]);
        writer.into_bytes()
    }

    fn read_sample(bytes: &[u8]) -> Result<(), Malformed> {
        let mut reader = Reader::new(bytes);
        assert_eq!(reader.u8()?, 7);
        assert_eq!(reader.u32()?, 0x0102_0304);
        assert_eq!(reader.u64()?, u64::MAX);
        assert_eq!(reader.size()?, 12);
        let bits: Vec<u64> = reader.f64s()?.into_iter().map(f64::to_bits).collect();
        assert_eq!(bits, [1.5, -0.0, f64::INFINITY].map(f64::to_bits));
        assert_eq!(reader.text()?, "αβ");
        assert_eq!(reader.option(Reader::f64)?, Some(2.5));
        assert_eq!(reader.option(Reader::f64)?, None);
        assert_eq!(reader.bytes()?, [1, 2]);
        reader.finish()
    }

    #[test]
    fn what_is_written_is_read_and_no_part_of_it() {
        let bytes = sample();
        assert_eq!(read_sample(&bytes), Ok(()));
        for length in 0..bytes.len() {
            let short = read_sample(&bytes[..length]);
            assert!(
                matches!(short, Err(Malformed::Short { at, needed }) if at == length && needed > 0),
                "cut to {length}: {short:?}"
            );
        }
        let longer = [&bytes[..], &[0, 0]].concat();
        let long = Malformed::Long { at: bytes.len(), left: 2 };
        assert_eq!(read_sample(&longer), Err(long));
        assert_eq!(Reader::new(&longer).rest(), longer);
    }

    #[test]
    fn the_layout_is_fixed() {
        let mut writer = Writer::new();
        writer.f64s(&[1.0]);
        writer.text("é");
        writer.option(Some(3), Writer::u8);
        let expected = [
            &[1, 0, 0, 0, 0, 0, 0, 0][..],
            &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f],
            &[2, 0, 0, 0, 0, 0, 0, 0, 0xc3, 0xa9],
            &[1, 3],
        ];
        assert_eq!(writer.into_bytes(), expected.concat());
    }

    #[test]
    fn floats_keep_their_bits() {
        let odd = [0x7ff8_0000_0000_1234_u64, 0xfff0_0000_0000_0001, 1, 1 << 63, u64::MAX];
        let mut writer = Writer::new();
        odd.iter().for_each(|bits| writer.f64(f64::from_bits(*bits)));
        let bytes = writer.into_bytes();
        let mut reader = Reader::new(&bytes);
        odd.iter().for_each(|bits| assert_eq!(reader.f64().unwrap().to_bits(), *bits));
    }

    #[test]
    fn lies_are_found() {
        let mut huge = Writer::new();
        huge.u64(u64::MAX);
        huge.f64(1.0);
        let huge = huge.into_bytes();
        let short = |needed| Malformed::Short { at: 16, needed };
        assert_eq!(Reader::new(&huge).f64s(), Err(short(u64::MAX - 8)));
        assert_eq!(Reader::new(&huge).text(), Err(short(u64::MAX - 8)));
        // 2⁶¹ values are 2⁶⁴ bytes, which as a product would wrap to none.
        let mut wrapping = Writer::new();
        wrapping.u64(1 << 61);
        wrapping.f64(1.0);
        assert!(Reader::new(&wrapping.into_bytes()).f64s().is_err());
        let no_text = [2, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
        assert_eq!(Reader::new(&no_text).text(), Err(Malformed::Text { at: 0 }));
        assert_eq!(Reader::new(&[2]).flag(), Err(Malformed::Flag { at: 0, found: 2 }));
        assert_eq!(
            Reader::new(&[9]).option(Reader::u8).unwrap_err().to_string(),
            "byte 0 is 9, where only 0 and 1 have a meaning"
        );
    }

    proptest! {
        #[test]
        fn garbage_never_panics(
            bytes in prop::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 0..200),
            order in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let _ = read_all(&bytes, &order);
        }
    }
}
