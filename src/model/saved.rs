//! Format of a saved program. Operations are saved by name, operands as indices of earlier nodes, and numbers with all
//! bits.
//!
//! The format is stable and has a version; a reader rejects other versions. All input is checked
//! before it becomes a program, so that no file can cause an invalid replay.

use super::exact::Exact;
use super::op::{Binary, Id, Node, Unary};
use super::program::Program;
use crate::error::saved::SavedError;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

pub(super) const VERSION: u32 = 1;
/// Maximum accepted order of a polygamma function; models use small orders.
const HIGHEST_ORDER: u32 = 1 << 16;

/// A program in its saved form.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename = "Program")]
pub(crate) struct SavedProgram {
    version: u32,
    variables: Vec<String>,
    parameters: Vec<String>,
    nodes: Vec<SavedNode>,
    outputs: Vec<Id>,
    partials: Vec<usize>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SavedNode {
    Number(Exact),
    Variable(u32),
    Parameter(u32),
    /// An operation's name and operands.
    Apply(String, Vec<Id>),
}

pub(crate) fn check_version(what: &'static str, found: u32, known: u32) -> Result<()> {
    match found == known {
        true => Ok(()),
        false => Err(SavedError::Version { what, found, known }.into()),
    }
}

/// Checks the number of values of a saved object.
///
/// # Errors
/// Returns [`SavedError::Length`] if `got` is not `expected`. `of`: the saved object; `what`: the values that are
/// counted. Both are for the message.
#[cfg(feature = "json")]
pub(crate) fn expect(
    of: &'static str,
    what: &'static str,
    got: usize,
    expected: usize,
) -> Result<()> {
    match got == expected {
        true => Ok(()),
        false => Err(SavedError::Length { what, of, expected, got }.into()),
    }
}

/// Checks an index of a saved object.
///
/// # Errors
/// Returns [`SavedError::Reference`] if `index` is not less than `count`, the number of objects of the kind `what`.
/// `place`: location of the index in the file, for the message.
#[cfg(feature = "json")]
pub(crate) fn check_index(
    place: &str,
    what: &'static str,
    index: usize,
    count: usize,
) -> Result<()> {
    match index < count {
        true => Ok(()),
        false => Err(SavedError::Reference { place: place.into(), what, index, count }.into()),
    }
}

impl From<Program> for SavedProgram {
    fn from(program: Program) -> SavedProgram {
        let Program { columns, params, nodes, outputs, partials } = program;
        let node = |node: &Node| match *node {
            Node::Const(bits) => SavedNode::Number(Exact(f64::from_bits(bits))),
            Node::Column(i) => SavedNode::Variable(i),
            Node::Param(i) => SavedNode::Parameter(i),
            Node::Unary(Unary::Polygamma(n), a) => {
                SavedNode::Apply(format!("polygamma {n}"), vec![a])
            }
            Node::Unary(op, a) => SavedNode::Apply(op.name().into(), vec![a]),
            Node::Binary(op, a, b) => SavedNode::Apply(op.name().into(), vec![a, b]),
            Node::Select(m, a, b) => SavedNode::Apply("select".into(), vec![m, a, b]),
        };
        SavedProgram {
            version: VERSION,
            variables: columns,
            parameters: params,
            nodes: nodes.iter().map(node).collect(),
            outputs,
            partials,
        }
    }
}

impl TryFrom<SavedProgram> for Program {
    type Error = Error;
    fn try_from(saved: SavedProgram) -> Result<Program> {
        check_version("program", saved.version, VERSION)?;
        let SavedProgram { variables, parameters, nodes, outputs, partials, .. } = saved;
        let below = |place: &dyn Fn() -> String, what, index: usize, count| match index < count {
            true => Ok(()),
            false => Err(SavedError::Reference { place: place(), what, index, count }),
        };
        let node = |(i, saved): (usize, &SavedNode)| -> Result<Node> {
            let place = || format!("node {i} of the saved program");
            Ok(match saved {
                SavedNode::Number(value) => Node::Const(value.0.to_bits()),
                &SavedNode::Variable(k) => {
                    below(&place, "variable", k as usize, variables.len())?;
                    Node::Column(k)
                }
                &SavedNode::Parameter(k) => {
                    below(&place, "parameter", k as usize, parameters.len())?;
                    Node::Param(k)
                }
                SavedNode::Apply(name, operands) => {
                    for &operand in operands {
                        below(&place, "node", operand as usize, i)?;
                    }
                    operation(name, operands).ok_or_else(|| SavedError::Operation {
                        node: i,
                        operation: name.clone(),
                        operands: operands.len(),
                    })?
                }
            })
        };
        let checked = nodes.iter().enumerate().map(node).collect::<Result<Vec<Node>>>()?;
        for (i, &output) in outputs.iter().enumerate() {
            let place = || format!("output {i} of the saved program");
            below(&place, "node", output as usize, nodes.len())?;
        }
        for (i, &by) in partials.iter().enumerate() {
            let place = || format!("partial {i} of the saved program");
            below(&place, "parameter", by, parameters.len())?;
        }
        if outputs.len() != partials.len() + 1 {
            let (expected, got) = (partials.len() + 1, outputs.len());
            return Err(SavedError::Length { what: "outputs", of: "program", expected, got }.into());
        }
        let (columns, params) = (variables, parameters);
        Ok(Program { columns, params, nodes: checked, outputs, partials })
    }
}

fn operation(name: &str, operands: &[Id]) -> Option<Node> {
    match *operands {
        [a] => {
            let order = name.strip_prefix("polygamma ").and_then(|order| order.parse().ok());
            let order = order.filter(|order| *order <= HIGHEST_ORDER).map(Unary::Polygamma);
            let named = || Unary::ALL.iter().copied().find(|op| op.name() == name);
            Some(Node::Unary(order.or_else(named)?, a))
        }
        [a, b] => {
            let op = Binary::ALL.iter().copied().find(|op| op.name() == name)?;
            Some(Node::Binary(op, a, b))
        }
        [m, a, b] => (name == "select").then_some(Node::Select(m, a, b)),
        _ => None,
    }
}
