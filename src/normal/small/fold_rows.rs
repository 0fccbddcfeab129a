//! Folding of data rows into a triangular factor: the hot loop of the pass over the data.
//!
//! The formulas are the same as in `householder`; only the order of the operations differs. The reflector of column j
//! depends on column j after reflections 0..j, but these reflections can be applied later to the columns to the right:
//! one sweep over these columns applies reflection j − 1 and computes the products with reflector j.

use super::householder::Reflector;

/// Number of lanes of a running sum: one AVX-512 register, two of AVX2, four of SSE2 or NEON. The sums have the same
/// bits with all of these instruction sets.
const LANES: usize = 8;

/// Folds rows into a factor. `r`: k×k upper triangular. `rows`: m rows, column j at `rows[j * stride..][..m]`. Replaces
/// R by the triangular factor of `[R; rows]`. Overwrites `rows`. Uses column 0 of `r` below the diagonal as scratch and
/// then sets it to zero; the rest of the lower triangle is not touched.
///
/// Diagonal elements of the result can have either sign. Each column of R has a backward error of a few ε times the
/// norm of the same column of `[R; rows]`, for any number of rows (Higham, 2nd ed., theorem 19.4; in practice the
/// constant does not grow with m). Therefore the scale of columns does not matter. `m = 0` does nothing, and a column
/// of zeros stays unchanged. A NaN or an infinity in a column makes this column and all later columns NaN.
///
/// The cost is about `2 k²` flops per row. The hot loop reads and writes each trailing column once per reflector: it
/// applies reflection j − 1 and computes the product with reflector j in the same sweep. Columns that start on 64-byte
/// boundaries are 1.4 times as fast as others. A stride that is not a multiple of 512 avoids conflicts of k > 8 columns
/// in one cache set: pad the stride to the next odd multiple of 8.
///
/// Always inlined, so that it is compiled for the instruction set of a caller with `#[target_feature]`. Without fused
/// multiply-add instructions it returns the same bits but is 30 times slower.
#[inline(always)]
pub(crate) fn fold_rows(r: &mut [f64], k: usize, rows: &mut [f64], stride: usize, m: usize) {
    if m == 0 || k == 0 {
        return;
    }
    // `factors[i]`, i > j: coefficient f of column i for the latest reflection, which is not yet applied to column i.
    let (factors, right) = r.split_at_mut(k);
    let mut squares = sum_of_squares(&rows[..m]);
    for j in 0..k {
        let (before, after) = rows.split_at_mut(((j + 1) * stride).min(rows.len()));
        let (earlier, v) = before.split_at_mut(j * stride);
        let v = &mut v[..m];
        let diagonal = if j == 0 { &mut factors[0] } else { &mut right[(j - 1) * k + j] };
        let reflector = Reflector::new(*diagonal, squares, v);
        *diagonal = reflector.diagonal;
        let pending = if j == 0 { None } else { Some(&earlier[(j - 1) * stride..][..m]) };

        let mut i = j + 1;
        while i < k {
            let columns = &mut after[(i - j - 1) * stride..];
            let old = &factors[i..];
            let width = (k - i).min(4);
            let products = match width {
                4 => sweep4(pending, v, columns, stride, old),
                3 => sweep3(pending, v, columns, stride, old),
                2 => sweep2(pending, v, columns, stride, old),
                _ => sweep1(pending, v, columns, stride, old),
            };
            for c in 0..width {
                let head = &mut right[(i + c - 1) * k + j];
                (*head, factors[i + c]) = reflector.mix(*head, products[c]);
            }
            i += width;
        }
        if j + 1 < k {
            squares = add_multiple(factors[j + 1], v, &mut after[..m]);
        }
    }
    factors[1..].fill(0.0);
}

/// Defines `sweep1` to `sweep4`, which process one to four columns. Column i begins at `columns[i * stride]` and has
/// the length of v. A sweep adds `factors[i] * pending` to column i, if there is a pending reflector, and returns the
/// product of each column with v.
///
/// A sweep loads the two reflectors once for all columns. The sweeps are defined by a macro because each column needs
/// its own variables: running sums in an array would be kept in memory, not in registers.
macro_rules! sweep {
    ($name:ident: $($a:ident $rest:ident $sum:ident $factor:ident),*) => {
        #[inline(always)]
        fn $name(
            pending: Option<&[f64]>,
            v: &[f64],
            columns: &mut [f64],
            stride: usize,
            factors: &[f64],
        ) -> [f64; 4] {
            let m = v.len();
            let (v, v_rest) = v.as_chunks::<LANES>();
            let v_last = padded(v_rest);
            let mut columns = columns.chunks_mut(stride);
            let mut factors = factors.iter();
            $(
                let ($a, $rest) = columns.next().expect("a column")[..m].as_chunks_mut::<LANES>();
                let $a = &mut $a[..v.len()];
                let $factor = [*factors.next().expect("a factor"); LANES];
                let mut $sum = [0.0; LANES];
            )*
            if let Some(u) = pending {
                let (u, u_rest) = u[..m].as_chunks::<LANES>();
                let u = &u[..v.len()];
                let u_last = padded(u_rest);
                for b in 0..v.len() {
                    $(
                        $a[b] = fused($factor, u[b], $a[b]);
                        $sum = fused(v[b], $a[b], $sum);
                    )*
                }
                $(
                    let last = fused($factor, u_last, padded($rest));
                    $rest.copy_from_slice(&last[..v_rest.len()]);
                )*
            } else {
                for b in 0..v.len() {
                    $($sum = fused(v[b], $a[b], $sum);)*
                }
            }
            let sums = [$(add_lanes(fused(v_last, padded($rest), $sum))),*];
            let mut products = [0.0; 4];
            products[..sums.len()].copy_from_slice(&sums);
            products
        }
    };
}

sweep!(sweep1: a ar sa fa);
sweep!(sweep2: a ar sa fa, b2 br sb fb);
sweep!(sweep3: a ar sa fa, b2 br sb fb, c cr sc fc);
sweep!(sweep4: a ar sa fa, b2 br sb fb, c cr sc fc, d dr sd fd);

/// Adds `factor * v` to a. Returns `aᵀa` of the new a.
#[inline(always)]
fn add_multiple(factor: f64, v: &[f64], a: &mut [f64]) -> f64 {
    let (v, v_rest) = v.as_chunks::<LANES>();
    let (a, a_rest) = a.as_chunks_mut::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, v) in a.iter_mut().zip(v) {
        *a = fused([factor; LANES], *v, *a);
        sums = fused(*a, *a, sums);
    }
    let last = fused([factor; LANES], padded(v_rest), padded(a_rest));
    a_rest.copy_from_slice(&last[..a_rest.len()]);
    add_lanes(fused(last, last, sums))
}

#[inline(always)]
fn sum_of_squares(x: &[f64]) -> f64 {
    let (blocks, rest) = x.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for block in blocks {
        sums = fused(*block, *block, sums);
    }
    let last = padded(rest);
    add_lanes(fused(last, last, sums))
}

/// Returns `x * y + z`, rounded once per lane.
#[inline(always)]
fn fused(x: [f64; LANES], y: [f64; LANES], z: [f64; LANES]) -> [f64; LANES] {
    let mut sum = z;
    for l in 0..LANES {
        sum[l] = x[l].mul_add(y[l], z[l]);
    }
    sum
}

/// Pads fewer than `LANES` numbers with zeros.
#[inline(always)]
fn padded(rest: &[f64]) -> [f64; LANES] {
    let mut block = [0.0; LANES];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// Sums the lanes in a fixed order.
///
/// `black_box` costs one store and one load per sweep. Without `black_box`, the optimiser splits the running sums into
/// pairs for this function, and the preceding loop uses 128-bit registers (measured with rustc 1.95 and AVX2: 1.7 times
/// slower).
#[inline(always)]
fn add_lanes(sums: [f64; LANES]) -> f64 {
    let s = std::hint::black_box(sums);
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}
