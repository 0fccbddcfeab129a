// Quadratic model of the cost around the present point, as in `linear_model.rs`: R and z with
// 1/2 |J d + r|^2 = 1/2 |R d + z|^2 + constant, from the normal equations, or from a factor of J
// if squaring loses too many digits.

__device__ __forceinline__ Number product(const Number* sums, int i, int j) { return sums[j * (j + 1) / 2 + i]; }
__device__ __forceinline__ Number cost_of(const Place& point) { return point.sums[SUMS - 1]; }

STEP_PART bool all_finite(Group g, const Number* values, int n) {
    bool wrong = false;
    each(g, n, [&](int i) { wrong |= !isfinite(values[i]); });
    return !g.any(wrong);
}

// Computes the model from the sums at the present point. Returns false if this loses too many digits; then
// `set_factor` must follow.
STEP_PART bool set_normal(Group g, State& s, Scratch& w) {
    const Number* sums = s.present.sums;
    each(g, FREE, [&](int j) {
        s.norms[j] = root(product(sums, j, j));
        s.gradient[j] = product(sums, j, FREE);
    });
    g.sync();
    each(g, FREE, [&](int j) {
        STEP_LOOP
        for (int i = 0; i <= j; ++i) {
            const Number unit = s.norms[i] * s.norms[j];
            // A column without effect becomes a unit column here, orthogonal to the others, and is zero again below.
            const Number alone = i == j ? 1.0 : 0.0;
            w.room[j * FREE + i] = unit == 0.0 ? alone : quotient(product(sums, i, j), unit);
        }
    });
    // No barrier: `cholesky` reads each of these columns in the lane that has written it.
    const bool positive = cholesky(g, w.room, FREE, s.r);
    Number least = 1.0;
    STEP_LOOP
    for (int j = 0; j < FREE; ++j) least = fmin(least, s.r[j * FREE + j] * s.r[j * FREE + j]);
    each(g, FREE, [&](int j) { s.z[j] = s.norms[j] == 0.0 ? 0.0f : quotient(s.gradient[j], s.norms[j]); });
    g.sync();
    solve_upper_transposed(g, s.r, FREE, s.z);
    each(g, FREE, [&](int j) {
        STEP_LOOP
        for (int i = 0; i <= j; ++i) s.r[j * FREE + i] *= s.norms[j];
    });
    g.sync();
    return positive && least >= LEAST_PIVOT;
}

// Copies R and z from the factor of [J r], (FREE + 1) x (FREE + 1). A barrier must follow.
STEP_PART void set_factor(Group g, State& s, const Number* factor) {
    each(g, FREE, [&](int j) {
        STEP_LOOP
        for (int i = 0; i < FREE; ++i) s.r[j * FREE + i] = i <= j ? factor[j * K + i] : 0.0f;
        s.z[j] = factor[FREE * K + j];
    });
}

// Writes R delta to t.
STEP_PART void model_rows(Group g, const State& s, Number* t) {
    each(g, FREE, [&](int i) {
        Number row = 0.0;
        STEP_LOOP
        for (int j = i; j < FREE; ++j) row += s.r[j * FREE + i] * s.delta[j];
        t[i] = row;
    });
    g.sync();
}

// Returns the change of the cost that the model predicts for s.delta.
STEP_PART Number predicted_change(Group g, const State& s, Scratch& w) {
    model_rows(g, s, w.t);
    Number square = 0.0, slope = 0.0;
    STEP_LOOP
    for (int i = 0; i < FREE; ++i) {
        square += w.t[i] * w.t[i];
        slope += w.t[i] * s.z[i];
    }
    return 0.5f * square + slope;
}

// Restricts the problem to the m parameters in `moving`; the others are displaced by s.delta. Writes the m x m
// factor to w.r and the right-hand side to w.z.
STEP_PART void restrict_model(Group g, const State& s, unsigned moving, Scratch& w) {
    const int m = count(moving), k = m + 1;
    Number* factor = w.room;
    Number* rows = w.room + k * k;
    fill(g, factor, k * k, 0.0);
    STEP_LOOP
    for (int j = 0; j < FREE; ++j)
        if (contains(moving, j)) copy(g, s.r + j * FREE, rows + position(moving, j) * FREE, FREE);
    each(g, FREE, [&](int i) {
        Number right = s.z[i];
        STEP_LOOP
        for (int j = i; j < FREE; ++j)
            if (!contains(moving, j) && s.delta[j] != 0.0) right += s.r[j * FREE + i] * s.delta[j];
        rows[m * FREE + i] = right;
    });
    g.sync();
    fold_rows(g, factor, k, rows, FREE, FREE);
    each(g, m, [&](int j) {
        STEP_LOOP
        for (int i = 0; i < m; ++i) w.r[j * m + i] = i <= j ? factor[j * k + i] : 0.0f;
        w.z[j] = factor[m * k + j];
    });
    g.sync();
}

// Writes R and z of the parameters in `moving` to w.r and w.z; the others are displaced by s.delta.
STEP_PART void reduced_model(Group g, const State& s, unsigned moving, Scratch& w) {
    if (moving != ALL) return restrict_model(g, s, moving, w);
    copy(g, s.r, w.r, FREE * FREE);
    copy(g, s.z, w.z, FREE);
    g.sync();
}
