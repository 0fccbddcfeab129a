//! Errors of a fit, compared with other programs and with simulation, and edge cases.

mod bootstrap;
mod coverage;
mod edges;
mod ends;
mod joint_coverage;
mod peers;
mod scans;
mod sigma_table;
