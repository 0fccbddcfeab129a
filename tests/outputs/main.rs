//! Outputs of fits: LaTeX, tables, saved files.

mod kept;
mod latex;
mod saved;
mod tables;

#[cfg(feature = "json")]
#[path = "../support"]
mod support {
    pub(crate) mod functions;
    pub(crate) mod tree;
}
