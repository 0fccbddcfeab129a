//! Seeing what happens: the phases of a fit as spans.
//!
//! [`span!`] marks a phase from where it stands to the end of the block. The feature `tracing` makes it
//! a span of that crate, the feature `nvtx` a range for NVIDIA's profilers. Without features it is
//! nothing at all, and its fields are not computed; with `tracing` and nobody who listens it is the
//! look at a flag.
//!
//! | span | level | around |
//! |---|---|---|
//! | `fit`, `batch`, `multi_start`, `stream` | info | a call of that name; `stream` is `fit_stream` |
//! | `trace`, `differentiate`, `prepare` | debug | the closure's one call, its partials, the code for the CPU |
//! | `validate`, `upload` | debug | the check of the data, their copy to a device |
//! | `compile`, `load` | debug | NVRTC, the driver taking what it made |
//! | `start` | debug | one search of many |
//! | `covariance` | debug | the analysis of the end |
//! | `portion` | debug | consecutive fits of a batch, on one thread or a device |
//! | `read`, `wait`, `chunk` | debug | of a stream: a chunk being read, waited for, worked on |
//! | `step` | trace | a turn of the solver |
//! | `pass` | trace | an evaluation over all points; of a stream debug |
//! | `pieces` | trace | consecutive pieces of a pass, on one thread |

#[cfg(feature = "chrome-trace")]
pub(crate) mod chrome;
#[cfg(feature = "nvtx")]
pub(crate) mod nvtx;

/// A phase that ends when this is dropped.
#[must_use = "a phase ends when its span is dropped"]
pub(crate) struct Span {
    #[cfg(feature = "tracing")]
    pub(crate) _entered: tracing::span::EnteredSpan,
    #[cfg(feature = "nvtx")]
    pub(crate) _range: nvtx::Range,
}

/// Begins a phase: `let _span = span!(DEBUG, "upload", points = n);`.
macro_rules! span {
    ($level:ident, $name:literal $(, $field:ident = $value:expr)* $(,)?) => {
        $crate::observe::Span {
            #[cfg(feature = "tracing")]
            _entered: tracing::span!(
                target: "dualfit",
                tracing::Level::$level,
                $name
                $(, $field = $value)*
            )
            .entered(),
            #[cfg(feature = "nvtx")]
            _range: {
                const NAME: &std::ffi::CStr =
                    match std::ffi::CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!("a span's name has no NUL"),
                    };
                $crate::observe::nvtx::Range::begin(NAME)
            },
        }
    };
}

pub(crate) use span;
