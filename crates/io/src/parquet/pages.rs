//! Reader of the pages of the columns of a row group. Compressed pages are decompressed by several threads. The decoder
//! receives the pages in order.

use crate::format::batches::Ahead;
use crate::format::file::DataFile;
use crate::format::guard::{check_page_header, guarded};
use crate::side_by_side::lock;
use ::parquet::arrow::arrow_reader::RowGroups;
use ::parquet::basic::Compression;
use ::parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use ::parquet::file::reader::{ChunkReader, Length, SerializedPageReader};
use bytes::Bytes;
use dualfit::error::SourceError;
use dualfit::source::decoding_threads;
use std::collections::VecDeque;
use std::io::{self, Cursor, Read};
use std::iter;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Maximum number of lanes of a column. Each lane decompresses some of the pages of the column ([`Lanes`]).
const MOST_LANES: usize = 8;

/// Maximum number of bytes that a lane decompresses in advance.
const MOST_AHEAD: u64 = 4 << 20;

/// Maximum length of a page header, in bytes. A longer header is treated as damage; the headers of pages of numbers
/// have about 100 bytes.
const LARGEST_HEADER: usize = 4 << 10;

/// A row group of which some columns are read.
pub(super) struct Group {
    metadata: Arc<ParquetMetaData>,
    number: usize,
    columns: Vec<(usize, Lanes)>,
}

/// The pages of a column, distributed over lanes that can decompress in parallel: lane `i` of `n` has the pages `i`,
/// `i + n`, `i + 2 n` and so on.
type Lanes = Vec<Arc<Lane>>;

impl Group {
    pub(super) fn new(
        file: &Arc<DataFile>,
        metadata: &Arc<ParquetMetaData>,
        number: usize,
        columns: &[usize],
    ) -> Result<Group, ParquetError> {
        let group = metadata.row_group(number);
        let lanes = |&column: &usize| {
            let chunk = group.column(column);
            let count = match chunk.compression() {
                Compression::UNCOMPRESSED => 1,
                _ => decoding_threads().min(MOST_LANES),
            };
            let lane = |number| {
                let pages = Pages { file: file.clone(), size: Arc::default() };
                let size = pages.size.clone();
                let rows = group.num_rows() as usize;
                let pages = SerializedPageReader::new(Arc::new(pages), chunk, rows, None)?;
                let unpacker = Unpacker { pages, size, number, every: count, at: 0, rows: 0 };
                Ok(Arc::new(Lane::new(unpacker)))
            };
            let lanes: Result<Lanes, ParquetError> = (0..count).map(lane).collect();
            Ok((column, lanes?))
        };
        let columns = columns.iter().map(lanes).collect::<Result<_, ParquetError>>()?;
        Ok(Group { metadata: metadata.clone(), number, columns })
    }

    /// Returns the lanes that can decompress pages in advance: those of columns with several lanes.
    pub(super) fn ahead(&self) -> Vec<Arc<dyn Ahead>> {
        let several = self.columns.iter().filter(|(_, lanes)| lanes.len() > 1);
        several.flat_map(|(_, lanes)| lanes.iter().map(|lane| lane.clone() as _)).collect()
    }
}

impl RowGroups for Group {
    fn num_rows(&self) -> usize {
        self.metadata.row_group(self.number).num_rows() as usize
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>, ParquetError> {
        let found = self.columns.iter().find(|(wanted, _)| *wanted == column);
        let (_, lanes) = found.ok_or_else(|| ParquetError::General("no such column".into()))?;
        let pages = PagesInOrder { lanes: lanes.clone(), next: 0 };
        Ok(Box::new(Once(Some(Box::new(pages)))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(iter::once(self.metadata.row_group(self.number)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// Iterator over the page readers of a column; a row group has one per column.
struct Once(Option<Box<dyn PageReader>>);

impl Iterator for Once {
    type Item = Result<Box<dyn PageReader>, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageIterator for Once {}

/// One lane of a column.
struct Lane {
    ready: Mutex<Ready>,
    changed: Condvar,
}

/// Pages that were decompressed in advance, and the decompressor of the following pages unless a thread uses it.
struct Ready {
    pages: VecDeque<Result<Page, ParquetError>>,
    unpacker: Option<Unpacker>,
}

impl Lane {
    fn new(unpacker: Unpacker) -> Lane {
        let ready = Ready { pages: VecDeque::new(), unpacker: Some(unpacker) };
        Lane { ready: Mutex::new(ready), changed: Condvar::new() }
    }

    /// Waits until there is a page, or a decompressor that no thread uses.
    fn ready(&self) -> MutexGuard<'_, Ready> {
        let waits = |ready: &mut Ready| ready.pages.is_empty() && ready.unpacker.is_none();
        let ready = self.changed.wait_while(lock(&self.ready), waits);
        ready.unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Result<Option<Page>, ParquetError> {
        let mut ready = self.ready();
        match ready.pages.pop_front() {
            Some(page) => page.map(Some),
            None => ready.unpacker.as_mut().map_or(Ok(None), Unpacker::take),
        }
    }

    fn peek(&self) -> Result<Option<PageMetadata>, ParquetError> {
        let mut ready = self.ready();
        match ready.pages.pop_front() {
            Some(page) => {
                let page = page?;
                let found = description(&page);
                ready.pages.push_front(Ok(page));
                Ok(Some(found))
            }
            None => ready.unpacker.as_mut().map_or(Ok(None), Unpacker::find),
        }
    }

    fn skip(&self) -> Result<(), ParquetError> {
        let mut ready = self.ready();
        match ready.pages.pop_front() {
            Some(_) => Ok(()),
            None => ready.unpacker.as_mut().map_or(Ok(()), Unpacker::skip),
        }
    }
}

/// Decompressor of the pages of a lane.
struct Unpacker {
    pages: SerializedPageReader<Pages>,
    /// Decompressed size, in bytes, of the page whose header was read last.
    size: Arc<AtomicU64>,
    /// Number of the next page of this lane, and distance to the page after it.
    number: usize,
    every: usize,
    /// Number of the page at the reader's position, and number of its first row in the group.
    at: usize,
    rows: u64,
}

impl Unpacker {
    /// Returns the metadata of the next page of this lane; `None` at the end. Skips pages of other lanes.
    fn find(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        loop {
            let found = self.pages.peek_next_page()?;
            match found {
                Some(other) if self.at < self.number => {
                    self.pages.skip_next_page()?;
                    self.pass(&other);
                }
                found => return Ok(found),
            }
        }
    }

    /// Advances the position past a page of this or another lane.
    fn pass(&mut self, page: &PageMetadata) {
        let rows = if page.is_dict { None } else { page.num_rows.or(page.num_levels) };
        self.rows += rows.unwrap_or(0) as u64;
        if self.at == self.number {
            self.number += self.every;
        }
        self.at += 1;
    }

    fn take(&mut self) -> Result<Option<Page>, ParquetError> {
        let Some(page) = self.find()? else { return Ok(None) };
        self.pass(&page);
        self.pages.get_next_page()
    }

    fn skip(&mut self) -> Result<(), ParquetError> {
        if let Some(page) = self.find()? {
            self.pass(&page);
            self.pages.skip_next_page()?;
        }
        Ok(())
    }

    /// Returns the next page if it begins before row `end` and its decompressed size is at most `room`. Subtracts this
    /// size from `room`.
    fn ahead(&mut self, end: u64, room: &mut u64) -> Option<Result<Page, ParquetError>> {
        self.find().ok().flatten()?;
        let size = self.size.load(Ordering::Relaxed);
        *room = room.checked_sub(size).filter(|_| self.rows < end)?;
        self.take().transpose()
    }
}

impl Ahead for Lane {
    /// Decompresses the next pages, together at most [`MOST_AHEAD`] bytes. [`Lane::take`] reads pages that exceed this
    /// limit or have an unreadable header. If a page cannot be decompressed, its error is queued in its place.
    fn prepare(&self, file: &DataFile, end: u64) {
        let mut room = MOST_AHEAD;
        let mut is_done = false;
        while !is_done {
            let Some(mut unpacker) = lock(&self.ready).unpacker.take() else { return };
            let page = guarded(file, || Ok(unpacker.ahead(end, &mut room)));
            let page = page.unwrap_or_else(|error| Some(Err(external(error).into())));
            is_done = !matches!(page, Some(Ok(_)));
            let mut ready = lock(&self.ready);
            ready.pages.extend(page);
            ready.unpacker = Some(unpacker);
            self.changed.notify_one();
        }
    }
}

/// Reader of the pages of a column, in their order in the file.
struct PagesInOrder {
    lanes: Lanes,
    next: usize,
}

impl PagesInOrder {
    fn lane(&self) -> &Lane {
        &self.lanes[self.next % self.lanes.len()]
    }
}

impl PageReader for PagesInOrder {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let page = self.lane().take();
        self.next += 1;
        page
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.lane().peek()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        let skipped = self.lane().skip();
        self.next += 1;
        skipped
    }
}

impl Iterator for PagesInOrder {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

/// Returns the metadata that the header of a page contains.
fn description(page: &Page) -> PageMetadata {
    let (is_dict, values) = (page.is_dictionary_page(), page.num_values() as usize);
    let num_rows = match page {
        Page::DataPageV2 { num_rows, .. } => Some(*num_rows as usize),
        _ => None,
    };
    PageMetadata { num_rows, num_levels: (!is_dict).then_some(values), is_dict }
}

/// Access of the decoder to the bytes of a file. The decoder reads page headers with `get_read`, and pages as a whole
/// with `get_bytes`.
struct Pages {
    file: Arc<DataFile>,
    /// Decompressed size, in bytes, of the page whose header was read last.
    size: Arc<AtomicU64>,
}

fn external(error: SourceError) -> io::Error {
    io::Error::other(error.message)
}

impl Length for Pages {
    fn len(&self) -> u64 {
        self.file.length()
    }
}

impl ChunkReader for Pages {
    type T = PageHeader;

    fn get_read(&self, start: u64) -> Result<PageHeader, ParquetError> {
        Ok(PageHeader { file: self.file.clone(), start, bytes: None, size: self.size.clone() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.file.length()) {
            return Err(ParquetError::General("the file is cut short".into()));
        }
        let bytes = self.file.bytes(start, length);
        let bytes = bytes.map_err(|error| ParquetError::External(Box::new(external(error))))?;
        Ok(bytes.into())
    }
}

/// The header of a page. It is loaded and checked at the first read, because the decoder also requests readers that
/// it does not use.
struct PageHeader {
    file: Arc<DataFile>,
    start: u64,
    bytes: Option<Cursor<Vec<u8>>>,
    size: Arc<AtomicU64>,
}

impl Read for PageHeader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = match &mut self.bytes {
            Some(bytes) => bytes,
            none => {
                let left = self.file.length().saturating_sub(self.start);
                let length = left.min(LARGEST_HEADER as u64) as usize;
                let bytes = self.file.bytes(self.start, length).map_err(external)?;
                let size = check_page_header(&bytes).map_err(io::Error::other)?;
                self.size.store(size, Ordering::Relaxed);
                none.insert(Cursor::new(bytes))
            }
        };
        bytes.read(buffer)
    }
}
