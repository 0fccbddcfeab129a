// e^x for the loop over points of the slim kernel: without a branch, and with constants that instructions read from
// constant memory. (CUDA's exp branches for huge arguments, and the compiler loads its constants again at each point.)
#ifdef SLIM

// (e^r - 1 - r - r^2 / 2) / r^3 for |r| <= ln(2) / 2, as in src/math/exp.rs, and the coefficients before.
__constant__ double EXP_SERIES[] = {
    2.05722146481443e-09,  2.5101906960630745e-08, 2.7558299845307925e-07, 2.755726537883622e-06,
    2.480158627980565e-05, 0.0001984126986505112,  0.001388888888929379,   0.008333333333329475,
    0.04166666666666618,   0.16666666666666669,    0.5,                    1.0,
    1.0};
// log2(e); 1.5 * 2^52, whose sum with a number rounds that number to an integer; and ln(2) in two parts.
__constant__ double EXP_REDUCTION[] = {1.4426950408889634, 6755399441055744.0, 0.6931471805598903,
                                             5.497923018708371e-14};

// Returns e^x: 0 below -708, NaN above 690, so that the fit leaves the kernel and `ratio` supports the result. Measured
// error: 1.0 ulp. 20 operations.
__device__ __forceinline__ double exponential(double x) {
    const double shifted = fma(x, EXP_REDUCTION[0], EXP_REDUCTION[1]);
    const double power = shifted - EXP_REDUCTION[1];
    const double r = fma(power, -EXP_REDUCTION[3], fma(power, -EXP_REDUCTION[2], x));
    const i64 bits = __double_as_longlong(polynomial(EXP_SERIES, r)) + (__double_as_longlong(shifted) << 52);
    const double value = x >= -708.0 ? __longlong_as_double(bits) : 0.0;
    return x <= 690.0 ? value : NOT_A_NUMBER;
}
// Returns e^x: NaN above 87, where `ratio` would not support it as a divisor.
__device__ __forceinline__ float exponential(float x) { return x <= 87.0f ? exp(x) : float(NOT_A_NUMBER); }
#define exp exponential

#endif
