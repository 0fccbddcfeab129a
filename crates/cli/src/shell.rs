//! `dualfit completions`: what a shell is told, from the definition of the command line.

use crate::arguments::CommandLine;
use crate::output::print;
use crate::refusal::{DONE, Outcome};
use clap::CommandFactory;
use clap_complete::Shell;

pub(crate) fn run(shell: Shell) -> Outcome<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut CommandLine::command(), "dualfit", &mut text);
    print(&String::from_utf8_lossy(&text))?;
    Ok(DONE)
}
