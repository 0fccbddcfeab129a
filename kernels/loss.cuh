// The robust correction of one row. With z = (r/C)^2 a point costs C^2 rho(z) / 2; its gradient is
// rho' J^t r and its Gauss-Newton matrix (rho' + 2 z rho'') J^t J. Scaling the row by
// s = sqrt(rho' + 2 z rho'') and the residual by rho'/s makes both come out of the ordinary sums
// (Triggs et al. 2000). Where rho' + 2 z rho'' is less than floor * rho' that takes its place, and
// never less than 2^-52.

constexpr int LINEAR = 0, SOFT_L1 = 1, HUBER = 2, CAUCHY = 3, ARCTAN = 4, TUKEY = 5;

// rho, rho' and rho' + 2 z rho''.
struct LossTerms {
    Term rho, gradient, curvature;
};

__device__ __forceinline__ LossTerms loss_terms(Term z) {
    const Term one = 1;
    LossTerms at = {z, one, one};
    if constexpr (LOSS == SOFT_L1) {
        Term t = one + z, root = sqrt(t);
        at.rho = 2 * z / (one + root);
        at.gradient = one / root;
        at.curvature = one / (t * root);
    } else if constexpr (LOSS == HUBER) {
        if (z > one) {
            Term root = sqrt(z);
            at.rho = 2 * root - one;
            at.gradient = one / root;
            at.curvature = 0;
        }
    } else if constexpr (LOSS == CAUCHY) {
        Term t = one / (one + z);
        at.rho = log1p(z);
        at.gradient = t;
        at.curvature = (one - z) * t * t;
    } else if constexpr (LOSS == ARCTAN) {
        Term t = one / (one + z * z);
        at.rho = atan(z);
        at.gradient = t;
        at.curvature = (one - 3 * z * z) * t * t;
    } else if constexpr (LOSS == TUKEY) {
        Term u = z < one ? one - z : 0;
        at.rho = (one - u * u * u) / 3;
        at.gradient = u * u;
        at.curvature = u * (one - 5 * z);
    }
    return at;
}

// Replaces the weighted residual r by rho' r / s and returns s. `cost` receives C^2 rho / 2. `floor`:
// the least share of the gradient's weight that the row keeps.
__device__ __forceinline__ Term correct(Term scale, Term floor, Term& r, Term& cost) {
    const Term least_square = 2.220446049250313e-16;
    Term z = (r / scale) * (r / scale);
    LossTerms at = loss_terms(z);
    Term least = floor * at.gradient;
    Term square = at.curvature > least ? at.curvature : least;
    square = square > least_square ? square : least_square;
    Term s = sqrt(square);
    cost = Term(0.5) * scale * scale * at.rho;
    // A residual that is not a number stays one here: the comparisons above would lose it.
    r = r * at.gradient / s;
    return s;
}
