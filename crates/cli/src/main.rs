//! The program `dualfit`: fits from a command line.

mod arguments;
mod batch;
mod bench;
mod destinations;
mod devices;
mod figures;
mod fit;
mod form;
mod interrupt;
mod intervals;
mod json;
mod manual;
mod model;
mod models;
mod output;
mod picture;
mod points;
mod refusal;
mod report;
mod residuals;
mod said;
mod shell;
mod table;
mod variables;
mod words;

use arguments::{Command, CommandLine};
use clap::Parser;
use clap::error::ErrorKind;
use refusal::{DONE, Outcome, USAGE};
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
        Command::Bench { points, repeat } => bench::run(points, *repeat),
        Command::Models { model } => models::run(model.as_deref()),
        Command::Devices { bandwidth } => devices::run(*bandwidth),
        Command::Completions { shell } => shell::run(*shell),
        Command::Man { command } => manual::run(command.as_deref()),
    }
}

/// Help and version are results; everything else that clap says is an error, which fits on a line.
fn misread(error: &clap::Error) -> Outcome<u8> {
    let text = error.render();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            output::print(&text.ansi().to_string())?;
            Ok(DONE)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // Who gave no command at all is shown what there is, as an error.
            output::explain(&text.ansi().to_string());
            Ok(USAGE)
        }
        _ => Err(refusal::Refusal::usage(on_one_line(&text.to_string()))),
    }
}

/// What clap says is wrong and what it advises, without the usage.
fn on_one_line(text: &str) -> String {
    let said = text.lines().take_while(|line| !line.starts_with("Usage:"));
    let said = said.map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("For more"));
    let mut parts = Vec::new();
    let mut last = String::new();
    for line in said {
        let line = line.strip_prefix("error: ").unwrap_or(line);
        let line = line.strip_prefix("tip: ").unwrap_or(line);
        if last.ends_with(':') {
            last = format!("{last} {line}");
        } else {
            parts.extend((!last.is_empty()).then_some(std::mem::take(&mut last)));
            last = line.to_owned();
        }
    }
    parts.push(last);
    if parts.len() == 1 {
        parts.push("`dualfit --help` and `dualfit COMMAND --help` say what there is".into());
    }
    parts.join("; ")
}
