// A Householder reflection maps a column [alpha; v] to [beta; 0], and a column [rho; a] to its right to
//   rho' = keep rho + bring v'a,   a' = a + f v,   f = bring rho + turn v'a.
// `householder.rs` contains the derivation and the reason why rho' is not computed as rho + (alpha - beta) f.

struct Reflection {
    Number keep;      // alpha / beta
    Number bring;     // 1 / beta
    Number turn;      // 1 / (beta (alpha - beta))
    Number diagonal;  // beta; if the caller scaled alpha and v, it divides this member by its scale
};

// Returns the reflection of [alpha; v]. `total`: alpha^2 + v'v.
__device__ __forceinline__ Reflection reflection_of_total(Number alpha, Number total) {
    const Number beta = -copysign(root(total), alpha);
    const Number bring = quotient(Number(1), beta);
    return {alpha * bring, bring, quotient(bring, alpha - beta), beta};
}
