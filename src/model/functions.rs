//! The table of the functions that a model may call. Each entry has all data of one function.
//!
//! `for_each_function!(callback)` passes the table to a macro, which generates code from it:
//!
//! - `op`: the operations of programs, with their [`Facts`](super::op::Facts);
//! - `scalar`, `var`, `dual`: the methods of `Scalar`, for numbers, variables and dual numbers;
//! - `backend::cpu::kernels`: the loops over blocks.
//!
//! An entry is
//!
//! ```text
//! /// The documentation of the method of `Scalar`.
//! method = Variant { facts that are not the usual ones; |x, f| derivative }
//! ```
//!
//! and its value is computed by `math::method` and `math::block::method`. The derivative is generic over the scalar
//! `S` and uses the argument `x` and the value `f`. For a function of two numbers it is a pair: the partials with
//! respect to the first and to the second. Helper functions of derivatives are in `dual`, as are the whole methods
//! of entries without a derivative.

macro_rules! for_each_function {
    ($callback:ident $(, $more:tt)*) => { $callback! { $($more,)*
    one {
        /// Returns e to the power of `self`.
        exp = Exp {
            cost: 12.0, settles: true, latex: r"\exp";
            |_, e| capped(e)
        }
        /// Returns 2 to the power of `self`.
        exp2 = Exp2 {
            cost: 12.0, settles: true, latex: r"2^{@}";
            |_, e| capped(e) * std::f64::consts::LN_2
        }
        /// Returns exp(self) − 1, accurate near 0.
        exp_m1 = ExpM1 {
            cost: 12.0, settles: true, text: &["expm1", "exp_m1"], cuda: "expm1";
            |x, _| capped(x.exp())
        }
        /// Returns the natural logarithm.
        ln = Ln { cost: 12.0, text: &["ln", "log"], cuda: "log", latex: r"\ln"; |x, _| x.recip() }
        /// Returns ln(1 + self), accurate near 0.
        ln_1p = Ln1p {
            cost: 12.0, text: &["log1p", "ln_1p"], cuda: "log1p";
            |x, _| (x + 1.0).recip()
        }
        /// Returns the logarithm to base 2.
        log2 = Log2 { cost: 12.0, latex: r"\log_{2}"; |x, _| S::from(std::f64::consts::LOG2_E) / x }
        /// Returns the logarithm to base 10.
        log10 = Log10 { cost: 12.0, latex: r"\log_{10}"; |x, _| S::from(std::f64::consts::LOG10_E) / x }
        /// Returns the square root. At 0, where the derivative is infinite, the partials are 0.
        sqrt = Sqrt {
            cost: 3.0, latex: r"\sqrt{@}";
            |_, root| except(root.eq(0.0), S::from(0.5) / root)
        }
        /// Returns the cube root. At 0, where the derivative is infinite, the partials are 0.
        cbrt = Cbrt {
            cost: 12.0, latex: r"\sqrt[3]{@}";
            |x, root| except(root.eq(0.0), root / (x * 3.0))
        }
        /// Returns the sine of an angle in radians.
        sin = Sin { cost: 20.0, latex: r"\sin"; |x, _| x.cos() }
        /// Returns the cosine of an angle in radians.
        cos = Cos { cost: 20.0, latex: r"\cos"; |x, _| -x.sin() }
        /// Returns the tangent of an angle in radians.
        tan = Tan { cost: 20.0, latex: r"\tan"; |_, t| t * t + 1.0 }
        /// Returns the arc sine, in radians. At ±1, where the derivative is infinite, the partials are 0.
        asin = Asin {
            cost: 20.0, text: &["asin", "arcsin"], latex: r"\arcsin";
            |x, _| arc_derivative(x)
        }
        /// Returns the arc cosine, in radians. At ±1, where the derivative is infinite, the partials are 0.
        acos = Acos {
            cost: 20.0, text: &["acos", "arccos"], latex: r"\arccos";
            |x, _| -arc_derivative(x)
        }
        /// Returns the arc tangent, in radians.
        atan = Atan {
            cost: 20.0, settles: true, text: &["atan", "arctan"], latex: r"\arctan";
            |x, _| (x * x + 1.0).recip()
        }
        /// Returns the hyperbolic sine.
        sinh = Sinh { cost: 20.0, settles: true, latex: r"\sinh"; |x, _| capped(x.cosh()) }
        /// Returns the hyperbolic cosine.
        cosh = Cosh {
            cost: 20.0, settles: true, latex: r"\cosh";
            |x, _| x.sinh().clamp(-LARGEST_SLOPE, LARGEST_SLOPE)
        }
        /// Returns the hyperbolic tangent.
        tanh = Tanh {
            cost: 20.0, settles: true, latex: r"\tanh";
            // 1 − tanh² cancels where tanh is near ±1; (1 − t)(1 + t) has one rounding less.
            |_, t| (S::from(1.0) - t) * (t + 1.0)
        }
        /// Returns the inverse hyperbolic sine.
        asinh = Asinh {
            cost: 25.0, text: &["asinh", "arcsinh"], latex: r"\operatorname{arsinh}";
            |x, _| x.hypot(1.0).recip()
        }
        /// Returns the inverse hyperbolic cosine. At 1, where the derivative is infinite, the partials are 0.
        acosh = Acosh {
            cost: 25.0, text: &["acosh", "arccosh"], latex: r"\operatorname{arcosh}";
            |x, _| {
                let root = (x - 1.0).sqrt() * (x + 1.0).sqrt();
                except(root.eq(0.0), root.recip())
            }
        }
        /// Returns the inverse hyperbolic tangent.
        atanh = Atanh {
            cost: 25.0, text: &["atanh", "arctanh"], latex: r"\operatorname{artanh}";
            |x, _| ((S::from(1.0) - x) * (x + 1.0)).recip()
        }
        /// Returns the error function.
        erf = Erf { cost: 40.0, settles: true; |x, _| gauss(x) }
        /// Returns the complementary error function, 1 − erf(self) without cancellation.
        erfc = Erfc { cost: 40.0, settles: true; |x, _| -gauss(x) }
        /// Returns exp(self²)·erfc(self), which stays in range where erfc underflows; infinite below −26.6.
        erfcx = Erfcx {
            cost: 60.0;
            // The derivative iw′(iy) of erfcx y = w(iy) avoids the cancellation in 2y·erfcx y − 2/√π.
            |y, _| -S::from(0.0).faddeeva_slope_im(y)
        }
        /// Returns Wright's ω, the solution of ω + ln ω = self: Lambert's W(exp(self)) without overflow.
        wright_omega = WrightOmega {
            cost: 150.0, cuda_file: Some("wright_omega.cuh");
            // ω/(1 + ω), and 1 where ω is infinite.
            |_, omega| (omega.recip() + 1.0).recip()
        }
        /// Returns the logarithm of the absolute value of the gamma function.
        ln_gamma = LnGamma {
            cost: 100.0, text: &["ln_gamma", "gammaln", "lgamma"], cuda: "lgamma", latex: r"\ln\Gamma";
            |x, _| x.polygamma(0)
        }
        /// Returns the gamma function Γ(self); NaN at negative whole numbers.
        gamma = Gamma {
            cost: 60.0, cuda: "tgamma", latex: r"\Gamma";
            |x, f| (x.polygamma(0) * f).clamp(-LARGEST_SLOPE, LARGEST_SLOPE)
        }
        /// Returns the exponential integral E₁(self) for `self` > 0: the integral of exp(−t)/t from `self` to ∞
        /// (DLMF 6.2.1).
        e1 = E1 {
            cost: 60.0, text: &["e1", "exp1"], latex: "E_1",
            cuda_file: Some("exponential_integral.cuh");
            |x, _| -(-x).exp() / x
        }
        // Derivatives of Bessel functions: DLMF 10.6.2 and 10.29.3.
        /// Returns the Bessel function of the first kind of order 0.
        j0 = J0 {
            cost: 80.0, latex: "J_0", cuda: "bessel_j0", cuda_file: Some("bessel.cuh");
            |x, _| -x.j1()
        }
        /// Returns the Bessel function of the first kind of order 1.
        j1 = J1 {
            cost: 80.0, latex: "J_1", cuda: "bessel_j1", cuda_file: Some("bessel.cuh");
            |x, f| x.eq(0.0).select(0.5, x.j0() - f / x)
        }
        /// Returns the Bessel function of the second kind of order 0, of `self` > 0.
        y0 = Y0 {
            cost: 100.0, latex: "Y_0", cuda: "bessel_y0", cuda_file: Some("bessel.cuh");
            |x, _| -x.y1()
        }
        /// Returns the Bessel function of the second kind of order 1, of `self` > 0.
        y1 = Y1 {
            cost: 100.0, latex: "Y_1", cuda: "bessel_y1", cuda_file: Some("bessel.cuh");
            |x, f| x.y0() - f / x
        }
        /// Returns the modified Bessel function of the first kind of order 0; infinite beyond 713.
        i0 = I0 { cost: 50.0, latex: "I_0", cuda_file: Some("modified_bessel.cuh"); |x, _| x.i1() }
        /// Returns the modified Bessel function of the first kind of order 1; infinite beyond 713.
        i1 = I1 {
            cost: 50.0, latex: "I_1", cuda_file: Some("modified_bessel.cuh");
            |x, f| x.eq(0.0).select(0.5, x.i0() - f / x)
        }
        /// Returns exp(−|self|)·I₀(self), which stays in range: 1/√(2π·self) for large arguments.
        i0e = I0e {
            cost: 50.0, cuda_file: Some("modified_bessel.cuh");
            |x, f| x.i1e() - x.signum() * f
        }
        /// Returns exp(−|self|)·I₁(self).
        i1e = I1e {
            cost: 50.0, cuda_file: Some("modified_bessel.cuh");
            |x, f| x.eq(0.0).select(0.5, x.i0e() - f / x - x.signum() * f)
        }
        /// Returns the modified Bessel function of the second kind of order 0, of `self` > 0.
        k0 = K0 {
            cost: 60.0, latex: "K_0", cuda_file: Some("modified_bessel.cuh");
            |x, _| -x.k1()
        }
        /// Returns the modified Bessel function of the second kind of order 1, of `self` > 0.
        k1 = K1 {
            cost: 60.0, latex: "K_1", cuda_file: Some("modified_bessel.cuh");
            |x, f| -x.k0() - f / x
        }
        /// Returns exp(self)·K₀(self), which stays in range: √(π/(2·self)) for large arguments.
        k0e = K0e { cost: 60.0, cuda_file: Some("modified_bessel.cuh"); |x, f| f - x.k1e() }
        /// Returns exp(self)·K₁(self).
        k1e = K1e { cost: 60.0, cuda_file: Some("modified_bessel.cuh"); |x, f| f - x.k0e() - f / x }
        /// Returns the absolute value. At 0 the partials are 0.
        abs = Abs { cuda: "fabs", latex: r"\left| @ \right|" }
        /// Returns the largest integer not above `self`; its partials are 0.
        floor = Floor { latex: r"\left\lfloor @ \right\rfloor" }
        /// Returns the smallest integer not below `self`; its partials are 0.
        ceil = Ceil { latex: r"\left\lceil @ \right\rceil" }
        /// Returns the nearest integer, halves away from 0; its partials are 0.
        round = Round { cost: 2.0 }
        /// Returns 1 with the sign of `self`, also for ±0, like [`f64::signum`]; its partials are 0.
        signum = Signum { cost: 2.0, latex: r"\operatorname{sgn}" }
    }
    two {
        /// Returns the angle of the point (`x`, `self`), in radians. At the origin the partials are 0.
        atan2(x) = Atan2 {
            cost: 25.0;
            |y, x, _| {
                // ∂/∂y = x/h², ∂/∂x = −y/h²; divided by h twice, since h² may overflow where h does not.
                let h = y.hypot(x);
                (except(h.eq(0.0), x / h / h), except(h.eq(0.0), -(y / h / h)))
            }
        }
        /// Returns √(self² + other²) without overflow. At the origin the partials are 0.
        hypot(other) = Hypot {
            cost: 6.0;
            |x, y, h| (except(h.eq(0.0), x / h), except(h.eq(0.0), y / h))
        }
        /// Returns the remainder of the division of `self` by `divisor` with the quotient truncated towards 0. It has
        /// the sign of `self`, like `%` in Rust and C. At a jump the partials are those next to the jump.
        fmod(divisor) = Fmod {
            cost: 20.0;
            |x, y, _| {
                let quotient = x / y;
                (S::from(1.0), quotient.lt(0.0).select(-quotient.ceil(), -quotient.floor()))
            }
        }
        // Cauchy-Riemann equations of w = u + iv: ∂u/∂x = ∂v/∂y = Re w′ and ∂v/∂x = −∂u/∂y = Im w′. They hold for the
        // derivatives of w, too.
        /// Returns the real part of Faddeeva's function w(z) = exp(−z²)·erfc(−iz) at z = `self` + i`y` (Abramowitz and
        /// Stegun 7.1.3): the Voigt profile up to a constant factor. Below the real axis it grows as
        /// exp(y² − x²); there it is NaN if 2·|xy| exceeds 2³⁰ and exp(y² − x²) is not 0.
        faddeeva_re(y) = FaddeevaRe {
            cost: 200.0, cuda_file: Some("faddeeva.cuh");
            |x, y, _| (x.faddeeva_slope_re(y), -x.faddeeva_slope_im(y))
        }
        /// Returns the imaginary part of Faddeeva's function at `self` + i`y`; on the real axis it is (2/√π)
        /// times Dawson's integral.
        faddeeva_im(y) = FaddeevaIm {
            cost: 200.0, cuda_file: Some("faddeeva.cuh");
            |x, y, _| (x.faddeeva_slope_im(y), x.faddeeva_slope_re(y))
        }
        /// Returns the real part of w′(z) = 2i/√π − 2z·w(z), the derivative of Faddeeva's function, at `self` + i`y`.
        /// It is accurate also for large |z|, where this difference cancels. The relative error of its partials, which
        /// are second derivatives of w, grows as |z|².
        faddeeva_slope_re(y) = FaddeevaSlopeRe {
            cost: 200.0, text: &[], cuda_file: Some("faddeeva.cuh");
            |x, y, _| {
                let (re, im) = faddeeva_curvature(x, y);
                (re, -im)
            }
        }
        /// Returns the imaginary part of w′(z); see [`faddeeva_slope_re`](Scalar::faddeeva_slope_re).
        faddeeva_slope_im(y) = FaddeevaSlopeIm {
            cost: 200.0, text: &[], cuda_file: Some("faddeeva.cuh");
            |x, y, _| {
                let (re, im) = faddeeva_curvature(x, y);
                (im, re)
            }
        }
    } } };
}
pub(crate) use for_each_function;
