//! Digests of results, by which `tests/platforms/aarch64` compares processors.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Returns a digest of numbers as bits, or of words.
pub(crate) fn digest(result: &impl Hash) -> String {
    let mut hasher = DefaultHasher::new();
    result.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Returns a digest of the bits of the parameters and their standard errors.
#[allow(dead_code, reason = "one of the test programs has digests of more")]
pub(crate) fn digest_of_fit(fit: &dualfit::Fit) -> String {
    let numbers =
        fit.params().iter().chain(&fit.std_errors()).map(|v| v.to_bits()).collect::<Vec<_>>();
    digest(&numbers)
}
