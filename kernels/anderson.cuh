// Anderson mixing of the last Gauss-Newton steps, as in `anderson.rs`: the last few points and the
// steps from them are combined such that the combined step has minimum length.

__device__ __forceinline__ double difference(const double* of, int c, int j) {
    return of[(c + 1) * FREE + j] - of[c * FREE + j];
}

// Stores the present point q and the Gauss-Newton step from it, s.delta. Replaces s.delta by the mixed step,
// delta - sum gamma_i (dq_i + ddelta_i), where gamma minimises |D (delta - sum gamma_i ddelta_i)|. dq_i and ddelta_i
// are differences of consecutive points and steps, D = diag(s.scale). Each lane reads and writes only its own elements
// of s.delta.
__device__ __noinline__ void mix(Group g, State& s, Scratch& w) {
    const int m = int(s.held) > DEPTH ? DEPTH : int(s.held);
    const bool full = int(s.held) > DEPTH;
    const int k = m + 1;
    double* rows = w.room;
    double* factor = rows + FREE * (DEPTH + 1);
    double* r = factor + (DEPTH + 1) * (DEPTH + 1);
    double* gamma = r + DEPTH * DEPTH;
    each(g, FREE, [&](int j) {
#pragma unroll 1
        for (int c = 0; full && c < DEPTH; ++c) {
            s.points[c * FREE + j] = s.points[(c + 1) * FREE + j];
            s.steps[c * FREE + j] = s.steps[(c + 1) * FREE + j];
        }
        s.points[m * FREE + j] = s.present.q[j];
        s.steps[m * FREE + j] = s.delta[j];
#pragma unroll 1
        for (int c = 0; c < m; ++c) rows[c * FREE + j] = s.scale[j] * difference(s.steps, c, j);
        rows[m * FREE + j] = s.scale[j] * s.delta[j];
    });
    fill(g, factor, k * k, 0.0);
    // After this barrier all rows are written, and all lanes have read s.held.
    g.sync();
    if (g.rank == 0) s.held = i64(k);
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
            s.delta[j] -= gamma[c] * (difference(s.points, c, j) + difference(s.steps, c, j));
    });
}
