//! `dualfit completions` and `dualfit man`: what shells and manuals are told, from the definition of the
//! command line.

use crate::arguments::CommandLine;
use crate::output::print;
use crate::refusal::{DONE, Outcome, Refusal};
use crate::words::{did_you_mean, listed};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

pub(crate) fn completions(shell: Shell) -> Outcome<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut CommandLine::command(), "dualfit", &mut text);
    print(&String::from_utf8_lossy(&text))?;
    Ok(DONE)
}

/// The page in roff; of a command, if one is named.
pub(crate) fn manual(command: Option<&str>) -> Outcome<u8> {
    let mut all = CommandLine::command();
    all.build();
    let page = match command {
        None => all,
        Some(name) => named(&all, name)?,
    };
    let mut text = Vec::new();
    let rendered = Man::new(page).manual("Dualfit Manual").render(&mut text);
    rendered.map_err(|why| Refusal::file(format!("the page cannot be made: {why}")))?;
    print(&String::from_utf8_lossy(&text))?;
    Ok(DONE)
}

fn named(all: &Command, name: &str) -> Outcome<Command> {
    let Some(found) = all.find_subcommand(name) else {
        let names = || all.get_subcommands().map(Command::get_name);
        let near = did_you_mean(name, names());
        let message =
            format!("there is no command \"{name}\"{near}; there are {}", listed(names()));
        return Err(Refusal::usage(message));
    };
    Ok(found.clone())
}
