//! The program `dualfit`, run as a user runs it: files in, text and exit codes out.

mod analyses;
mod batch;
mod destinations;
mod documentation;
mod errors;
mod errors_of_points;
mod fits;
mod functions;
mod groups;
mod instruments;
mod options;
mod predictions;
mod streams;
mod support;
mod tables;
