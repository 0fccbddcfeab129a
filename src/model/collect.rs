//! Partials with their constant factors collected.
//!
//! Derivatives are products of many factors, and most factors are the same at every point: in the derivative
//! a·(2(x − μ)/2σ²)·e of a Gaussian, only (x − μ)·e differs between points. The constant factors are collected into one
//! coefficient per partial, which is computed once per pass. Each point then needs no division and few products. The
//! value does not change by a bit: in its code only signs move, to factors that are the same at every point. A partial
//! is the same product in another order.
//!
//! In another order a product may leave the range of f64 although the original does not. If a coefficient
//! or one of its partial products is not between 1e-100 and 1e100, the caller must use the original program.
//! If a result is not finite, the result of the original program shows whether the order is the cause. One effect
//! remains: a partial below 1e-200 may lose digits. Its point-dependent factor is then below 1e-100.

use super::op::{Binary, Id, Node, Nodes, Unary};
use super::program::Program;
use crate::model::tape::{depends_on_point, without_dead_code};

#[cfg(test)]
mod tests;

/// A program whose partials have collected coefficients.
pub(crate) struct Collected {
    pub(crate) program: Program,
    /// The coefficients and their partial products, as nodes.
    pub(crate) coefficients: Vec<Id>,
}

/// Returns true if the coefficient can replace the product of its factors.
pub(crate) fn is_safe(coefficient: f64) -> bool {
    (1e-100..=1e100).contains(&coefficient.abs())
}

/// A node as the product number · uniform · core: a constant, a factor that is the same at every point, and the rest.
#[derive(Clone, Copy, Debug)]
struct Product {
    number: f64,
    uniform: Option<Id>,
    /// `None` for a node that is the same at every point.
    core: Option<Id>,
}

/// Collects the coefficients of `program`, whose first output is the value and whose others are partials.
pub(crate) fn collect(program: &Program) -> Collected {
    let nodes = &program.nodes;
    let room = nodes.len() + nodes.len() / 2;
    let mut writer = Writer { nodes: Nodes::with_room(room), coefficients: Vec::new() };
    let per_point = depends_on_point(nodes);
    let of_value = needed(nodes, program.outputs.first().copied());
    let mut products: Vec<Product> = Vec::with_capacity(nodes.len());
    for (i, &node) in nodes.iter().enumerate() {
        let product = match (per_point[i], of_value[i]) {
            (true, false) => writer.product(node, &products),
            (true, true) => match with_sign_moved(node, nodes, &per_point) {
                Some((op, a, b)) => writer.signed(op, a, b, &products),
                None => writer.copied(node, &products, true),
            },
            (false, _) => writer.copied(node, &products, false),
        };
        products.push(product);
    }
    let outputs: Vec<Id> =
        program.outputs.iter().map(|&o| writer.node_of(products[o as usize])).collect();
    let count = outputs.len();
    let all: Vec<Id> = outputs.iter().chain(&writer.coefficients).copied().collect();
    // Coefficients are kept as if they were outputs.
    let (nodes, mut kept) = without_dead_code(&writer.nodes.list, &all);
    let coefficients = kept.split_off(count);
    // A factor extracted from a node that many partials share is multiplied back in each partial. This can cost more
    // than it saves.
    if work(&nodes) >= work(&program.nodes) {
        return Collected { program: program.clone(), coefficients: Vec::new() };
    }
    Collected { program: Program { nodes, outputs: kept, ..program.clone() }, coefficients }
}

/// Moves the sign of a product or quotient of a negated operand and a uniform operand onto the uniform one. The result
/// is the same to the last bit, and the negation is computed once per pass.
fn with_sign_moved(node: Node, nodes: &[Node], per_point: &[bool]) -> Option<(Binary, Sign, Sign)> {
    let Node::Binary(op @ (Binary::Mul | Binary::Div), a, b) = node else { return None };
    let negated = |id: Id| match nodes[id as usize] {
        Node::Unary(Unary::Neg, inner) if per_point[id as usize] => Some(inner),
        _ => None,
    };
    match (per_point[a as usize], per_point[b as usize]) {
        (true, false) => Some((op, Sign::Kept(negated(a)?), Sign::Changed(b))),
        (false, true) => Some((op, Sign::Changed(a), Sign::Kept(negated(b)?))),
        _ => None,
    }
}

/// An operand with its sign kept or changed.
enum Sign {
    Kept(Id),
    Changed(Id),
}

/// Returns the cost of one point, in units of a product.
fn work(nodes: &[Node]) -> usize {
    const DIVISION: usize = 4;
    let per_point = depends_on_point(nodes);
    let of_node = |(node, &counts): (&Node, &bool)| match node {
        Node::Const(_) | Node::Column(_) | Node::Param(_) => 0,
        Node::Binary(Binary::Div, ..) if counts => DIVISION,
        _ => usize::from(counts),
    };
    nodes.iter().zip(&per_point).map(of_node).sum()
}

/// Returns one value per node: true if `output` depends on it.
fn needed(nodes: &[Node], output: Option<Id>) -> Vec<bool> {
    let mut needed = vec![false; nodes.len()];
    if let Some(output) = output {
        needed[output as usize] = true;
    }
    for (i, node) in nodes.iter().enumerate().rev() {
        if needed[i] {
            node.operands().for_each(|id| needed[id as usize] = true);
        }
    }
    needed
}

/// The nodes of the new program, while they are written.
struct Writer {
    nodes: Nodes,
    coefficients: Vec<Id>,
}

impl Writer {
    fn push(&mut self, node: Node) -> Id {
        self.nodes.push(node)
    }

    /// Copies a node unchanged; its operands include all their factors.
    fn copied(&mut self, node: Node, products: &[Product], per_point: bool) -> Product {
        let operands: Vec<(Id, Id)> =
            node.operands().map(|id| (id, self.node_of(products[id as usize]))).collect();
        let renamed =
            |id: Id| operands.iter().find(|(old, _)| *old == id).map_or(id, |&(_, new)| new);
        let id = self.push(node.with_operands(renamed));
        match (per_point, node) {
            (true, _) => Product { number: 1.0, uniform: None, core: Some(id) },
            (false, Node::Const(bits)) => {
                Product { number: f64::from_bits(bits), uniform: None, core: None }
            }
            (false, _) => Product { number: 1.0, uniform: Some(id), core: None },
        }
    }

    /// Writes an operation on operands with the given signs.
    fn signed(&mut self, op: Binary, a: Sign, b: Sign, products: &[Product]) -> Product {
        let mut of = |sign: Sign| match sign {
            Sign::Kept(id) => self.node_of(products[id as usize]),
            Sign::Changed(id) => {
                let id = self.node_of(products[id as usize]);
                self.push(Node::Unary(Unary::Neg, id))
            }
        };
        let (a, b) = (of(a), of(b));
        let id = self.push(Node::Binary(op, a, b));
        Product { number: 1.0, uniform: None, core: Some(id) }
    }

    /// Writes a node that only the partials need, with its factors separated.
    fn product(&mut self, node: Node, products: &[Product]) -> Product {
        let of = |id: Id| products[id as usize];
        let found = match node {
            Node::Unary(Unary::Neg, a) => {
                let a = of(a);
                Some(Product { number: -a.number, ..a })
            }
            Node::Binary(Binary::Mul, a, b) => {
                let (a, b) = (of(a), of(b));
                Some(Product {
                    number: a.number * b.number,
                    uniform: self.both(Binary::Mul, a.uniform, b.uniform),
                    core: self.both(Binary::Mul, a.core, b.core),
                })
            }
            Node::Binary(Binary::Div, a, b) => {
                let (a, b) = (of(a), of(b));
                Some(Product {
                    number: a.number / b.number,
                    uniform: self.both(Binary::Div, a.uniform, b.uniform),
                    core: self.both(Binary::Div, a.core, b.core),
                })
            }
            Node::Binary(op @ (Binary::Add | Binary::Sub), a, b) => {
                let (a, b) = (of(a), of(b));
                let alike = a.core == b.core && a.uniform == b.uniform;
                let sum = if op == Binary::Add { a.number + b.number } else { a.number - b.number };
                alike.then_some(Product { number: sum, ..a })
            }
            _ => None,
        };
        match found {
            Some(p) if is_safe(p.number) && p.core.is_some() => {
                p.uniform.into_iter().for_each(|uniform| self.watch(uniform));
                p
            }
            _ => self.copied(node, products, true),
        }
    }

    /// Registers a coefficient, whose size is checked before the program is used.
    fn watch(&mut self, coefficient: Id) {
        if !self.coefficients.contains(&coefficient) {
            self.coefficients.push(coefficient);
        }
    }

    /// Writes a·b or a/b; `None` means 1.
    fn both(&mut self, op: Binary, a: Option<Id>, b: Option<Id>) -> Option<Id> {
        match (a, b) {
            (Some(a), Some(b)) => {
                // Operands of products are sorted, so that equal products share a node.
                let (a, b) = if op == Binary::Mul && b < a { (b, a) } else { (a, b) };
                Some(self.push(Node::Binary(op, a, b)))
            }
            (a, None) => a,
            (None, Some(b)) if op == Binary::Div => {
                let one = self.push(Node::Const(1f64.to_bits()));
                Some(self.push(Node::Binary(op, one, b)))
            }
            (None, b) => b,
        }
    }

    /// Returns the node of a product with all its factors.
    fn node_of(&mut self, product: Product) -> Id {
        let Product { number, uniform, core } = product;
        let Some(core) = core else {
            let number = self.push(Node::Const(number.to_bits()));
            return uniform.unwrap_or(number);
        };
        if number == -1.0 && uniform.is_none() {
            return self.push(Node::Unary(Unary::Neg, core));
        }
        let coefficient = match uniform {
            None if number == 1.0 => return core,
            None => self.push(Node::Const(number.to_bits())),
            Some(uniform) if number == 1.0 => uniform,
            Some(uniform) => {
                let number = self.push(Node::Const(number.to_bits()));
                self.push(Node::Binary(Binary::Mul, number, uniform))
            }
        };
        self.watch(coefficient);
        self.push(Node::Binary(Binary::Mul, core, coefficient))
    }
}
