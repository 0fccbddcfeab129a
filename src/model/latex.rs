//! Conversion of a program to LaTeX, in the form that a person would write.
//!
//! Nodes are visited in order, without recursion; therefore deep programs do not need a deep stack. Each node becomes a
//! sum of products ([`Sum`]). In a product, equal factors are written as a power, and all divisors as the denominator
//! of one fraction. A large expression that is used more than once gets a name, u₁, u₂, …, so that the text is never
//! much longer than the program.

mod symbol;
mod term;

use super::op::{Binary, Facts, Id, Node, Unary};
use super::program::Program;
use crate::model::tape::without_dead_code;
pub(crate) use symbol::{escaped, power_of_ten, symbols};
use term::{Sum, TermForm, parentheses};

/// Minimum number of operations of an expression that gets a name if it is used twice.
const LARGE: usize = 8;
/// Minimum length, in characters, of an operand that always gets a name.
const LONG: usize = 1500;

impl Program {
    /// Returns the model as LaTeX, for mathematics mode: `f(x) = a \exp(-b x) + c`. Names become symbols:
    /// `sigma` is `\sigma`, `g1_center` is `\mathrm{center}_{\mathrm{g1}}`. Expressions that are large
    /// and used more than once are called u₁, u₂, … and follow the formula in an `aligned`
    /// environment. Needs the package `amsmath`.
    ///
    /// The formula has the operations of the program; only the order of factors and terms differs.
    /// A constant equal to 2π, √2 or a similar value is written in that form.
    pub fn latex(&self) -> String {
        let Some(&output) = self.outputs.first() else { return String::new() };
        let (nodes, outputs) = without_dead_code(&self.nodes, &[output]);
        let all: Vec<&str> = self.columns.iter().chain(&self.params).map(String::as_str).collect();
        let symbols = symbols(&all);
        let (columns, params) = symbols.split_at(self.columns.len());
        let mut writer = Writer::new(&nodes, columns, params);
        let value = writer.value(&nodes, outputs[0]);
        let function = format!("{}({})", writer.function, columns.join(", "));
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

struct Writer<'a> {
    columns: &'a [String],
    params: &'a [String],
    /// Letters that no variable or parameter uses, for the function and for named expressions.
    function: &'static str,
    part: &'static str,
    /// Symbols and texts of the named expressions; each uses earlier ones only.
    definitions: Vec<(String, String)>,
    /// Number of remaining uses of each node.
    uses: Vec<usize>,
    shared: Vec<bool>,
    /// True for each node that differs between points.
    varies: Vec<bool>,
    found: Vec<Option<Sum>>,
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
        let function = free(["f", "F", "y", "\\mathcal{F}"]);
        let part = free(["u", "v", "w", "\\mathcal{U}"]);
        let mut uses = vec![0; nodes.len()];
        // A square uses its operand twice but is written once.
        let mut squares = vec![0; nodes.len()];
        for &node in nodes {
            node.operands().for_each(|id| uses[id as usize] += 1);
            if let Node::Binary(Binary::Mul, a, b) = node
                && a == b
            {
                squares[a as usize] += 1;
            }
        }
        let mut sizes: Vec<usize> = Vec::with_capacity(nodes.len());
        let mut named = Vec::with_capacity(nodes.len());
        for (i, node) in nodes.iter().enumerate() {
            let size = node.operands().map(|id| sizes[id as usize]).fold(0, usize::saturating_add);
            let size = size + usize::from(node.operands().next().is_some());
            named.push(uses[i] - squares[i] > 1 && size >= LARGE);
            sizes.push(if named[i] { 1 } else { size });
        }
        let (definitions, found) = (Vec::new(), vec![None; nodes.len()]);
        Writer {
            columns,
            params,
            function,
            part,
            definitions,
            uses,
            shared: named,
            varies: Vec::new(),
            found,
        }
    }

    fn value(&mut self, nodes: &[Node], output: Id) -> String {
        self.uses[output as usize] += 1;
        for (i, &node) in nodes.iter().enumerate() {
            let mut operands = node.operands();
            let varies =
                matches!(node, Node::Column(_)) || operands.any(|id| self.varies[id as usize]);
            let term = self.term(node).varying(varies);
            self.varies.push(varies);
            self.found[i] = Some(if self.shared[i] { self.named(&term) } else { term });
        }
        self.take(output).text()
    }

    /// Returns an operand; moves it at its last use.
    fn take(&mut self, id: Id) -> Sum {
        let i = id as usize;
        self.uses[i] = self.uses[i].saturating_sub(1);
        let found = if self.uses[i] == 0 { self.found[i].take() } else { self.found[i].clone() };
        found.unwrap_or_else(|| Sum::number(f64::NAN))
    }

    fn named(&mut self, term: &Sum) -> Sum {
        let name = format!("{}_{{{}}}", self.part, self.definitions.len() + 1);
        self.definitions.push((name.clone(), term.text()));
        Sum::atom(name, TermForm::Part).varying(term.varies())
    }

    /// Returns an operand that a fraction, power or function will contain as text.
    fn operand(&mut self, id: Id) -> Sum {
        let term = self.take(id);
        if term.length() > LONG { self.named(&term) } else { term }
    }

    fn term(&mut self, node: Node) -> Sum {
        match node {
            Node::Const(bits) => Sum::number(f64::from_bits(bits)),
            Node::Column(i) => Sum::atom(text(self.columns, i), TermForm::Column(i)),
            Node::Param(i) => Sum::atom(text(self.params, i), TermForm::Parameter(i)),
            Node::Unary(op, a) => unary(op, self.operand(a)),
            Node::Binary(Binary::Add, a, b) => self.take(a).plus(self.take(b)),
            Node::Binary(Binary::Sub, a, b) => self.take(a).minus(self.take(b)),
            Node::Binary(op, a, b) => {
                let (a, b) = (self.operand(a), self.operand(b));
                binary(op, a, b)
            }
            Node::Select(m, a, b) => {
                let [m, a, b] = [m, a, b].map(|id| self.operand(id).text());
                let rows = format!("{a} & \\text{{if }} {m} \\\\ {b} & \\text{{otherwise}}");
                Sum::atom(format!("\\begin{{cases}} {rows} \\end{{cases}}"), TermForm::Open)
            }
        }
    }
}

fn text(symbols: &[String], index: u32) -> String {
    symbols.get(index as usize).cloned().unwrap_or_default()
}

fn unary(op: Unary, a: Sum) -> Sum {
    match op {
        Unary::Neg => a.negated(),
        Unary::ExpM1 => a.called("\\exp").minus(Sum::number(1.0)),
        Unary::Ln1p => Sum::number(1.0).plus(a).called("\\ln"),
        Unary::Not => Sum::atom(format!("\\lnot {}", a.in_parentheses()), TermForm::Open),
        Unary::Polygamma(0) => a.called("\\psi"),
        Unary::Polygamma(order) => a.called(&format!("\\psi^{{({order})}}")),
        op => match op.facts().latex.split_once('@') {
            Some((open, close)) => Sum::atom(format!("{open}{}{close}", a.text()), TermForm::Call),
            None => a.called(&command(op.facts())),
        },
    }
}

/// Returns the LaTeX command of a function that precedes its arguments.
fn command(facts: Facts) -> String {
    match facts.latex {
        "" => format!("\\operatorname{{{}}}", escaped(facts.name)),
        command => command.to_owned(),
    }
}

fn binary(op: Binary, a: Sum, b: Sum) -> Sum {
    let between = |sign: &str, form: TermForm| {
        let side = |operand: &Sum| match operand.is_compound_condition() {
            true => operand.in_parentheses(),
            false => operand.text(),
        };
        Sum::atom(format!("{} {sign} {}", side(&a), side(&b)), form)
    };
    match op {
        Binary::Lt => between("<", TermForm::Open),
        Binary::Le => between("\\le", TermForm::Open),
        Binary::Eq => between("=", TermForm::Open),
        Binary::And => between("\\land", TermForm::Condition),
        Binary::Or => between("\\lor", TermForm::Condition),
        Binary::Add => a.plus(b),
        Binary::Sub => a.minus(b),
        Binary::Mul => a.times(b),
        Binary::Div => a.over(b),
        Binary::Pow => a.power(&b),
        Binary::Hypot => {
            let two = Sum::number(2.0);
            unary(Unary::Sqrt, a.power(&two).plus(b.power(&two)))
        }
        other => {
            let function = command(other.facts());
            let arguments = parentheses(&format!("{}, {}", a.text(), b.text()), true);
            Sum::atom(format!("{function}{arguments}"), TermForm::Call)
        }
    }
}
