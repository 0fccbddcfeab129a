//! Answers that are known to differ, by question and entry, and why. The list can only shrink: an answer that
//! has come right must be taken from it.

pub(crate) const DIFFERENT: &[(&str, &[(&str, &str)])] = &[];
