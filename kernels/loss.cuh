// Robust correction of one row. With z = (r/C)^2 the cost of a point is C^2 rho(z) / 2, its gradient
// rho' J^t r and its Gauss-Newton matrix (rho' + 2 z rho'') J^t J. The ordinary sums yield both if the row is
// multiplied by s = sqrt(rho' + 2 z rho'') and the residual by rho'/s (Triggs et al. 2000). s^2 is at least
// floor * rho' and at least 2^-52.

// Number of sums over the points under a robust loss, as in `Influence` of `src/normal/influence.rs`: the sums of the
// weight rho', of psi^2, psi' and psi'^2, and of the squared factors of the rows. psi = rho' r is the influence and
// psi' = rho' + 2 z rho'' its derivative.
constexpr int INFLUENCES = 5;

// rho, rho' and rho' + 2 z rho''.
struct LossTerms {
    Term rho, gradient, curvature;
};

// Returns the terms at u = residual / scale of the loss.
__device__ __forceinline__ LossTerms loss_terms(Term u) {
#ifdef CUSTOM_LOSS
    real numbers[custom_loss::UNIFORMS], out[3];
    const real x[1] = {(real)u};
    custom_loss::model_uniforms(nullptr, numbers);
    custom_loss::model_point(numbers, x, out);
    // `out`: rho, d rho / du and its derivative. At u = 0 the limit replaces the quotient.
    const Term curvature = Term(0.5) * (Term)out[2];
    return {(Term)out[0], u == Term(0) ? curvature : Term(0.5) * (Term)out[1] / u, curvature};
#else
    const Term one = 1, z = u * u;
    LossTerms at = {z, one, one};
    if constexpr (LOSS == SOFT_L1) {
        Term t = one + z, length = root(t);
        at.rho = quotient(2 * z, one + length);
        at.gradient = quotient(one, length);
        at.curvature = quotient(one, t * length);
    } else if constexpr (LOSS == HUBER) {
        if (z > one) {
            Term size = root(z);
            at.rho = 2 * size - one;
            at.gradient = quotient(one, size);
            at.curvature = 0;
        }
    } else if constexpr (LOSS == CAUCHY) {
        Term t = quotient(one, one + z);
        at.rho = log1p(z);
        at.gradient = t;
        at.curvature = (one - z) * t * t;
    } else if constexpr (LOSS == ARCTAN) {
        Term t = quotient(one, one + z * z);
        at.rho = atan(z);
        at.gradient = t;
        at.curvature = (one - 3 * z * z) * t * t;
    } else if constexpr (LOSS == TUKEY) {
        Term within = z < one ? z : one, rest = one - within;
        // Equal to (1 - rest^3) / 3, which would lose the digits of a small z.
        at.rho = within * (rest + within * within / 3);
        at.gradient = rest * rest;
        at.curvature = rest * (one - 5 * z);
    }
    return at;
#endif
}

// Replaces the weighted residual r by rho' r / s and returns s. `cost` receives C^2 rho / 2, and `influence` the terms
// of the INFLUENCES sums. `floor`: lower limit of s^2 / rho'.
__device__ __forceinline__ Term correct(Term scale, Term floor, Term& r, Term& cost, Term* influence) {
    const Term least_square = 2.220446049250313e-16;
    LossTerms at = loss_terms(quotient(r, scale));
    Term least = floor * at.gradient;
    Term square = at.curvature > least ? at.curvature : least;
    square = square > least_square ? square : least_square;
    Term s = root(square);
    cost = Term(0.5) * scale * scale * at.rho;
    const Term psi = r * at.gradient;
    influence[0] = at.gradient;
    influence[1] = psi * psi;
    influence[2] = at.curvature;
    influence[3] = at.curvature * at.curvature;
    influence[4] = square;
    // A NaN residual stays NaN because of this product; the comparisons above drop NaN.
    r = quotient(psi, s);
    return s;
}

// Returns the factor s of the row of a count y with expectation f, usually 1 / sqrt(f). `r` receives
// (1 - y/f) / s, and `cost` half the deviance, f - y + y ln(y/f). See `src/backend/cpu/poisson.rs`.
// `darkest`: lower limit of f in 1 / sqrt(f).
__device__ __forceinline__ Term count_row(Term f, Term y, Term darkest, Term& r, Term& cost) {
    const Term one = 1, half = 0.5;
    const Term d = f - y, v = quotient(half * d, half * f + half * y), w = v * v;
    Term series = 0;
#pragma unroll
    for (int odd = 19; odd >= 3; odd -= 2) series = series * w + Term(1.0 / odd);
    const Term near = d * v - y * (Term(2) * v * w * series);
    const Term far = d + y * log(quotient(y, f));
    const Term deviance = fabs(v) < Term(0.125) ? near : far;
    const Term usual = quotient(one, root(f < darkest ? darkest : f));
    const Term outlying = quotient(Term(1.0 / 1024.0) * root(y), f);
    const Term s = outlying > usual ? outlying : usual;
    const bool counted = y > Term(0);
    // Without this factor, the comparisons above would drop NaN and treat a negative f as 0.
    const Term valid = f >= Term(0) ? one : Term(NOT_A_NUMBER);
    r = quotient(counted ? quotient(d, f) : one, s) * valid;
    cost = (counted ? deviance : f) * valid;
    return s * valid;
}
