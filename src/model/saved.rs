//! Format of a saved program. Operations are saved by name, operands as indices of earlier nodes, and numbers with all
//! bits.
//!
//! All input is checked before it becomes a program, so that no file can cause an invalid replay.

use super::op::{Binary, Id, Node, Unary};
use super::program::Program;
use crate::error::Result;
use crate::error::saved::SavedError;
use crate::saved::{Number, Saved, check_index, saved};
use serde::{Deserialize, Serialize};
#[cfg(feature = "json")]
use serde::{Deserializer, Serializer, de};

/// Highest order of a polygamma function that is accepted; models use small orders.
const HIGHEST_ORDER: u32 = 1 << 16;

saved! {
    /// A program in its saved form.
    #[serde(rename = "Program")]
    "program": struct SavedProgram of program: Program {
        variables: Vec<String> = program.columns,
        parameters: Vec<String> = program.params,
        nodes: Vec<SavedNode> = program.nodes.into_iter().map(SavedNode::from).collect(),
        outputs: Vec<Id>,
        partials: Vec<usize>,
    }
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SavedNode {
    Number(Number),
    Variable(u32),
    Parameter(u32),
    /// An operation's name and operands.
    Apply(String, Vec<Id>),
}

#[cfg(feature = "json")]
impl Serialize for Program {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        SavedProgram::from(self.clone()).serialize(to)
    }
}

#[cfg(feature = "json")]
impl<'de> Deserialize<'de> for Program {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Program, D::Error> {
        SavedProgram::deserialize(from)?.try_into().map_err(de::Error::custom)
    }
}

#[cfg(feature = "json")]
impl Program {
    /// Returns the program as JSON: names of operations, operands as indices of earlier nodes, numbers to the last bit.
    /// Other formats of `serde` work, too.
    ///
    /// # Errors
    /// None in practice: every program can be written.
    #[inline]
    pub fn to_json(&self) -> Result<String> {
        self.write()
    }

    /// Reads the program that [`to_json`](Program::to_json) wrote.
    ///
    /// # Errors
    /// Returns [`Error::Saved`](crate::Error::Saved) if the text is not such a program, its version is unknown, or an
    /// operand does not exist.
    #[inline]
    pub fn from_json(text: &str) -> Result<Program> {
        Program::read(text)
    }
}

impl From<Node> for SavedNode {
    fn from(node: Node) -> SavedNode {
        match node {
            Node::Const(bits) => SavedNode::Number(Number(f64::from_bits(bits))),
            Node::Column(i) => SavedNode::Variable(i),
            Node::Param(i) => SavedNode::Parameter(i),
            Node::Unary(Unary::Polygamma(n), a) => {
                SavedNode::Apply(format!("polygamma {n}"), vec![a])
            }
            Node::Unary(op, a) => SavedNode::Apply(op.name().into(), vec![a]),
            Node::Binary(op, a, b) => SavedNode::Apply(op.name().into(), vec![a, b]),
            Node::Select(m, a, b) => SavedNode::Apply("select".into(), vec![m, a, b]),
        }
    }
}

impl SavedProgram {
    fn checked(self) -> Result<Program> {
        let SavedProgram { variables, parameters, nodes, outputs, partials, .. } = self;
        let node = |(i, saved): (usize, &SavedNode)| -> Result<Node> {
            let below = |what, index: Id, count| {
                let place = format_args!("node {i} of the saved program");
                check_index(place, what, index as usize, count)
            };
            Ok(match saved {
                SavedNode::Number(value) => Node::Const(value.0.to_bits()),
                &SavedNode::Variable(k) => {
                    below("variable", k, variables.len())?;
                    Node::Column(k)
                }
                &SavedNode::Parameter(k) => {
                    below("parameter", k, parameters.len())?;
                    Node::Param(k)
                }
                SavedNode::Apply(name, operands) => {
                    operands.iter().try_for_each(|&operand| below("node", operand, i))?;
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
            let place = format_args!("output {i} of the saved program");
            check_index(place, "node", output as usize, nodes.len())?;
        }
        for (i, &by) in partials.iter().enumerate() {
            let place = format_args!("partial {i} of the saved program");
            check_index(place, "parameter", by, parameters.len())?;
        }
        Program::expect("outputs", outputs.len(), partials.len() + 1)?;
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
