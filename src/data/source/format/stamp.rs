//! What tells whether a file is still the one that was opened, without a look at its contents.

use crate::error::changed::SourceChange;
use std::fs::{self, Metadata};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Identity, size and time of change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Device and number on it, where a system tells them.
    identity: Option<(u64, u64)>,
    bytes: u64,
    changed: Option<SystemTime>,
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Stamp {
        Stamp {
            identity: identity(metadata),
            bytes: metadata.len(),
            changed: metadata.modified().ok(),
        }
    }

    /// Refuses the file that is at `path` by now, if it is another one or is not there.
    ///
    /// # Errors
    /// As [`expect`](Stamp::expect).
    pub(crate) fn expect_at(&self, path: &Path) -> Result<(), SourceChange> {
        let place = path.display().to_string();
        match fs::metadata(path) {
            Ok(metadata) => self.expect(&Stamp::of(&metadata), &place),
            Err(why) => {
                let (what, before, after) = ("name", "there".into(), format!("not: {why}"));
                Err(SourceChange::File { place, what, before, after })
            }
        }
    }

    /// Refuses `present`, the stamp that the file at `place` has by now, if it is another one.
    ///
    /// # Errors
    /// With the first thing that differs.
    pub(crate) fn expect(&self, present: &Stamp, place: &str) -> Result<(), SourceChange> {
        if self == present {
            return Ok(());
        }
        let (what, before, after) = if self.identity != present.identity {
            let text = |stamp: &Stamp| {
                stamp.identity.map_or("unknown".into(), |(device, file)| format!("{device}:{file}"))
            };
            ("identity", text(self), text(present))
        } else if self.bytes != present.bytes {
            let text = |stamp: &Stamp| format!("{} bytes", stamp.bytes);
            ("size", text(self), text(present))
        } else {
            ("time of change", time(self.changed), time(present.changed))
        };
        Err(SourceChange::File { place: place.into(), what, before, after })
    }
}

/// In seconds since 1970.
fn time(changed: Option<SystemTime>) -> String {
    match changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok()) {
        Some(since) => format!("{}.{:09} s", since.as_secs(), since.subsec_nanos()),
        None => "unknown".into(),
    }
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}
