//! The functions of `Scalar` for tests that need each of them: a method and a name for an enum. The compiler
//! reports a missing one in `number.rs`.

macro_rules! for_each_function {
    ($callback:ident) => {
        $callback! {
            one {
                exp Exp, exp2 Exp2, exp_m1 ExpM1, ln Ln, ln_1p Ln1p, log2 Log2, log10 Log10, sqrt Sqrt,
                cbrt Cbrt, sin Sin, cos Cos, tan Tan, asin Asin, acos Acos, atan Atan, sinh Sinh, cosh Cosh,
                tanh Tanh, asinh Asinh, acosh Acosh, atanh Atanh, erf Erf, erfc Erfc, erfcx Erfcx,
                wright_omega WrightOmega, ln_gamma LnGamma, gamma Gamma, e1 E1, j0 J0, j1 J1, y0 Y0, y1 Y1,
                i0 I0, i1 I1, i0e I0e, i1e I1e, k0 K0, k1 K1, k0e K0e, k1e K1e, abs Abs, floor Floor,
                ceil Ceil, round Round, signum Signum
            }
            two {
                atan2 Atan2, hypot Hypot, fmod Fmod, faddeeva_re FaddeevaRe, faddeeva_im FaddeevaIm,
                faddeeva_slope_re FaddeevaSlopeRe, faddeeva_slope_im FaddeevaSlopeIm, powf Powf, min Min,
                max Max
            }
        }
    };
}
pub(crate) use for_each_function;
