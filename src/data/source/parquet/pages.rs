//! The bytes of a Parquet file for its decoder, and the numbers in page headers held against what the
//! file can have: the decoder allocates what they say.

use super::thrift;
use crate::data::source::format::file::{DataFile, FileReader};
use bytes::Bytes;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::io::{self, Read};
use std::sync::Arc;

/// A page that is larger when it is unpacked is taken for damage. Writers make pages of about 1 MiB.
const LARGEST_PAGE: i64 = 128 << 20;

/// A page header that is longer is taken for damage: of numbers it has about a hundred bytes.
const LARGEST_HEADER: u64 = 4 << 10;
/// Bytes at the end of a file: the length of its metadata, and a mark.
const FOOTER: u64 = 8;

/// A file whose readers begin at page headers, or in its metadata.
pub(super) struct Pages {
    file: Arc<DataFile>,
    headers: bool,
}

impl Pages {
    pub(super) fn metadata(file: Arc<DataFile>) -> Pages {
        Pages { file, headers: false }
    }

    pub(super) fn of_columns(file: Arc<DataFile>) -> Pages {
        Pages { file, headers: true }
    }
}

fn damaged(message: &str) -> ParquetError {
    ParquetError::General(message.into())
}

impl Length for Pages {
    fn len(&self) -> u64 {
        self.file.length()
    }
}

impl ChunkReader for Pages {
    type T = CheckedReader;

    fn get_read(&self, start: u64) -> Result<CheckedReader> {
        let reader = || FileReader::new(self.file.clone(), start);
        Ok(CheckedReader {
            header: self.headers.then(reader),
            ends_badly: self.headers,
            bytes: io::BufReader::new(reader()),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.file.length()) {
            return Err(damaged("the file is cut short"));
        }
        let mut bytes = vec![0; length];
        let read = self.file.read_exact(start, &mut bytes);
        read.map_err(|(_, error)| ParquetError::External(Box::new(error)))?;
        Ok(bytes.into())
    }
}

/// The bytes from a place on. What begins there is checked before it is read, and only if it is: the
/// decoder also asks for readers that it does not use.
pub(super) struct CheckedReader {
    header: Option<FileReader>,
    /// Whether the end of the file is an error, as it is in a header: the decoder would pass over the
    /// thousands of millions of entries that a damaged list has, one by one, where there are no bytes.
    ends_badly: bool,
    bytes: io::BufReader<FileReader>,
}

impl Read for CheckedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(header) = self.header.take() {
            check_header(header).map_err(io::Error::other)?;
        }
        match self.bytes.read(buffer)? {
            0 if self.ends_badly && !buffer.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            read => Ok(read),
        }
    }
}

/// Whether the metadata, which lie before the last eight bytes, are sound, if they are where these say.
pub(super) fn check_footer(file: &DataFile) -> Result<()> {
    let cut = || damaged("the file is cut short");
    let end = file.length().checked_sub(FOOTER).ok_or_else(cut)?;
    let mut footer = [0; FOOTER as usize];
    let external = |(_, error)| ParquetError::External(Box::new(error));
    file.read_exact(end, &mut footer).map_err(external)?;
    let [a, b, c, d, ..] = footer;
    let length = u32::from_le_bytes([a, b, c, d]);
    let start = end.checked_sub(length.into()).ok_or_else(cut)?;
    let mut metadata = vec![0; length as usize];
    file.read_exact(start, &mut metadata).map_err(external)?;
    if thrift::is_sound(&metadata) { Ok(()) } else { Err(damaged("the metadata are damaged")) }
}

/// Holds a page header's size after unpacking within bounds. The header's first three fields are
/// 32-bit integers, in Thrift's compact protocol: type, size, size in the file.
fn check_header(file: FileReader) -> Result<()> {
    const INTEGER: u8 = 0x15;
    let mut bytes = Vec::new();
    file.take(LARGEST_HEADER).read_to_end(&mut bytes)?;
    if !thrift::is_sound(&bytes) {
        return Err(damaged("a page header is damaged"));
    }
    let mut bytes = bytes.into_iter();
    let mut field = || {
        if bytes.next()? != INTEGER {
            return None;
        }
        let (mut zigzag, mut shift) = (0_u64, 0);
        loop {
            let byte = bytes.next()?;
            zigzag |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
            shift += 7;
            if shift > 28 {
                return None;
            }
        }
        Some((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    };
    let (_, size) = (field(), field());
    match size {
        Some(0..=LARGEST_PAGE) => Ok(()),
        Some(size) => Err(damaged(&format!("a page says that it has {size} bytes"))),
        None => Err(damaged("a page header is damaged")),
    }
}

/// The pages of a column whose values have `value_bytes` each. Dictionaries are as long as they say.
pub(super) struct CheckedPages<P> {
    pub(super) pages: P,
    pub(super) value_bytes: usize,
}

impl<P> CheckedPages<P> {
    fn check(&self, page: Option<Page>) -> Result<Option<Page>> {
        if let Some(Page::DictionaryPage { buf, num_values, .. }) = &page
            && *num_values as usize > buf.len() / self.value_bytes
        {
            return Err(damaged("a dictionary is shorter than it says"));
        }
        Ok(page)
    }
}

impl<P: PageReader> Iterator for CheckedPages<P> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl<P: PageReader> PageReader for CheckedPages<P> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        self.check(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.pages.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> Result<Option<Page>> {
        let page = self.pages.take_deferred_dictionary()?;
        self.check(page)
    }
}
