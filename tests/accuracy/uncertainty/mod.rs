//! What the errors of a fit say, against other programs, against simulation, and at the edges.

mod bootstrap;
mod coverage;
mod edges;
mod ends;
mod joint_coverage;
mod peers;
mod scans;
mod sigma_table;
