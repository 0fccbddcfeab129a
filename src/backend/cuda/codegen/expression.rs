//! Translation of single operations to C++ statements, of numbers to literals and of names to comments.

use crate::model::op::{Binary, Id, Node, Unary};

/// Scope of a generated function: the C++ expressions of the nodes of a program.
pub(super) struct Scope<'a> {
    /// C++ type of the function's numbers.
    real: &'static str,
    nodes: &'a [Node],
    /// C++ expression of each node: a variable, an element or a literal.
    names: Vec<String>,
    /// True if the expression is a `bool`; truth values that other functions computed are numbers here.
    truth: Vec<bool>,
    /// C++ expression of the reciprocal of each node that is a frequent divisor.
    reciprocals: Vec<Option<String>>,
}

impl<'a> Scope<'a> {
    /// Creates the scope of a function with numbers of type `real`; `computed` marks the nodes that it computes itself.
    pub(super) fn new(
        real: &'static str,
        nodes: &'a [Node],
        names: Vec<String>,
        computed: impl Fn(usize) -> bool,
    ) -> Scope<'a> {
        let truth = nodes.iter().enumerate().map(|(i, &n)| computed(i) && is_truth(n)).collect();
        Scope { real, nodes, names, truth, reciprocals: vec![None; nodes.len()] }
    }

    /// Makes divisions by a node use its reciprocal, for which `reciprocal` is the C++ expression.
    pub(super) fn divide_by(&mut self, id: Id, reciprocal: String) {
        self.reciprocals[id as usize] = Some(reciprocal);
    }

    /// Returns the statement that computes node `i`.
    pub(super) fn statement(&self, i: usize) -> String {
        let kind = if self.truth[i] { "bool" } else { self.real };
        format!("    const {kind} {} = {};", self.names[i], self.expression(self.nodes[i], i))
    }

    /// Returns a node as a number; a truth value counts as 1 or 0.
    pub(super) fn value(&self, id: Id) -> String {
        let name = &self.names[id as usize];
        if self.truth[id as usize] { format!("{}({name})", self.real) } else { name.clone() }
    }

    /// Returns a node as a truth value; a number is true unless it is 0, therefore NaN is true.
    fn mask(&self, id: Id) -> String {
        let name = &self.names[id as usize];
        if self.truth[id as usize] { name.clone() } else { format!("({name} != 0)") }
    }

    fn expression(&self, node: Node, i: usize) -> String {
        let v = |id: Id| self.value(id);
        let m = |id: Id| self.mask(id);
        match node {
            Node::Const(_) | Node::Column(_) | Node::Param(_) => self.names[i].clone(),
            // The blank separates the minus from a negative literal, because `--` is another operator.
            Node::Unary(Unary::Neg, a) if v(a).starts_with('-') => format!("- {}", v(a)),
            Node::Unary(Unary::Neg, a) => format!("-{}", v(a)),
            Node::Unary(Unary::Not, a) => format!("!{}", m(a)),
            Node::Unary(Unary::Polygamma(0), a) => format!("digamma({})", v(a)),
            Node::Unary(Unary::Polygamma(n), a) => format!("polygamma({n}u, {})", v(a)),
            Node::Unary(op, a) => format!("{}({})", op.facts().cuda, v(a)),
            Node::Binary(Binary::And, a, b) => format!("{} && {}", m(a), m(b)),
            Node::Binary(Binary::Or, a, b) => format!("{} || {}", m(a), m(b)),
            Node::Binary(Binary::Div, a, b) => match &self.reciprocals[b as usize] {
                Some(reciprocal) => format!("divided({}, {}, {reciprocal})", v(a), v(b)),
                None => format!("ratio({}, {})", v(a), v(b)),
            },
            Node::Binary(op, a, b) if op.is_infix() => format!("{} {} {}", v(a), op.name(), v(b)),
            Node::Binary(op, a, b) => format!("{}({}, {})", op.facts().cuda, v(a), v(b)),
            Node::Select(mask, a, b) => format!("{} ? {} : {}", m(mask), v(a), v(b)),
        }
    }
}

fn is_truth(node: Node) -> bool {
    use Binary::{And, Eq, Le, Lt, Or};
    matches!(node, Node::Unary(Unary::Not, _) | Node::Binary(Lt | Le | Eq | And | Or, ..))
}

/// Returns the shortest literal that is exactly `number` or, if `real` is not `double`, exactly its `to_f32`.
pub(super) fn literal(number: f64, real: &str) -> String {
    let single = real != "double";
    if number.is_finite() {
        return if single { format!("{:?}f", to_f32(number)) } else { format!("{number:?}") };
    }
    let name = if number.is_nan() { "NOT_A_NUMBER" } else { "INFINITE" };
    let sign = if number == f64::NEG_INFINITY { "-" } else { "" };
    if single { format!("{sign}{real}({name})") } else { format!("{sign}{name}") }
}

/// Returns the nearest f32 that is finite if the number is finite, and not 0 if the number is not 0. Therefore
/// constants that keep a function finite or a divisor away from 0 still do so.
pub(in crate::backend::cuda) fn to_f32(number: f64) -> f32 {
    let nearest = number as f32;
    if nearest.is_infinite() && number.is_finite() {
        f32::MAX.copysign(nearest)
    } else if nearest == 0.0 && number != 0.0 {
        f32::MIN_POSITIVE.copysign(nearest)
    } else {
        nearest
    }
}

/// Longest name in a comment, in characters.
const LONGEST_NAME: usize = 60;

/// Returns a name that is safe in a comment at the end of a line. It keeps letters and digits of any script and
/// harmless signs, therefore no line ends early, continues or is displayed in another order.
pub(super) fn comment(name: &str) -> String {
    let harmless = |c: char| c.is_alphanumeric() || " _.,:;'()[]<>=+-^".contains(c);
    let cut = if name.chars().count() > LONGEST_NAME { "..." } else { "" };
    let shown = name.chars().take(LONGEST_NAME).map(|c| if harmless(c) { c } else { '_' });
    shown.collect::<String>() + cut
}
