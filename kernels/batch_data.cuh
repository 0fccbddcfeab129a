// The fits of a batch in device memory: where the points, the starts and the bounds of each are.

// The samples of a fit.
struct Span {
    i64 fit;
    i64 first;   // sample
    i64 points;
    bool whole;      // whether all points count
    double darkest;  // of counts: the expectation below which a point without events weighs no more
};

__device__ __forceinline__ Span span_of(const Batch& batch, i64 fit) {
    if (batch.offsets == nullptr) return {fit, fit * batch.data.points, batch.data.points, true, 1.0};
    const i64 first = batch.offsets[fit];
    return {fit, first - batch.offsets[0], batch.offsets[fit + 1] - first, true, 1.0};
}

// The standard deviation of point i, where there are such.
__device__ __forceinline__ double sigma_at(const Batch& batch, const Span& span, i64 i) {
    return batch.sigma[batch.sigma_of == OF_SAMPLE ? span.first + i : batch.sigma_of == OF_POINT ? i : span.fit];
}

__device__ __forceinline__ bool is_masked_in(const Batch& batch, const Span& span, i64 i) {
    return batch.mask == nullptr || batch.mask[batch.mask_shared ? i : span.first + i] != 0;
}

__device__ __forceinline__ Point point_at(const Batch& batch, const Span& span, i64 i) {
    Point point;
    load_x(batch.data, batch.own ? span.first + i : i, point.x);
    point.y = (Term)load_y(batch.data, span.first + i);
    point.weight = Term(WEIGHTS == EACH ? 1.0 / sigma_at(batch, span, i) : WEIGHTS == SAME ? batch.data.constant_weight : 1.0);
    return point;
}

// Whether x, y and sigma of point i, as read, are numbers to compute with.
__device__ __forceinline__ bool is_usable(const Batch& batch, const Span& span, i64 i, const Point& point) {
    return isfinite(point.y) && isfinite(point.weight) && point.weight > 0
        && columns_are_finite(batch.data, batch.own ? span.first + i : i);
}
