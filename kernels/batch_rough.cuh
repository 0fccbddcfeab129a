// End of a fit in f32 before the stage in f64: tests whether its result is final, and passes it to that stage if not.

// Rounding error of a value in f32, relative to y: four unit roundoffs, 2^-22.
constexpr double ROUNDED = 2.384185791015625e-7;
// Largest permitted shift of a parameter by rounding, in standard errors.
constexpr double HARMLESS = 0.01;
// Smallest squared pivot of the columns of J, each scaled to length 1, that f32 determines to 1e-4.
constexpr double LEAST_PIVOT_IN_F32 = 1e-6;
// Maximum ratio of the abscissae of a fit to the range that they cover.
constexpr double MOST_DISTANT = 64.0;

// Returns true if f32 distinguishes the abscissae of a fit: the range of each column that the model reads is not small
// relative to the largest magnitude in the column.
__device__ __noinline__ bool are_apart(Group g, const Batch& batch, const Span& span) {
    real low[VARIABLES], high[VARIABLES];
#pragma unroll
    for (int v = 0; v < VARIABLES; ++v) {
        low[v] = real(INFINITE);
        high[v] = -real(INFINITE);
    }
#pragma unroll 1
    for (i64 i = g.rank; i < span.points; i += g.size) {
        if (!is_masked_in(batch, span, i)) continue;
        const Point point = point_at(batch, span, i);
        if (!is_usable(batch, span, i, point)) continue;
#pragma unroll
        for (int v = 0; v < VARIABLES; ++v) {
            low[v] = fmin(low[v], point.x[v]);
            high[v] = fmax(high[v], point.x[v]);
        }
    }
    bool apart = true;
#pragma unroll
    for (int v = 0; v < VARIABLES; ++v) {
        const double least = -lanes_most(g, -double(low[v])), most = lanes_most(g, double(high[v]));
        apart &= fmax(fabs(least), fabs(most)) <= MOST_DISTANT * (most - least);
    }
    return apart;
}

// Returns true if f64 would not change the result in `s`. Rounding moves each parameter by at most e / d standard
// errors. e is the rounding error of all values together, or of the terms whose sums they are; d is the standard
// deviation of a row.
__device__ __noinline__ bool is_good_in_f32(Group g, const Batch& batch, const Span& span, const State& s) {
    if (!is_converged(s.termination)) return false;
    const i64 freedom = s.points_counted > FREE ? s.points_counted - FREE : 1;
    const double variance = batch.absolute ? 1.0 : 2.0 * bulk_of_cost(s) / double(freedom);
    double size = sqrt(s.square);
    bool good = true;
#pragma unroll 1
    for (int j = 0; j < FREE; ++j) {
        const double pivot = s.r[j * FREE + j] / s.norms[j];
        good &= pivot * pivot > LEAST_PIVOT_IN_F32;
        size = fmax(size, s.norms[j] * fabs(s.present.q[j]));
    }
    good &= ROUNDED * size <= HARMLESS * sqrt(variance);
    return good && are_apart(g, batch, span);
}

// Returns true if f64 would find the same parameters on their bounds: all parameters that are not on a bound are far
// from their bounds, compared with the written standard errors, and the gradient clearly holds the others on theirs.
__device__ __noinline__ bool is_clear_of_bounds(Group g, const Batch& batch, const Span& span, const State& s) {
    const double* errors = batch.out.errors + span.fit * PARAMS;
    const double residual = residual_of(s) / sqrt(double(s.points_counted));
    bool clear = true;
    g.sync();
#pragma unroll 1
    for (int j = 0; j < FREE; ++j) {
        const double value = s.present.params[s.free[j]];
        const double nearest = fmin(value - s.lower[j], s.upper[j] - value);
        clear &= is_held(s, j) ? fabs(s.gradient[j]) > 2.0 * HARMLESS * s.norms[j] * residual
                               : nearest > 2.0 * HARMLESS * errors[s.free[j]];
    }
    return clear;
}

// Passes the result of the fit to the next stage. If the f32 stage failed, f64 begins at the original start.
__device__ __noinline__ void hand_on(Group g, const Batch& batch, const Span& span, const Before& before,
                                     const State& s, bool ended) {
    const i64 reason = s.termination;
    const bool led = ended && reason != ZERO_GRADIENT_AT_START && reason != DEGENERATE && reason != MODEL_NON_FINITE;
    const double* start = batch.starts + span.fit * batch.start_stride;
    double* params = batch.out.params + span.fit * PARAMS;
    each(g, PARAMS, [&](int k) { params[k] = led ? s.present.params[k] : start[k]; });
    if (g.rank == 0) {
        unsigned* counts = batch.out.counts + span.fit * COUNTS;
        counts[0] = NO_PROGRESS;
        counts[2] = unsigned(before.iterations > s.iterations ? before.iterations : s.iterations);
        counts[3] = unsigned(before.evaluations > s.evaluations ? before.evaluations : s.evaluations);
    }
}
