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
    // Divides if q is NaN, infinite, zero, or outside 2^-400 to 2^400.
    const unsigned exponent = unsigned(__double_as_longlong(q) >> 52) & 0x7ffu;
    return exponent - 623u <= 800u ? q : rare_quotient(a, b);
}
