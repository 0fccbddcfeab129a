//! The program `dualfit`: fits from a command line.

mod arguments;
mod batch;
mod compare;
mod contour;
mod destinations;
mod deviation;
mod fit;
mod form;
mod json;
mod machine;
mod manual;
mod model;
mod models;
mod output;
mod points;
mod predictions;
mod refusal;
mod replicates;
mod report;
mod table;
mod watch;
mod words;
mod written;

use arguments::{Command, CommandLine};
use clap::Parser;
use clap::error::{ContextKind, ErrorKind};
use refusal::{DONE, Outcome, USAGE};
use std::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    let outcome = match CommandLine::try_parse() {
        Ok(line) => run(&line.command),
        Err(error) => misread(&error),
    };
    ExitCode::from(outcome.unwrap_or_else(|refusal| {
        output::error(&refusal.message);
        refusal.code
    }))
}

fn run(command: &Command) -> Outcome<u8> {
    match command {
        Command::Fit(asked) => fit::run(asked),
        Command::Batch(asked) => batch::run(asked),
        Command::Bench { points, repeat } => machine::bench(points, *repeat),
        Command::Models { model } => models::run(model.as_deref()),
        Command::Devices { bandwidth } => machine::devices(*bandwidth),
        Command::Completions { shell } => manual::completions(*shell),
        Command::Man { command } => manual::run(command.as_deref()),
    }
}

/// Handles a message of clap: prints requested help and the version as results, and returns an error as one line.
fn misread(error: &clap::Error) -> Outcome<u8> {
    let text = error.render();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            output::print(&text.ansi().to_string())?;
            Ok(DONE)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // Without a command, the help is shown as an error.
            output::explain(&text.ansi().to_string());
            Ok(USAGE)
        }
        _ => Err(refusal::Refusal::usage(
            of_a_value(error).unwrap_or_else(|| on_one_line(&text.to_string())),
        )),
    }
}

/// Formats the error of a value parser as `OPTION VALUE: reason`.
fn of_a_value(error: &clap::Error) -> Option<String> {
    let why = (error.kind() == ErrorKind::ValueValidation).then(|| error.source())??;
    let option = error.get(ContextKind::InvalidArg)?.to_string();
    let value = error.get(ContextKind::InvalidValue)?;
    Some(format!("{} {value}: {why}", option.split(' ').next()?))
}

/// Joins clap's error and tip in one line, without the usage.
fn on_one_line(text: &str) -> String {
    let said = text.lines().take_while(|line| !line.starts_with("Usage:")).map(str::trim);
    let said = said.filter(|line| !line.is_empty() && !line.starts_with("For more"));
    let plain = said.map(|line| line.trim_start_matches("error: ").trim_start_matches("tip: "));
    let line = plain.collect::<Vec<_>>().join("; ").replace(":; ", ": ");
    match line.contains("; ") {
        true => line,
        false => line + "; `dualfit --help` and `dualfit COMMAND --help` say what there is",
    }
}
