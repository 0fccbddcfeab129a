//! Outputs of fits: pictures, LaTeX, tables, saved files.

mod kept;
mod latex;
mod plots;
mod saved;
mod tables;

#[cfg(feature = "serde")]
#[path = "../support"]
mod support {
    pub(crate) mod functions;
    pub(crate) mod tree;
}
