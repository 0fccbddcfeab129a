//! Payne-Hanek reduction modulo π/2 for finite |x| > 2^30, in integer arithmetic.
//!
//! x = M 2^e with a 53-bit integer M, and 2/π = Σ `word_i` 2^(-64 (i+1)). Only a window of the bits of 2/π matters: the
//! bits of weight 2^(2-e) and above contribute multiples of 4 to x 2/π and can be dropped. The window begins with the
//! first bit that is not dropped, and has four 64-bit words. M times the window modulo 2^256 has at least 190 correct
//! bits: two bits of the quadrant, then the bits of the fraction. At most 62 bits of the fraction are leading zeros.
//! (Payne & Hanek, SIGNUM 1983; Muller, Elementary Functions, ch. 11.)

use super::arithmetic::Lane;
use super::bits::{fast_two_sum, two_product};

/// x = n π/2 + hi + lo; the low two bits of `n` are n mod 4.
#[derive(Clone, Copy)]
pub(super) struct Reduced<L: Lane> {
    pub(super) n: L::Bits,
    pub(super) hi: L,
    pub(super) lo: L,
}

/// Bits of 2/π after the binary point. They suffice for e = 971, the largest exponent of M.
const TWO_OVER_PI: [u64; 20] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
    0xf0cf_bc20_9af4_361d,
];

const PI_2_HI: f64 = std::f64::consts::FRAC_PI_2;
const PI_2_LO: f64 = f64::from_bits(0x3c91_a626_3314_5c07);
const TWO_64: f64 = 18_446_744_073_709_551_616.0;

fn word(i: usize) -> u64 {
    TWO_OVER_PI.get(i).copied().unwrap_or(0)
}

/// Reduces x = n π/2 + hi + lo with |hi| <= π/4, for finite |x| > 2^30.
pub(super) fn reduce_huge(x: f64) -> Reduced<f64> {
    let bits = x.to_bits();
    let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
    let e = ((bits >> 52) & 0x7ff) as usize; // biased, 1053..=2046: x = M 2^(e - 1075)
    // The bits of 2/π with weight 2^-skip and above are dropped: their products with M 2^(e-1075) are multiples of 4.
    let skip = e.saturating_sub(1075 + 2);
    let (first, shift) = (skip / 64, skip % 64);
    // A window of 256 bits that starts exactly at `skip`.
    let mut window = [0u64; 4];
    for (i, w) in window.iter_mut().enumerate() {
        let pair = (u128::from(word(first + i)) << 64) | u128::from(word(first + i + 1));
        *w = (pair >> (64 - shift)) as u64;
    }
    // product = M · window modulo 2^256, most significant word first.
    let mut product = [0u64; 4];
    let mut carry = 0u128;
    for i in (0..4).rev() {
        let t = u128::from(mantissa) * u128::from(window[i]) + carry;
        product[i] = t as u64;
        carry = t >> 64;
    }
    // The last bit of the window has weight 2^-(skip + 256), the last bit of the product 2^(e - 1075 - skip - 256).
    // With skip = e - 1077 this is 2^-254, which leaves two integer bits. For e < 1077 skip is 0, and the product is
    // shifted to the right by 1077 - e bits, so that its last bit has weight 2^-254, too.
    let lift = 1077usize.saturating_sub(e); // 0..=24
    let hi = (u128::from(product[0]) << 64) | u128::from(product[1]);
    let lo = (u128::from(product[2]) << 64) | u128::from(product[3]);
    let (hi, lo) = match lift {
        0 => (hi, lo),
        _ => (
            (u128::from(carry as u64) << 64 << (64 - lift)) | (hi >> lift),
            (hi << (128 - lift)) | (lo >> lift),
        ),
    };
    // Two integer bits, then the fraction in [0, 1). If the fraction is at least 1/2, 1 is subtracted from it, and its
    // sign is stored separately.
    let mut n = (hi >> 126) as u64;
    let fraction_hi = (hi << 2) | (lo >> 126);
    let fraction_lo = lo << 2;
    let negative = fraction_hi >> 127 != 0;
    let (hi, lo) = if negative {
        n = n.wrapping_add(1);
        (!fraction_hi, !fraction_lo) // one's complement: off by 2^-254
    } else {
        (fraction_hi, fraction_lo)
    };
    // Normalises: moves the leading bit to the top, then extracts two doubles of 53 and 64 bits.
    let zeros = hi.leading_zeros(); // at most 62, see above
    let top = if zeros == 0 { hi } else { (hi << zeros) | (lo >> (128 - zeros)) };
    let unit = f64::from_bits(u64::from(1023 - 128 - zeros) << 52); // 2^-(128 + zeros)
    let (a, b) = ((top >> 75) as u64, (top >> 11) as u64);
    let (f, f_lo) = fast_two_sum(a as f64 * (TWO_64 * 2048.0) * unit, b as f64 * 2048.0 * unit);
    let (r, r_err) = two_product(f, PI_2_HI);
    let (r, r_lo) = fast_two_sum(r, f.mul_add(PI_2_LO, f_lo.mul_add(PI_2_HI, r_err)));
    // Applies the sign of the fraction and the sign of x. The sign of x also changes the sign of n.
    let flip = negative != (x < 0.0);
    let (hi, lo) = if flip { (-r, -r_lo) } else { (r, r_lo) };
    let n = if x < 0.0 { n.wrapping_neg() } else { n };
    Reduced { n, hi, lo }
}
