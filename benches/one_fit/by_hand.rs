//! Lower limits of the time of a pass over a decay: its arithmetic as a hand-written SIMD loop with the sums in
//! registers, and the reading of its points alone. Both use all threads, as fits do.

use rayon::prelude::*;

/// Numbers in one AVX-512 register, or in two AVX2 registers.
const LANES: usize = 8;
/// Points per task of a thread.
const CHUNK: usize = 1 << 15;

/// Returns the sum of both arrays.
pub(crate) fn sum(x: &[f64], y: &[f64]) -> f64 {
    x.par_chunks(CHUNK)
        .zip(y.par_chunks(CHUNK))
        .map(|(x, y)| of_chunk(x, y, [0.0; 3], true)[0])
        .sum()
}

/// Computes the products of the columns [∂f/∂a, ∂f/∂b, ∂f/∂c, f − y] of f = a·exp(−b·x) + c, summed over the points:
/// the upper triangle by columns. Points that do not fill a vector are left out.
pub(crate) fn decay(x: &[f64], y: &[f64], p: [f64; 3]) -> [f64; 10] {
    let chunks = x.par_chunks(CHUNK).zip(y.par_chunks(CHUNK));
    let add = |mut a: [f64; 10], b: [f64; 10]| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        a
    };
    chunks.map(|(x, y)| of_chunk(x, y, p, false)).reduce(|| [0.0; 10], add)
}

/// Processes a chunk with the widest SIMD instructions of the processor.
fn of_chunk(x: &[f64], y: &[f64], p: [f64; 3], only_sum: bool) -> [f64; 10] {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && std::env::var_os("DUALFIT_ISA").is_none() {
            // SAFETY: the processor supports these instructions.
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

/// Computes a value in each lane. A macro, because a closure that is not inlined would not use the SIMD instructions of
/// the surrounding function.
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

/// Computes exp(v) without checks of the range: 2ᵏ times a polynomial of the reduced argument (Cody and Waite). The
/// error is at most two units in the last place.
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
