//! Human-readable text of a program.

use super::op::{Id, Node, Unary};
use super::program::Program;
use crate::model::tape::depends_on_point;
use std::fmt;

impl fmt::Display for Program {
    /// Prints first the operations that are the same at every point, then the operations per point, one per line
    /// (`v7 = exp(v6)`), then the outputs: `f` and the partials `df/d<parameter>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per_point = depends_on_point(&self.nodes);
        for (title, wanted) in [("once per pass", false), ("per point", true)] {
            let lines: Vec<usize> = (0..self.nodes.len())
                .filter(|&i| per_point[i] == wanted && self.nodes[i].operands().next().is_some())
                .collect();
            if !lines.is_empty() {
                writeln!(f, "# {title}")?;
            }
            for i in lines {
                writeln!(f, "v{i} = {}", self.expression(i))?;
            }
        }
        writeln!(f, "# outputs")?;
        for (k, &output) in self.outputs.iter().enumerate() {
            match k.checked_sub(1).map(|i| &self.params[self.partials[i]]) {
                None => writeln!(f, "f = {}", self.operand(output))?,
                Some(name) => writeln!(f, "df/d{name} = {}", self.operand(output))?,
            }
        }
        Ok(())
    }
}

impl Program {
    fn expression(&self, index: usize) -> String {
        let name = |id: Id| self.operand(id);
        match self.nodes[index] {
            Node::Const(_) | Node::Column(_) | Node::Param(_) => self.operand(index as Id),
            Node::Unary(Unary::Neg, a) => format!("-{}", name(a)),
            Node::Unary(Unary::Polygamma(n), a) => format!("polygamma({n}, {})", name(a)),
            Node::Unary(op, a) => format!("{}({})", op.name(), name(a)),
            Node::Binary(op, a, b) if op.is_infix() => {
                format!("{} {} {}", name(a), op.name(), name(b))
            }
            Node::Binary(op, a, b) => format!("{}({}, {})", op.name(), name(a), name(b)),
            Node::Select(m, a, b) => format!("select({}, {}, {})", name(m), name(a), name(b)),
        }
    }

    fn operand(&self, id: Id) -> String {
        match self.nodes[id as usize] {
            Node::Const(bits) => format!("{:?}", f64::from_bits(bits)),
            Node::Column(i) => self.columns[i as usize].clone(),
            Node::Param(i) => self.params[i as usize].clone(),
            _ => format!("v{id}"),
        }
    }
}
