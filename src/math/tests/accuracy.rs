//! Tests of the elementary functions in every binade against `pxfm`, whose results are correctly rounded.
//!
//! A distance of d doubles from the correctly rounded result means an error below d + 1/2 ulp.

use super::{super as math, Random};

const PER_BINADE: usize = if cfg!(debug_assertions) { 4 } else { 100 };
const IN_RANGE: usize = if cfg!(debug_assertions) { 10_000 } else { 200_000 };

/// Returns the number of doubles from a to b. NaN has distance 0 from NaN and `u64::MAX` from all other numbers.
fn distance(a: f64, b: f64) -> u64 {
    if a.is_nan() || b.is_nan() {
        return if a.is_nan() && b.is_nan() { 0 } else { u64::MAX };
    }
    let place = |x: f64| {
        let magnitude = i128::from(x.to_bits() & (u64::MAX >> 1));
        if x.is_sign_negative() { -magnitude } else { magnitude }
    };
    (place(a) - place(b)).unsigned_abs() as u64
}

#[derive(Default)]
struct Worst {
    distance: u64,
    at: (f64, f64),
}

impl Worst {
    fn see(&mut self, at: (f64, f64), got: f64, expected: f64) {
        let d = distance(got, expected);
        if d > self.distance {
            *self = Self { distance: d, at };
        }
    }

    fn check(&self, name: &str) {
        println!(
            "{name}: at most {} doubles from correctly rounded, at {:e}, {:e}",
            self.distance, self.at.0, self.at.1
        );
        assert!(self.distance <= 1, "{name}{:?} is {} doubles off", self.at, self.distance);
    }
}

fn sweep(name: &str, ours: fn(f64) -> f64, oracle: fn(f64) -> f64, low: f64, high: f64) {
    let mut random = Random(name.bytes().map(u64::from).sum());
    let mut worst = Worst::default();
    for exponent in 0..2047 {
        for _ in 0..PER_BINADE {
            let x = random.in_binade(exponent);
            worst.see((x, 0.0), ours(x), oracle(x));
        }
    }
    for _ in 0..IN_RANGE {
        let x = random.uniform(low, high);
        worst.see((x, 0.0), ours(x), oracle(x));
    }
    worst.check(name);
}

macro_rules! sweeps {
    ($($name:ident against $oracle:ident in $low:literal, $high:literal;)*) => {$(
        #[test]
        fn $name() {
            sweep(stringify!($name), math::$name, pxfm::$oracle, $low, $high);
        }
    )*};
}

sweeps! {
    exp against f_exp in -745.2, 709.8;
    ln against f_log in 0.5, 2.0;
    sin against f_sin in -30.0, 30.0;
    cos against f_cos in -30.0, 30.0;
    tan against f_tan in -30.0, 30.0;
    tanh against f_tanh in -22.0, 22.0;
    atan against f_atan in -4.0, 4.0;
    erf against f_erf in -6.0, 6.0;
    erfc against f_erfc in -3.0, 27.3;
    exp_m1 against f_expm1 in -3.0, 3.0;
    ln_1p against f_log1p in -1.0, 2.0;
    log2 against f_log2 in 0.5, 2.0;
    log10 against f_log10 in 0.5, 2.0;
    sinh against f_sinh in -4.0, 4.0;
    cosh against f_cosh in -4.0, 4.0;
    asin against f_asin in -1.0, 1.0;
    acos against f_acos in -1.0, 1.0;
    cbrt against f_cbrt in -9.0, 9.0;
    asinh against f_asinh in -4.0, 4.0;
    acosh against f_acosh in 1.0, 4.0;
    atanh against f_atanh in -1.0, 1.0;
    exp2 against f_exp2 in -1075.0, 1024.0;
}

#[test]
fn pow() {
    let mut random = Random(7);
    let mut worst = Worst::default();
    for _ in 0..IN_RANGE {
        let x = f64::from_bits(random.bits() >> 1);
        if x.is_finite() && x != 1.0 {
            // y is chosen so that the result is anywhere from underflow to overflow
            let y = random.uniform(-746.0, 710.0) / x.ln();
            worst.see((x, y), math::pow(x, y), pxfm::f_pow(x, y));
        }
        let (x, y) = (random.uniform(0.5, 2.0), random.uniform(-1000.0, 1000.0));
        worst.see((x, y), math::pow(x, y), pxfm::f_pow(x, y));
    }
    worst.check("pow");
}

#[test]
fn atan2_and_hypot() {
    let mut random = Random(8);
    let (mut angle, mut length) = (Worst::default(), Worst::default());
    for _ in 0..IN_RANGE {
        let x = f64::from_bits(random.bits());
        let near = (random.bits() % 120).wrapping_sub(60) << 52;
        let ratio = f64::from_bits(x.to_bits().wrapping_add(near) ^ (random.bits() >> 12));
        for y in [ratio, f64::from_bits(random.bits())] {
            if x.is_finite() && y.is_finite() {
                angle.see((x, y), math::atan2(x, y), pxfm::f_atan2(x, y));
                length.see((x, y), math::hypot(x, y), pxfm::f_hypot(x, y));
            }
        }
    }
    angle.check("atan2");
    length.check("hypot");
}
