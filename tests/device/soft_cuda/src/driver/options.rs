//! Options of the driver, from environment variables that are read once, at the first call of the driver.
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `SOFT_CUDA_DEVICES` | number of devices | 1 |
//! | `SOFT_CUDA_MEGABYTES` | memory of each, in MiB | 4096 |
//! | `SOFT_CUDA_VERSION` | version of the driver: 1000 × major + 10 × minor | 13000 |
//! | `SOFT_CUDA_EAGER` | 1: work is done when it is enqueued | 0 |
//! | `SOFT_CUDA_FAIL` | calls that fail: `FUNCTION:COUNT:CODE`, separated by commas; `*` for any function | |
//! | `SOFT_CUDA_REPORT` | file to which counts and leaks are appended at exit | |
//! | `SOFT_CUDA_SEED` | seed of a random order of threads; 0: the order of their indices | 0 |
//! | `SOFT_CUDA_RACES` | 1: data races are detected | 0 |
//! | `SOFT_CUDA_CLOCK` | 1: the report has the instructions of kernels by function and unit, and memory traffic | 0 |
//! | `SOFT_CUDA_MUTANTS` | 1: launches are repeated with each [mistake](super::mutants), per source line | 0 |
//! | | 2: the same per instruction of each module | |
//! | `SOFT_CUDA_DUMP` | folder for the PTX of loaded modules | |
//! | `SOFT_CUDA_TRACE` | 1: calls and their codes are printed to stderr | 0 |

use super::faults::Failure;
use crate::machine::Settings;
use std::env;
use std::path::PathBuf;
use std::str::FromStr;

/// Options of the driver.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) devices: usize,
    /// Memory of each device, in bytes.
    pub(crate) memory: usize,
    pub(crate) version: i32,
    /// If true, work is done when it is enqueued.
    pub(crate) eager: bool,
    pub(crate) failures: Vec<Failure>,
    /// If true, launches are repeated with mistakes. `each_mutant`: if true, per instruction of each module.
    pub(crate) mutants: bool,
    pub(crate) each_mutant: bool,
    pub(crate) report: Option<PathBuf>,
    pub(crate) dump: Option<PathBuf>,
    pub(crate) trace: bool,
    pub(crate) settings: Settings,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            devices: 1,
            memory: 4096 << 20,
            version: 13000,
            eager: false,
            failures: Vec::new(),
            mutants: false,
            each_mutant: false,
            report: None,
            dump: None,
            trace: false,
            settings: Settings::default(),
        }
    }
}

impl Options {
    /// Reads the options from the environment of this process.
    ///
    /// # Errors
    /// Returns a message that names the variable with an invalid value.
    pub(crate) fn from_environment() -> Result<Options, String> {
        Options::read(|name| env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// Reads the options from `variable`, which returns the value of a name. An empty value counts as not set.
    ///
    /// # Errors
    /// As [`from_environment`](Options::from_environment).
    pub(crate) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Options, String> {
        let variable = |name| variable(name).filter(|value| !value.is_empty());
        let flag = |name| variable(name).is_some_and(|value| value != "0");
        let megabytes: usize = number("SOFT_CUDA_MEGABYTES", 4096, variable)?;
        let failures = variable("SOFT_CUDA_FAIL").unwrap_or_default();
        let failures = failures.split(',').map(str::trim).filter(|failure| !failure.is_empty());
        Ok(Options {
            devices: number("SOFT_CUDA_DEVICES", 1, variable)?,
            memory: megabytes.saturating_mul(1 << 20),
            version: number("SOFT_CUDA_VERSION", 13000, variable)?,
            eager: flag("SOFT_CUDA_EAGER"),
            failures: failures.map(Failure::parse).collect::<Result<_, _>>()?,
            mutants: flag("SOFT_CUDA_MUTANTS"),
            each_mutant: variable("SOFT_CUDA_MUTANTS").is_some_and(|value| value == "2"),
            report: variable("SOFT_CUDA_REPORT").map(PathBuf::from),
            dump: variable("SOFT_CUDA_DUMP").map(PathBuf::from),
            trace: flag("SOFT_CUDA_TRACE"),
            settings: Settings {
                seed: number("SOFT_CUDA_SEED", 0, variable)?,
                finds_races: flag("SOFT_CUDA_RACES"),
                has_clock: flag("SOFT_CUDA_CLOCK"),
                ..Settings::default()
            },
        })
    }
}

/// Returns the value of a variable as a number, or `default` if the variable is not set.
fn number<T: FromStr>(
    name: &'static str,
    default: T,
    variable: impl Fn(&'static str) -> Option<String>,
) -> Result<T, String> {
    match variable(name) {
        None => Ok(default),
        Some(value) => value.trim().parse().map_err(|_| format!("{name} is no number: {value}")),
    }
}
