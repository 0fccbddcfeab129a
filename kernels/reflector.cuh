// The Householder reflection of one column [alpha; v], v spread over the lanes of a warp.
//
// The formulas, and why they are these, are those of `householder.rs`: with beta = -sign(alpha)
// sqrt(alpha^2 + v^t v), a column [rho; a] to the right becomes
//
//     rho' = (alpha rho + v^t a) / beta,     a' = a + f v  with  f = (rho + v^t a / (alpha - beta)) / beta.

// rho' = keep rho + bring v^t a,  f = bring rho + turn v^t a.
struct Reflector {
    double keep, bring, turn;
    double diagonal;  // beta in the units of alpha
};

__device__ __forceinline__ Reflector reflector_of_total(double alpha, double total) {
    double beta = -copysign(sqrt(total), alpha), bring = 1.0 / beta;
    return {alpha * bring, bring, bring / (alpha - beta), beta};
}

// The larger of two magnitudes; infinite if one of them is not a number.
__device__ __forceinline__ double larger_magnitude(double a, double b) {
    b = fabs(b);
    return b <= a ? a : (b < INFINITE ? b : INFINITE);
}

// For squares that leave the range of f64: scales v by a power of two first, in place.
template <int COUNT>
__device__ __forceinline__ Reflector scaled_reflector(double alpha, double* v) {
    double size = 0.0;
#pragma unroll
    for (int q = 0; q < COUNT; ++q) size = larger_magnitude(size, v[q]);
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2)
        size = larger_magnitude(size, __shfl_xor_sync(ALL_LANES, size, mask));
    if (size == 0.0 && fabs(alpha) < INFINITE) return {1.0, 0.0, 0.0, alpha};
    size = larger_magnitude(size, alpha);
    if (!(size < INFINITE)) return {NOT_A_NUMBER, NOT_A_NUMBER, NOT_A_NUMBER, NOT_A_NUMBER};
    // Exponents to 1022 keep the power and its reciprocal normal.
    int exponent = ilogb(size);
    exponent = exponent > 1022 ? 1022 : exponent < -1022 ? -1022 : exponent;
    double scale = ldexp(1.0, -exponent), total = 0.0;
#pragma unroll
    for (int q = 0; q < COUNT; ++q) {
        v[q] *= scale;
        total = fma(v[q], v[q], total);
    }
    Reflector scaled = reflector_of_total(alpha * scale, fma(alpha * scale, alpha * scale, warp_total(total)));
    scaled.diagonal *= ldexp(1.0, exponent);
    return scaled;
}

// For [alpha; v] with `COUNT` numbers of v in every lane, alpha the same in all. The same bits in all
// lanes. H = I if v is zero, or nothing beside alpha; not a number if anything in v is not finite.
template <int COUNT>
__device__ __forceinline__ Reflector make_reflector(double alpha, double* v) {
    double squares = 0.0;
#pragma unroll
    for (int q = 0; q < COUNT; ++q) squares = fma(v[q], v[q], squares);
    squares = warp_total(squares);
    double total = fma(alpha, alpha, squares);
    // Narrower than the squares need, so that products of v with columns of any size stay in range.
    if (!(total > 1e-100 && total < 1e100)) return scaled_reflector<COUNT>(alpha, v);
    if (squares == 0.0) return {1.0, 0.0, 0.0, alpha};
    return reflector_of_total(alpha, total);
}
