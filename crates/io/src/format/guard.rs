//! Protection of other crates' decoders from damaged files. Panics are caught. Numbers that determine allocations or
//! repetitions are first checked against the size of the file or a fixed limit, so that a damaged file costs little
//! memory and time.

use super::file::DataFile;
use dualfit::error::SourceError;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns the result of `decode`, or an error about the file if `decode` panics. After a panic, the data of `decode`
/// are in an unknown state and must be dropped.
pub(crate) fn guarded<T>(
    file: &DataFile,
    decode: impl FnOnce() -> Result<T, SourceError>,
) -> Result<T, SourceError> {
    catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err(file.error("it is damaged: it could not be decoded")))
}

/// Returns an error if a column of an Arrow batch is outside of its `body`, or if its decompressed size is too large.
#[cfg(feature = "arrow")]
pub(crate) fn check_buffers(
    batch: arrow_ipc::RecordBatch<'_>,
    body: &[u8],
) -> Result<(), &'static str> {
    /// Maximum size of a decompressed column of a batch, in bytes.
    const LARGEST: i64 = 256 << 20;
    for buffer in batch.buffers().into_iter().flatten() {
        let place = usize::try_from(buffer.offset()).ok().and_then(|start| body.get(start..));
        let length = usize::try_from(buffer.length()).ok();
        let place = place.zip(length).and_then(|(from, length)| from.get(..length));
        let place = place.ok_or("a column lies outside of its batch")?;
        if let (Some(_), Some(size)) = (batch.compression(), place.first_chunk())
            && i64::from_le_bytes(*size) > LARGEST
        {
            return Err("a packed column is larger than 256 MiB; write smaller batches");
        }
    }
    Ok(())
}

#[cfg(feature = "parquet")]
pub(crate) use thrift::{check_page_header, is_sound};

/// Structures in Thrift's compact protocol, the format of the metadata of Parquet files.
#[cfg(feature = "parquet")]
mod thrift {
    /// Maximum decompressed size of a page, in bytes. A larger page is treated as damage: usual pages have about 1 MiB.
    const LARGEST_PAGE: i64 = 128 << 20;

    /// Maximum depth of nested structures; Parquet's metadata have a depth of six.
    const DEEPEST: usize = 32;

    /// First byte of a field that contains a 32-bit integer and is numbered one higher than the preceding field.
    const NEXT_INTEGER: u8 = 0x15;

    /// Returns true if these bytes begin with a complete structure in which every entry of a list has at least one
    /// byte, as the protocol requires. The decoder skips some entries without reading a byte: a damaged count of
    /// billions of entries would cost it seconds.
    pub(crate) fn is_sound(mut bytes: &[u8]) -> bool {
        pass(&mut bytes, 12, 0).is_some()
    }

    /// Returns the decompressed size of a page in bytes, from its header. Returns an error if the size is too large for
    /// a page, or if a dictionary is too short for its stated number of values: the decoder allocates according to
    /// both.
    pub(crate) fn check_page_header(header: &[u8]) -> Result<u64, String> {
        const DICTIONARY: i64 = 2;
        let damaged = || String::from("a page header is damaged");
        let mut rest = header;
        let (kind, size) = (integer(&mut rest), integer(&mut rest));
        let (kind, size) = kind.zip(size).filter(|_| is_sound(header)).ok_or_else(damaged)?;
        if !(0..=LARGEST_PAGE).contains(&size) {
            return Err(format!("a page says that it has {size} bytes"));
        }
        if kind == DICTIONARY {
            let _size_in_file = integer(&mut rest);
            let _checksum = integer(&mut rest);
            // The header of the dictionary begins with the number of values. Each value has at least four bytes.
            let inside = matches!(byte(&mut rest), Some(0x3c | 0x4c));
            let values = integer(&mut rest).filter(|_| inside).ok_or_else(damaged)?;
            if !(0..=size / 4).contains(&values) {
                return Err(format!(
                    "a dictionary of {size} bytes says that it has {values} values"
                ));
            }
        }
        Ok(size as u64)
    }

    fn byte(bytes: &mut &[u8]) -> Option<u8> {
        let (&first, rest) = bytes.split_first()?;
        *bytes = rest;
        Some(first)
    }

    /// Reads an unsigned integer with seven bits per byte, the lowest first.
    fn number(bytes: &mut &[u8]) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = byte(bytes)?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// Reads the next field if it is an integer; otherwise returns `None`.
    fn integer(bytes: &mut &[u8]) -> Option<i64> {
        let mut rest = bytes.strip_prefix(&[NEXT_INTEGER])?;
        let zigzag = number(&mut rest)?;
        *bytes = rest;
        Some((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    /// Skips a value. `kind`: number of its type in the protocol.
    fn pass(bytes: &mut &[u8], kind: u8, depth: usize) -> Option<()> {
        let skip = |bytes: &mut &[u8], count: u64| {
            *bytes = bytes.get(usize::try_from(count).ok()?..)?;
            Some(())
        };
        match kind {
            1..=3 => skip(bytes, 1),
            4..=6 => number(bytes).map(drop),
            7 => skip(bytes, 8),
            8 => {
                let length = number(bytes)?;
                skip(bytes, length)
            }
            // A list or a set: the type of the entries and their number, in one byte if the number is small.
            9 | 10 if depth < DEEPEST => {
                let head = byte(bytes)?;
                let count = match head >> 4 {
                    15 => number(bytes)?,
                    count => count.into(),
                };
                let mut entries = 0..Some(count).filter(|&count| count <= bytes.len() as u64)?;
                entries.try_for_each(|_| pass(bytes, head & 0xf, depth + 1))
            }
            12 if depth < DEEPEST => loop {
                let field = byte(bytes)?;
                if field == 0 {
                    return Some(());
                }
                // The number of the field follows unless the first byte contains its distance from the preceding
                // number.
                if field >> 4 == 0 {
                    number(bytes)?;
                }
                // The type of a bool contains its value.
                if !matches!(field & 0xf, 1 | 2) {
                    pass(bytes, field & 0xf, depth + 1)?;
                }
            },
            // Parquet has no maps.
            _ => None,
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn structures_end_where_they_say() {
            // One field of each type: true, byte, i32, double, text "ab", list of two i32, structure.
            let sound = [
                0x11, 0x13, 7, 0x15, 0x80, 0x01, 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0x18, 2, b'a', b'b',
                0x19, 0x25, 1, 2, 0x1c, 0x05, 9, 1, 0, 0,
            ];
            assert!(is_sound(&sound));
            assert!((0..sound.len()).all(|cut| !is_sound(&sound[..cut])));
        }

        #[test]
        fn lists_longer_than_their_bytes_are_found() {
            // A list of 2³² − 1 values of type bool.
            assert!(!is_sound(&[0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]));
            // Nested structures that do not end.
            assert!(!is_sound(&[0x1c; 1000]));
            assert!(!is_sound(&[0x19; 1000]));
        }

        #[test]
        fn pages_and_dictionaries_that_lie_about_their_size_are_found() {
            // Type, size, size in the file, an optional checksum, and the header of a dictionary.
            let page = |kind: u8, size: &[u8], rest: &[u8]| {
                let parts = [&[0x15, 2 * kind, 0x15], size, &[0x15, 0x50], rest, &[0, 0]];
                check_page_header(&parts.concat())
            };
            let dictionary = [0x4c, 0x15, 0x14];
            assert_eq!(page(2, &[0x50], &dictionary), Ok(40), "ten values in 40 bytes");
            assert_eq!(page(2, &[0x50], &[0x15, 0x7f, 0x3c, 0x15, 0x14]), Ok(40));
            assert_eq!(page(0, &[0x50], &[0x2c, 0x15, 0xff, 0x7f]), Ok(40));
            let many = page(2, &[0x50], &[0x4c, 0x15, 0x16]).unwrap_err();
            assert_eq!(many, "a dictionary of 40 bytes says that it has 11 values");
            assert!(page(2, &[0x50], &[0x15, 0x7f, 0x3c, 0x15, 0xff, 0xff, 0x7f]).is_err());
            assert!(page(2, &[0x50], &[0x0c, 0x0e, 0x15, 0x14]).is_err(), "another form");
            let large = page(0, &[0x82, 0x80, 0x80, 0x80, 0x01], &[0x2c]).unwrap_err();
            assert_eq!(large, "a page says that it has 134217729 bytes");
            assert!(page(0, &[0x01], &[0x2c]).unwrap_err().contains("-1 bytes"));
            assert_eq!(page(0, &[0x50], &[0x18, 0x7f]).unwrap_err(), "a page header is damaged");
        }
    }
}
