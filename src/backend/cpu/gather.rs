//! Copies of the values of used points, one after the other, for machine code.
//!
//! AVX-512 has an instruction that moves the selected numbers of a vector together. With AVX2 a table contains a
//! permutation for each selection of four numbers.

use super::kernels::Vectors;
use crate::data::pick::write_selected;
use crate::data::points::Points;
use crate::data::scan::{BLOCK, Mask, widened};
use crate::data::validate_stream::PIECE;
use crate::data::values::Values;

/// Numbers per step.
const GROUP: usize = 8;

/// Length of the copy of an array: the points of a piece, and the numbers that a step writes after the selected ones.
pub(super) const COPY: usize = PIECE + GROUP;

/// Copies the values of the used points of `start..end`, a part of a piece, in f64. `out`: [`COPY`] numbers for each of
/// the arrays. `vectors`: those of the [`Kernels`](super::kernels::Kernels) in use. Returns the number of used points.
pub(super) fn gather_used(
    vectors: Option<Vectors>,
    points: &Points<'_>,
    span: (usize, usize),
    arrays: &[Values<'_>],
    out: &mut [f64],
) -> usize {
    match vectors {
        // SAFETY: kernels have these vectors only if the processor does.
        #[cfg(target_arch = "x86_64")]
        Some(Vectors::Avx512) => unsafe { x86::with_avx512(points, span, arrays, out) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Some(Vectors::Avx2) => unsafe { x86::with_avx2(points, span, arrays, out) },
        _ => gather(points, span, arrays, out, |values, masks, out| {
            write_selected(values.iter().copied(), masks, out)
        }),
    }
}

/// Implements [`gather_used`]. `compress` writes the numbers whose masks are set to the beginning of a group and returns
/// their number; the numbers after them may have any value.
#[inline(always)]
fn gather(
    points: &Points<'_>,
    (start, end): (usize, usize),
    arrays: &[Values<'_>],
    out: &mut [f64],
    compress: impl Fn(&[f64; GROUP], &[u64; GROUP], &mut [f64; GROUP]) -> usize,
) -> usize {
    let (mut used, mut room): (Mask, _) = ([0; BLOCK], [0.0; BLOCK]);
    let mut count = 0;
    for first in (start..end).step_by(BLOCK) {
        let block = first..end.min(first + BLOCK);
        let (masks, rest) = used.split_at_mut(block.len());
        points.mark(first, masks);
        rest.fill(0);
        let masks = used.as_chunks::<GROUP>().0;
        let before = count;
        for (values, out) in arrays.iter().zip(out.chunks_mut(COPY)) {
            count = before;
            let mut step = |values: &[f64; GROUP], masks: &[u64; GROUP]| {
                if let Some(out) = out.get_mut(count..).and_then(<[f64]>::first_chunk_mut) {
                    count += compress(values, masks, out);
                }
            };
            let values = widened(values, block.clone(), &mut room);
            let (groups, last) = values.as_chunks::<GROUP>();
            groups.iter().zip(masks).for_each(|(values, masks)| step(values, masks));
            if !last.is_empty() {
                let mut padded = [0.0; GROUP];
                padded[..last.len()].copy_from_slice(last);
                step(&padded, &masks[groups.len()]);
            }
        }
    }
    count
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{GROUP, Points, Values, gather};
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,popcnt")]
    pub(super) fn with_avx512(
        points: &Points<'_>,
        span: (usize, usize),
        arrays: &[Values<'_>],
        out: &mut [f64],
    ) -> usize {
        gather(points, span, arrays, out, |values, masks, out| {
            // SAFETY: each pointer is that of eight numbers.
            unsafe {
                let selected = _mm512_movepi64_mask(_mm512_loadu_epi64(masks.as_ptr().cast()));
                let values = _mm512_loadu_pd(values.as_ptr());
                _mm512_storeu_pd(out.as_mut_ptr(), _mm512_maskz_compress_pd(selected, values));
                selected.count_ones() as usize
            }
        })
    }

    /// For each selection of four numbers, bit i for number i, the order of their halves that moves them together.
    const ORDERS: [[u32; 8]; 16] = {
        let mut orders = [[0; 8]; 16];
        let mut selection = 0;
        while selection < 16 {
            let (mut number, mut count) = (0, 0);
            while number < 4 {
                if selection >> number & 1 == 1 {
                    orders[selection][2 * count] = 2 * number;
                    orders[selection][2 * count + 1] = 2 * number + 1;
                    count += 1;
                }
                number += 1;
            }
            selection += 1;
        }
        orders
    };

    #[target_feature(enable = "avx2,fma,popcnt")]
    pub(super) fn with_avx2(
        points: &Points<'_>,
        span: (usize, usize),
        arrays: &[Values<'_>],
        out: &mut [f64],
    ) -> usize {
        gather(points, span, arrays, out, |values, masks, out| {
            let mut count = 0;
            for half in [0, GROUP / 2] {
                // SAFETY: the pointers are those of four numbers of eight; `count` is at most 4, and at the first half 0.
                unsafe {
                    let masks = _mm256_loadu_pd(masks.as_ptr().add(half).cast());
                    let selected = _mm256_movemask_pd(masks) as usize;
                    let order = _mm256_loadu_si256(ORDERS[selected & 15].as_ptr().cast());
                    let values = _mm256_loadu_ps(values.as_ptr().add(half).cast());
                    let together = _mm256_permutevar8x32_ps(values, order);
                    _mm256_storeu_ps(out.as_mut_ptr().add(count).cast(), together);
                    count += selected.count_ones() as usize;
                }
            }
            count
        })
    }
}
