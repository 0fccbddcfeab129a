//! The Gram matrix of a block's columns: all pairwise products, summed over the points.
//!
//! Products are computed in tiles of three columns by two: five loads feed six fused multiply-adds, and the running
//! sums fit into the registers of every instruction set. Every sum has eight lanes, independent of the width of the
//! vectors. Therefore all instruction sets return the same bits.

use crate::normal::pair;

/// Number of lanes of every sum.
pub(super) const LANES: usize = 8;
const LEFT: usize = 3;
const RIGHT: usize = 2;

/// Two groups of columns, left and right, and the indices of their first columns. The products of all
/// pairs of a left and a right column are summed.
pub(super) struct Tile<'a> {
    left: [&'a [f64]; LEFT],
    right: [&'a [f64]; RIGHT],
    /// Number of columns on the left and on the right. Unused slots repeat the last column.
    size: (usize, usize),
    first: (usize, usize),
}

/// Adds Σ aᵢbⱼ over the points of a block to `lanes`, which contains eight partial sums at `8 * pair(i, j)` for each
/// pair i ≤ j.
///
/// - `left(i)`, `right(j)`: columns aᵢ and bⱼ, `k` of each, all of the same length. They are the same unless the products
///   are weighted.
/// - `tile`: adds the products of one tile, like [`add_tile`].
/// - `rests`: adds the products of the points after the last full group of eight, like [`add_rests`].
/// - `room`: buffer for these points.
pub(super) fn add_products<'a>(
    k: usize,
    (left, right): (impl Fn(usize) -> &'a [f64], impl Fn(usize) -> &'a [f64]),
    tile: impl Fn(&Tile<'_>, &mut [f64]),
    rests: impl Fn(&[[f64; LANES]], &mut [f64]),
    room: &mut Vec<[f64; LANES]>,
    lanes: &mut [f64],
) {
    let whole = if k == 0 { 0 } else { left(0).len() / LANES * LANES };
    for j in (0..k).step_by(RIGHT).filter(|_| whole > 0) {
        let width = RIGHT.min(k - j);
        let rights = std::array::from_fn(|r| right(j + r.min(width - 1)));
        for i in (0..j + width).step_by(LEFT) {
            let height = LEFT.min(j + width - i);
            let lefts = std::array::from_fn(|l| left(i + l.min(height - 1)));
            let of = Tile { left: lefts, right: rights, size: (height, width), first: (i, j) };
            tile(&of, lanes);
        }
    }
    if k > 0 && whole < left(0).len() {
        room.clear();
        room.extend((0..k).map(|j| padded(&left(j)[whole..])));
        room.extend((0..k).map(|j| padded(&right(j)[whole..])));
        rests(room, lanes);
    }
}

/// Adds the products of fewer than eight points. `rests`: the left columns, then the right columns, padded with zeros.
#[inline(always)]
pub(super) fn add_rests(rests: &[[f64; LANES]], lanes: &mut [f64]) {
    let mut sums = lanes.as_chunks_mut::<LANES>().0.iter_mut();
    let (left, right) = rests.split_at(rests.len() / 2);
    for (j, b) in right.iter().enumerate() {
        for (a, sum) in left[..=j].iter().zip(&mut sums) {
            *sum = fused(a, b, *sum);
        }
    }
}

/// Adds the products of a tile to `lanes`.
#[inline(always)]
pub(super) fn add_tile(tile: &Tile<'_>, lanes: &mut [f64]) {
    match tile.size {
        (1, 1) => tile_1x1(tile, lanes),
        (2, 1) => tile_2x1(tile, lanes),
        (3, 1) => tile_3x1(tile, lanes),
        (1, 2) => tile_1x2(tile, lanes),
        (2, 2) => tile_2x2(tile, lanes),
        _ => tile_3x2(tile, lanes),
    }
}

/// Adds the eight lanes of each pair, always in the same order.
pub(super) fn collapse(lanes: &[f64], products: &mut [f64]) {
    for (sum, l) in products.iter_mut().zip(lanes.as_chunks::<LANES>().0) {
        *sum = ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
    }
}

/// Generates the loop of a tile. It is a macro because each sum needs its own variable: in an array, the
/// running sums stay in memory (measured with rustc 1.95: four times slower).
macro_rules! tile {
    ($name:ident: [$($l:literal $a:ident),*] [$($r:literal $b:ident),*]
     $($sum:ident = $x:ident * $y:ident at ($i:literal, $j:literal));*) => {
        #[inline(always)]
        fn $name(tile: &Tile<'_>, lanes: &mut [f64]) {
            let groups = tile.right[0].len() / LANES;
            $(
                let $a = &tile.left[$l].as_chunks::<LANES>().0[..groups];
            )*
            $(
                let $b = &tile.right[$r].as_chunks::<LANES>().0[..groups];
            )*
            $(let mut $sum = [0.0; LANES];)*
            for g in 0..groups {
                $($sum = fused(&$x[g], &$y[g], $sum);)*
            }
            $(
                // Keeps the sums in whole registers during the loop. Without `black_box`, the optimiser
                // rearranges them for the addition below and inserts shuffles into the loop.
                let $sum = std::hint::black_box($sum);
                let (i, j) = (tile.first.0 + $i, tile.first.1 + $j);
                // Tiles on the diagonal include pairs below it, which are not stored.
                if i <= j {
                    let to = &mut lanes[pair(i, j) * LANES..][..LANES];
                    to.iter_mut().zip(&$sum).for_each(|(lane, sum)| *lane += sum);
                }
            )*
        }
    };
}

tile!(tile_1x1: [0 a] [0 u]
    au = a * u at (0, 0));
tile!(tile_2x1: [0 a, 1 b] [0 u]
    au = a * u at (0, 0); bu = b * u at (1, 0));
tile!(tile_3x1: [0 a, 1 b, 2 c] [0 u]
    au = a * u at (0, 0); bu = b * u at (1, 0); cu = c * u at (2, 0));
tile!(tile_1x2: [0 a] [0 u, 1 v]
    au = a * u at (0, 0);
    av = a * v at (0, 1));
tile!(tile_2x2: [0 a, 1 b] [0 u, 1 v]
    au = a * u at (0, 0); bu = b * u at (1, 0);
    av = a * v at (0, 1); bv = b * v at (1, 1));
tile!(tile_3x2: [0 a, 1 b, 2 c] [0 u, 1 v]
    au = a * u at (0, 0); bu = b * u at (1, 0); cu = c * u at (2, 0);
    av = a * v at (0, 1); bv = b * v at (1, 1); cv = c * v at (2, 1));

/// Returns fewer than `LANES` numbers, padded with zeros.
#[inline(always)]
fn padded(rest: &[f64]) -> [f64; LANES] {
    let mut block = [0.0; LANES];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// Returns a · b + sum, with each lane rounded once.
#[inline(always)]
fn fused(a: &[f64; LANES], b: &[f64; LANES], mut sum: [f64; LANES]) -> [f64; LANES] {
    for l in 0..LANES {
        sum[l] = a[l].mul_add(b[l], sum[l]);
    }
    sum
}
