// Step of a trust region, as in `trust_region.rs`: the minimiser of 1/2 |R d + z|^2 over |D d| <= radius,
// found by Newton's method on 1/radius - 1/|D d(lambda)| (More 1978, section 5).

// Returns |D d|.
__device__ __noinline__ double scaled_norm(const double* d, const double* scale, int n) {
    double sum = 0.0;
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
        const double term = d[i] * scale[i];
        sum += term * term;
    }
    return sqrt(sum);
}

// Clamps x to [low, high]; NaN stays NaN.
__device__ __forceinline__ double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

// Replaces d by -S^-1 d.
__device__ __noinline__ void solve_step(Group g, const double* s, int n, double* d) {
    solve_upper(g, s, n, d);
    each(g, n, [&](int i) { d[i] = -d[i]; });
    g.sync();
}

// Writes -R^-1 z to d.
__device__ __noinline__ void gauss_newton(Group g, const double* r, const double* z, int n, double* d) {
    copy(g, z, d, n);
    g.sync();
    solve_step(g, r, n, d);
}

// Returns |S^-T D^2 d|^2 / |D d|^2; S is the factor that was used to solve for d.
__device__ __noinline__ double slope_of(Group g, const double* s, const double* scale, const double* d, int n,
                                        double* t) {
    const double norm = scaled_norm(d, scale, n);
    each(g, n, [&](int i) { t[i] = scale[i] * (scale[i] * d[i] / norm); });
    g.sync();
    solve_upper_transposed(g, s, n, t);
    const double squares = squares_in_order(t, n);
    g.sync();
    return squares;
}

// Returns |D^-1 R'z|.
__device__ __noinline__ double scaled_gradient(Group g, const double* r, const double* z, const double* scale,
                                               int n, double* t) {
    each(g, n, [&](int j) {
        double sum = 0.0;
#pragma unroll 1
        for (int i = 0; i <= j; ++i) sum += r[j * n + i] * z[i];
        t[j] = sum / scale[j];
    });
    g.sync();
    return sqrt(squares_in_order(t, n));
}

// Computes the step of the n x n problem in w.r and w.z with D in w.scale. Writes the step to w.part and returns
// lambda. `guess`: lambda of the previous step.
__device__ __noinline__ double region_step(Group g, int n, double radius, double guess, Scratch& w) {
    const double *r = w.r, *z = w.z, *scale = w.scale;
    double* d = w.part;
    double* s = w.room;
    const bool regular = is_regular(g, r, n);
    double excess = INFINITE, lower = 0.0;
    if (regular) {
        gauss_newton(g, r, z, n, d);
        excess = scaled_norm(d, scale, n) - radius;
        if (excess <= SLACK * radius) return 0.0;
        // 1/radius - 1/|D d(lambda)| is convex and decreasing; therefore Newton's step from lambda = 0 ends below the
        // root and provides a lower bound.
        lower = excess / (slope_of(g, r, scale, d, n, w.t) * radius);
    }
    double upper = scaled_gradient(g, r, z, scale, n, w.t) / radius;
    if (upper == 0.0) upper = SMALLEST / fmin(radius, SLACK);
    double lambda = clamp(guess, lower, fmax(upper, lower));
    if (lambda == 0.0) lambda = fmax(0.001 * upper, sqrt(lower * upper));
#pragma unroll 1
    for (int step = 0; step < MAX_NEWTON_STEPS; ++step) {
        if (lambda == 0.0) lambda = fmax(0.001 * upper, SMALLEST);
        const double root = sqrt(lambda);
        // No barrier: `damped` reads each element in the lane that has written it.
        each(g, n, [&](int i) { w.damping[i] = root * scale[i]; });
        damped(g, r, n, w.damping, z, s, d, w.room + n * n);
        solve_step(g, s, n, d);
        const double before = excess;
        excess = scaled_norm(d, scale, n) - radius;
        if (fabs(excess) <= SLACK * radius || (lower == 0.0 && excess <= before && before < 0.0)) break;
        const double correction = excess / (radius * slope_of(g, s, scale, d, n, w.t));
        if (excess > 0.0) {
            lower = fmax(lower, lambda);
        } else {
            upper = fmin(upper, lambda);
        }
        lambda = fmax(lower, lambda + correction);
    }
    return lambda;
}
