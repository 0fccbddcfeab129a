//! `dualfit man` and `dualfit completions`: manual pages and shell completions, generated from the definition of the
//! command line.

use crate::arguments::{BATCH_EXAMPLES, CommandLine, EXIT_CODES, FIT_EXAMPLES};
use crate::output::print;
use crate::refusal::{DONE, Outcome, Refusal};
use crate::words::{did_you_mean, listed};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::io;

const TABLES: &str = "\
The separator of a text table (comma, semicolon, tab or spaces) is detected, or set by --delimiter. The last row
of words above the numbers contains the names of the columns, and a second one their units; the last comment before
the numbers may contain the names, too. Rows above the names are skipped, with a note. Lines that begin with # are
comments. Empty fields, NA and nan are missing values. Decimal commas and separators of thousands are recognised if
only one reading is possible; otherwise --decimal-comma or --thousands decides. An NPY file contains an array of n
rows and k columns; its columns are called by their numbers, from 1 on. Columns of Parquet and
Arrow files are floating-point numbers or integers.";

const ENVIRONMENT: &str = "\
NO_COLOR              if set, nothing is coloured
DUALFIT_FORCE_CPU     if 1, devices are neither used nor searched for
DUALFIT_DEVICE        number of the only device that --device auto uses; by default the first and equal ones
DUALFIT_NVRTC         path of the library NVRTC, or of its folder
DUALFIT_CACHE_DIR     folder for compiled kernels; `off` keeps them in memory
CUDA_VISIBLE_DEVICES  numbers of the devices that the CUDA driver offers";

pub(crate) fn completions(shell: Shell) -> Outcome<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut CommandLine::command(), "dualfit", &mut text);
    print(&String::from_utf8_lossy(&text))?;
    Ok(DONE)
}

/// Prints the manual page of the program or of a command, in roff.
pub(crate) fn run(command: Option<&str>) -> Outcome<u8> {
    let mut all = CommandLine::command();
    all.build();
    let page = match command {
        None => all,
        Some(name) => named(&all, name)?,
    };
    let rendered = page_of(page, command);
    let text = rendered.map_err(|why| Refusal::file(format!("the page cannot be made: {why}")))?;
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

fn page_of(page: Command, command: Option<&str>) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let commands = page.has_subcommands();
    let man = Man::new(page).manual("Dualfit Manual");
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if commands {
        man.render_subcommands_section(&mut text)?;
    }
    let fits = matches!(command, None | Some("fit" | "batch"));
    if fits {
        let mut tables = Roff::new();
        tables.control("SH", ["TABLES"]).text([roman(TABLES.replace('\n', " "))]);
        tables.to_writer(&mut text)?;
        preformatted("EXIT STATUS", without_title(EXIT_CODES)).to_writer(&mut text)?;
    }
    let examples =
        [(None, FIT_EXAMPLES), (Some("fit"), FIT_EXAMPLES), (Some("batch"), BATCH_EXAMPLES)];
    for (_, lines) in examples.into_iter().filter(|(of, _)| *of == command) {
        preformatted("EXAMPLES", without_title(lines)).to_writer(&mut text)?;
    }
    if command.is_none() {
        preformatted("ENVIRONMENT", ENVIRONMENT).to_writer(&mut text)?;
    }
    man.render_version_section(&mut text)?;
    Ok(text)
}

/// Returns the lines after the first one, which is the title in the help.
fn without_title(text: &str) -> &str {
    text.split_once('\n').map_or(text, |(_, lines)| lines)
}

fn preformatted(title: &str, lines: &str) -> Roff {
    let mut section = Roff::new();
    section.control("SH", [title]).control("nf", []);
    for line in lines.lines() {
        section.text([roman(line.trim())]);
    }
    section.control("fi", []);
    section
}
