//! Models: how they are given, traced and differentiated, tied, started, and the library of them.

mod all_points;
mod coarse_values;
mod expressions;
mod model_forms;
mod models;
mod partials;
mod starts;
mod ties;
mod traced;

#[path = "../support"]
mod support {
    pub(crate) mod functions;
    pub(crate) mod listing;
    pub(crate) mod number;
    #[allow(dead_code, reason = "devices have tests of their own")]
    pub(crate) mod suite_ties;
    pub(crate) mod tree;
}
