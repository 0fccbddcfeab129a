//! Spans for the phases of a fit.
//!
//! [`span!`] marks a phase that lasts until the end of the block. With the feature `tracing` it creates
//! a span of that crate; with the feature `nvtx`, a range for NVIDIA's profilers. Without these features it
//! compiles to nothing, and its fields are not evaluated. With `tracing` but without a subscriber it checks
//! one flag.
//!
//! | span | level | phase |
//! |---|---|---|
//! | `fit`, `batch`, `multi_start`, `stream` | info | a call of this name; `stream` is `fit_stream` |
//! | `parts`, `global_fit`, `profile`, `contour`, `bootstrap` | info | `fit_parts`, a joint fit, calls of these names |
//! | `differential_evolution`, `generation` | info, debug | a call of this name, one generation |
//! | `trace`, `differentiate`, `prepare` | debug | call of the closure, its partials, code for the CPU |
//! | `validate`, `upload` | debug | check of the data, copy of the data to a device |
//! | `compile`, `load` | debug | compilation by NVRTC, loading of its output by the driver |
//! | `start` | debug | determination of the starting point; in a multi-start, the fit from one start |
//! | `covariance` | debug | analysis of the result |
//! | `portion` | debug | consecutive fits of a batch, on one thread or a device |
//! | `read`, `wait`, `chunk` | debug | in a stream: reading a chunk, waiting for it, evaluating it |
//! | `step` | trace | one iteration of the solver |
//! | `pass` | trace | one evaluation at all points; debug in a stream |
//! | `pieces` | trace | consecutive pieces of a pass, on one thread |

#[cfg(feature = "chrome-trace")]
pub(crate) mod chrome;
#[cfg(feature = "nvtx")]
pub(crate) mod nvtx;

/// A phase that ends when this value is dropped.
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
