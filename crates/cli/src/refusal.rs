//! Why the program ends without a result: one line for a person, in the words of the command line, and an
//! exit code for a script.

use crate::model::shown;
use crate::points::Points;
use crate::words::counted;
use dualfit::Error;
use dualfit::error::{ModelError, NameError, StartError};
use std::path::Path;

/// The fit converged, or whatever else was asked for was done.
pub(crate) const DONE: u8 = 0;
/// The fit was made and did not converge, or some fits of a batch did not.
pub(crate) const NOT_CONVERGED: u8 = 1;
/// The request makes no sense: an option, the model, a column, a number.
pub(crate) const USAGE: u8 = 2;
/// A file cannot be read or written, or holds no table.
pub(crate) const FILE: u8 = 3;

/// What is wrong, where, and what to do, with the exit code that belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) message: String,
    pub(crate) code: u8,
}

pub(crate) type Outcome<T> = Result<T, Refusal>;

impl Refusal {
    /// Of a request that makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), code: USAGE }
    }

    /// Of a file that cannot be read or written.
    pub(crate) fn file(message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), code: FILE }
    }

    /// Of a file that cannot be written, with the system's words for it.
    pub(crate) fn unwritten(path: &Path, why: &std::io::Error) -> Refusal {
        let why = plain(why);
        Refusal::file(format!("{}: cannot be written: {why}", path.display()))
    }
}

/// The system's words for an error, without its number.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or_default();
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// An error that has no place in a table.
pub(crate) fn refused(error: &Error) -> Refusal {
    let message = match error {
        Error::Parse { .. } => return misread("--model", error),
        Error::TooFewPoints { points, parameters } => format!(
            "{} cannot determine {}; give more points, or keep some parameters with --fix",
            counted(*points, "point"),
            counted(*parameters, "free parameter")
        ),
        Error::Start(StartError::Unknown { names }) => {
            let example: Vec<String> = names.iter().map(|name| format!("{name}=1")).collect();
            format!(
                "no start for {}, and the model is not linear in {}; give one near what you expect: --start {}",
                names.join(", "),
                if names.len() == 1 { "it" } else { "all of them" },
                example.join(",")
            )
        }
        Error::Start(StartError::FixedWithoutValue { name }) => {
            format!("--fix {name}: it has no value; write --fix {name}=1")
        }
        Error::Start(StartError::GivenTwice { name }) => {
            format!("--start has two values for {name}; leave one of them out")
        }
        Error::Model(ModelError::Unknown { name, nearest }) => {
            let near =
                nearest.map_or_else(String::new, |name| format!(" (did you mean \"{name}\"?)"));
            format!(
                "there is no model \"{name}\"{near}; `dualfit models` lists those that there are"
            )
        }
        Error::StartOutOfBounds { name, value, lower, upper } => format!(
            "{name} starts at {value}, outside its bounds {}; move it inside, or widen --bound",
            shown(*lower, *upper)
        ),
        Error::Name(NameError::Taken { name, second, .. }) => {
            format!("--derive {name}: {second} is called so; give the quantity a name of its own")
        }
        Error::NoParameters => {
            "the model has no parameter to fit; names that are no columns are parameters".into()
        }
        Error::NotForCounts { what } => {
            format!("--poisson knows the errors of counts and takes no {what}; leave it out")
        }
        Error::RangeOfStarts { name, lower, upper, .. } => format!(
            "--multi-start draws starts of {name} from its bounds, which are {}; give both ends: --bound {name}=LOW..HIGH",
            if lower.is_finite() || upper.is_finite() {
                shown(*lower, *upper)
            } else {
                "open".into()
            }
        ),
        Error::BadOption { name: "starts", value, requirement } => {
            format!("--multi-start {value}: it must be {requirement}")
        }
        Error::BadOption { name: "max_evaluations", value, requirement } => {
            format!("--max-evaluations {value}: it must be {requirement}")
        }
        Error::BadOption { name: "level", value, requirement } => {
            format!("the level is {value}; it must be {requirement}")
        }
        Error::DeviceOutOfMemory { name, requested, free } => format!(
            "{name} has no {requested} bytes of memory left, {free} are free; free some of it, or use --device cpu"
        ),
        Error::DeviceLost { name, message } => {
            format!(
                "{name} was lost: {message}; run the program anew, or with --device auto or cpu"
            )
        }
        Error::DeviceFailed { name, message } => {
            format!("{name} failed: {message}; use --device cpu")
        }
        _ => error.to_string().lines().next().unwrap_or_default().to_owned(),
    };
    let code = if matches!(error, Error::Source(_)) { FILE } else { USAGE };
    Refusal { message, code }
}

/// An error in a formula, with the place in its text. `option` is where the text was given.
pub(crate) fn misread(option: &str, error: &Error) -> Refusal {
    let shown = error.to_string();
    Refusal::usage(match error {
        Error::Parse { message, column, .. } => {
            let excerpt = shown.split_once('\n').map_or("", |(_, excerpt)| excerpt);
            // The library's list is a function, the program's a command.
            let message = message.replace("models::names() lists", "`dualfit models` lists");
            format!("{option}, column {column}: {message}\n{excerpt}")
        }
        _ => format!("{option}: {shown}"),
    })
}

/// An error about one of the points, which gets its place.
pub(crate) fn refused_at(error: &Error, points: &Points<'_>) -> Refusal {
    let place = |index: usize| points.place(index);
    Refusal::usage(match error {
        Error::ModelNonFiniteAtStart { index, point, value, params } => format!(
            "{}: the model is {value} at {point} for {params}; choose a --start where it is finite",
            place(*index)
        ),
        Error::PartialNonFiniteAtStart { name, index, point, value, params } => format!(
            "{}: the derivative of the model by {name} is {value} at {point} for {params}; choose another --start",
            place(*index)
        ),
        Error::ModelNotPositiveAtStart { index, point, value, params } => format!(
            "{}: the model is {value} at {point} for {params}, and a count is expected to be positive; choose another --start, or a --bound",
            place(*index)
        ),
        Error::NegativeCount { index, value } => format!(
            "{}: y is {value}, and --poisson takes it for a count, which is 0 or more; put a background into the model",
            place(*index)
        ),
        _ => return refused(error),
    })
}
