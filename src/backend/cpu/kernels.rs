//! Loops over a block of points, compiled once per instruction set and chosen at run time.
//!
//! Each kernel is a plain loop, vectorised by the compiler, in a function with the target features of its instruction
//! set. All fused multiply-adds are explicit and all sums have a fixed number of lanes, so that all instruction sets
//! return the same bits.

use super::costs::Product;
use super::gram::{self, LANES, Tile};
use super::poisson::{self, Counts};
use super::robust::{self, RobustSums};
use crate::data::loss::Loss;
use crate::model::functions::for_each_function;
use crate::model::op::{Binary, Unary};
use crate::model::scalar::{maximum, minimum};
use crate::normal::abreast::ModelsAbreast;
use crate::normal::small::fold_rows;
use std::sync::OnceLock;

/// out = f(a), with slices of the same length
type OnOne = unsafe fn(&[f64], &mut [f64]);
/// out = f(a, b)
type OnTwo = unsafe fn(&[f64], &[f64], &mut [f64]);
/// out = f(a, b, c)
type OnThree = unsafe fn(&[f64], &[f64], &[f64], &mut [f64]);
/// out = f(a, number)
type OnNumber = unsafe fn(&[f64], f64, &mut [f64]);

/// out[i] = f(a[i], numbers[i mod `LANES`])
type OnLanes = unsafe fn(&[f64], &[f64; LANES], &mut [f64]);

/// Vectors that machine code can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "no other processor has them"))]
pub(crate) enum Vectors {
    /// Vectors of four numbers.
    Avx2,
    /// Vectors of eight numbers.
    Avx512,
}

/// The kernels of one instruction set.
pub(crate) struct Kernels {
    /// Name of the instruction set.
    pub(crate) name: &'static str,
    /// Vectors that machine code uses; `None` if there is no machine code for this instruction set.
    pub(super) vectors: Option<Vectors>,
    unary: fn(Unary) -> Option<OnOne>,
    binary: fn(Binary) -> OnTwo,
    right: fn(Binary) -> OnNumber,
    left: fn(Binary) -> OnNumber,
    rights: fn(Binary) -> OnLanes,
    lefts: fn(Binary) -> OnLanes,
    select: OnThree,
    polygamma: unsafe fn(u32, &[f64], &mut [f64]),
    tile: unsafe fn(&Tile<'_>, &mut [f64]),
    rests: unsafe fn(&[[f64; LANES]], &mut [f64]),
    robust: unsafe fn(Loss, f64, &mut [f64], &mut [f64], &mut [f64; LANES]),
    robust_rows: unsafe fn(Loss, f64, &mut [f64], &mut [f64], &mut RobustSums),
    poisson: OnCounts,
    poisson_rows: unsafe fn(&mut [f64], &mut [f64], &[f64]),
    fold: unsafe fn(&mut [f64], usize, &mut [f64], usize, usize),
    models: unsafe fn(&[[f64; LANES]], usize, &mut ModelsAbreast),
}

/// Kernel for Poisson data. Arguments: values of the model and counts; outputs for the scores and for the two factors of
/// s²; sums to which the costs are added.
type OnCounts = unsafe fn(&Counts<'_>, &mut [f64], [&mut [f64]; 2], &mut [f64; LANES]);

/// Returns the best kernels for this processor, or the kernels that the environment variable `DUALFIT_ISA` names:
/// `avx512`, `avx2` or `baseline`. The variable is ignored if the processor does not support its value.
pub(crate) fn detect() -> &'static Kernels {
    static BEST: OnceLock<&'static Kernels> = OnceLock::new();
    BEST.get_or_init(|| {
        let all = available();
        let asked = std::env::var("DUALFIT_ISA").unwrap_or_default();
        let plain = |name: &str| name.to_lowercase().replace('-', "");
        let is_asked = |kernels: &&&Kernels| plain(kernels.name).split(' ').next() == Some(&asked);
        all.iter().find(is_asked).unwrap_or(&all[0])
    })
}

/// Returns all kernels that this processor supports, the best first.
pub(crate) fn available() -> Vec<&'static Kernels> {
    let mut all: Vec<&'static Kernels> = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("popcnt");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512bw");
        if avx2 && avx512 {
            all.push(&avx512::KERNELS);
        }
        if avx2 {
            all.push(&avx2::KERNELS);
        }
    }
    all.push(&baseline::KERNELS);
    all
}

impl Kernels {
    /// Computes out = op(a).
    pub(super) fn unary(&self, op: Unary, a: &[f64], out: &mut [f64]) {
        match (op, (self.unary)(op)) {
            // SAFETY: `available` returns a `Kernels` only if the processor has its features.
            (_, Some(kernel)) => unsafe { kernel(a, out) },
            // SAFETY: as above.
            (Unary::Polygamma(order), None) => unsafe { (self.polygamma)(order, a, out) },
            (_, None) => unreachable!("every other function has a kernel"),
        }
    }

    /// Computes out = op(a, b).
    pub(super) fn binary(&self, op: Binary, a: &[f64], b: &[f64], out: &mut [f64]) {
        // SAFETY: `available` returns a `Kernels` only if the processor has its features.
        unsafe { (self.binary)(op)(a, b, out) }
    }

    /// Computes out = op(a, number), for arithmetic, minimum and maximum.
    pub(super) fn with_right(&self, op: Binary, a: &[f64], number: f64, out: &mut [f64]) {
        // SAFETY: `available` returns a `Kernels` only if the processor has its features.
        unsafe { (self.right)(op)(a, number, out) }
    }

    /// Computes out = op(number, b), for the operations of [`with_right`](Kernels::with_right) that do not commute.
    pub(super) fn with_left(&self, op: Binary, number: f64, b: &[f64], out: &mut [f64]) {
        // SAFETY: `available` returns a `Kernels` only if the processor has its features.
        unsafe { (self.left)(op)(b, number, out) }
    }

    /// Like [`with_right`](Kernels::with_right), with one number per lane. The length of the slices
    /// is a multiple of the lanes.
    pub(super) fn with_rights(
        &self,
        op: Binary,
        a: &[f64],
        numbers: &[f64; LANES],
        out: &mut [f64],
    ) {
        // SAFETY: `available` returns a `Kernels` only if the processor has its features.
        unsafe { (self.rights)(op)(a, numbers, out) }
    }

    /// Like [`with_left`](Kernels::with_left), with one number per lane.
    pub(super) fn with_lefts(
        &self,
        op: Binary,
        numbers: &[f64; LANES],
        b: &[f64],
        out: &mut [f64],
    ) {
        // SAFETY: `available` returns a `Kernels` only if the processor has its features.
        unsafe { (self.lefts)(op)(b, numbers, out) }
    }

    /// Computes out = yes where mask is not 0, else no.
    pub(super) fn select(&self, mask: &[f64], yes: &[f64], no: &[f64], out: &mut [f64]) {
        // SAFETY: `available` returns a `Kernels` only if the processor has its features.
        unsafe { (self.select)(mask, yes, no, out) }
    }

    /// Adds the products of all pairs of `k` left and right columns; see [`gram::add_products`].
    pub(super) fn products<'a>(
        &self,
        k: usize,
        columns: (impl Fn(usize) -> &'a [f64], impl Fn(usize) -> &'a [f64]),
        room: &mut Vec<[f64; LANES]>,
        lanes: &mut [f64],
    ) {
        // SAFETY: `available` returns a `Kernels` only if the processor has its features.
        let tile = |tile: &Tile<'_>, lanes: &mut [f64]| unsafe { (self.tile)(tile, lanes) };
        // SAFETY: as above.
        let rests =
            |rests: &[[f64; LANES]], lanes: &mut [f64]| unsafe { (self.rests)(rests, lanes) };
        gram::add_products(k, columns, tile, rests, room, lanes);
    }

    /// Computes the terms of normal equations for a loss; see [`robust::weigh`].
    pub(super) fn robust(
        &self,
        loss: Loss,
        floor: f64,
        residual: &mut [f64],
        weight: &mut [f64],
        costs: &mut [f64; LANES],
    ) {
        // SAFETY: `available` returns a `Kernels` only if the processor has its features.
        unsafe { (self.robust)(loss, floor, residual, weight, costs) }
    }

    /// Corrects rows for a loss; see [`robust::correct`].
    pub(super) fn robust_rows(
        &self,
        loss: Loss,
        floor: f64,
        residual: &mut [f64],
        row: &mut [f64],
        sums: &mut RobustSums,
    ) {
        // SAFETY: `available` returns a `Kernels` only if the processor has its features.
        unsafe { (self.robust_rows)(loss, floor, residual, row, sums) }
    }

    /// Computes the terms of normal equations of Poisson data; see [`poisson::weigh`].
    pub(super) fn poisson(
        &self,
        counts: &Counts<'_>,
        score: &mut [f64],
        factors: [&mut [f64]; 2],
        costs: &mut [f64; LANES],
    ) {
        // SAFETY: `available` returns a `Kernels` only if the processor has its features.
        unsafe { (self.poisson)(counts, score, factors, costs) }
    }

    /// Computes rows of Poisson data from the terms of normal equations; see [`poisson::rows_of`].
    pub(super) fn poisson_rows(&self, score: &mut [f64], first: &mut [f64], second: &[f64]) {
        // SAFETY: `available` returns a `Kernels` only if the processor has its features.
        unsafe { (self.poisson_rows)(score, first, second) }
    }

    /// Folds `m` rows into an R factor; see [`fold_rows`].
    pub(super) fn fold(&self, r: &mut [f64], k: usize, rows: &mut [f64], stride: usize, m: usize) {
        // SAFETY: `available` returns a `Kernels` only if the processor has its features.
        unsafe { (self.fold)(r, k, rows, stride, m) }
    }

    /// Computes the linear models of fits in lanes from the products of their columns; see [`ModelsAbreast::set`].
    pub(super) fn models(&self, products: &[[f64; LANES]], n: usize, out: &mut ModelsAbreast) {
        // SAFETY: `available` returns a `Kernels` only if the processor has its features.
        unsafe { (self.models)(products, n, out) }
    }
}

macro_rules! instruction_set {
    (
        $module:ident, ($name:literal, $vectors:expr, $($block:ident)::+ $(, $features:literal)?),
        one { $($(#[$doc:meta])* $one:ident = $One:ident $entry:tt)* }
        two { $($(#[$doc2:meta])* $two:ident($other:ident) = $Two:ident $entry2:tt)* }
    ) => {
        mod $module {
            use super::*;
            use crate::math::$($block)::+ as block;

            pub(super) static KERNELS: Kernels = Kernels {
                name: $name,
                vectors: $vectors,
                unary,
                binary,
                right,
                left,
                rights,
                lefts,
                select,
                polygamma,
                tile,
                rests,
                robust,
                robust_rows,
                poisson,
                poisson_rows,
                fold,
                models,
            };

            macro_rules! on_one {
                ($kernel:expr) => {{
                    $(#[target_feature(enable = $features)])?
                    fn kernel(a: &[f64], out: &mut [f64]) {
                        let kernel = $kernel;
                        kernel(a, out)
                    }
                    kernel as OnOne
                }};
            }
            macro_rules! each {
                ($f:expr) => {
                    on_one!(|a: &[f64], out: &mut [f64]| {
                        let f = $f;
                        for (o, &x) in out.iter_mut().zip(a) {
                            *o = f(x);
                        }
                    })
                };
            }
            macro_rules! on_two {
                ($kernel:expr) => {{
                    $(#[target_feature(enable = $features)])?
                    fn kernel(a: &[f64], b: &[f64], out: &mut [f64]) {
                        let kernel = $kernel;
                        kernel(a, b, out)
                    }
                    kernel as OnTwo
                }};
            }
            macro_rules! each_pair {
                ($f:expr) => {
                    on_two!(|a: &[f64], b: &[f64], out: &mut [f64]| {
                        let f = $f;
                        for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
                            *o = f(x, y);
                        }
                    })
                };
            }
            macro_rules! with_number {
                ($f:expr) => {{
                    $(#[target_feature(enable = $features)])?
                    fn kernel(a: &[f64], number: f64, out: &mut [f64]) {
                        let f = $f;
                        for (o, &x) in out.iter_mut().zip(a) {
                            *o = f(x, number);
                        }
                    }
                    kernel as OnNumber
                }};
            }

            macro_rules! with_numbers {
                ($f:expr) => {{
                    $(#[target_feature(enable = $features)])?
                    fn kernel(a: &[f64], numbers: &[f64; LANES], out: &mut [f64]) {
                        let f = $f;
                        // The loop is longer than eight lanes: the compiler would unroll a loop over eight lanes and
                        // then vectorise it with gathered loads.
                        const LONG: usize = 8 * LANES;
                        let numbers: [f64; LONG] = std::array::from_fn(|i| numbers[i % LANES]);
                        let (parts, rest) = a.as_chunks::<LONG>();
                        let (outs, out_rest) = out.as_chunks_mut::<LONG>();
                        for (out, a) in outs.iter_mut().zip(parts) {
                            for i in 0..LONG {
                                out[i] = f(a[i], numbers[i]);
                            }
                        }
                        for ((o, &x), &c) in out_rest.iter_mut().zip(rest).zip(&numbers) {
                            *o = f(x, c);
                        }
                    }
                    kernel as OnLanes
                }};
            }

            fn unary(op: Unary) -> Option<OnOne> {
                Some(match op {
                    Unary::Neg => each!(|x: f64| -x),
                    Unary::Not => each!(|x: f64| truth(x == 0.0)),
                    $(Unary::$One => on_one!(block::$one),)*
                    Unary::Polygamma(0) => on_one!(block::digamma),
                    Unary::Polygamma(_) => return None,
                })
            }

            fn binary(op: Binary) -> OnTwo {
                match op {
                    Binary::Add => each_pair!(|x: f64, y: f64| x + y),
                    Binary::Sub => each_pair!(|x: f64, y: f64| x - y),
                    Binary::Mul => each_pair!(|x: f64, y: f64| x * y),
                    Binary::Div => each_pair!(|x: f64, y: f64| x / y),
                    Binary::Pow => on_two!(|a: &[f64], b: &[f64], out: &mut [f64]| power(block::pow, a, b, out)),
                    $(Binary::$Two => on_two!(block::$two),)*
                    Binary::Min | Binary::And => each_pair!(minimum),
                    Binary::Max | Binary::Or => each_pair!(maximum),
                    Binary::Lt => each_pair!(|x: f64, y: f64| truth(x < y)),
                    Binary::Le => each_pair!(|x: f64, y: f64| truth(x <= y)),
                    Binary::Eq => each_pair!(|x: f64, y: f64| truth(x == y)),
                }
            }

            fn right(op: Binary) -> OnNumber {
                match op {
                    Binary::Add => with_number!(|x: f64, c: f64| x + c),
                    Binary::Sub => with_number!(|x: f64, c: f64| x - c),
                    Binary::Div => with_number!(|x: f64, c: f64| x / c),
                    Binary::Min => with_number!(minimum),
                    Binary::Max => with_number!(maximum),
                    _ => with_number!(|x: f64, c: f64| x * c),
                }
            }

            fn left(op: Binary) -> OnNumber {
                match op {
                    Binary::Sub => with_number!(|x: f64, c: f64| c - x),
                    Binary::Min => with_number!(|x: f64, c: f64| minimum(c, x)),
                    Binary::Max => with_number!(|x: f64, c: f64| maximum(c, x)),
                    _ => with_number!(|x: f64, c: f64| c / x),
                }
            }

            fn rights(op: Binary) -> OnLanes {
                match op {
                    Binary::Add => with_numbers!(|x: f64, c: f64| x + c),
                    Binary::Sub => with_numbers!(|x: f64, c: f64| x - c),
                    Binary::Div => with_numbers!(|x: f64, c: f64| x / c),
                    Binary::Min => with_numbers!(minimum),
                    Binary::Max => with_numbers!(maximum),
                    _ => with_numbers!(|x: f64, c: f64| x * c),
                }
            }

            fn lefts(op: Binary) -> OnLanes {
                match op {
                    Binary::Sub => with_numbers!(|x: f64, c: f64| c - x),
                    Binary::Min => with_numbers!(|x: f64, c: f64| minimum(c, x)),
                    Binary::Max => with_numbers!(|x: f64, c: f64| maximum(c, x)),
                    _ => with_numbers!(|x: f64, c: f64| c / x),
                }
            }

            $(#[target_feature(enable = $features)])?
            fn select(mask: &[f64], yes: &[f64], no: &[f64], out: &mut [f64]) {
                for (((o, &m), &a), &b) in out.iter_mut().zip(mask).zip(yes).zip(no) {
                    *o = if m != 0.0 { a } else { b };
                }
            }

            $(#[target_feature(enable = $features)])?
            fn polygamma(order: u32, a: &[f64], out: &mut [f64]) {
                block::polygamma(order, a, out);
            }

            $(#[target_feature(enable = $features)])?
            fn tile(tile: &Tile<'_>, lanes: &mut [f64]) {
                gram::add_tile(tile, lanes);
            }

            $(#[target_feature(enable = $features)])?
            fn rests(rests: &[[f64; LANES]], lanes: &mut [f64]) {
                gram::add_rests(rests, lanes);
            }

            #[inline(never)]
            $(#[target_feature(enable = $features)])?
            fn sums_of(product: Product, squares: &[[f64; LANES]]) -> [f64; LANES] { product.sums(squares) }

            $(#[target_feature(enable = $features)])?
            fn robust(loss: Loss, floor: f64, residual: &mut [f64], weight: &mut [f64], costs: &mut [f64; LANES]) {
                robust::weigh(loss, floor, residual, weight, costs, |product, squares| sums_of(product, squares));
            }

            $(#[target_feature(enable = $features)])?
            fn robust_rows(loss: Loss, floor: f64, residual: &mut [f64], row: &mut [f64], sums: &mut RobustSums) {
                robust::correct(loss, floor, residual, row, sums, |product, squares| sums_of(product, squares));
            }

            $(#[target_feature(enable = $features)])?
            fn poisson(counts: &Counts<'_>, score: &mut [f64], factors: [&mut [f64]; 2], costs: &mut [f64; LANES]) {
                poisson::weigh(counts, score, factors, costs);
            }

            $(#[target_feature(enable = $features)])?
            fn poisson_rows(score: &mut [f64], first: &mut [f64], second: &[f64]) { poisson::rows_of(score, first, second) }

            $(#[target_feature(enable = $features)])?
            fn models(products: &[[f64; LANES]], n: usize, out: &mut ModelsAbreast) { out.set(products, n) }

            $(#[target_feature(enable = $features)])?
            fn fold(r: &mut [f64], k: usize, rows: &mut [f64], stride: usize, m: usize) {
                fold_rows(r, k, rows, stride, m);
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
for_each_function!(
    instruction_set,
    avx512,
    ("AVX-512", Some(Vectors::Avx512), block, "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,popcnt")
);
#[cfg(target_arch = "x86_64")]
for_each_function!(
    instruction_set,
    avx2,
    ("AVX2 and FMA", Some(Vectors::Avx2), block, "avx2,fma,popcnt")
);
#[cfg(target_arch = "aarch64")]
for_each_function!(instruction_set, baseline, ("NEON", None, block));
#[cfg(target_arch = "x86_64")]
for_each_function!(instruction_set, baseline, ("baseline", None, block::plain));
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
for_each_function!(instruction_set, baseline, ("baseline", None, block));

/// Computes powers like [`crate::model::scalar::power`]. Squares are computed as products, which are rounded correctly.
#[inline(always)]
fn power(pow: impl Fn(&[f64], &[f64], &mut [f64]), a: &[f64], b: &[f64], out: &mut [f64]) {
    pow(a, b, out);
    for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
        *o = if y == 2.0 { x * x } else { *o };
    }
}

/// Returns the number that represents a truth value.
#[inline(always)]
fn truth(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}
