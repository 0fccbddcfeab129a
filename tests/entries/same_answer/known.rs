//! Results known to differ, by problem and entry, with the reason. The list can only shrink: a result that
//! is right now must be removed.

pub(crate) const DIFFERENT: &[(&str, &[(&str, &str)])] = &[];
