// Anderson mixing of the last Gauss-Newton steps, as in `anderson.rs`: the last few points and the
// steps from them are combined such that the combined step has minimum length.

__device__ __forceinline__ Number difference(const Number* of, int c, int j) {
    return of[(c + 1) * FREE + j] - of[c * FREE + j];
}

// Stores the present point q and the Gauss-Newton step from it, delta. Replaces delta by the mixed step,
// delta - sum gamma_i (dq_i + ddelta_i), where gamma minimises |D (delta - sum gamma_i ddelta_i)|. dq_i and ddelta_i
// are differences of consecutive points and steps, D = diag(scale). Each lane reads and writes only its own elements
// of delta. `scratch`: memory of the function, overwritten.
STEP_PART void mix(Group g, const Number* q, const Number* scale, Number* delta, Mixing& mixing, Number* scratch) {
    const int m = int(mixing.held) > DEPTH ? DEPTH : int(mixing.held);
    const bool full = int(mixing.held) > DEPTH;
    const int k = m + 1;
    Number* rows = scratch;
    Number* factor = rows + FREE * (DEPTH + 1);
    Number* r = factor + (DEPTH + 1) * (DEPTH + 1);
    Number* gamma = r + DEPTH * DEPTH;
    each(g, FREE, [&](int j) {
#pragma unroll 1
        for (int c = 0; full && c < DEPTH; ++c) {
            mixing.points[c * FREE + j] = mixing.points[(c + 1) * FREE + j];
            mixing.steps[c * FREE + j] = mixing.steps[(c + 1) * FREE + j];
        }
        mixing.points[m * FREE + j] = q[j];
        mixing.steps[m * FREE + j] = delta[j];
#pragma unroll 1
        for (int c = 0; c < m; ++c) rows[c * FREE + j] = scale[j] * difference(mixing.steps, c, j);
        rows[m * FREE + j] = scale[j] * delta[j];
    });
    fill(g, factor, k * k, 0.0);
    // After this barrier all rows are written, and all lanes have read mixing.held.
    g.sync();
    if (g.rank == 0) mixing.held = i64(k);
    if (m == 0) return;
    fold_rows(g, factor, k, rows, FREE, FREE);
    each(g, m, [&](int j) {
#pragma unroll 1
        for (int i = 0; i < m; ++i) r[j * m + i] = factor[j * k + i];
        gamma[j] = factor[m * k + j];
    });
    g.sync();
    if (!is_regular(g, r, m)) return;
    solve_upper(g, r, m, gamma);
    each(g, FREE, [&](int j) {
#pragma unroll 1
        for (int c = 0; c < m; ++c)
            delta[j] -= gamma[c] * (difference(mixing.points, c, j) + difference(mixing.steps, c, j));
    });
}
