//! Implementation of traits of the crate `num_traits` for [`Var`] and [`Dual`]. Functions that are generic over these
//! traits can be models.
//!
//! `Num` itself is not implemented: it requires comparisons that return a bool, and a recorded variable has no value
//! yet.

use super::dual::Dual;
use super::scalar::Scalar;
use super::var::Var;
use num_traits::{FloatConst, Inv, MulAdd, MulAddAssign, One, Pow, Zero};
use std::ops::{Rem, RemAssign};

macro_rules! numeric {
    ([$($generics:tt)*] $type:ty) => {
        /// [`is_zero`](Zero::is_zero) is true only for a constant: the value of a variable is not yet known.
        impl<$($generics)*> Zero for $type {
            fn zero() -> Self {
                Self::from(0.0)
            }
            fn is_zero(&self) -> bool {
                self.is_known_zero()
            }
        }

        impl<$($generics)*> One for $type {
            fn one() -> Self {
                Self::from(1.0)
            }
        }

        impl<$($generics)*> Inv for $type {
            type Output = Self;
            fn inv(self) -> Self {
                self.recip()
            }
        }

        impl<$($generics)*> MulAdd for $type {
            type Output = Self;
            fn mul_add(self, factor: Self, term: Self) -> Self {
                Scalar::mul_add(self, factor, term)
            }
        }

        impl<$($generics)*> MulAddAssign for $type {
            fn mul_add_assign(&mut self, factor: Self, term: Self) {
                *self = Scalar::mul_add(*self, factor, term);
            }
        }

        impl<$($generics)*> Pow<i32> for $type {
            type Output = Self;
            fn pow(self, exponent: i32) -> Self {
                self.powi(exponent)
            }
        }

        impl<$($generics)*> Pow<f64> for $type {
            type Output = Self;
            fn pow(self, exponent: f64) -> Self {
                self.powf(exponent)
            }
        }

        impl<$($generics)*> Pow<Self> for $type {
            type Output = Self;
            fn pow(self, exponent: Self) -> Self {
                self.powf(exponent)
            }
        }

        #[allow(non_snake_case, reason = "the trait's names")]
        impl<$($generics)*> FloatConst for $type {
            numeric!(@constants E FRAC_1_PI FRAC_1_SQRT_2 FRAC_2_PI FRAC_2_SQRT_PI FRAC_PI_2 FRAC_PI_3
                FRAC_PI_4 FRAC_PI_6 FRAC_PI_8 LN_10 LN_2 LOG10_E LOG2_E PI SQRT_2 TAU LOG10_2 LOG2_10);
        }
    };
    (@constants $($name:ident)*) => {$(
        fn $name() -> Self {
            Self::from(std::f64::consts::$name)
        }
    )*};
}
numeric!([] Var);
numeric!([S: Scalar, const K: usize] Dual<S, K>);

/// See [`Scalar::fmod`].
impl<S: Scalar, const K: usize> Rem for Dual<S, K> {
    type Output = Self;
    fn rem(self, other: Self) -> Self {
        self.fmod(other)
    }
}

impl<S: Scalar, const K: usize> RemAssign for Dual<S, K> {
    fn rem_assign(&mut self, other: Self) {
        *self = *self % other;
    }
}
