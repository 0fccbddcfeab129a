// End of a fit of a batch: standard errors from the inverse of a well-conditioned factor R, the deviation of a residual,
// and the cost and counts among the results.

// Returns true if all squared pivots of r, m x m, with columns scaled to length 1, exceed WELL_CONDITIONED; false if a
// column is zero or not finite.
__device__ __forceinline__ bool is_well_conditioned(const Number* r, int m) {
    bool well = true;
    STEP_LOOP
    for (int j = 0; j < m; ++j) {
        const Number square = squares_in_order(r + j * m, j + 1), pivot = r[j * m + j];
        well &= isfinite(square) && pivot * pivot > WELL_CONDITIONED * square;
    }
    return well;
}

// Writes the inverse of r, m x m upper triangular, to `inverse`; each lane computes whole columns.
__device__ __forceinline__ void invert(Group g, const Number* r, int m, Number* inverse) {
    each(g, m, [&](int j) {
        Number* x = inverse + j * m;
        STEP_LOOP
        for (int i = 0; i <= j; ++i) x[i] = i == j ? 1.0 : 0.0;
        STEP_LOOP
        for (int i = j; i >= 0; --i) {
            const Number solved = quotient(x[i], r[i * m + i]);
            x[i] = solved;
            STEP_LOOP
            for (int l = 0; l < i; ++l) x[l] -= solved * r[i * m + l];
        }
    });
    g.sync();
}

// Returns the inner product of rows i >= j of the inverse.
__device__ __forceinline__ Number rows_product(const Number* inverse, int m, int i, int j) {
    Number sum = 0.0;
    STEP_LOOP
    for (int c = i; c < m; ++c) sum += inverse[c * m + i] * inverse[c * m + j];
    return sum;
}

// Returns the standard deviation of a weighted residual: 1 if sigma is absolute; otherwise the estimate from the
// scatter about the fit, as in `Influence::row_error`. With a robust loss and absolute sigma, returns the estimate but
// at least 1, as in `Influence::row_error_from`.
__device__ __forceinline__ Number row_error(const Batch& batch, const State& s, const Number* influence, int rank) {
    if (!WEIGHS && batch.absolute) return 1.0;
    const i64 degrees = s.points_counted - rank;
    if (degrees <= 0) return batch.absolute ? 1.0 : NOT_A_NUMBER;
    if constexpr (!WEIGHS) return root(quotient(2 * cost_of(s.present), Number(degrees)));
    const Number n = Number(s.points_counted), slope = influence[2] / n;
    if (!(slope > 0.0)) return NOT_A_NUMBER;
    const Number variance = fmax(influence[3] / n / (slope * slope) - 1, Number(0));
    const Number scale = (1 + Number(rank) / n * variance) * (influence[1] / Number(degrees)) / slope;
    const Number error = sqrt(scale * (influence[4] / influence[2]));
    return batch.absolute && error < 1 ? Number(1) : error;
}

// Returns the Reason in the first word of the counts of a fit.
__device__ __forceinline__ i64 reason_in(const unsigned* counts) { return counts[0] & 0xffffu; }

// Writes the cost, the weight and the counts of a fit, by one lane. `low`, `high`: bit sets of the parameters on their
// bounds.
__device__ __forceinline__ void write_end(const Batch& batch, i64 fit, const State& s, i64 reason, int rank,
                                          unsigned low, unsigned high, const Number* influence) {
    batch.out.costs[fit] = cost_of(s.present);
    if constexpr (WEIGHS) batch.out.weights[fit] = influence[0];
    unsigned* counts = batch.out.counts + fit * COUNTS;
    counts[0] = unsigned(reason) | unsigned(rank) << 16;
    counts[1] = unsigned(s.points_counted);
    counts[2] = unsigned(s.iterations);
    counts[3] = unsigned(s.evaluations);
    counts[4] = low | high << 16;
}
