// Standard errors and covariance of a fit of a batch at its end, as in `fit/batch/errors.rs`: by the inverse of a
// well-conditioned factor.

// A squared pivot above which normal equations, or R, are good enough to be inverted.
constexpr double WELL_CONDITIONED = 1e-4;

// Where the numbers of the fits go, arrays with one row per fit.
struct Results {
    double* params;       // fits * PARAMS
    double* errors;       // fits * PARAMS
    double* costs;
    double* covariances;  // fits * PARAMS * PARAMS, or null
    unsigned* counts;     // fits * COUNTS
};

// Numbers of `counts`: the kind, the point that it speaks of, accepted steps, evaluations, points that count,
// rank, and two sets of bits: the free parameters that a lower and an upper bound holds.
constexpr int COUNTS = 8;

// The least squared pivot of the columns of r, m x m, each scaled to length 1; NaN or 0 if one is zero.
__device__ __forceinline__ bool is_well_conditioned(const double* r, int m) {
    bool well = true;
#pragma unroll 1
    for (int j = 0; j < m; ++j) {
        const double square = squares_in_order(r + j * m, j + 1), pivot = r[j * m + j];
        well &= isfinite(square) && pivot * pivot > WELL_CONDITIONED * square;
    }
    return well;
}

// Brings a factor R of [J r] at the end that keeps the digits of J to s.r.
template <class Group>
__device__ __forceinline__ void last_factor(Group g, const Batch& batch, const Span& span, Bench& bench) {
    State& s = bench.state;
    // The normal equations of a robust fit carry the correction that suits the iteration.
    if (set_normal(g, s, bench.scratch) && (LOSS == LINEAR || LOSS == POISSON)) {
        double least = 1.0;
#pragma unroll 1
        for (int j = 0; j < FREE; ++j) {
            const double pivot = s.norms[j] == 0.0 ? 1.0 : s.r[j * FREE + j] / s.norms[j];
            least = fmin(least, pivot * pivot);
        }
        g.sync();
        if (least > WELL_CONDITIONED) return;
    }
    factor_fit(g, batch, span, s.present.params, bench);
    set_factor(g, s, bench.factor);
}

// Writes the inverse of r, m x m upper triangular, to `inverse`: a column for each lane.
template <class Group>
__device__ __forceinline__ void invert(Group g, const double* r, int m, double* inverse) {
#pragma unroll 1
    for (int j = g.rank; j < m; j += g.size) {
        double* x = inverse + j * m;
#pragma unroll 1
        for (int i = 0; i <= j; ++i) x[i] = i == j ? 1.0 : 0.0;
#pragma unroll 1
        for (int i = j; i >= 0; --i) {
            const double solved = x[i] / r[i * m + i];
            x[i] = solved;
#pragma unroll 1
            for (int l = 0; l < i; ++l) x[l] -= solved * r[i * m + l];
        }
    }
    g.sync();
}

// The inner product of rows i >= j of the inverse.
__device__ __forceinline__ double rows_product(const double* inverse, int m, int i, int j) {
    double sum = 0.0;
#pragma unroll 1
    for (int c = i; c < m; ++c) sum += inverse[c * m + i] * inverse[c * m + j];
    return sum;
}

// The place of parameter k among the free ones, or -1.
__device__ __forceinline__ int free_position(const State& s, int k) {
    int found = -1;
#pragma unroll 1
    for (int j = 0; j < FREE; ++j)
        if (s.free[j] == k) found = j;
    return found;
}

// Writes the covariance of the parameters; NaN where a bound holds one of the two, 0 where one is fixed.
template <class Group>
__device__ __noinline__ void write_covariance(Group g, const State& s, const double* inverse, unsigned kept,
                                              double row_error, double* out) {
    const int m = count(kept);
#pragma unroll 1
    for (int e = g.rank; e < PARAMS * PARAMS; e += g.size) {
        const int a = free_position(s, e / PARAMS), b = free_position(s, e % PARAMS);
        double value = 0.0;
        if (a >= 0 && b >= 0) {
            const int i = a > b ? a : b, j = a > b ? b : a;
            value = contains(kept, a) && contains(kept, b)
                ? rows_product(inverse, m, position(kept, i), position(kept, j)) * row_error * row_error
                : NOT_A_NUMBER;
        }
        out[e] = value;
    }
}

// Writes all numbers of a fit that has ended. False if its errors need more than this: the host's then.
template <class Group>
__device__ __noinline__ bool finish_fit(Group g, const Batch& batch, const Span& span, Bench& bench,
                                        const Results& out) {
    State& s = bench.state;
    Scratch& w = bench.scratch;
    last_factor(g, batch, span, bench);
    unsigned low = 0, high = 0;
#pragma unroll 1
    for (int j = 0; j < FREE; ++j) {
        if (!is_held(s, j)) continue;
        const bool lower = s.present.q[j] <= s.limits_low[j];
        (lower ? low : high) |= 1u << j;
    }
    const unsigned kept = ALL & ~(low | high);
    const int m = count(kept);
    g.sync();
    fill(g, s.delta, FREE, 0.0);
    g.sync();
    reduced_model(g, s, kept, w);
    if (!is_well_conditioned(w.r, m)) return false;
    invert(g, w.r, m, w.room);
    const double cost = cost_of(s.present);
    const i64 degrees = s.points_counted - m;
    const double scatter = degrees > 0 ? sqrt(2.0 * cost / double(degrees)) : NOT_A_NUMBER;
    const double row_error = batch.absolute ? 1.0 : scatter;
    double *params = out.params + span.fit * PARAMS, *errors = out.errors + span.fit * PARAMS;
#pragma unroll 1
    for (int k = g.rank; k < PARAMS; k += g.size) {
        const int j = free_position(s, k);
        const int i = j < 0 ? 0 : position(kept, j);
        double error = j < 0 ? 0.0 : NOT_A_NUMBER;
        if (j >= 0 && contains(kept, j)) error = sqrt(rows_product(w.room, m, i, i)) * row_error;
        params[k] = s.present.params[k];
        errors[k] = error;
    }
    if (out.covariances)
        write_covariance(g, s, w.room, kept, row_error, out.covariances + span.fit * PARAMS * PARAMS);
    if (g.rank == 0) {
        out.costs[span.fit] = cost;
        unsigned* counts = out.counts + span.fit * COUNTS;
        counts[0] = unsigned(s.termination);
        counts[1] = 0;
        counts[2] = unsigned(s.iterations);
        counts[3] = unsigned(s.evaluations);
        counts[4] = unsigned(s.points_counted);
        counts[5] = unsigned(m);
        counts[6] = low;
        counts[7] = high;
    }
    return true;
}
