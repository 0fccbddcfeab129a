//! The files of a folder as one source. One file is open at a time.

use crate::format::file::Stamp;
use dualfit::error::{SourceChange, SourceError};
use dualfit::source::{Chunk, Fingerprint, Shape, Source};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

/// The points of many files, one file after another. A closure opens each file when its points are read.
///
/// ```no_run
/// use dualfit_io::{DirectorySource, NpySource};
/// let source = DirectorySource::open("runs", |path| NpySource::open(path)?.x([0])?.y(2))?;
/// # Ok::<(), dualfit::error::SourceError>(())
/// ```
pub struct DirectorySource<S, F> {
    files: Vec<PathBuf>,
    /// State of each file when it was first opened.
    stamps: Vec<Stamp>,
    /// Number of points of each file; `None` if it is unknown before reading.
    points: Vec<Option<u64>>,
    open: F,
    shape: Shape,
    is_slow: bool,
    current: usize,
    source: Option<S>,
}

impl<S, F> fmt::Debug for DirectorySource<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = f.debug_struct("DirectorySource");
        parts.field("files", &self.files).field("shape", &self.shape).finish_non_exhaustive()
    }
}

impl<S: Source, F: Fn(&Path) -> Result<S, SourceError> + Send> DirectorySource<S, F> {
    /// Creates a source of the files of a folder, in the order of their names. Subfolders and files whose names begin
    /// with a dot are left out. Each file is opened once here.
    ///
    /// # Errors
    /// If the folder cannot be read or has no files, or if a file cannot be opened or has other columns than the first.
    pub fn open(folder: impl AsRef<Path>, open: F) -> Result<Self, SourceError> {
        let folder = folder.as_ref();
        let place = || folder.display().to_string();
        let cannot = |why| SourceError::new(place(), format!("the folder cannot be read: {why}"));
        let mut files = Vec::new();
        for entry in fs::read_dir(folder).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if !hidden && entry.path().is_file() {
                files.push(entry.path());
            }
        }
        files.sort();
        if files.is_empty() {
            return Err(SourceError::new(place(), "there are no files in the folder"));
        }
        Self::files(files, open)
    }

    /// Creates a source of these files, in this order. Each file is opened once here.
    ///
    /// # Errors
    /// If the list is empty, or if a file cannot be opened or has other columns than the first.
    pub fn files<P: Into<PathBuf>>(
        files: impl IntoIterator<Item = P>,
        open: F,
    ) -> Result<Self, SourceError> {
        let files: Vec<PathBuf> = files.into_iter().map(Into::into).collect();
        let Some(first) = files.first().map(|file| file.display().to_string()) else {
            return Err(SourceError::new("a list of files", "it is empty; give at least one"));
        };
        let (mut shape, mut is_slow) = (None::<Shape>, false);
        let mut points = Vec::with_capacity(files.len());
        let mut stamps = Vec::with_capacity(files.len());
        for file in &files {
            let place = || file.display().to_string();
            let cannot = |why| SourceError::new(place(), format!("it cannot be opened: {why}"));
            stamps.push(Stamp::of(&fs::metadata(file).map_err(cannot)?));
            let source = open(file)?;
            is_slow |= source.is_slow();
            let of_file = source.shape();
            points.push(of_file.points);
            match &mut shape {
                None => shape = Some(of_file),
                Some(shape) => shape.append(&of_file, place, &first)?,
            }
        }
        let shape = shape.unwrap_or_else(|| Shape::new(0));
        let (current, source) = (0, None);
        Ok(DirectorySource { files, stamps, points, open, shape, is_slow, current, source })
    }

    /// Returns the source of the current file, which is opened if necessary; `None` after the last file.
    fn source(&mut self) -> Result<Option<&mut S>, SourceError> {
        let Some(file) = self.files.get(self.current) else { return Ok(None) };
        if self.source.is_none() {
            let source = (self.open)(file)?;
            let shape = source.shape();
            let place = || file.display().to_string();
            self.shape.expect_columns(&shape, place, "the file as it was")?;
            let before = self.points.get(self.current).copied().flatten();
            if shape.points != before {
                let said = |points: Option<u64>| points.map_or("unknown".into(), |n| n.to_string());
                let message = format!(
                    "its number of points was {} and is {}; do not change it while it is read",
                    said(before),
                    said(shape.points)
                );
                return Err(SourceError::new(place(), message));
            }
            self.source = Some(source);
        }
        Ok(self.source.as_mut())
    }

    fn advance(&mut self) {
        self.source = None;
        self.current += 1;
    }
}

impl<S: Source, F: Fn(&Path) -> Result<S, SourceError> + Send> Source for DirectorySource<S, F> {
    fn shape(&self) -> Shape {
        self.shape.clone()
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        if self.current > 0 {
            (self.source, self.current) = (None, 0);
        }
        self.source.as_mut().map_or(Ok(()), Source::rewind)
    }

    fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        while let Some(source) = self.source()? {
            let read = source.read(chunk, most)?;
            if read > 0 {
                return Ok(read);
            }
            self.advance();
        }
        Ok(0)
    }

    fn skip(&mut self, count: u64) -> Result<u64, SourceError> {
        let mut skipped = 0;
        while skipped < count {
            // A file of known length that is skipped completely is not opened.
            let known = self.points.get(self.current).copied().flatten();
            if let Some(whole) = known.filter(|&whole| whole <= count - skipped)
                && self.source.is_none()
            {
                skipped += whole;
                self.advance();
                continue;
            }
            let Some(source) = self.source()? else { break };
            skipped += source.skip(count - skipped)?;
            if skipped < count {
                self.advance();
            }
        }
        Ok(skipped)
    }

    fn unchanged(&self) -> Result<(), SourceChange> {
        for (file, stamp) in self.files.iter().zip(&self.stamps) {
            stamp.compare_at(file)?;
        }
        self.source.as_ref().map_or(Ok(()), Source::unchanged)
    }

    fn is_slow(&self) -> bool {
        self.is_slow
    }

    fn fingerprint(&self) -> Result<String, SourceError> {
        let mut digest = Fingerprint::new();
        for file in &self.files {
            let name = file.file_name().unwrap_or(file.as_os_str());
            digest.bytes(name.as_encoded_bytes());
            digest.bytes((self.open)(file)?.fingerprint()?.as_bytes());
        }
        Ok(format!("{} files {}", self.files.len(), digest.text()))
    }
}
