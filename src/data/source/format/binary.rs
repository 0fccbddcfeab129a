//! Columns of binary files: numbers at fixed distances, each at a place that can be computed.
//!
//! Files are read, not mapped into memory. Reading is as fast, a file that is cut meanwhile is an error
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
                let Some(field) = self.fields.get(column).filter(|f| f.table == number) else {
                    continue;
                };
                let at = |(done, error): (usize, SourceError)| {
                    error.at_row(first + done as u64).in_column(roles.name(column))
                };
                let Some(mut target) = Target::of(chunk, role) else { continue };
                let Encoding { number: kind, big_endian } = field.encoding;
                if table.stride == kind.bytes() {
                    let file = &table.file;
                    let read = match &mut target {
                        Target::F64(out) if kind == NumberType::F64 => {
                            Some(read_floats(file, start, rows, big_endian, out))
                        }
                        Target::F32(out) if kind == NumberType::F32 => {
                            Some(read_floats(file, start, rows, big_endian, out))
                        }
                        _ => None,
                    };
                    if let Some(read) = read {
                        read.map_err(at)?;
                        continue;
                    }
                }
                // A row longer than a block is alone in it, and only the number itself is read.
                let long = table.stride > BLOCK;
                let (from, bytes) = if long {
                    (start + field.offset as u64, field.encoding.number.bytes())
                } else {
                    (start, rows * table.stride)
                };
                if long || !in_buffer {
                    self.buffer.resize(bytes, 0);
                    let read = table.file.read_exact(from, &mut self.buffer);
                    read.map_err(|(done, error)| at((done / table.stride, error)))?;
                    in_buffer = true;
                }
                let (stride, offset) = if long { (bytes, 0) } else { (table.stride, field.offset) };
                match target {
                    Target::F64(out) => {
                        field.encoding.append_f64(&self.buffer, stride, offset, out)
                    }
                    Target::F32(out) => {
                        field.encoding.append_f32(&self.buffer, stride, offset, out)
                    }
                }
            }
        }
        Ok(())
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
}
