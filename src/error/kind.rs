//! Kinds of errors.

use super::{Error, GlobalError};
use std::fmt;

/// Part of a request to which an [`Error`] belongs.
///
/// ```
/// use dualfit::{Data, error::ErrorKind};
/// let error = Data::new(&[1.0, 2.0], &[3.0]).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Data);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The points: lengths, values, weights, masks, assignment to fits.
    Data,
    /// Parameters, their start and bounds, or options of the fit.
    Parameter,
    /// The model, a formula, or a value of the model.
    Model,
    /// A device, or a request that devices do not support.
    Device,
    /// Files, streams, processes, checkpoints and saved results.
    Io,
    /// The observer panicked, or the fit was stopped before its first result.
    Stopped,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorKind::Data => "data",
            ErrorKind::Parameter => "parameter",
            ErrorKind::Model => "model",
            ErrorKind::Device => "device",
            ErrorKind::Io => "input or output",
            ErrorKind::Stopped => "stopped",
        })
    }
}

impl Error {
    /// Returns the part of the request to which the error belongs. An error of one set of a joint fit has the kind that
    /// it would have for that set alone.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::EmptyData { .. }
            | Error::LengthMismatch { .. }
            | Error::ColumnCount { .. }
            | Error::NonFinite { .. }
            | Error::SigmaNotPositive { .. }
            | Error::BadXSigma { .. }
            | Error::UnsuitedSigma { .. }
            | Error::NoEffectiveData { .. }
            | Error::CovarianceNotPositiveDefinite { .. }
            | Error::TooFewPoints { .. }
            | Error::BatchLayout { .. }
            | Error::NegativeCount { .. }
            | Error::NotForCounts { .. } => ErrorKind::Data,
            #[cfg(feature = "ndarray")]
            Error::Layout(_) => ErrorKind::Data,
            Error::NonFiniteParameter { .. }
            | Error::ParameterCount { .. }
            | Error::UnknownParameter { .. }
            | Error::BoundsOrder { .. }
            | Error::StartOutOfBounds { .. }
            | Error::NoParameters
            | Error::BadOption { .. }
            | Error::RangeOfStarts { .. }
            | Error::SobolDimensions { .. }
            | Error::Start(_)
            | Error::Setting(_)
            | Error::Name(_)
            | Error::Tie(_)
            | Error::Uncertainty(_) => ErrorKind::Parameter,
            Error::NoParameterDependence { .. }
            | Error::ModelPanicked { .. }
            | Error::ModelNonFiniteAtStart { .. }
            | Error::PartialNonFiniteAtStart { .. }
            | Error::ModelNotPositiveAtStart { .. }
            | Error::OverflowAtStart { .. }
            | Error::Parse { .. }
            | Error::ModelKind { .. }
            | Error::NotTraced
            | Error::ForeignVariable
            | Error::Model(_) => ErrorKind::Model,
            Error::NotOnDevice { .. }
            | Error::DeviceOutOfMemory { .. }
            | Error::DeviceLost { .. }
            | Error::DeviceFailed { .. }
            | Error::KernelNotCompiled { .. }
            | Error::CudaUnavailable { .. } => ErrorKind::Device,
            Error::Source(_)
            | Error::Worker(_)
            | Error::Parts(_)
            | Error::SourcePanicked { .. }
            | Error::SourceChanged(_)
            | Error::MemoryLimit { .. }
            | Error::Checkpoint(_)
            | Error::Saved(_) => ErrorKind::Io,
            #[cfg(feature = "chrome-trace")]
            Error::Trace(_) => ErrorKind::Io,
            Error::ObserverPanicked { .. } | Error::StoppedInFirstPass => ErrorKind::Stopped,
            Error::Global(
                GlobalError::InSet { error, .. } | GlobalError::BadSets { error, .. },
            ) => error.kind(),
            Error::Global(GlobalError::Outweighs { .. }) => ErrorKind::Data,
            Error::Global(_) => ErrorKind::Parameter,
        }
    }
}
