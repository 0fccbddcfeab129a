//! Size of the portions of a distributed batch.
//!
//! There are many more portions than workers, so that a slow worker hardly delays the batch. A portion takes
//! milliseconds on a core, and the overhead of a message is about 0.1 ms. A message has at most some megabytes, except
//! if a single fit is larger. The result does not depend on the portions.

use crate::data::batch::BatchData;
use crate::fit::batch::message::MOST_FITS;
use crate::fit::batch::request::BatchRequest;
use crate::threads;

/// Number of portions for each worker and for the leader, unless the limits below apply.
const PORTIONS: usize = 8;
/// Maximum number of samples in a request: 2 MB of f64.
const MOST: usize = 1 << 18;
/// Maximum size of the samples of a request, and of a reply, in bytes.
const BYTES: usize = 4 << 20;
/// Minimum number of samples in a portion for a traced model. For an exponential decay they take a fifth of a
/// millisecond (docs/benchmarks.md).
const LEAST: usize = 1 << 13;
/// The same minimum for a native model, whose calls can be arbitrarily slow.
const LEAST_NATIVE: usize = 1 << 8;
/// Samples per thread in a portion that the leader runs itself.
const FOR_A_THREAD: usize = 1 << 16;

/// The sizes of the portions of a batch.
pub(super) struct Sizes {
    /// Number of samples in a portion for a worker; `own`: number of samples in a portion that the leader runs.
    pub(super) sent: usize,
    pub(super) own: usize,
    /// Maximum number of fits in either kind of portion.
    fits: usize,
}

impl Sizes {
    /// Computes the sizes. `covariances`: true if covariance matrices are requested.
    pub(super) fn of(
        request: &BatchRequest<'_>,
        workers: usize,
        native: bool,
        covariances: bool,
    ) -> Sizes {
        let (data, width) = (request.data, request.spec.names.len());
        let share = data.samples.len() / (PORTIONS * workers.saturating_add(1).min(1 << 20));
        let least = if native { LEAST_NATIVE } else { LEAST };
        let by_bytes = BYTES / data.bytes_per_sample().max(1);
        let sent = share.clamp(least, MOST).min(by_bytes);
        // Numbers per fit: start and bounds in a request; parameters, errors and a few other numbers in a reply.
        let numbers = 3 * width + 8 + if covariances { width * width } else { 0 };
        Sizes {
            sent,
            own: sent.max(share.min(FOR_A_THREAD * threads::count())),
            fits: (BYTES / (size_of::<f64>() * numbers)).clamp(1, MOST_FITS),
        }
    }

    /// Returns the number of fits in the next portion, which has about `samples` samples. It begins at fit `first`, and
    /// `left` fits remain. The remainder after the portion has at least two samples, because x_sigma with a single
    /// value would be interpreted as common to all fits.
    pub(super) fn next(
        &self,
        data: &BatchData<'_>,
        first: usize,
        left: usize,
        samples: usize,
    ) -> usize {
        let end = |fits: usize| data.samples_of(&(first..first + fits)).len();
        let (mut fits, mut beyond) = (1, left.min(self.fits) + 1);
        // Bisection for the smallest number of fits with enough samples.
        while fits < beyond {
            let middle = fits + (beyond - fits) / 2;
            if end(middle) < samples.max(2) { fits = middle + 1 } else { beyond = middle }
        }
        let fits = fits.min(left.min(self.fits));
        if end(left) - end(fits) < 2 && left <= MOST_FITS { left } else { fits }
    }
}
