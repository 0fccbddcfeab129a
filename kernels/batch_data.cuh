// Data of a batch in device memory: the positions of the points of each fit, and their values.

// Samples of one fit: its points, as consecutive elements of the arrays of the batch.
struct Span {
    i64 fit;
    i64 first;   // index of the first sample of the fit
    i64 points;
    bool whole;      // true if all points are used
    double darkest;  // for counts: lower limit of the expectation in the weight of a point
};

__device__ __forceinline__ Span span_of(const Batch& batch, i64 fit) {
    if (batch.offsets == nullptr) return {fit, fit * batch.data.points, batch.data.points, true, 1.0};
    const i64 first = batch.offsets[fit];
    return {fit, first - batch.offsets[0], batch.offsets[fit + 1] - first, true, 1.0};
}

// Returns the standard deviation of point i; batch.sigma must not be null.
__device__ __forceinline__ double sigma_at(const Batch& batch, const Span& span, i64 i) {
    return batch.sigma[batch.sigma_of == OF_SAMPLE ? span.first + i : batch.sigma_of == OF_POINT ? i : span.fit];
}

__device__ __forceinline__ bool is_masked_in(const Batch& batch, const Span& span, i64 i) {
    return batch.mask == nullptr || batch.mask[batch.mask_shared ? i : span.first + i] != 0;
}

// Returns 1 / sigma of point i.
__device__ __forceinline__ Term weight_at(const Batch& batch, const Span& span, i64 i) {
    if constexpr (WEIGHTS == EACH) return Term(1.0 / sigma_at(batch, span, i));
    return Term(WEIGHTS == SAME ? batch.data.constant_weight : 1.0);
}

__device__ __forceinline__ Point point_at(const Batch& batch, const Span& span, i64 i) {
    Point point;
    load_x(batch.data, batch.own ? span.first + i : i, point.x);
    point.y = (Term)load_y(batch.data, span.first + i);
    point.weight = weight_at(batch, span, i);
    return point;
}

// Returns true if x, y and the weight of point i are finite and the weight is positive.
__device__ __forceinline__ bool is_usable(const Batch& batch, const Span& span, i64 i, const Point& point) {
    return isfinite(point.y) && isfinite(point.weight) && point.weight > 0
        && columns_are_finite(batch.data, batch.own ? span.first + i : i);
}

// Returns the lower limit of expected counts, as `darkest` in `data/loss.rs`: 2^-20 events, or 2^-20 times the mean
// count if that is below 1. `counts`: sum of the counts.
__device__ __forceinline__ double darkest_of(double counts, double points) {
    const double dark = 1.0 / 1048576.0, mean = counts / points;
    return mean > 0.0 && mean < 1.0 ? dark * mean : dark;
}

// Returns the sum of squares that rounding causes, as in `data/summary.rs`: 16 units in the last place of each value.
__device__ __forceinline__ double rounding_of(double square) { return (16.0 * EPSILON) * (16.0 * EPSILON) * square; }

// Returns the largest cost of `points` points with residuals of at most one scale, as `Loss::bulk`.
__device__ __forceinline__ double bulk_of(const Batch& batch, i64 points) {
    if (!LOSS_GROWS) return INFINITE;
    const double scale = batch.data.loss_scale;
    return 0.5 * double(points) * (scale * scale);
}

// Returns true if the points are too far from the start for Cauchy's loss; the host then handles the fit.
__device__ __forceinline__ bool is_far_from_start(const Batch& batch, const State& s) {
    if (LOSS != CAUCHY || s.evaluations > 0) return false;
    const double scale = batch.data.loss_scale;
    return 2.0 * (s.trial.sums[PRODUCTS] / scale / scale) > FAR_LOSS * double(s.points_counted);
}

__device__ __forceinline__ bool is_converged(i64 reason) { return GRADIENT <= reason && reason <= EXACT_FIT; }

// Sets the stopping rules of the batch, for fits of `points` points.
__device__ __forceinline__ void set_rules(const Batch& batch, i64 points, State& s) {
    s.limit = batch.limit;
    s.points_counted = points;
    s.ftol = batch.ftol;
    s.xtol = batch.xtol;
    s.gtol = batch.gtol;
    s.etol = batch.etol;
    s.row_error = batch.absolute ? 1.0 : 0.0;
    s.initial_radius = batch.initial_radius;
    s.bulk = bulk_of(batch, points);
}
