//! Hard numerics: one test per row of the project's table of cases that defeat trusted systems, and
//! properties that every fit must have.
//!
//! The expected values come from mathematics (nested models, closed solutions, null vectors) or from an
//! independent solution. If there is no right result, the fit must report it.

mod behaviour;
mod boxes;
mod collinear;
mod constant;
mod joint_valleys;
mod properties;
mod redundant;
mod steps;
