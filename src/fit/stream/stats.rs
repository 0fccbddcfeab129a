//! Statistics of the fit of a stream.

use std::fmt;

/// Work of the passes over a stream.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct StreamStats {
    /// Number of passes over the points that began in this run. The pass numbers for observers include earlier runs.
    pub passes: usize,
    /// Number of passes whose results came from a checkpoint.
    pub resumed_passes: usize,
    /// Number of points per chunk.
    pub chunk_points: usize,
    /// Number of processed chunks, in all passes.
    pub chunks: u64,
    /// Number of processed points, in all passes.
    pub points_read: u64,
    /// Bytes of these points in memory.
    pub bytes_read: u64,
    /// Seconds that the reading thread spent reading and decoding.
    pub read_seconds: f64,
    /// Seconds that processing waited for chunks. The remaining reading time overlapped with processing.
    pub wait_seconds: f64,
    /// Seconds spent processing chunks.
    pub work_seconds: f64,
    /// Bytes of the buffers into which chunks are read.
    pub buffer_bytes: usize,
    /// Number of points that stayed in memory after decoding and were not read again.
    #[cfg_attr(feature = "json", serde(default))]
    pub kept_points: u64,
    /// Number of points in the sample for the starting point.
    pub sample_points: usize,
    /// Starting point of the fit: the result of a fit of a sample, or the caller's start, with the reason.
    pub start: String,
    /// Number of written checkpoints.
    pub checkpoints: usize,
    /// Number of requests to the parts, in [`fit_parts`](crate::CurveFit::fit_parts).
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
