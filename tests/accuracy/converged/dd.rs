//! Numbers of 106 bits, as the unevaluated sum of two f64: enough to compare costs whose points weigh 1 and
//! 1e18, and to take differences of gradients for second derivatives.
//!
//! The algorithms are Dekker's and Knuth's (Hida, Li and Bailey, Library for double-double arithmetic, 2000).

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// The sum of two numbers, the second below half a unit in the last place of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Dd {
    hi: f64,
    lo: f64,
}

fn two_sum(a: f64, b: f64) -> Dd {
    let s = a + b;
    let t = s - a;
    Dd { hi: s, lo: (a - (s - t)) + (b - t) }
}

fn quick_two_sum(a: f64, b: f64) -> Dd {
    let s = a + b;
    Dd { hi: s, lo: b - (s - a) }
}

fn two_product(a: f64, b: f64) -> Dd {
    let p = a * b;
    Dd { hi: p, lo: a.mul_add(b, -p) }
}

impl Dd {
    pub(crate) const ZERO: Dd = Dd { hi: 0.0, lo: 0.0 };
    pub(crate) const ONE: Dd = Dd { hi: 1.0, lo: 0.0 };

    pub(crate) fn f64(self) -> f64 {
        self.hi
    }

    pub(crate) fn is_finite(self) -> bool {
        self.hi.is_finite() && self.lo.is_finite()
    }

    pub(crate) fn abs(self) -> Dd {
        if self.hi < 0.0 { -self } else { self }
    }

    pub(crate) fn squared(self) -> Dd {
        self * self
    }

    /// Divided by a number of 53 bits.
    fn over(self, divisor: f64) -> Dd {
        let quotient = self.hi / divisor;
        let rest = (-quotient).mul_add(divisor, self.hi) + self.lo;
        quick_two_sum(quotient, rest / divisor)
    }

    pub(crate) fn sqrt(self) -> Dd {
        if self.hi <= 0.0 {
            return Dd::ZERO;
        }
        // One step of Newton's method doubles the digits.
        let root = self.hi.sqrt();
        let rest = self - Dd::from(root).squared();
        Dd::from(root) + rest * Dd::from(0.5 / root)
    }

    pub(crate) fn exp(self) -> Dd {
        if self.hi > 700.0 {
            return Dd::from(f64::INFINITY);
        }
        if self.hi < -700.0 {
            return Dd::ZERO;
        }
        const LN_2: Dd = Dd { hi: std::f64::consts::LN_2, lo: 2.319_046_813_846_299_6e-17 };
        const SQUARINGS: i32 = 7;
        let halvings = (self.hi / LN_2.hi).round();
        let rest = self - LN_2 * Dd::from(halvings);
        let rest = rest * Dd::from(0.5_f64.powi(SQUARINGS));
        // e^rest - 1 of |rest| < 0.0028; squared as (1 + s)² - 1 = 2s + s², which keeps the digits.
        let mut sum = Dd::ZERO;
        for k in (1..=11).rev() {
            sum = ((Dd::ONE + sum) * rest).over(f64::from(k));
        }
        for _ in 0..SQUARINGS {
            sum = sum + sum + sum.squared();
        }
        let power = 2.0_f64.powi(halvings as i32 / 2);
        (Dd::ONE + sum)
            * Dd::from(power)
            * Dd::from(2.0_f64.powi(halvings as i32 - halvings as i32 / 2))
    }

    pub(crate) fn ln(self) -> Dd {
        // One step of Newton's method on e^l = self.
        let l = Dd::from(self.hi.ln());
        if !(self.hi > 0.0 && self.hi.is_finite()) {
            return l;
        }
        l + self * (-l).exp() - Dd::ONE
    }

    /// The arc tangent of a number that is not negative.
    pub(crate) fn atan(self) -> Dd {
        const HALF_PI: Dd = Dd { hi: std::f64::consts::FRAC_PI_2, lo: 6.123_233_995_736_766e-17 };
        if self.hi > 1.0 {
            return HALF_PI - (Dd::ONE / self).atan();
        }
        // Halved until the series is short: atan z = 2 atan(z / (1 + √(1 + z²))).
        let mut z = self;
        for _ in 0..4 {
            z = z / (Dd::ONE + (Dd::ONE + z.squared()).sqrt());
        }
        let (square, mut sum) = (z.squared(), Dd::ZERO);
        for k in (0..14).rev() {
            sum = Dd::ONE / Dd::from(f64::from(2 * k + 1)) - square * sum;
        }
        z * sum * Dd::from(16.0)
    }
}

impl From<f64> for Dd {
    fn from(hi: f64) -> Dd {
        Dd { hi, lo: 0.0 }
    }
}

impl Add for Dd {
    type Output = Dd;
    fn add(self, other: Dd) -> Dd {
        let (s, t) = (two_sum(self.hi, other.hi), two_sum(self.lo, other.lo));
        let s = quick_two_sum(s.hi, s.lo + t.hi);
        quick_two_sum(s.hi, s.lo + t.lo)
    }
}

impl AddAssign for Dd {
    fn add_assign(&mut self, other: Dd) {
        *self = *self + other;
    }
}

impl Neg for Dd {
    type Output = Dd;
    fn neg(self) -> Dd {
        Dd { hi: -self.hi, lo: -self.lo }
    }
}

impl Sub for Dd {
    type Output = Dd;
    fn sub(self, other: Dd) -> Dd {
        self + -other
    }
}

impl Mul for Dd {
    type Output = Dd;
    fn mul(self, other: Dd) -> Dd {
        let p = two_product(self.hi, other.hi);
        quick_two_sum(p.hi, p.lo + (self.hi * other.lo + self.lo * other.hi))
    }
}

impl Div for Dd {
    type Output = Dd;
    fn div(self, other: Dd) -> Dd {
        let first = self.hi / other.hi;
        let rest = self - other * Dd::from(first);
        let second = rest.hi / other.hi;
        let rest = rest - other * Dd::from(second);
        quick_two_sum(first, second) + Dd::from(rest.hi / other.hi)
    }
}

impl PartialOrd for Dd {
    fn partial_cmp(&self, other: &Dd) -> Option<std::cmp::Ordering> {
        let high = self.hi.partial_cmp(&other.hi)?;
        Some(high.then(self.lo.partial_cmp(&other.lo)?))
    }
}

#[test]
fn functions_have_thirty_digits() {
    let near = |a: Dd, b: Dd| assert!((a - b).abs().f64() <= 4e-30 * b.f64().abs(), "{a:?} {b:?}");
    for i in 0..200 {
        let x = Dd::from(0.013 * f64::from(i) + 1e-3) / Dd::from(7.0);
        near(x.exp() * (-x).exp(), Dd::ONE);
        near((x + x).exp(), x.exp().squared());
        assert!((x.exp().ln() - x).abs().f64() < 1e-30);
        near(x.sqrt().squared(), x);
        near(x.atan() + (Dd::ONE / x).atan(), Dd::ONE.atan() + Dd::ONE.atan());
        // tan(2a) = 2 tan a / (1 − tan² a)
        if x.f64() < 0.9 {
            let double = (x + x) / (Dd::ONE - x.squared());
            near(double.atan(), x.atan() + x.atan());
        }
    }
    // e and ln 2, of 32 digits.
    near(Dd::ONE.exp(), Dd { hi: std::f64::consts::E, lo: 1.445_646_891_729_250_2e-16 });
    let ln_2 = Dd::from(2.0).ln();
    near(ln_2, Dd { hi: std::f64::consts::LN_2, lo: 2.319_046_813_846_299_6e-17 });
    let quarter = Dd { hi: std::f64::consts::FRAC_PI_4, lo: 3.061_616_997_868_383e-17 };
    near(Dd::ONE.atan(), quarter);
}
