//! Tests of `accuracy` and `entries` that print digests of their fits, as a small program for other processors.

#![cfg(test)]

#[path = "../entries/batch.rs"]
mod batch;
#[path = "../entries/determinism.rs"]
mod determinism;
#[path = "../accuracy/nist.rs"]
mod nist;
#[path = "../accuracy/scipy.rs"]
mod scipy;

#[path = "../support"]
mod support {
    pub(crate) mod digest;
    pub(crate) mod losses;
    pub(crate) mod nist;
    pub(crate) mod scipy;
}
