//! Translation of a program to CUDA C++: the part of a translation unit that depends on the model.
//!
//! `model_uniforms` computes the values that are the same at every point, always in f64, because it runs once per
//! block. It stores the values that `model_point` needs in `u`. `model_point` has one statement per operation. Order
//! and variables (`v7` for node 7) are those of the program's listing. The same program always yields the same text.
//! Names of columns and parameters occur only in comments.

mod expression;

use crate::data::values::Storage;
use crate::model::op::{Binary, Id, Node};
use crate::model::program::Program;
use crate::model::tape::depends_on_point;
#[cfg(test)]
pub(super) use expression::to_f32;
use expression::{Scope, comment, literal};
use std::fmt::Write;

/// Arithmetic of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Arithmetic {
    /// f64 throughout.
    Double,
    /// f32 for the model and the products of its rows; the sums of the products are pairs of f32 if
    /// `compensated`, otherwise f64.
    Single { compensated: bool },
}

impl Storage {
    /// Returns the type in C++.
    pub(super) fn name(self) -> &'static str {
        match self {
            Storage::U8 => "unsigned char",
            Storage::U16 => "unsigned short",
            Storage::I16 => "short",
            Storage::U32 => "unsigned int",
            Storage::I32 => "int",
            Storage::F32 => "float",
            Storage::F64 => "double",
        }
    }
}

/// The generated functions.
pub(super) struct Generated {
    /// Number of values that `model_uniforms` returns; at least 1, because C++ has no empty arrays.
    pub(super) uniforms: usize,
    pub(super) text: String,
}

/// Writes the functions `load_x`, `load_y`, `model_uniforms` and `model_point` of `program` for the given storage
/// of columns and response.
pub(super) fn generate(
    program: &Program,
    columns: &[Storage],
    response: Storage,
    arithmetic: Arithmetic,
) -> Generated {
    let model = PrintedModel::new(program, arithmetic);
    let mut text = String::new();
    model.load(columns, response, &mut text);
    model.uniforms(&mut text);
    model.point(&mut text);
    Generated { uniforms: model.uniforms_count(), text }
}

/// Writes `model_uniforms` and `model_point` of the formula of a custom loss, a program with one variable and no
/// parameters. The text begins with the constant UNIFORMS. The caller puts it into a namespace of its own.
pub(super) fn generate_formula(program: &Program, arithmetic: Arithmetic) -> String {
    let model = PrintedModel::new(program, arithmetic);
    let mut text = format!("constexpr int UNIFORMS = {};\n", model.uniforms_count());
    model.uniforms(&mut text);
    model.point(&mut text);
    text
}

/// Returns the number of values that `model_uniforms` returns.
pub(super) fn uniforms(program: &Program, arithmetic: Arithmetic) -> usize {
    PrintedModel::new(program, arithmetic).uniforms_count()
}

struct PrintedModel<'a> {
    program: &'a Program,
    arithmetic: Arithmetic,
    per_point: Vec<bool>,
    /// Nodes whose values `model_uniforms` stores, in the order of `u`.
    stored: Vec<Id>,
    /// Divisors that are the same at every point: stored values and constants. `u` contains all stored values, then the
    /// reciprocals of those divisors that are stored values.
    divisors: Vec<Id>,
}

impl<'a> PrintedModel<'a> {
    fn new(program: &'a Program, arithmetic: Arithmetic) -> PrintedModel<'a> {
        let nodes = &program.nodes;
        let per_point = depends_on_point(nodes);
        let mut needed = vec![false; nodes.len()];
        for (node, _) in nodes.iter().zip(&per_point).filter(|&(_, &p)| p) {
            node.operands().for_each(|id| needed[id as usize] = true);
        }
        program.outputs.iter().for_each(|&id| needed[id as usize] = true);
        let stored = (0..nodes.len())
            .filter(|&i| needed[i] && !per_point[i] && !matches!(nodes[i], Node::Const(_)))
            .map(|i| i as Id)
            .collect();
        let mut divisors: Vec<Id> = (0..nodes.len())
            .filter(|&i| per_point[i])
            .filter_map(|i| match nodes[i] {
                Node::Binary(Binary::Div, _, b) if !per_point[b as usize] => Some(b),
                _ => None,
            })
            .collect();
        divisors.sort_unstable();
        divisors.dedup();
        PrintedModel { program, arithmetic, per_point, stored, divisors }
    }

    /// Returns the divisors that are not constants, in the order of their reciprocals in `u`.
    fn stored_divisors(&self) -> impl Iterator<Item = Id> {
        let is_stored = |id: &Id| self.stored.binary_search(id).is_ok();
        self.divisors.iter().copied().filter(is_stored)
    }

    /// Returns the reciprocal of a constant, if `divided` of `kernels/quotient.cuh` supports it.
    fn reciprocal(&self, divisor: f64) -> Option<f64> {
        let most = if self.arithmetic == Arithmetic::Double { 1e120 } else { 1e30 };
        (1.0 / most..=most).contains(&divisor.abs()).then(|| 1.0 / divisor)
    }

    /// Returns the number of values that `model_uniforms` returns.
    fn uniforms_count(&self) -> usize {
        (self.stored.len() + self.stored_divisors().count()).max(1)
    }

    fn load(&self, columns: &[Storage], response: Storage, text: &mut String) {
        let real = self.arithmetic.real();
        line(text, "__device__ __forceinline__ void load_x(const Data& data, i64 i, real* x) {");
        for (c, (name, storage)) in self.program.columns.iter().zip(columns).enumerate() {
            if self.program.nodes.contains(&Node::Column(c as u32)) {
                let stored = storage.name();
                let widened = format!("static_cast<const {stored}*>(data.x[{c}])[i]");
                let value = match stored == real || real == "double" {
                    true => widened,
                    false => format!("real({widened})"),
                };
                line(text, &format!("    x[{c}] = {value};  // {}", comment(name)));
            } else {
                line(text, &format!("    x[{c}] = 0;  // {}: not in the model", comment(name)));
            }
        }
        line(text, "}\n");
        line(text, "__device__ __forceinline__ double load_y(const Data& data, i64 i) {");
        line(text, &format!("    return static_cast<const {}*>(data.y)[i];", response.name()));
        line(text, "}\n");
    }

    fn uniforms(&self, text: &mut String) {
        let nodes = &self.program.nodes;
        let names = nodes.iter().enumerate().map(|(i, &node)| match node {
            Node::Const(bits) => literal(f64::from_bits(bits), "double"),
            Node::Param(k) => format!("p{k}"),
            _ => format!("v{i}"),
        });
        let scope = Scope::new("double", nodes, names.collect(), |_| true);
        line(text, "// Everything that is the same at every point; u has UNIFORMS numbers.");
        line(text, "__device__ inline void model_uniforms(const double* params, real* u) {");
        for (i, &node) in nodes.iter().enumerate().filter(|&(i, _)| !self.per_point[i]) {
            match node {
                Node::Const(_) => {}
                Node::Param(k) => {
                    let name = comment(&self.program.params[k as usize]);
                    line(text, &format!("    const double p{k} = params[{k}];  // {name}"));
                }
                _ => line(text, &scope.statement(i)),
            }
        }
        for (k, &id) in self.stored.iter().enumerate() {
            let value = match self.arithmetic.real() {
                "double" => scope.value(id),
                _ => format!("real({})", scope.value(id)),
            };
            line(text, &format!("    u[{k}] = {value};"));
        }
        for (k, id) in (self.stored.len()..).zip(self.stored_divisors()) {
            line(text, &format!("    u[{k}] = reciprocal(real({}));", scope.value(id)));
        }
        if self.stored.is_empty() {
            line(text, "    u[0] = 0;  // the model needs none");
        }
        line(text, "}\n");
    }

    fn point(&self, text: &mut String) {
        let (nodes, real) = (&self.program.nodes, self.arithmetic.real());
        let names = nodes.iter().enumerate().map(|(i, &node)| match node {
            Node::Const(bits) => literal(f64::from_bits(bits), real),
            Node::Column(c) => format!("x[{c}]"),
            _ => match self.stored.binary_search(&(i as Id)) {
                Ok(k) => format!("u[{k}]"),
                Err(_) => format!("v{i}"),
            },
        });
        let mut scope = Scope::new("real", nodes, names.collect(), |i| self.per_point[i]);
        for (k, id) in (self.stored.len()..).zip(self.stored_divisors()) {
            scope.divide_by(id, format!("u[{k}]"));
        }
        for &id in &self.divisors {
            if let Node::Const(bits) = nodes[id as usize]
                && let Some(reciprocal) = self.reciprocal(f64::from_bits(bits))
            {
                scope.divide_by(id, literal(reciprocal, real));
            }
        }
        line(text, "// out[0] is the model's value, out[1 + j] its partial by free parameter j.");
        line(
            text,
            "__device__ __forceinline__ void model_point(const real* u, const real* x, real* out) {",
        );
        for i in (0..nodes.len()).filter(|&i| self.per_point[i]) {
            if !matches!(nodes[i], Node::Column(_)) {
                line(text, &scope.statement(i));
            }
        }
        for (k, &output) in self.program.outputs.iter().enumerate() {
            let label = match k.checked_sub(1).map(|j| self.program.partials.get(j)) {
                None => "value".to_owned(),
                Some(None) => "by the variable".to_owned(),
                Some(Some(&p)) => format!("d/d {}", comment(&self.program.params[p])),
            };
            line(text, &format!("    out[{k}] = {};  // {label}", scope.value(output)));
        }
        line(text, "}\n");
    }
}

fn line(text: &mut String, content: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{content}");
}
