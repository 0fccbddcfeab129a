//! Models from recordings of Python: the recorded operations are replayed with traced variables.

use dualfit::Var;
use dualfit::program::VarMask;

/// An operation: its name, the indices of its operands, a number.
pub(crate) type Node = (String, Vec<usize>, f64);

#[derive(Clone, Copy)]
enum Slot {
    Value(Var),
    Mask(VarMask),
}

impl Slot {
    fn value(self) -> Var {
        match self {
            Slot::Value(value) => value,
            Slot::Mask(mask) => mask.select(1.0, 0.0),
        }
    }

    fn mask(self) -> VarMask {
        match self {
            Slot::Value(value) => !value.eq(0.0),
            Slot::Mask(mask) => mask,
        }
    }
}

/// Returns the value of the last node, from columns `x` and parameters `p`; `None` if the nodes are invalid.
pub(crate) fn replay(nodes: &[Node], x: &[Var], p: &[Var]) -> Option<Var> {
    let mut slots: Vec<Slot> = Vec::with_capacity(nodes.len());
    for (name, of, number) in nodes {
        let slot = |k: usize| of.get(k).and_then(|&i| slots.get(i)).copied();
        slots.push(operation(name, *number, x, p, slot)?);
    }
    slots.last().map(|slot| slot.value())
}

fn operation(
    name: &str,
    number: f64,
    x: &[Var],
    p: &[Var],
    slot: impl Fn(usize) -> Option<Slot>,
) -> Option<Slot> {
    let v = |k: usize| slot(k).map(Slot::value);
    let m = |k: usize| slot(k).map(Slot::mask);
    Some(match name {
        "lt" => Slot::Mask(v(0)?.lt(v(1)?)),
        "le" => Slot::Mask(v(0)?.le(v(1)?)),
        "eq" => Slot::Mask(v(0)?.eq(v(1)?)),
        "and" => Slot::Mask(m(0)?.and(m(1)?)),
        "or" => Slot::Mask(m(0)?.or(m(1)?)),
        "not" => Slot::Mask(!m(0)?),
        _ => Slot::Value(match name {
            "const" => Var::from(number),
            "column" => *x.get(number as usize)?,
            "param" => *p.get(number as usize)?,
            "add" => v(0)? + v(1)?,
            "sub" => v(0)? - v(1)?,
            "mul" => v(0)? * v(1)?,
            "div" => v(0)? / v(1)?,
            "neg" => -v(0)?,
            "pow" => v(0)?.powf(v(1)?),
            "powi" => v(0)?.powi(number as i32),
            "polygamma" => v(0)?.polygamma(number as u32),
            "select" => m(0)?.select(v(1)?, v(2)?),
            "min" => v(0)?.min(v(1)?),
            "max" => v(0)?.max(v(1)?),
            _ => match v(1) {
                None => unary(name, v(0)?)?,
                Some(second) => binary(name, v(0)?, second)?,
            },
        }),
    })
}

/// Calls the method called `$name`, from a list of methods that have the same names in Rust.
macro_rules! function {
    ($name:expr, $x:expr, $($function:ident)*) => {
        match $name {
            $(stringify!($function) => $x.$function(),)*
            _ => return None,
        }
    };
}

fn unary(name: &str, x: Var) -> Option<Var> {
    Some(function! { name, x,
        exp exp2 exp_m1 ln ln_1p log2 log10 sqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
        erf erfc erfcx wright_omega ln_gamma gamma e1 j0 j1 y0 y1 i0 i1 i0e i1e k0 k1 k0e k1e
        abs floor ceil round signum recip to_radians to_degrees sinc fermi bose expit
    })
}

fn binary(name: &str, x: Var, y: Var) -> Option<Var> {
    Some(match name {
        "atan2" => x.atan2(y),
        "hypot" => x.hypot(y),
        "fmod" => x.fmod(y),
        "faddeeva_re" => x.faddeeva_re(y),
        "faddeeva_im" => x.faddeeva_im(y),
        _ => return None,
    })
}
