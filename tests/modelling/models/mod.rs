//! The library of models: partials, starts, areas and widths of every model, and sums of models.

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
