// Step of a trust region, as in `trust_region.rs`: the minimiser of 1/2 |R d + z|^2 over |D d| <= radius,
// found by Newton's method on 1/radius - 1/|D d(lambda)| (More 1978, section 5).

// Returns |D d|.
STEP_PART Number scaled_norm(const Number* d, const Number* scale, int n) {
    Number sum = 0.0;
    STEP_LOOP
    for (int i = 0; i < n; ++i) {
        const Number term = d[i] * scale[i];
        sum += term * term;
    }
    return root(sum);
}

// Clamps x to [low, high]; NaN stays NaN.
__device__ __forceinline__ Number clamp(Number x, Number low, Number high) {
    return x < low ? low : x > high ? high : x;
}

// Replaces d by -S^-1 d.
STEP_PART void solve_step(Group g, const Number* s, int n, Number* d) {
    solve_upper(g, s, n, d);
    each(g, n, [&](int i) { d[i] = -d[i]; });
    g.sync();
}

// Writes -R^-1 z to d.
STEP_PART void gauss_newton(Group g, const Number* r, const Number* z, int n, Number* d) {
    copy(g, z, d, n);
    g.sync();
    solve_step(g, r, n, d);
}

// Returns |S^-T D^2 d|^2 / |D d|^2; S is the factor that was used to solve for d.
STEP_PART Number slope_of(Group g, const Number* s, const Number* scale, const Number* d, int n,
                                        Number* t) {
    const Number norm = scaled_norm(d, scale, n);
    each(g, n, [&](int i) { t[i] = scale[i] * quotient(scale[i] * d[i], norm); });
    g.sync();
    solve_upper_transposed(g, s, n, t);
    const Number squares = squares_in_order(t, n);
    g.sync();
    return squares;
}

// Returns |D^-1 R'z|.
STEP_PART Number scaled_gradient(Group g, const Number* r, const Number* z, const Number* scale,
                                               int n, Number* t) {
    each(g, n, [&](int j) {
        Number sum = 0.0;
        STEP_LOOP
        for (int i = 0; i <= j; ++i) sum += r[j * n + i] * z[i];
        t[j] = quotient(sum, scale[j]);
    });
    g.sync();
    return root(squares_in_order(t, n));
}

// Shortens the Gauss-Newton step of the n x n problem in w.r and w.z to the radius, with D in w.scale. w.part contains
// that step if R is `regular`, and receives the shorter step. Returns its lambda. `guess`: lambda of the previous step.
STEP_PART Number shortened_step(Group g, int n, Number radius, Number guess, bool regular, Scratch& w) {
    const Number *r = w.r, *z = w.z, *scale = w.scale;
    Number* d = w.part;
    Number* s = w.room;
    Number excess = INFINITE, lower = 0.0;
    if (regular) {
        excess = scaled_norm(d, scale, n) - radius;
        if (excess <= SLACK * radius) return 0.0;
        // 1/radius - 1/|D d(lambda)| is convex and decreasing; therefore Newton's step from lambda = 0 ends below the
        // root and provides a lower bound.
        lower = quotient(excess, slope_of(g, r, scale, d, n, w.t) * radius);
    }
    Number upper = quotient(scaled_gradient(g, r, z, scale, n, w.t), radius);
    if (upper == 0.0) upper = SMALLEST / fmin(radius, SLACK);
    Number lambda = clamp(guess, lower, fmax(upper, lower));
    if (lambda == 0.0) lambda = fmax(Number(0.001) * upper, root(lower * upper));
#pragma unroll 1
    for (int step = 0; step < MAX_NEWTON_STEPS; ++step) {
        if (lambda == 0.0) lambda = fmax(Number(0.001) * upper, SMALLEST);
        const Number damping = root(lambda);
        // No barrier: `damped` reads each element in the lane that has written it.
        each(g, n, [&](int i) { w.damping[i] = damping * scale[i]; });
        damped(g, r, n, w.damping, z, s, d, w.room + n * n);
        solve_step(g, s, n, d);
        const Number before = excess;
        excess = scaled_norm(d, scale, n) - radius;
        if (fabs(excess) <= SLACK * radius || (lower == 0.0 && excess <= before && before < 0.0)) break;
        const Number correction = quotient(excess, radius * slope_of(g, s, scale, d, n, w.t));
        if (excess > 0.0) {
            lower = fmax(lower, lambda);
        } else {
            upper = fmin(upper, lambda);
        }
        lambda = fmax(lower, lambda + correction);
    }
    return lambda;
}

// Computes the step of the n x n problem in w.r and w.z with D in w.scale. Writes the step to w.part and returns
// lambda. `guess`: lambda of the previous step.
STEP_PART Number region_step(Group g, int n, Number radius, Number guess, Scratch& w) {
    const bool regular = is_regular(g, w.r, n);
    if (regular) gauss_newton(g, w.r, w.z, n, w.part);
    return shortened_step(g, n, radius, guess, regular, w);
}
