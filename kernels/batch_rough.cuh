// End of a fit in f32 before the stage in f64: tests whether its result is final, and passes it to that stage if not.

// Returns true if f64 would not change the result in `s`.
__device__ __noinline__ bool is_good_in_f32(Group g, const Batch& batch, const Span& span, const State& s) {
    if (!ends_within_errors(s) || !rounding_is_harmless(s)) return false;
    Extent extent = empty_extent();
#pragma unroll 1
    for (i64 i = g.rank; i < span.points; i += g.size) {
        if (!is_masked_in(batch, span, i)) continue;
        const Point point = point_at(batch, span, i);
        if (is_usable(batch, span, i, point)) extend(extent, point.x);
    }
    return are_apart(g, extent);
}

// Returns true if f64 would write the same standard errors and find the same parameters on their bounds: all parameters
// that are not on a bound are far from their bounds, compared with the written errors, and the gradient clearly holds the
// others on theirs.
__device__ __noinline__ bool confirms_errors(Group g, const Batch& batch, const Span& span, const State& s,
                                             const double* influence) {
    const double* errors = batch.out.errors + span.fit * PARAMS;
    const double residual = residual_of(s) / sqrt(double(s.points_counted));
    int kept = FREE;
#pragma unroll 1
    for (int j = 0; j < FREE; ++j) kept -= is_held(s, j);
    const double of_row = row_error(batch, s, influence, kept);
    bool clear = true;
    g.sync();
#pragma unroll 1
    for (int j = 0; j < FREE; ++j) {
        const double value = s.present.params[s.free[j]], error = errors[s.free[j]];
        clear &= is_held(s, j) ? fabs(s.gradient[j]) > 2.0 * HARMLESS * s.norms[j] * residual
                               : is_clear(value, s.lower[j], s.upper[j], error) && is_error_of_f64(s, j, error, of_row);
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
