//! Columns of binary files: numbers at fixed distances, each at a place that can be computed.
//!
//! Files are read, not mapped into memory. Where the disk is the limit reading is as fast, a file that is cut meanwhile is an error
//! and not a signal that ends the process, and what was read does not count as the process's memory.

use super::file::DataFile;
use super::number::{Encoding, NumberType, read_floats};
use super::roles::{Role, Roles, expect_chunk};
use crate::data::source::chunk::{Chunk, Column, Shape};
use crate::error::source::SourceError;
use std::sync::Arc;

/// Bytes that are read at a time. They and the values made from them stay in the cache of a core.
const BLOCK: usize = 256 << 10;

/// Rows of `stride` bytes that follow each other from byte `start` of a file.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) file: Arc<DataFile>,
    pub(crate) start: u64,
    pub(crate) stride: usize,
}

/// A number in each row of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) table: usize,
    pub(crate) offset: usize,
    pub(crate) encoding: Encoding,
}

/// Tables of one number of rows, and which of their fields are x, y and sigma.
#[derive(Debug)]
pub(crate) struct Binary {
    tables: Vec<Table>,
    fields: Vec<Field>,
    points: u64,
    next: u64,
    buffer: Vec<u8>,
}

impl Binary {
    /// `points` rows of every table must lie within its file.
    pub(crate) fn new(tables: Vec<Table>, fields: Vec<Field>, points: u64) -> Binary {
        Binary { tables, fields, points, next: 0, buffer: Vec::new() }
    }

    pub(crate) fn restart(&mut self) {
        self.next = 0;
    }

    pub(crate) fn shape(&self, roles: &Roles) -> Shape {
        let number = |column: usize| self.fields.get(column).map(|field| field.encoding.number);
        let width = |column| number(column).unwrap_or(NumberType::F64).width();
        roles.shape(width, Some(self.points))
    }

    pub(crate) fn skip(&mut self, count: u64) -> u64 {
        let skipped = count.min(self.points - self.next);
        self.next += skipped;
        skipped
    }

    /// Appends nothing and stays where it is if there is an error.
    pub(crate) fn read(
        &mut self,
        chunk: &mut Chunk,
        most: usize,
        roles: &Roles,
    ) -> Result<usize, SourceError> {
        let place = self.tables.first().map(|table| table.file.place()).unwrap_or_default();
        expect_chunk(chunk, roles, &place)?;
        let left = usize::try_from(self.points - self.next).unwrap_or(usize::MAX);
        let (before, want) = (chunk.len(), most.min(left));
        let at_a_time = self.rows_of_a_block();
        let mut done = 0;
        while done < want {
            let rows = at_a_time.min(want - done);
            if let Err(error) = self.read_block(chunk, roles, self.next + done as u64, rows) {
                chunk.truncate(before);
                return Err(error);
            }
            done += rows;
        }
        self.next += done as u64;
        Ok(done)
    }

    fn rows_of_a_block(&self) -> usize {
        let longest = self.tables.iter().map(|table| table.stride).max().unwrap_or(1);
        (BLOCK / longest.max(1)).max(1)
    }

    fn read_block(
        &mut self,
        chunk: &mut Chunk,
        roles: &Roles,
        first: u64,
        rows: usize,
    ) -> Result<(), SourceError> {
        for (number, table) in self.tables.iter().enumerate() {
            let start = table.start + first * table.stride as u64;
            let mut in_buffer = false;
            for (role, column) in roles.all() {
                let field = self.fields.get(column).filter(|field| field.table == number);
                let Some((field, mut out)) = field.zip(Target::of(chunk, role)) else { continue };
                let at = |(done, error): (usize, SourceError)| {
                    error.at_row(first + done as u64).in_column(roles.name(column))
                };
                if let Some(read) = table.read_directly(field, start, rows, &mut out) {
                    read.map_err(at)?;
                } else if table.stride > BLOCK {
                    // Such a row is alone in its block, and only the number itself is read.
                    let bytes = field.encoding.number.bytes();
                    self.buffer.resize(bytes, 0);
                    let read = table.file.read_exact(start + field.offset as u64, &mut self.buffer);
                    read.map_err(|(_, error)| at((0, error)))?;
                    out.append(field.encoding, &self.buffer, bytes, 0);
                } else {
                    if !in_buffer {
                        self.buffer.resize(rows * table.stride, 0);
                        let read = table.file.read_exact(start, &mut self.buffer);
                        read.map_err(|(done, error)| at((done / table.stride, error)))?;
                        in_buffer = true;
                    }
                    out.append(field.encoding, &self.buffer, table.stride, field.offset);
                }
            }
        }
        Ok(())
    }
}

impl Table {
    /// Reads numbers that follow each other, and that the column keeps as they are, to their place;
    /// `None` where they are other ones.
    fn read_directly(
        &self,
        field: &Field,
        start: u64,
        rows: usize,
        out: &mut Target<'_>,
    ) -> Option<Result<(), (usize, SourceError)>> {
        let Encoding { number, big_endian } = field.encoding;
        if self.stride != number.bytes() {
            return None;
        }
        match (out, number) {
            (Target::F64(out), NumberType::F64) => {
                Some(read_floats(&self.file, start, rows, big_endian, out))
            }
            (Target::F32(out), NumberType::F32) => {
                Some(read_floats(&self.file, start, rows, big_endian, out))
            }
            _ => None,
        }
    }
}

/// Where the values of a column go.
enum Target<'a> {
    F64(&'a mut Vec<f64>),
    F32(&'a mut Vec<f32>),
}

impl<'a> Target<'a> {
    fn of(chunk: &'a mut Chunk, role: Role) -> Option<Target<'a>> {
        let column = match role {
            Role::X(i) => chunk.x.get_mut(i)?,
            Role::Y => &mut chunk.y,
            Role::Sigma => return chunk.sigma.as_mut().map(Target::F64),
        };
        Some(match column {
            Column::F64(out) => Target::F64(out),
            Column::F32(out) => Target::F32(out),
        })
    }

    fn append(self, encoding: Encoding, rows: &[u8], stride: usize, offset: usize) {
        match self {
            Target::F64(out) => encoding.append_f64(rows, stride, offset, out),
            Target::F32(out) => encoding.append_f32(rows, stride, offset, out),
        }
    }
}

/// Reading of a source with the fields `binary`, `roles`, `files` and `layout`.
macro_rules! reading_binary {
    ($source:ident) => {
        impl $source {
            fn place(&self) -> String {
                self.files.first().map(|file| file.place()).unwrap_or_default()
            }

            fn restart(&mut self) -> Result<(), SourceError> {
                self.binary.restart();
                Ok(())
            }
        }

        impl Source for $source {
            fn shape(&self) -> Shape {
                self.binary.shape(&self.roles)
            }

            fn rewind(&mut self) -> Result<(), SourceError> {
                self.restart()
            }

            fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
                self.binary.read(chunk, most, &self.roles)
            }

            fn skip(&mut self, count: u64) -> Result<u64, SourceError> {
                Ok(self.binary.skip(count))
            }

            fn unchanged(&self) -> Result<(), SourceChange> {
                self.files.iter().try_for_each(|file| file.unchanged())
            }

            fn fingerprint(&self) -> Result<String, SourceError> {
                let mut text = format!("{} {}", self.layout, self.roles.text());
                for file in &self.files {
                    text += "; ";
                    text += &file.fingerprint()?;
                }
                Ok(text)
            }
        }
    };
}
pub(crate) use reading_binary;
