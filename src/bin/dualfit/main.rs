//! The program `dualfit`: fits from a command line.

fn main() {}
