//! A program as LaTeX: the algebra that a person would write.
//!
//! Nodes are visited in order, so that depth costs no stack. Each becomes a sum of products
//! ([`algebra`]), in which sums and products are flat, equal factors are powers, and quotients are one
//! fraction. What is large and used more than once gets a name, u₁, u₂, …, so that the text is never
//! much longer than the program.

mod algebra;
mod number;
mod symbol;

use super::op::{Binary, Id, Node, Unary};
use super::optimise::without_dead_code;
use super::program::Program;
use algebra::{Algebra, Form};
pub(crate) use symbol::{escaped, symbols};

/// Operations from which on an expression that is used twice gets a name.
const LARGE: usize = 8;
/// Characters from which on an operand gets a name whether it is shared or not.
const LONG: usize = 1500;

impl Program {
    /// The model as LaTeX, for mathematics mode: `f(x) = a \exp(-b x) + c`. Names become symbols:
    /// `sigma` is `\sigma`, `g1_center` is `\mathrm{center}_{\mathrm{g1}}`. Expressions that are large
    /// and used more than once are called u₁, u₂, … and follow the formula in an `aligned`
    /// environment. Needs the package `amsmath`.
    ///
    /// The algebra is that of the program: operations are written as they are done but for
    /// the order of factors, and a constant that has the value of 2π, √2 or the like is written so.
    pub fn latex(&self) -> String {
        let Some(&output) = self.outputs.first() else { return String::new() };
        let (nodes, outputs) = without_dead_code(&self.nodes, &[output]);
        let all: Vec<&str> = self.columns.iter().chain(&self.params).map(String::as_str).collect();
        let symbols = symbols(&all);
        let (columns, params) = symbols.split_at(self.columns.len());
        let mut writer = Writer::new(&nodes, columns, params);
        let value = writer.value(&nodes, outputs[0]);
        let function = format!("{}({})", writer.letters.function, columns.join(", "));
        match writer.definitions.as_slice() {
            [] => format!("{function} = {value}"),
            definitions => {
                let lines: Vec<String> =
                    definitions.iter().map(|(name, text)| format!("{name} &= {text}")).collect();
                format!(
                    "\\begin{{aligned}}\n{function} &= {value} \\\\\n\\text{{where}}\\quad {}\n\\end{{aligned}}",
                    lines.join(" \\\\\n")
                )
            }
        }
    }
}

/// Letters that no variable or parameter uses.
struct Letters {
    function: &'static str,
    part: &'static str,
}

struct Writer<'a> {
    columns: &'a [String],
    params: &'a [String],
    letters: Letters,
    /// Symbols of the named expressions and what they are, each using earlier ones only.
    definitions: Vec<(String, String)>,
    /// Edges to each node that have not been followed.
    uses: Vec<usize>,
    shared: Vec<bool>,
    found: Vec<Option<Algebra>>,
}

impl<'a> Writer<'a> {
    fn new(nodes: &[Node], columns: &'a [String], params: &'a [String]) -> Writer<'a> {
        let free = |letters: [&'static str; 4]| {
            let used = |letter: &str| {
                let taken = |s: &String| s == letter || s.starts_with(&format!("{letter}_"));
                columns.iter().chain(params).any(taken)
            };
            letters.into_iter().find(|l| !used(l)).unwrap_or(letters[3])
        };
        let letters = Letters {
            function: free(["f", "F", "y", "\\mathcal{F}"]),
            part: free(["u", "v", "w", "\\mathcal{U}"]),
        };
        let mut uses = vec![0; nodes.len()];
        let mut shared = vec![0; nodes.len()];
        for &node in nodes {
            node.operands().for_each(|id| uses[id as usize] += 1);
            let mut distinct: Vec<Id> = node.operands().collect();
            if matches!(node, Node::Binary(Binary::Mul, a, b) if a == b) {
                // A square is written once.
                distinct.truncate(1);
            }
            distinct.iter().for_each(|&id| shared[id as usize] += 1);
        }
        let mut sizes: Vec<usize> = Vec::with_capacity(nodes.len());
        let mut named = Vec::with_capacity(nodes.len());
        for (i, node) in nodes.iter().enumerate() {
            let size = node.operands().map(|id| sizes[id as usize]).fold(0, usize::saturating_add);
            let size = size + usize::from(node.operands().next().is_some());
            named.push(shared[i] > 1 && size >= LARGE);
            sizes.push(if named[i] { 1 } else { size });
        }
        let found = vec![None; nodes.len()];
        Writer { columns, params, letters, definitions: Vec::new(), uses, shared: named, found }
    }

    fn value(&mut self, nodes: &[Node], output: Id) -> String {
        self.uses[output as usize] += 1;
        for (i, &node) in nodes.iter().enumerate() {
            let mut algebra = self.algebra(node);
            if self.shared[i] {
                algebra = self.named(&algebra);
            }
            self.found[i] = Some(algebra);
        }
        self.take(output).text()
    }

    /// An operand, moved where nothing else needs it.
    fn take(&mut self, id: Id) -> Algebra {
        let i = id as usize;
        self.uses[i] = self.uses[i].saturating_sub(1);
        let found = if self.uses[i] == 0 { self.found[i].take() } else { self.found[i].clone() };
        found.unwrap_or_else(|| Algebra::number(f64::NAN))
    }

    fn named(&mut self, algebra: &Algebra) -> Algebra {
        let name = format!("{}_{{{}}}", self.letters.part, self.definitions.len() + 1);
        self.definitions.push((name.clone(), algebra.text()));
        Algebra::atom(name, Form::Part, algebra.varies())
    }

    /// An operand that goes into a fraction, a power or the like, where its text is written out.
    fn operand(&mut self, id: Id) -> Algebra {
        let algebra = self.take(id);
        if algebra.length() > LONG { self.named(&algebra) } else { algebra }
    }

    fn algebra(&mut self, node: Node) -> Algebra {
        match node {
            Node::Const(bits) => Algebra::number(f64::from_bits(bits)),
            Node::Column(i) => Algebra::atom(text(self.columns, i), Form::Column(i), true),
            Node::Param(i) => Algebra::atom(text(self.params, i), Form::Parameter(i), false),
            Node::Unary(Unary::Neg, a) => self.operand(a).negated(),
            Node::Unary(op, a) => {
                let a = self.operand(a);
                unary(op, a)
            }
            Node::Binary(Binary::Add, a, b) => self.take(a).plus(self.take(b)),
            Node::Binary(Binary::Sub, a, b) => self.take(a).minus(self.take(b)),
            Node::Binary(op, a, b) => {
                let (a, b) = (self.operand(a), self.operand(b));
                binary(op, a, b)
            }
            Node::Select(m, a, b) => {
                let (m, a, b) = (self.operand(m), self.operand(a), self.operand(b));
                let rows = format!(
                    "{} & \\text{{if }} {} \\\\ {} & \\text{{otherwise}}",
                    a.text(),
                    m.text(),
                    b.text()
                );
                {
                    let varies = m.varies() || a.varies() || b.varies();
                    let cases = format!("\\begin{{cases}} {rows} \\end{{cases}}");
                    Algebra::atom(cases, Form::Open, varies)
                }
            }
        }
    }
}

fn text(symbols: &[String], index: u32) -> String {
    symbols.get(index as usize).cloned().unwrap_or_default()
}

fn unary(op: Unary, a: Algebra) -> Algebra {
    let call = |text: String| Algebra::atom(text, Form::Call, a.varies());
    let function = match op {
        Unary::Sqrt => return call(format!("\\sqrt{{{}}}", a.text())),
        Unary::Cbrt => return call(format!("\\sqrt[3]{{{}}}", a.text())),
        Unary::Abs => return call(format!("\\left| {} \\right|", a.text())),
        Unary::Floor => return call(format!("\\left\\lfloor {} \\right\\rfloor", a.text())),
        Unary::ExpM1 => return a.called("\\exp").minus(Algebra::number(1.0)),
        Unary::Ln1p => return Algebra::number(1.0).plus(a).called("\\ln"),
        Unary::Not => {
            return Algebra::atom(format!("\\lnot {}", a.in_parentheses()), Form::Open, a.varies());
        }
        Unary::Exp | Unary::Ln | Unary::Sin | Unary::Cos | Unary::Tan => format!("\\{}", op.name()),
        Unary::Sinh | Unary::Cosh | Unary::Tanh => format!("\\{}", op.name()),
        Unary::Asin => "\\arcsin".into(),
        Unary::Acos => "\\arccos".into(),
        Unary::Atan => "\\arctan".into(),
        Unary::Log2 => "\\log_{2}".into(),
        Unary::Log10 => "\\log_{10}".into(),
        Unary::LnGamma => "\\ln\\Gamma".into(),
        Unary::Polygamma(0) => "\\psi".into(),
        Unary::Polygamma(order) => format!("\\psi^{{({order})}}"),
        other => format!("\\operatorname{{{}}}", escaped(other.name())),
    };
    a.called(&function)
}

fn binary(op: Binary, a: Algebra, b: Algebra) -> Algebra {
    let varies = a.varies() || b.varies();
    let between = |sign: &str| {
        let side = |operand: &Algebra| match operand.is_compound_condition() {
            true => operand.in_parentheses(),
            false => operand.text(),
        };
        let form =
            if matches!(op, Binary::And | Binary::Or) { Form::Condition } else { Form::Open };
        Algebra::atom(format!("{} {sign} {}", side(&a), side(&b)), form, varies)
    };
    match op {
        Binary::Lt => return between("<"),
        Binary::Le => return between("\\le"),
        Binary::Eq => return between("="),
        Binary::And => return between("\\land"),
        Binary::Or => return between("\\lor"),
        Binary::Add => return a.plus(b),
        Binary::Sub => return a.minus(b),
        Binary::Mul => return a.times(b),
        Binary::Div => return a.over(b),
        Binary::Pow => return a.power(b),
        _ => {}
    }
    if op == Binary::Hypot {
        let two = || Algebra::number(2.0);
        let squares = a.power(two()).plus(b.power(two()));
        return Algebra::atom(format!("\\sqrt{{{}}}", squares.text()), Form::Call, varies);
    }
    let function = match op {
        Binary::Min | Binary::Max => format!("\\{}", op.name()),
        other => format!("\\operatorname{{{}}}", escaped(other.name())),
    };
    let arguments = format!("{}, {}", a.text(), b.text());
    Algebra::atom(
        format!("{function}{}", algebra::parentheses(&arguments, true)),
        Form::Call,
        varies,
    )
}
