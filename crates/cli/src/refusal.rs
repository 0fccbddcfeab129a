//! Errors that end the program: a one-line message in the terms of the command line, and an exit code for scripts.

use crate::points::Points;
use dualfit::Error;
use dualfit::error::{GlobalError, NameError, StartError};
use std::path::Path;

/// The fit converged, or the command succeeded.
pub(crate) const DONE: u8 = 0;
/// The fit did not converge, or some fits of a batch did not converge.
pub(crate) const NOT_CONVERGED: u8 = 1;
/// An option, the model, a column or a number is invalid.
pub(crate) const USAGE: u8 = 2;
/// A file cannot be read or written, or does not contain a table.
pub(crate) const FILE: u8 = 3;

/// Error with a message (problem, location, remedy) and an exit code.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) message: String,
    pub(crate) code: u8,
}

pub(crate) type Outcome<T> = Result<T, Refusal>;

impl Refusal {
    /// Creates the error for an invalid request.
    pub(crate) fn usage(message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), code: USAGE }
    }

    /// Creates the error for a file that cannot be read or written.
    pub(crate) fn file(message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), code: FILE }
    }

    /// Creates the error for a file that cannot be written, with the message of the operating system.
    pub(crate) fn unwritten(path: &Path, why: &std::io::Error) -> Refusal {
        let why = plain(why);
        Refusal::file(format!("{}: cannot be written: {why}", path.display()))
    }
}

/// Returns the message of the operating system without the error number, with the first letter in lower case.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or_default();
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Terms of the library and the corresponding terms of the command line.
const WORDS: &[(&str, &str)] = &[
    ("models::names() lists", "`dualfit models` lists"),
    ("the start has", "--start has"),
    ("CurveFit::search(SearchOptions::default().when(SearchWhen::Rejected))", "--search rejected"),
    (
        "a fit with priors takes no Sigma::Unknown or Relative; a prior is weighed against the points: say their errors with Sigma::Constant or Sigma::Absolute",
        "--prior is weighed against the points, so their errors must be known; give --sigma without --relative",
    ),
    ("takes no x_sigma; leave it out", "takes no errors of x; leave --x-sigma out"),
    (
        "draw errors (Resample::Parametric) or points (Resample::Pairs)",
        "give --resample parametric or pairs",
    ),
    (
        "draw counts (Resample::Parametric) or points (Resample::Pairs)",
        "give --resample parametric or pairs",
    ),
    ("draw errors (Resample::Parametric), or measure", "give --resample parametric, or measure"),
    ("or say the errors with an absolute sigma", "or give --sigma without --relative"),
    ("or say their errors with an absolute sigma", "or give --sigma without --relative"),
    ("option `replicates`", "--bootstrap"),
    ("Estimator::Poisson", "--poisson"),
    (", or use Estimator::LeastSquares", ""),
    (", or add the parameter by CurveFit::parameter", ""),
    ("Backend::Auto", "--device auto"),
    ("Backend::Cpu", "--device cpu"),
    ("option `starts`", "--multi-start"),
    ("option `max_evaluations`", "--max-evaluations"),
    ("the points of the other sets", "those of the other groups"),
    (
        "correct or mask it, or exclude the set with GlobalFit::leave_out_bad_sets(true)",
        "correct it, or remove its row from the file",
    ),
    ("correct the formula of the derived quantity", "correct --derive"),
    ("correct the tie of `", "correct --tie of `"),
    ("fixed; free it, or leave the tie out", "fixed; leave out --fix or --tie"),
    ("has a value in the start; leave that out", "has a value from --start or --fix; leave it out"),
    ("raise max_evaluations or improve the start", "raise --max-evaluations, or improve --start"),
    ("try another start, loosen the tolerances or check the partials", "try another --start"),
    ("subtract x[0] from x", "write (x - x0) in the model, with a number for x0"),
    (
        "there are no errors without absolute sigma",
        "there are no standard errors without --sigma, or with --relative",
    ),
];

/// Translates a message of the library into the terms of the command line.
pub(crate) fn in_our_words(text: &str) -> String {
    WORDS.iter().fold(text.to_owned(), |text, (library, ours)| text.replace(library, ours))
}

/// Returns the remedy for an error if an option can fix it.
fn remedy(error: &Error) -> Option<String> {
    Some(match error {
        Error::TooFewPoints { .. } => "give more points, or keep some parameters with --fix".into(),
        Error::Start(StartError::Unknown { names }) => {
            let example: Vec<String> = names.iter().map(|name| format!("{name}=1")).collect();
            format!("give one near what you expect: --start {}", example.join(","))
        }
        Error::Start(StartError::FixedWithoutValue { name }) => format!("write --fix {name}=1"),
        Error::StartOutOfBounds { .. } => "move it inside, or widen --bound".into(),
        Error::NoParameters => "names that are no columns are parameters".into(),
        _ => return None,
    })
}

/// Converts an error that does not refer to a row of a table.
impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        refused(&error)
    }
}

fn refused(error: &Error) -> Refusal {
    match error {
        Error::Parse { .. } => return misread("--model", error),
        Error::Name(NameError::Taken { name, second, .. }) => {
            return Refusal::usage(format!(
                "--derive {name}: {second} is called so; give the quantity a name of its own"
            ));
        }
        _ => {}
    }
    let mut text = in_our_words(&error.to_string());
    if let Error::CovarianceNotPositiveDefinite { row, .. } = error {
        // Rows of the command line are counted from 1, among the fitted ones.
        text =
            text.replace(&format!("row {row};"), &format!("row {} of the fitted rows;", row + 1));
    }
    let line = text.lines().next().unwrap_or_default();
    let message = match (remedy(error), line.rsplit_once("; ")) {
        (None, _) => line.to_owned(),
        (Some(remedy), what) => format!("{}; {remedy}", what.map_or(line, |(what, _)| what)),
    };
    let code = if matches!(error, Error::Source(_)) { FILE } else { USAGE };
    Refusal { message, code }
}

/// Creates the error for an invalid formula, with the position in its text. `option`: the option that contains it.
pub(crate) fn misread(option: &str, error: &Error) -> Refusal {
    Refusal::usage(match error {
        Error::Parse { message, column, .. } => {
            let shown = error.to_string();
            let excerpt = shown.split_once('\n').map_or("", |(_, excerpt)| excerpt);
            format!("{option}, column {column}: {}\n{excerpt}", in_our_words(message))
        }
        _ => format!("{option}: {error}"),
    })
}

/// Creates the error for invalid points. If the error refers to a single point, the message names its row.
pub(crate) fn refused_at(error: &Error, points: &Points<'_>) -> Refusal {
    let mut refusal = refused(error);
    if let Error::ModelNonFiniteAtStart { index, .. }
    | Error::PartialNonFiniteAtStart { index, .. }
    | Error::ModelNotPositiveAtStart { index, .. }
    | Error::NegativeCount { index, .. }
    | Error::Global(GlobalError::Outweighs { index, .. }) = error
    {
        let message = refusal.message.replacen(&format!(" at point {index}"), "", 1);
        let message = message.replacen(&format!(" at index {index}"), "", 1);
        refusal.message = format!("{}: {message}", points.place(*index));
    }
    // The unknown parameter may be a misspelled column.
    if let Error::Start(StartError::Unknown { .. }) = error {
        refusal.message += &format!("; the columns are {}", points.table.listed());
    }
    refusal
}
