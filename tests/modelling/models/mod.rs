//! The library of models: every model's partials, start, areas and widths, and what is put together.

mod anonymous;
mod components;
mod compose;
mod errors;
mod known;
mod lmfit;
mod pairs;
mod partials;
mod rates;
mod relations;
mod splines;
mod spots;
mod starts;
mod sums;
mod truths;
