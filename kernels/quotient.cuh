// Quotients of several numbers by the same divisor, whose reciprocal is computed once.

// Returns the reciprocal of b for `divided`. Returns NaN if an intermediate result of `divided` might not be a normal
// number; `divided` then uses a division. 20 operations.
__device__ __noinline__ double reciprocal(double b) {
    const double size = fabs(b);
    return 1e-120 <= size && size <= 1e120 ? 1.0 / b : NOT_A_NUMBER;
}

// Returns a / b. A separate function, because it is rarely used: inlined divisions would make the code of loops over
// points several times longer than the part that is executed, and all instructions have to be fetched.
__device__ __noinline__ double rare_quotient(double a, double b) { return a / b; }

// Returns a / b with the bits of a division; r is reciprocal(b). The error of a * r is below two units in the last
// place (ulp), and one fused operation computes its remainder exactly. The corrected quotient rounds as the division
// does, except for quotients within 2^-52 ulp of the midpoint of two adjacent numbers (Markstein 1990). 3 operations,
// and 4 integer operations.
__device__ __forceinline__ double divided(double a, double b, double r) {
    double q = a * r;
    q = fma(fma(-q, b, a), r, q);
#ifdef SLIM
    // NaN makes the fit leave the kernel. A quotient below 2^-400 may be wrong by two ulp or have the other sign of 0.
    return q;
#else
    // Divides if q is NaN, infinite, zero, or outside 2^-400 to 2^400.
    const unsigned exponent = unsigned(__double_as_longlong(q) >> 52) & 0x7ffu;
    return exponent - 623u <= 800u ? q : rare_quotient(a, b);
#endif
}

#ifdef SLIM
// Approximations of 1 / x and 1 / sqrt(x) to about 20 bits: the upper half of the result, with zeros below.
#ifdef __CUDA_ARCH__
__device__ __forceinline__ double rough_reciprocal(double x) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    return r;
}
__device__ __forceinline__ double rough_reciprocal_root(double x) {
    double r;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    return r;
}
#else
__device__ __forceinline__ double upper_half(double x) {
    return __longlong_as_double(__double_as_longlong(x) & ~0xffffffffll);
}
__device__ __forceinline__ double rough_reciprocal(double x) { return upper_half(1.0 / x); }
__device__ __forceinline__ double rough_reciprocal_root(double x) { return upper_half(1.0 / sqrt(x)); }
#endif

// Returns a / b with the bits of a division, without a branch: the operations of CUDA's division for usual operands.
// If the divisor or the quotient is 0, infinite, NaN or outside 2^-1000 to 2^1000, the result is arbitrary; such fits
// leave the kernel by their next test. 9 operations.
__device__ __forceinline__ double quotient(double a, double b) {
    double r = rough_reciprocal(b);
    double error = fma(-b, r, 1.0);
    r = fma(r, fma(error, error, error), r);
    r = fma(r, fma(-b, r, 1.0), r);
    const double q = a * r;
    return fma(r, fma(-b, q, a), q);
}

// Returns sqrt(x) with its bits, without a branch, for x from 2^-960 to 2^1000. NaN for 0. 9 operations.
__device__ __forceinline__ double root(double x) {
    const double y = rough_reciprocal_root(x);
    const double error = fma(-x, y * y, 1.0);
    const double r = fma(fma(error, 0.375, 0.5), error * y, y);
    const double s = x * r;
    return fma(fma(-s, s, x), 0.5 * r, s);
}
#else
__device__ __forceinline__ double quotient(double a, double b) { return a / b; }
__device__ __forceinline__ double root(double x) { return sqrt(x); }
#endif
