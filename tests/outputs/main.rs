//! What is made of fits: pictures, LaTeX, saved fits and programs.

mod latex;
mod plots;
mod saved;

#[cfg(feature = "serde")]
#[path = "../support"]
mod support {
    pub(crate) mod functions;
    pub(crate) mod tree;
}
