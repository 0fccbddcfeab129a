// The robust correction of one row. With z = (r/C)^2 a point costs C^2 rho(z) / 2; its gradient is
// rho' J^t r and its Gauss-Newton matrix (rho' + 2 z rho'') J^t J. Scaling the row by
// s = sqrt(rho' + 2 z rho'') and the residual by rho'/s makes both come out of the ordinary sums
// (Triggs et al. 2000). Where rho' + 2 z rho'' is less than floor * rho' that takes its place, and
// never less than 2^-52.

constexpr int LINEAR = 0, SOFT_L1 = 1, HUBER = 2, CAUCHY = 3, ARCTAN = 4, TUKEY = 5;
// Not a loss of residuals: the likelihood of counts.
constexpr int POISSON = 6;

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

// f - y + y ln(y/f), half the deviance of a count y > 0 of which f were expected; see
// `src/backend/cpu/poisson.rs`.
__device__ __forceinline__ Term count_cost(Term f, Term y) {
    const Term t = (f - y) / y;
    if (t > Term(-0.2) && t < Term(0.2)) {
        const Term u = t / (Term(2) + t), v = u * u;
        Term tail = Term(1.0 / 19.0);
        tail = tail * v + Term(1.0 / 17.0);
        tail = tail * v + Term(1.0 / 15.0);
        tail = tail * v + Term(1.0 / 13.0);
        tail = tail * v + Term(1.0 / 11.0);
        tail = tail * v + Term(1.0 / 9.0);
        tail = tail * v + Term(1.0 / 7.0);
        tail = tail * v + Term(0.2);
        return y * (t * t / (Term(2) + t) - Term(2) * u * v * (tail * v + Term(1.0 / 3.0)));
    }
    return y * (t - log(f / y));
}

// The row of a count y of which f were expected: returns 1 / sqrt(f), `r` receives (f - y) / sqrt(f) and
// `cost` the point's half deviance. Not numbers where f is negative; nothing is learnt where both are 0.
__device__ __forceinline__ Term count_row(Term f, Term y, Term& r, Term& cost) {
    const bool silent = f == Term(0) && y == Term(0);
    const Term root = sqrt(f);
    r = silent ? Term(0) : (f - y) / root;
    cost = y == Term(0) ? f + Term(0) * root : count_cost(f, y);
    return silent ? Term(0) : Term(1) / root;
}
