//! What the library says is wrong, in the words of the command line.

use crate::model::shown;
use crate::points::{Points, Roles};
use crate::refusal::{FILE, Refusal, USAGE};
use crate::table::Table;
use crate::words::counted;
use dualfit::{Error, ModelError, NameError, StartError};

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
pub(crate) fn refused_at(error: &Error, table: &Table, roles: &Roles, points: &Points) -> Refusal {
    let place = |index: usize| {
        let row = points.rows.get(index).copied().unwrap_or_default();
        table.place(row, roles.y)
    };
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
