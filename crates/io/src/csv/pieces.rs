//! Division of a text into pieces at ends of lines. Pieces are decoded in parallel.
//!
//! A piece ends before the last line break outside of quotes, and the next piece begins with this line break. Its first
//! row is therefore not at byte 0 of the piece, and no reader takes it for the first row of the file. From a position
//! where the text cannot be divided or decoded, the reader continues row by row and reports the error.

use super::options::Delimiter;
use super::quotes::QuoteCheck;
use super::rows::{Piece, TableRows, Text};
use crate::side_by_side;
use dualfit::source::decoding_threads;

/// Maximum size of a piece, in bytes.
const PIECE: usize = 256 << 10;
/// Number of pieces that are decoded together: per thread, and maximum for all threads.
const EACH: usize = 4;
const MOST: usize = 16;

/// The pieces of a text from a position on.
pub(super) struct Pieces {
    text: Text,
    /// Position of the next piece, in bytes.
    pub(super) at: u64,
    buffer: Vec<u8>,
}

impl Pieces {
    pub(super) fn new(text: &Text) -> Pieces {
        Pieces { text: text.clone(), at: 0, buffer: Vec::new() }
    }

    /// Moves to the byte `near`, at which a row begins, or to the preceding byte if it is a line break.
    pub(super) fn go_to(&mut self, near: u64) {
        let before = near.saturating_sub(1);
        let ends = self.text.file.bytes(before, 1).is_ok_and(|byte| b"\n\r".contains(&byte[0]));
        self.at = if ends { before } else { near };
    }

    /// Returns the results of `work` for the next pieces, each with the position of its piece. They end before the
    /// first piece for which `work` returns `None`. There is no result if `work` returns `None` for the next piece, if
    /// the rest of the text is shorter than a piece, or if it cannot be read or divided.
    pub(super) fn each<R: Send>(
        &mut self,
        work: impl Fn(&mut TableRows<'_>) -> Option<R> + Sync,
    ) -> Vec<(u64, R)> {
        let left = self.text.file.length().saturating_sub(self.at);
        if left < PIECE as u64 {
            return Vec::new();
        }
        let most = PIECE * MOST.min(EACH * decoding_threads());
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(most.min(usize::try_from(left).unwrap_or(most)), 0);
        let pieces = match self.text.file.read_exact(self.at, &mut buffer) {
            Ok(()) => self.cut(&buffer),
            Err(_) => Vec::new(),
        };
        let ends = pieces.iter().map(|piece| piece.from + piece.bytes.len() as u64);
        let ends: Vec<u64> = ends.collect();
        let done = side_by_side::each(pieces, |piece| {
            let from = piece.from;
            Some((from, work(&mut self.text.rows_of_piece(piece))?))
        });
        self.buffer = buffer;
        let done: Vec<(u64, R)> = done.into_iter().map_while(|result| result).collect();
        self.at = done.len().checked_sub(1).map_or(self.at, |last| ends[last]);
        done
    }

    /// Divides bytes into pieces of nearly the maximum size: an incomplete row at the end of a piece becomes the
    /// beginning of the next piece. The remaining bytes are left for the next call.
    fn cut<'t>(&self, bytes: &'t [u8]) -> Vec<Piece<'t>> {
        let (mut pieces, mut begin) = (Vec::new(), 0);
        while let Some(part) = bytes.get(begin..begin + PIECE) {
            let Some(end) = self.last_end(part).filter(|&end| end > 0) else { break };
            pieces.push(Piece { from: self.at + begin as u64, bytes: &part[..end] });
            begin += end;
        }
        pieces
    }

    /// Returns the position of the last line break outside of quotes in these bytes.
    fn last_end(&self, bytes: &[u8]) -> Option<usize> {
        match self.text.delimiter {
            Delimiter::Whitespace => bytes.iter().rposition(|&byte| byte == b'\n'),
            Delimiter::Byte(b'\n' | b'\r' | b'"') => None,
            delimiter => {
                let mut quotes = QuoteCheck::new(delimiter.byte(), self.text.comment);
                quotes.pass(bytes, 0).ok().flatten()
            }
        }
    }
}
