// Quotients by one number, prepared once.

// What `divided` takes for 1 / b: NaN where what it rounds might not be normal, so that it divides. 20 operations.
__device__ __noinline__ double reciprocal(double b) {
    const double size = fabs(b);
    return 1e-120 <= size && size <= 1e120 ? 1.0 / b : NOT_A_NUMBER;
}

// Apart, since it is rare: in their place divisions would make loops over points several times as long as what they execute,
// and instructions have to be fetched.
__device__ __noinline__ double rare_quotient(double a, double b) { return a / b; }

// a / b, with its bits, for many a: r is reciprocal(b). A quotient by the reciprocal is off by less than two units in the
// last place, its remainder is exact in one fused operation, and what that adds rounds as the division does, but for
// quotients as near to the middle of two numbers as 2^-52 of their distance (Markstein 1990). 3 operations, and 4 of integers.
__device__ __forceinline__ double divided(double a, double b, double r) {
    double q = a * r;
    q = fma(fma(-q, b, a), r, q);
    // NaN, infinite, zero, or beyond 2^-400 to 2^400.
    const unsigned exponent = unsigned(__double_as_longlong(q) >> 52) & 0x7ffu;
    return exponent - 623u <= 800u ? q : rare_quotient(a, b);
}
