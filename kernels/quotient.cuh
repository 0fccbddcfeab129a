// Quotients and square roots. The slim kernel computes them without branches: a number that its functions do not support
// gives NaN, which makes the fit leave that kernel.

#ifdef SLIM
// Approximations of 1 / x and 1 / sqrt(x): for a double to about 20 bits, the upper half of the result with zeros below;
// for a float to one or two units in the last place (ulp).
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
__device__ __forceinline__ float rough_reciprocal(float x) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
__device__ __forceinline__ float rough_root(float x) {
    float r;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
#else
__device__ __forceinline__ double upper_half(double x) {
    return __longlong_as_double(__double_as_longlong(x) & ~0xffffffffll);
}
__device__ __forceinline__ double rough_reciprocal(double x) { return upper_half(1.0 / x); }
__device__ __forceinline__ double rough_reciprocal_root(double x) { return upper_half(1.0 / sqrt(x)); }
__device__ __forceinline__ float rough_reciprocal(float x) { return 1.0f / x; }
__device__ __forceinline__ float rough_root(float x) { return sqrt(x); }
#endif

// Returns a / b with the bits of a division: the operations of CUDA's division for usual operands. If the divisor or the
// quotient is 0, infinite, NaN or outside 2^-1000 to 2^1000, the result is arbitrary; such fits leave the kernel by
// their next test. 9 operations. The numbers of a model in f32 that all points share take 5 of them, with an error of
// 2 ulp. In f32, the error is 2 ulp, too; divisors outside 1.2e-38 to 8e37 are not supported. 2 operations.
__device__ __forceinline__ double quotient(double a, double b) {
    double r = rough_reciprocal(b);
    double error = fma(-b, r, 1.0);
    r = fma(r, fma(error, error, error), r);
    if constexpr (ROUGH) return a * r;
    r = fma(r, fma(-b, r, 1.0), r);
    const double q = a * r;
    return fma(r, fma(-b, q, a), q);
}
__device__ __forceinline__ float quotient(float a, float b) { return a * rough_reciprocal(b); }

// Returns sqrt(x) with its bits for x from 2^-960 to 2^1000; NaN for 0. 9 operations. In f32, the error is 2 ulp,
// and subnormal x give 0.
__device__ __forceinline__ double root(double x) {
    const double y = rough_reciprocal_root(x);
    const double error = fma(-x, y * y, 1.0);
    const double r = fma(fma(error, 0.375, 0.5), error * y, y);
    const double s = x * r;
    if constexpr (ROUGH) return s;
    return fma(fma(-s, s, x), 0.5 * r, s);
}
__device__ __forceinline__ float root(float x) { return rough_root(x); }

// Returns a / b in the formula of a model, whose values may have any size. NaN if b is so large that the approximate
// reciprocal would be 0, or in f32 so small that it would be infinite.
__device__ __forceinline__ double ratio(double a, double b) { return fabs(b) <= 1e300 ? quotient(a, b) : NOT_A_NUMBER; }
__device__ __forceinline__ float ratio(float a, float b) {
    const float size = fabs(b);
    return 1.2e-38f <= size && size <= 8e37f ? quotient(a, b) : float(NOT_A_NUMBER);
}
#else
template <typename T>
__device__ __forceinline__ T quotient(T a, T b) {
    return a / b;
}
template <typename T>
__device__ __forceinline__ T root(T x) {
    return sqrt(x);
}
template <typename T>
__device__ __forceinline__ T ratio(T a, T b) {
    return a / b;
}
#endif

// Returns the reciprocal of b for `divided`. The slim kernel does not support divisors outside 1e-120 to 1e120 and gets
// NaN. In the others, the largest number replaces an infinite reciprocal of a divisor from 2^-1074 to 2^-1024: 0 / b is
// then 0, and other quotients are too small. 12 to 20 operations.
__device__ __forceinline__ double reciprocal(double b) {
#ifdef SLIM
    const double size = fabs(b);
    return 1e-120 <= size && size <= 1e120 ? quotient(1.0, b) : NOT_A_NUMBER;
#else
    const double r = 1.0 / b;
    return fabs(r) == INFINITE && b != 0.0 ? copysign(1.7976931348623157e308, b) : r;
#endif
}
__device__ __forceinline__ float reciprocal(float b) {
    const float size = fabs(b);
    return 1e-30f <= size && size <= 1e30f ? 1.0f / b : float(NOT_A_NUMBER);
}

// Returns a / b; r is reciprocal(b). The error of a * r is below two units in the last place (ulp), and one fused
// operation computes its remainder exactly. The corrected quotient rounds as the division does, except for quotients
// within 2^-52 ulp of the midpoint of two adjacent numbers (Markstein 1990). If |a| is below 2^-960, or the quotient or r
// is subnormal, the correction is inexact; the error is then below two ulp. Zeros, infinities and NaN are those of the
// division. There is no branch, so that the compiler can overlap the quotients of a point. 3 operations, and 4 integer
// operations. The slim kernel takes a * r, 1 operation.
__device__ __forceinline__ double divided(double a, double b, double r) {
    const double q = a * r;
#ifdef SLIM
    return q;
#else
    const double corrected = fma(fma(-q, b, a), r, q);
    // Twice the upper half has the exponent in its 11 upper bits: 1 to 2046 for a normal number.
    const unsigned upper = 2u * unsigned(__double2hiint(corrected));
    return upper - (1u << 21) < (2046u << 21) ? corrected : q;
#endif
}

// In f32, the slim kernel has an error of at most two units in the last place; the others divide.
__device__ __forceinline__ float divided(float a, float b, float r) {
#ifdef SLIM
    return a * r;
#else
    return a / b;
#endif
}
