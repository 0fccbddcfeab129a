//! The report of a fit: what was fitted, and what the library says of it, with colours.

use crate::model::Model;
use crate::output::{BAD, DOUBTFUL, GOOD, TITLE, styled};
use crate::points::{Points, Roles};
use crate::table::Table;
use crate::words::counted;
use dualfit::Fit;

/// Two lines: the data and the model.
pub(crate) fn heading(table: &Table, roles: &Roles, points: &Points, model: &Model) -> String {
    let x: Vec<String> = roles.x.iter().map(|&column| table.called(column)).collect();
    let mut data = format!(
        "{}: {} over {}, {}",
        table.name,
        table.called(roles.y),
        x.join(" and "),
        counted(points.y.len(), "point")
    );
    if let Some(sigma) = roles.sigma {
        data += &format!(", sigma from {}", table.called(sigma));
    }
    let left_out = points.left_out();
    if !left_out.is_empty() {
        data += &format!("; {left_out}");
    }
    format!("{data}\nmodel: {}\n", on_a_line(&model.text))
}

/// A formula may be written on several lines.
pub(crate) fn on_a_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the library prints, with a newline at the end.
pub(crate) fn coloured(fit: &Fit) -> String {
    let text = fit.to_string();
    let mut lines = Vec::new();
    for (i, line) in text.lines().enumerate() {
        lines.push(match line {
            _ if i == 0 => styled(if fit.converged() { GOOD } else { BAD }, line),
            _ if line.starts_with("parameter ") || line.starts_with("derived ") => {
                styled(TITLE, line)
            }
            _ if line.starts_with("warning:") => styled(DOUBTFUL, line),
            _ => line.to_owned(),
        });
    }
    lines.join("\n") + "\n"
}
