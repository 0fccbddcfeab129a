// Standard errors and covariance at the end of a fit of a batch, as in `fit/batch/errors.rs`: from the inverse of the
// factor R if R is well-conditioned, otherwise from the singular values of R.

// Writes the factor R of [J r] at the last point to s.r, without loss of digits of J.
__device__ __forceinline__ void last_factor(Group g, const Batch& batch, const Span& span, Bench& bench) {
    State& s = bench.state;
    // With a robust loss, the normal equations contain the `floor` of the iteration (see `correct`); errors require 0.
    if (set_normal(g, s, bench.scratch) && (LOSS == LINEAR || LOSS == POISSON)) {
        double least = 1.0;
#pragma unroll 1
        for (int j = 0; j < FREE; ++j) {
            const double pivot = s.norms[j] == 0.0 ? 1.0 : s.r[j * FREE + j] / s.norms[j];
            least = fmin(least, pivot * pivot);
        }
        if (least > WELL_CONDITIONED) return;
    }
    factor_fit(g, batch, span, s.present.params, bench);
    set_factor(g, s, bench.pass.factor);
}

// Returns the position of parameter k among the free parameters, or -1.
__device__ __forceinline__ int free_position(const State& s, int k) {
    int found = -1;
#pragma unroll 1
    for (int j = 0; j < FREE; ++j)
        if (s.free[j] == k) found = j;
    return found;
}

// Properties of the estimate. The standard errors themselves are in w.part, one for each kept parameter.
struct Known {
    unsigned kept;     // the free parameters that no bound holds
    int rank;          // number of directions in their space that the data determine
    double row_error;  // standard deviation of a weighted residual
};

// Writes the covariance matrix; `of(i, j)` returns the covariance of kept parameters i >= j. An element is NaN if a
// bound holds one of its parameters, and 0 if one is fixed.
template <class Of>
__device__ __forceinline__ void write_covariance(Group g, const State& s, unsigned kept, double* out, Of of) {
    each(g, PARAMS * PARAMS, [&](int e) {
        const int a = free_position(s, e / PARAMS), b = free_position(s, e % PARAMS);
        double value = 0.0;
        if (a >= 0 && b >= 0) {
            const int i = a > b ? a : b, j = a > b ? b : a;
            value = contains(kept, a) && contains(kept, b) ? of(position(kept, i), position(kept, j)) : NOT_A_NUMBER;
        }
        out[e] = value;
    });
}

// Computes the errors from the inverse of the well-conditioned factor in w.r. `covariance`: PARAMS * PARAMS numbers,
// or null.
__device__ __noinline__ Known errors_by_inverse(Group g, const Batch& batch, Bench& bench, unsigned kept,
                                                double* covariance) {
    Scratch& w = bench.scratch;
    const int m = count(kept);
    const Known known = {kept, m, row_error(batch, bench.state, bench.influence, m)};
    invert(g, w.r, m, w.room);
    const double* inverse = w.room;
    each(g, m, [&](int i) { w.part[i] = sqrt(rows_product(inverse, m, i, i)) * known.row_error; });
    g.sync();
    if (covariance != nullptr)
        write_covariance(g, bench.state, kept, covariance, [&](int i, int j) {
            return rows_product(inverse, m, i, j) * known.row_error * known.row_error;
        });
    return known;
}

// Computes the errors from the singular values of the kept columns of the factor in s.r, as in `fit/covariance.rs`.
__device__ __noinline__ Known errors_by_decomposition(Group g, const Batch& batch, Bench& bench, unsigned kept,
                                                      double* covariance) {
    State& s = bench.state;
    Scratch& w = bench.scratch;
    // The memory of `trial` and `best` is unused: no trial or refinement follows.
    static_assert(sizeof(Spectrum) <= sizeof s.trial + sizeof s.best, "room for the spectrum");
    Spectrum& spectrum = reinterpret_cast<Spectrum&>(s.trial);
    const int m = count(kept);
    spectrum_of(g, s.r, kept, w.room, w.room + FREE * FREE, spectrum);
    const bool found = spectrum.found != 0.0;
    i64 rows = s.points_counted < ROWS_WITH_ERROR ? s.points_counted : ROWS_WITH_ERROR;
    rows = rows > PARAMS ? rows : PARAMS;
    const double least = EPSILON * double(rows) * spectrum.sigma[0];
    int rank = 0;
#pragma unroll 1
    for (int k = 0; found && k < m; ++k) rank += spectrum.sigma[k] > least;
    const Known known = {kept, rank, row_error(batch, bench.state, bench.influence, rank)};
    // Returns the inner product of rows i and j of V / sigma.
    const auto inner = [&](int i, int j) {
        double sum = 0.0;
#pragma unroll 1
        for (int k = 0; k < rank; ++k)
            sum += spectrum.v[k * m + i] / spectrum.sigma[k] * (spectrum.v[k * m + j] / spectrum.sigma[k]);
        return sum;
    };
    each(g, m, [&](int i) {
        bool lost = false;
#pragma unroll 1
        for (int k = rank; k < m; ++k) lost |= !found || fabs(spectrum.v[k * m + i]) > LEAST_PART;
        w.t[i] = sqrt(inner(i, i));
        w.part[i] = lost ? INFINITE : w.t[i] / spectrum.lengths[i] * known.row_error;
    });
    g.sync();
    if (covariance != nullptr)
        write_covariance(g, s, kept, covariance, [&](int i, int j) {
            const double a = w.part[i], b = w.part[j];
            if (i == j) return a * a;
            if (a == INFINITE || b == INFINITE) return NOT_A_NUMBER;
            return clamp(inner(i, j) / (w.t[i] * w.t[j]), -1.0, 1.0) * (a * b);
        });
    return known;
}

// Computes and writes all results of a fit that has ended.
__device__ __noinline__ void finish_fit(Group g, const Batch& batch, const Span& span, Bench& bench) {
    State& s = bench.state;
    Scratch& w = bench.scratch;
    const Results& out = batch.out;
    last_factor(g, batch, span, bench);
    unsigned low = 0, high = 0;
    bool doubtful = false;
    const double residual = residual_of(s);
#pragma unroll 1
    for (int j = 0; j < FREE; ++j) {
        if (!is_held(s, j)) continue;
        doubtful |= s.norms[j] > 0.0 && !(fabs(s.gradient[j]) > HELD * s.norms[j] * residual);
        const bool lower = s.present.q[j] <= s.lower[j];
        (lower ? low : high) |= 1u << j;
    }
    const unsigned kept = ALL & ~(low | high);
    fill(g, s.delta, FREE, 0.0);
    g.sync();
    reduced_model(g, s, kept, w);
    double* covariance = out.covariances ? out.covariances + span.fit * PARAMS * PARAMS : nullptr;
    const Known known = is_well_conditioned(w.r, count(kept))
        ? errors_by_inverse(g, batch, bench, kept, covariance)
        : errors_by_decomposition(g, batch, bench, kept, covariance);
    double *params = out.params + span.fit * PARAMS, *errors = out.errors + span.fit * PARAMS;
    each(g, PARAMS, [&](int k) {
        const int j = free_position(s, k);
        const bool estimated = j >= 0 && contains(kept, j);
        params[k] = s.present.params[k];
        errors[k] = estimated ? w.part[position(kept, j)] : j < 0 ? 0.0 : NOT_A_NUMBER;
    });
    if (g.rank == 0) {
        // If the gradient hardly presses a parameter against its bound, the host decides, because only the host has
        // second derivatives.
        const i64 reason = doubtful ? i64(NONE) : s.termination;
        write_end(batch, span.fit, s, reason, known.rank, low, high, bench.influence);
    }
}
