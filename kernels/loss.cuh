// The robust correction of one row. With z = (r/C)^2 a point costs C^2 rho(z) / 2; its gradient is
// rho' J^t r and its Gauss-Newton matrix (rho' + 2 z rho'') J^t J. Scaling the row by
// s = sqrt(rho' + 2 z rho'') and the residual by rho'/s makes both come out of the ordinary sums
// (Triggs et al. 2000). Where rho' + 2 z rho'' is less than floor * rho' that takes its place, and
// never less than 2^-52.

// Sums over the points under a robust loss, with psi = rho' r and its derivative psi' = rho' + 2 z rho'', as
// `Influence` in `src/normal/influence.rs`: of rho', by which a point counts, of psi^2, psi' and psi'^2, and of the
// squares of the rows' factors.
constexpr int INFLUENCES = 5;

// rho, rho' and rho' + 2 z rho''.
struct LossTerms {
    Term rho, gradient, curvature;
};

// At a residual over the scale of the loss.
__device__ __forceinline__ LossTerms loss_terms(Term u) {
#ifdef CUSTOM_LOSS
    real numbers[custom_loss::UNIFORMS], out[3];
    const real x[1] = {(real)u};
    custom_loss::model_uniforms(nullptr, numbers);
    custom_loss::model_point(numbers, x, out);
    // rho, d rho / du and its derivative; at 0 the quotient is its limit.
    const Term curvature = Term(0.5) * (Term)out[2];
    return {(Term)out[0], u == Term(0) ? curvature : Term(0.5) * (Term)out[1] / u, curvature};
#else
    const Term one = 1, z = u * u;
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
        Term within = z < one ? z : one, rest = one - within;
        // (1 - u^3) / 3, which would lose the digits of a small z.
        at.rho = within * (rest + within * within / 3);
        at.gradient = rest * rest;
        at.curvature = rest * (one - 5 * z);
    }
    return at;
#endif
}

// Replaces the weighted residual r by rho' r / s and returns s. `cost` receives C^2 rho / 2, `influence` the
// INFLUENCES. `floor`: the least share of the gradient's weight that the row keeps.
__device__ __forceinline__ Term correct(Term scale, Term floor, Term& r, Term& cost, Term* influence) {
    const Term least_square = 2.220446049250313e-16;
    LossTerms at = loss_terms(r / scale);
    Term least = floor * at.gradient;
    Term square = at.curvature > least ? at.curvature : least;
    square = square > least_square ? square : least_square;
    Term s = sqrt(square);
    cost = Term(0.5) * scale * scale * at.rho;
    const Term psi = r * at.gradient;
    influence[0] = at.gradient;
    influence[1] = psi * psi;
    influence[2] = at.curvature;
    influence[3] = at.curvature * at.curvature;
    influence[4] = square;
    // A residual that is not a number stays one here: the comparisons above would lose it.
    r = psi / s;
    return s;
}

// The row of a count y of which f were expected: returns s, usually 1 / sqrt(f); `r` receives the score
// 1 - y/f over s, and `cost` half the deviance, f - y + y ln(y/f). See `src/backend/cpu/poisson.rs`.
// `darkest`: the expectation below which a point without events weighs no more.
__device__ __forceinline__ Term count_row(Term f, Term y, Term darkest, Term& r, Term& cost) {
    const Term one = 1, half = 0.5;
    const Term d = f - y, v = half * d / (half * f + half * y), w = v * v;
    Term series = 0;
#pragma unroll
    for (int odd = 19; odd >= 3; odd -= 2) series = series * w + Term(1.0 / odd);
    const Term near = d * v - y * (Term(2) * v * w * series);
    const Term far = d + y * log(y / f);
    const Term deviance = fabs(v) < Term(0.125) ? near : far;
    const Term usual = one / sqrt(f < darkest ? darkest : f);
    const Term outlying = Term(1.0 / 1024.0) * sqrt(y) / f;
    const Term s = outlying > usual ? outlying : usual;
    const bool counted = y > Term(0);
    // The comparisons above would lose a value that is not a number, and take -0.1 for 0.
    const Term valid = f >= Term(0) ? one : Term(NOT_A_NUMBER);
    r = (counted ? d / f : one) / s * valid;
    cost = (counted ? deviance : f) * valid;
    return s * valid;
}
