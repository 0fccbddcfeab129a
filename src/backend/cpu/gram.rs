//! The Gram matrix of a block's columns: all pairwise products, summed over the points.
//!
//! Products are taken in tiles of three columns by two, so that five loads feed six fused
//! multiply-adds and the running sums fit the registers of every instruction set. Every sum has
//! eight lanes, whatever the machine's vectors hold, so the instruction set changes no bit.

use crate::normal::pair;

/// Lanes of every sum.
pub(super) const LANES: usize = 8;
const LEFT: usize = 3;
const RIGHT: usize = 2;

/// Two groups of columns whose products are wanted, each pair of one from the left and one from the
/// right, and the numbers of their first columns.
pub(super) struct Tile<'a> {
    left: [&'a [f64]; LEFT],
    right: [&'a [f64]; RIGHT],
    /// Columns that are there, on the left and on the right.
    size: (usize, usize),
    first: (usize, usize),
}

/// Adds Σ aᵢaⱼ over the points of a block to `lanes`, eight partial sums for each pair i ≤ j at
/// `8 * pair(i, j)`: `column(i)` is the column i of `k`, all of one length; `tile` adds the products
/// of one tile, as [`add_tile`] does, and `rests` those of the points beyond the last eight, as
/// [`add_rests`] does. `room` is for these points.
pub(super) fn add_products<'a>(
    k: usize,
    column: impl Fn(usize) -> &'a [f64],
    tile: impl Fn(&Tile<'_>, &mut [f64]),
    rests: impl Fn(&[[f64; LANES]], &mut [f64]),
    room: &mut Vec<[f64; LANES]>,
    lanes: &mut [f64],
) {
    let whole = if k == 0 { 0 } else { column(0).len() / LANES * LANES };
    for j in (0..k).step_by(RIGHT).filter(|_| whole > 0) {
        let width = RIGHT.min(k - j);
        let right = std::array::from_fn(|r| column(j + r.min(width - 1)));
        for i in (0..j + width).step_by(LEFT) {
            let height = LEFT.min(j + width - i);
            let left = std::array::from_fn(|l| column(i + l.min(height - 1)));
            tile(&Tile { left, right, size: (height, width), first: (i, j) }, lanes);
        }
    }
    if k > 0 && whole < column(0).len() {
        room.clear();
        room.extend((0..k).map(|j| padded(&column(j)[whole..])));
        rests(room, lanes);
    }
}

/// Adds the products of fewer than eight points, their columns filled up with zeros.
#[inline(always)]
pub(super) fn add_rests(rests: &[[f64; LANES]], lanes: &mut [f64]) {
    let mut sums = lanes.as_chunks_mut::<LANES>().0.iter_mut();
    for (j, b) in rests.iter().enumerate() {
        for (a, sum) in rests[..=j].iter().zip(&mut sums) {
            *sum = fused(a, b, *sum);
        }
    }
}

/// Adds the products of a tile.
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

/// The sums of the eight lanes of each pair, always added in one order.
pub(super) fn collapse(lanes: &[f64], products: &mut [f64]) {
    for (sum, l) in products.iter_mut().zip(lanes.as_chunks::<LANES>().0) {
        *sum = ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
    }
}

/// Writes a tile's loop. A macro, because each sum needs a variable of its own: in an array the
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
                // Keeps the sums in whole registers until here: without it the optimiser arranges them
                // to suit the addition below, and shuffles in the loop.
                let $sum = std::hint::black_box($sum);
                let (i, j) = (tile.first.0 + $i, tile.first.1 + $j);
                // Tiles on the diagonal reach below it.
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

/// Fewer than `LANES` numbers, then zeros.
#[inline(always)]
fn padded(rest: &[f64]) -> [f64; LANES] {
    let mut block = [0.0; LANES];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// a · b + sum, each lane rounded once.
#[inline(always)]
fn fused(a: &[f64; LANES], b: &[f64; LANES], mut sum: [f64; LANES]) -> [f64; LANES] {
    for l in 0..LANES {
        sum[l] = a[l].mul_add(b[l], sum[l]);
    }
    sum
}
