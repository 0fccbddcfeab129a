//! A file of points with random access. Errors contain its name. A file that is truncated while it is read is an error;
//! bytes that are appended after it was opened are ignored. A file is identified by a stamp, which costs no reading,
//! and by a digest of a part of its contents.

use dualfit::error::{SourceChange, SourceError};
use dualfit::source::Fingerprint;
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// An open file, or bytes in memory with the same interface. The length is the length at the time of opening.
pub(crate) struct DataFile {
    path: PathBuf,
    length: u64,
    bytes: Bytes,
}

enum Bytes {
    OnDisk(File, Stamp),
    InMemory(Arc<[u8]>),
}

impl DataFile {
    pub(crate) fn open(path: &Path) -> Result<DataFile, SourceError> {
        let cannot = |why: io::Error| refused(path, format!("it cannot be opened: {why}"));
        // Checked before opening, because opening a pipe waits for a writer.
        if !fs::metadata(path).map_err(cannot)?.is_file() {
            let remedy = "it is no regular file, and points are read several times; give a file";
            return Err(refused(path, remedy));
        }
        let file = File::open(path).map_err(cannot)?;
        let metadata = file.metadata().map_err(cannot)?;
        let (length, bytes) = (metadata.len(), Bytes::OnDisk(file, Stamp::of(&metadata)));
        Ok(DataFile { path: path.to_path_buf(), length, bytes })
    }

    /// Wraps bytes in memory. `name`: the name in error messages.
    #[cfg_attr(not(feature = "csv"), expect(dead_code))]
    pub(crate) fn in_memory(name: String, bytes: Arc<[u8]>) -> DataFile {
        let length = bytes.len() as u64;
        DataFile { path: name.into(), length, bytes: Bytes::InMemory(bytes) }
    }

    /// Length in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The name in error messages.
    pub(crate) fn place(&self) -> String {
        self.path.display().to_string()
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> SourceError {
        refused(&self.path, message)
    }

    /// Checks that the file has not changed since it was opened, and that its path still leads to it. A file whose path
    /// no longer exists counts as unchanged.
    pub(crate) fn unchanged(&self) -> Result<(), SourceChange> {
        let place = self.place();
        if let Bytes::OnDisk(file, stamp) = &self.bytes {
            for metadata in [file.metadata(), fs::metadata(&self.path)].into_iter().flatten() {
                stamp.compare(&Stamp::of(&metadata), &place)?;
            }
        }
        Ok(())
    }

    /// Reads some of the bytes from `offset` on and returns their number. Returns 0 if `offset` is at or after the end
    /// that the file had when it was opened.
    pub(crate) fn read_some(&self, offset: u64, bytes: &mut [u8]) -> Result<usize, SourceError> {
        let left = self.length.saturating_sub(offset);
        let want = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let Some(bytes) = bytes.get_mut(..want).filter(|bytes| !bytes.is_empty()) else {
            return Ok(0);
        };
        loop {
            let read = match &self.bytes {
                Bytes::OnDisk(file, _) => read_at(file, bytes, offset),
                Bytes::InMemory(all) => all.get(offset as usize..).unwrap_or_default().read(bytes),
            };
            match read {
                Ok(0) => {
                    return Err(self.error(format!(
                        "it ends at byte {offset} but had {} when it was opened; do not change it while it is read",
                        self.length
                    )));
                }
                Ok(read) => return Ok(read),
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(self.error(format!("byte {offset} cannot be read: {why}"))),
            }
        }
    }

    /// Fills `bytes` from `offset` on.
    ///
    /// # Errors
    /// If the file ends too early or cannot be read. The number is the count of the bytes read before the error.
    pub(crate) fn read_exact(
        &self,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), (usize, SourceError)> {
        let (mut done, all) = (0, bytes.len());
        while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.read_some(offset.saturating_add(done as u64), rest) {
                Ok(0) => {
                    let message = format!(
                        "it has {} bytes, and bytes {offset} to {} are asked for; it is cut short",
                        self.length,
                        offset.saturating_add(all as u64)
                    );
                    return Err((done, self.error(message)));
                }
                Ok(read) => done += read,
                Err(error) => return Err((done, error)),
            }
        }
        Ok(())
    }

    /// Reads `count` bytes from `offset`.
    ///
    /// # Errors
    /// The errors of [`read_exact`](DataFile::read_exact), without the number of bytes.
    pub(crate) fn bytes(&self, offset: u64, count: usize) -> Result<Vec<u8>, SourceError> {
        let mut bytes = vec![0; count];
        self.read_exact(offset, &mut bytes).map_err(|(_, error)| error)?;
        Ok(bytes)
    }

    /// Returns a digest of the length, the first and the last 64 KiB, and 16 ranges of 4 KiB between them. The digest
    /// includes all bytes if the file has at most 192 KiB.
    pub(crate) fn fingerprint(&self) -> Result<String, SourceError> {
        const END: u64 = 64 << 10;
        const PLACES: u64 = 16;
        const PLACE: u64 = 4 << 10;
        let between = self.length.saturating_sub(2 * END);
        let mut parts = vec![(0, END)];
        if between <= PLACES * PLACE {
            parts.push((END, between));
        } else {
            let room = between - PLACE;
            parts.extend((0..PLACES).map(|i| (END + room / (PLACES - 1) * i, PLACE)));
        }
        parts.push((self.length.saturating_sub(END).max(END), END));

        let mut digest = Fingerprint::new();
        digest.number(self.length);
        for (offset, count) in parts {
            let count = count.min(self.length.saturating_sub(offset));
            digest.bytes(&self.bytes(offset, count as usize)?);
        }
        Ok(format!("{} bytes {}", self.length, digest.text()))
    }
}

fn refused(path: &Path, message: impl Into<String>) -> SourceError {
    SourceError::new(path.display().to_string(), message)
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
}

/// Returns an error: other systems, such as WebAssembly without a host, read texts in memory only.
#[cfg(not(any(unix, windows)))]
fn read_at(_file: &File, _bytes: &mut [u8], _offset: u64) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

impl fmt::Debug for DataFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.path, f)
    }
}

/// Fingerprint of a file from its metadata only: identity, size and time of change, as text.
#[derive(Clone, Debug)]
pub(crate) struct Stamp([String; 3]);

impl Stamp {
    const WHAT: [&str; 3] = ["identity", "size", "time of change"];

    pub(crate) fn of(metadata: &Metadata) -> Stamp {
        Stamp([identity(metadata), format!("{} bytes", metadata.len()), time(metadata.modified())])
    }

    /// Checks that the file at `path` still has this stamp.
    ///
    /// # Errors
    /// If there is no file; and the errors of [`compare`](Stamp::compare).
    pub(crate) fn compare_at(&self, path: &Path) -> Result<(), SourceChange> {
        let place = path.display().to_string();
        match fs::metadata(path) {
            Ok(metadata) => self.compare(&Stamp::of(&metadata), &place),
            Err(why) => {
                let (what, before, after) = ("name", "there".into(), format!("not: {why}"));
                Err(SourceChange::File { place, what, before, after })
            }
        }
    }

    /// Checks that `present`, the current stamp of the file at `place`, equals this stamp.
    ///
    /// # Errors
    /// The first of identity, size and time that differs, with both values.
    pub(crate) fn compare(&self, present: &Stamp, place: &str) -> Result<(), SourceChange> {
        for ((what, before), after) in Stamp::WHAT.into_iter().zip(&self.0).zip(&present.0) {
            if before != after {
                let (before, after) = (before.clone(), after.clone());
                return Err(SourceChange::File { place: place.into(), what, before, after });
            }
        }
        Ok(())
    }
}

/// Formats a time as seconds since 1970.
fn time(changed: io::Result<SystemTime>) -> String {
    match changed.map(|time| time.duration_since(UNIX_EPOCH)) {
        Ok(Ok(since)) => format!("{}.{:09} s", since.as_secs(), since.subsec_nanos()),
        Ok(Err(before)) => format!("{:?} before 1970", before.duration()),
        Err(_) => "unknown".into(),
    }
}

/// Returns the numbers of the device and of the inode on Unix; `unknown` on other systems.
fn identity(metadata: &Metadata) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        format!("{}:{}", metadata.dev(), metadata.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        "unknown".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint(bytes: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points");
        fs::write(&path, bytes).unwrap();
        DataFile::open(&path).unwrap().fingerprint().unwrap()
    }

    #[test]
    fn the_fingerprint_sees_lengths_ends_and_places() {
        for length in [0, 1, 4096, 65536, 65537, 131072, 150_000, 196_608, 196_609, 1_000_000] {
            let mut bytes: Vec<u8> = (0..length as u32).map(|i| (i * 7 + i / 251) as u8).collect();
            let whole = fingerprint(&bytes);
            assert_eq!(whole, fingerprint(&bytes));
            bytes.push(0);
            assert_ne!(whole, fingerprint(&bytes), "longer than {length}");
            bytes.pop();
            let seen = if length <= 196_608 { length } else { 65536 };
            for at in (0..seen).step_by(seen / 20 + 1).chain(length.checked_sub(1)) {
                bytes[at] ^= 1;
                assert_ne!(whole, fingerprint(&bytes), "byte {at} of {length}");
                bytes[at] ^= 1;
            }
        }
    }

    #[test]
    fn a_file_that_is_cut_is_an_error_and_one_that_grows_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points");
        fs::write(&path, [1; 100]).unwrap();
        let file = DataFile::open(&path).unwrap();
        fs::write(&path, [2; 200]).unwrap();
        let mut bytes = [0; 300];
        assert_eq!(file.read_some(90, &mut bytes), Ok(10));
        assert_eq!(file.read_some(100, &mut bytes), Ok(0));
        fs::write(&path, [3; 50]).unwrap();
        let (read, error) = file.read_exact(40, &mut bytes[..20]).unwrap_err();
        assert_eq!(read, 10);
        assert!(error.to_string().contains("ends at byte 50 but had 100"), "{error}");
        assert!(file.fingerprint().is_err());
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = DataFile::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("no regular file"), "{error}");
        let error = DataFile::open(&folder.path().join("none.csv")).unwrap_err().to_string();
        assert!(error.contains("none.csv: it cannot be opened"), "{error}");
    }
}
