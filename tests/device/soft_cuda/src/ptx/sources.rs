//! Source files and lines of instructions, from the directives `.file` and `.loc`.

use crate::program::{Line, Operation};
use std::collections::HashMap;

/// File number, line and column.
pub(super) type SourceLine = [usize; 3];

/// Source files, and the source line of the next instruction.
#[derive(Debug, Default)]
pub(super) struct Sources<'a> {
    files: HashMap<usize, &'a str>,
    now: Option<SourceLine>,
    /// Location of the call, for each line of an inlined function.
    calls: HashMap<SourceLine, SourceLine>,
}

impl<'a> Sources<'a> {
    /// Sets the name of a file. In PTX, the directives `.file` follow the functions that refer to them.
    pub(super) fn name(&mut self, number: usize, name: &'a str) {
        self.files.insert(number, name);
    }

    /// Sets the source line of the next instructions. `inlined_at`: the call, if the line is in an inlined function.
    pub(super) fn go_to(&mut self, line: SourceLine, inlined_at: Option<SourceLine>) {
        self.now = Some(line);
        match inlined_at {
            Some(call) => self.calls.insert(line, call),
            None => self.calls.remove(&line),
        };
    }

    /// Returns the lines of the calls through which the next instruction was inlined, outermost first, then its own
    /// line. Empty if `operation` neither orders threads nor waits for lanes.
    pub(super) fn of(&self, operation: &Operation) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut next = self.now.filter(|_| operation.orders() || operation.mask().is_some());
        for _ in 0..MOST_CALLS {
            let Some([file, line, column]) = next else { break };
            // A recursive template has the same line at each level.
            if !lines.contains(&(file, line)) {
                lines.push((file, line));
            }
            next = self.calls.get(&[file, line, column]).copied();
        }
        lines.reverse();
        lines
    }

    /// Returns the names of all files, by number.
    pub(super) fn names(&self) -> HashMap<usize, String> {
        self.files.iter().map(|(&number, &name)| (number, name.to_string())).collect()
    }
}

/// Maximum depth of the chain of inlined calls.
const MOST_CALLS: usize = 40;
