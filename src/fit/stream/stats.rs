//! Statistics of the fit of a stream.

use std::fmt;

/// Work of the passes over a stream.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct StreamStats {
    /// Passes over the points in this run, complete or begun. The numbers for observers include earlier runs.
    pub passes: usize,
    /// Passes whose results came from a checkpoint.
    pub resumed_passes: usize,
    /// Points of a chunk.
    pub chunk_points: usize,
    /// Chunks that were worked on, in all passes.
    pub chunks: u64,
    /// Points that were worked on, in all passes.
    pub points_read: u64,
    /// Bytes of these points as they lie in memory.
    pub bytes_read: u64,
    /// Seconds that the reading thread was at work: reading and decoding.
    pub read_seconds: f64,
    /// Seconds that the work waited for chunks; what reading took beyond them was hidden behind the work.
    pub wait_seconds: f64,
    /// Seconds that chunks were worked on.
    pub work_seconds: f64,
    /// Bytes of the buffers that chunks are read into.
    pub buffer_bytes: usize,
    /// Points that were kept in memory once they were decoded, and not read again.
    #[cfg_attr(feature = "json", serde(default))]
    pub kept_points: u64,
    /// Points of the sample.
    pub sample_points: usize,
    /// Starting point of the fit: the result of a fit of a sample, or the caller's start, with the reason.
    pub start: String,
    /// Checkpoints that were written.
    pub checkpoints: usize,
    /// Requests to the parts, in [`fit_parts`](crate::CurveFit::fit_parts).
    #[cfg_attr(feature = "json", serde(default))]
    pub questions: u64,
    /// Bytes of these requests and their replies.
    #[cfg_attr(feature = "json", serde(default))]
    pub message_bytes: u64,
}

impl fmt::Display for StreamStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resumed = match self.resumed_passes {
            0 => String::new(),
            passes => format!(" ({passes} more came from a checkpoint)"),
        };
        if self.questions > 0 {
            return write!(
                f,
                "{} passes{resumed}; {} questions to parts, {} bytes of messages, {:.2} s for the answers; start: {}",
                self.passes, self.questions, self.message_bytes, self.work_seconds, self.start
            );
        }
        write!(
            f,
            "{} passes{resumed} of {} chunks in all, {:.1} MB; reading {:.2} s, waiting for it {:.2} s, working {:.2} s; start: {}",
            self.passes,
            self.chunks,
            1e-6 * self.bytes_read as f64,
            self.read_seconds,
            self.wait_seconds,
            self.work_seconds,
            self.start
        )
    }
}
