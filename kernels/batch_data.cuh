// The fits of a batch in device memory: where the points, the starts and the bounds of each are.

// What is known of the errors of the samples: which standard deviation is whose.
enum SigmaOf : i64 { NO_SIGMA, OF_FIT, OF_POINT, OF_SAMPLE };

// Where the numbers of the fits go, arrays with one row per fit.
struct Results {
    double* params;       // fits * PARAMS
    double* errors;       // fits * PARAMS
    double* costs;
    double* covariances;  // fits * PARAMS * PARAMS, or null
    unsigned* counts;     // fits * COUNTS
};

// Numbers of `counts`: the kind, the point that it speaks of, accepted steps, evaluations, points that count,
// rank, two sets of bits: the free parameters that a lower and an upper bound holds; and the two halves of the sum
// of the weights, the lower first, under a robust loss.
constexpr int COUNTS = 10;

// All fits of a launch; all members take 8 bytes, so that the host writes it as words. Indices count from the
// first fit of the launch.
struct Batch {
    // x: columns of `points` numbers that all fits share or, if `own`, one number per sample. y: the samples,
    // one fit after the other. weight: null. constant_weight: of every sample where there is no sigma.
    // points: those of each fit, where all have as many.
    Data data;
    const double* sigma;         // as `sigma_of` says, or null
    const unsigned char* mask;   // one byte per sample or, if `mask_shared`, per point, 0 where it does not count; or null
    const i64* offsets;          // fits + 1: fit f has the samples offsets[f] - offsets[0] on; or null
    const double* starts;        // PARAMS numbers of fit f at starts + f * start_stride
    const double* lower;         // PARAMS bounds of all fits
    const double* upper;
    const double* own_lower;     // fits * PARAMS bounds in place of those of the free parameters, or null
    const double* own_upper;
    i64 fits;
    i64 own;
    i64 sigma_of;
    i64 mask_shared;
    i64 start_stride;
    i64 omit;                    // whether points that are not finite are left out, not refused
    i64 absolute;                // whether errors follow from sigma, not from the scatter
    i64 clamp_start;             // whether starts outside the bounds are moved onto them
    i64 underdetermined;         // whether there may be fewer points than free parameters
    i64 continued;               // whether fits go on from where the launch before this one left them in the results
    i64 limit;                   // evaluations of a fit at most
    double ftol;
    double xtol;
    double gtol;
    double initial_radius;
    double floor;                // of the robust correction while iterating
    i64 free[FREE];              // positions of the free parameters
    i64 unused[FREE];            // whether the model is without them
    Results out;
};

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

// The standard deviation of point i, 1 / constant_weight where none is given.
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
    point.weight = (Term)(batch.sigma ? 1.0 / sigma_at(batch, span, i) : batch.data.constant_weight);
    return point;
}

// Whether x, y and sigma of point i, as read, are numbers to compute with.
__device__ __forceinline__ bool is_usable(const Batch& batch, const Span& span, i64 i, const Point& point) {
    return isfinite(point.y) && isfinite(point.weight) && point.weight > 0
        && columns_are_finite(batch.data, batch.own ? span.first + i : i);
}
