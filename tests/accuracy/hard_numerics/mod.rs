//! Hard numerics: one test per row of the project's table of cases that defeat trusted systems, and
//! properties that every fit must have whatever its numbers.
//!
//! What is asserted comes from mathematics (nested models, closed solutions, null vectors) or from an
//! independent solution, and where there is no right answer, that the fit says so.

mod behaviour;
mod boxes;
mod collinear;
mod constant;
mod joint_valleys;
mod properties;
mod redundant;
mod steps;
