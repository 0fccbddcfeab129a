//! What a pass over a decay could take at best: its arithmetic as a loop written by hand for the processor's vectors, with
//! the sums in registers, and the reading of its points alone. On all threads, as fits are.

use rayon::prelude::*;

/// Numbers of a vector, or of two.
const LANES: usize = 8;
/// Points that a thread takes at a time.
const CHUNK: usize = 1 << 15;

/// The sum of both arrays.
pub(crate) fn sum(x: &[f64], y: &[f64]) -> f64 {
    x.par_chunks(CHUNK)
        .zip(y.par_chunks(CHUNK))
        .map(|(x, y)| of_chunk(x, y, [0.0; 3], true)[0])
        .sum()
}

/// The products of the columns [∂f/∂a, ∂f/∂b, ∂f/∂c, f − y] of f = a·exp(−b·x) + c, summed over the points: the upper
/// triangle by columns, of as many points as vectors are full.
pub(crate) fn decay(x: &[f64], y: &[f64], p: [f64; 3]) -> [f64; 10] {
    let chunks = x.par_chunks(CHUNK).zip(y.par_chunks(CHUNK));
    let add = |mut a: [f64; 10], b: [f64; 10]| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        a
    };
    chunks.map(|(x, y)| of_chunk(x, y, p, false)).reduce(|| [0.0; 10], add)
}

/// By the best vectors that the processor has.
fn of_chunk(x: &[f64], y: &[f64], p: [f64; 3], only_sum: bool) -> [f64; 10] {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && std::env::var_os("DUALFIT_ISA").is_none() {
            // SAFETY: the processor has these instructions.
            return unsafe { avx512(x, y, p, only_sum) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: as above.
            return unsafe { avx2(x, y, p, only_sum) };
        }
    }
    chosen(x, y, p, only_sum)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
fn avx512(x: &[f64], y: &[f64], p: [f64; 3], only_sum: bool) -> [f64; 10] {
    chosen(x, y, p, only_sum)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2(x: &[f64], y: &[f64], p: [f64; 3], only_sum: bool) -> [f64; 10] {
    chosen(x, y, p, only_sum)
}

#[inline(always)]
fn chosen(x: &[f64], y: &[f64], p: [f64; 3], only_sum: bool) -> [f64; 10] {
    if only_sum { read(x, y) } else { products(x, y, p) }
}

type Lanes = [f64; LANES];

/// A value of each lane. A macro: a closure that is not inlined would have none of the vectors of the function around it.
macro_rules! each {
    ($($name:ident in $of:expr),+ => $value:expr) => {{
        let mut out: Lanes = [0.0; LANES];
        for lane in 0..LANES {
            $(let $name = $of[lane];)+
            out[lane] = $value;
        }
        out
    }};
}

#[inline(always)]
fn read(x: &[f64], y: &[f64]) -> [f64; 10] {
    let mut sums = [[0.0; LANES]; 4];
    let (x, y) = (x.as_chunks::<LANES>().0, y.as_chunks::<LANES>().0);
    for (x, y) in x.chunks_exact(2).zip(y.chunks_exact(2)) {
        sums[0] = each!(sum in sums[0], v in x[0] => sum + v);
        sums[1] = each!(sum in sums[1], v in x[1] => sum + v);
        sums[2] = each!(sum in sums[2], v in y[0] => sum + v);
        sums[3] = each!(sum in sums[3], v in y[1] => sum + v);
    }
    [sums.as_flattened().iter().sum(); 10]
}

/// exp(v), for v within its range: 2ᵏ and a polynomial of what is left (Cody and Waite), good to two units in the last place.
#[inline(always)]
fn exp(v: f64) -> f64 {
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let shifted = v.mul_add(std::f64::consts::LOG2_E, ROUND);
    let k = shifted - ROUND;
    let r = k.mul_add(-1.908_214_929_270_587_7e-10, k.mul_add(-6.931_471_803_691_238e-1, v));
    let mut value = 1.0 / 39_916_800.0;
    for factorial in
        [3_628_800.0, 362_880.0, 40_320.0, 5_040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0]
    {
        value = f64::mul_add(value, r, 1.0 / factorial);
    }
    f64::from_bits(value.to_bits().wrapping_add(shifted.to_bits() << 52))
}

#[inline(always)]
fn products(x: &[f64], y: &[f64], [a, b, c]: [f64; 3]) -> [f64; 10] {
    let mut sums = [[0.0; LANES]; 10];
    for (x, y) in x.as_chunks::<LANES>().0.iter().zip(y.as_chunks::<LANES>().0) {
        let e = each!(x in x => exp(-b * x));
        let by_b = each!(x in x, e in e => -a * x * e);
        let r = each!(e in e, y in y => e.mul_add(a, c) - y);
        let columns = [e, by_b, [1.0; LANES], r];
        let mut k = 0;
        for j in 0..4 {
            for i in 0..=j {
                sums[k] =
                    each!(u in columns[i], v in columns[j], sum in sums[k] => u.mul_add(v, sum));
                k += 1;
            }
        }
    }
    sums.map(|lanes| lanes.iter().sum())
}
