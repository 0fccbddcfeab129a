//! From which lines of which files instructions were made, as `.loc` says.

use crate::program::{Line, Operation};
use std::collections::HashMap;

/// A file's number, a line and a column.
pub(super) type SourceLine = [usize; 3];

/// Files, and the line that the next instruction is from.
#[derive(Debug, Default)]
pub(super) struct Sources<'a> {
    files: HashMap<usize, &'a str>,
    now: Option<SourceLine>,
    /// Of lines within functions that were inlined: the calls.
    calls: HashMap<SourceLine, SourceLine>,
}

impl<'a> Sources<'a> {
    /// Gives a file its name. Files are named behind the functions that are from them.
    pub(super) fn name(&mut self, number: usize, name: &'a str) {
        self.files.insert(number, name);
    }

    /// The next instructions are from that line.
    pub(super) fn go_to(&mut self, line: SourceLine, inlined_at: Option<SourceLine>) {
        self.now = Some(line);
        match inlined_at {
            Some(call) => self.calls.insert(line, call),
            None => self.calls.remove(&line),
        };
    }

    /// The line of the next instruction, behind the lines of the calls that it was inlined through; empty where nobody
    /// asks.
    pub(super) fn of(&self, operation: &Operation) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut next = self.now.filter(|_| operation.orders() || operation.mask().is_some());
        for _ in 0..MOST_CALLS {
            let Some([file, line, column]) = next else { break };
            // A template that calls itself is at the same line each time.
            if !lines.contains(&(file, line)) {
                lines.push((file, line));
            }
            next = self.calls.get(&[file, line, column]).copied();
        }
        lines.reverse();
        lines
    }

    /// The names of all files, by number.
    pub(super) fn names(&self) -> HashMap<usize, String> {
        self.files.iter().map(|(&number, &name)| (number, name.to_string())).collect()
    }
}

/// How deep calls are followed.
const MOST_CALLS: usize = 40;
