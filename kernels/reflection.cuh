// A Householder reflection sends a column [alpha; v] to [beta; 0], and turns a column [rho; a] to its right into
//   rho' = keep rho + bring v'a,   a' = a + f v,   f = bring rho + turn v'a.
// `householder.rs` derives it and says why rho' is not formed as rho + (alpha - beta) f.

struct Reflection {
    double keep;      // alpha / beta
    double bring;     // 1 / beta
    double turn;      // 1 / (beta (alpha - beta))
    double diagonal;  // beta in the units of alpha
};

// `total`: alpha^2 + v'v.
__device__ __forceinline__ Reflection reflection_of_total(double alpha, double total) {
    const double beta = -copysign(sqrt(total), alpha);
    const double bring = 1.0 / beta;
    return {alpha * bring, bring, bring / (alpha - beta), beta};
}
