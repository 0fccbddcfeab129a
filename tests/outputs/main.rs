//! What is made of fits: pictures, LaTeX, tables, what is saved.

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
