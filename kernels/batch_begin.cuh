// Beginning of a fit of a batch: scans its points, checks its start and fills in its state. The host runs
// unusual fits and reports their errors.

// Range of |y| / sigma and of 1 / sigma in which squares need no scaling: 2^-300 to 2^300, in f32 2^-60 to 2^60.
constexpr double LEAST_ORDINARY = ROUGH ? 8.673617379884035e-19 : 4.909093465297727e-91;
constexpr double MOST_ORDINARY = ROUGH ? 1.152921504606847e18 : 2.037035976334486e90;

__device__ __forceinline__ bool is_ordinary(double magnitude) {
    return LEAST_ORDINARY <= magnitude && magnitude <= MOST_ORDINARY;
}

// Total and maximum over the lanes of a group, with the same bits in all lanes.
__device__ __forceinline__ double lanes_total(Group g, double value) {
#pragma unroll
    for (int other = Group::size / 2; other > 0; other /= 2) value += g.from(value, other);
    return value;
}
__device__ __forceinline__ double lanes_most(Group g, double value) {
#pragma unroll
    for (int other = Group::size / 2; other > 0; other /= 2) value = fmax(value, g.from(value, other));
    return value;
}

// Result of a scan of the points of a fit.
struct Look {
    i64 used;         // number of used points
    double square;    // sum of squares of y / sigma, or of the counts
    double signal;    // sum of squares of the weighted response about its mean, or infinite if it does not vary
    double weight;    // the largest 1 / sigma
    double size;      // the largest |y| / sigma
    i64 bad_sample;   // index of the first sample that is not finite, or -1
    bool odd;         // true if another problem requires the host to run the fit
};

// Scans all points. Reads each number of y, x and sigma once, 8 bytes if it is stored as f64.
__device__ __noinline__ Look look_at(Group g, const Batch& batch, const Span& span) {
    double used = 0.0, square = 0.0, weight = 0.0, size = 0.0;
    // For the signal: `weights` is the sum of the squared weights, or of the squared counts; `mean` is the sum of the
    // responses times their squared weights.
    double weights = 0.0, mean = 0.0;
    // First bad point i as -(i + 1), so that the maximum selects it; -infinity if there is none.
    double bad = -INFINITE;
    bool odd = false;
#pragma unroll 1
    for (i64 i = g.rank; i < span.points; i += g.size) {
        if (!is_masked_in(batch, span, i)) continue;
        const Point point = point_at(batch, span, i);
        if (is_usable(batch, span, i, point)) {
            const double row = double(point.y) * double(point.weight);
            used += 1.0;
            square = LOSS == POISSON ? square + point.y : fma(row, row, square);
            weights += LOSS == POISSON ? row * row : double(point.weight) * double(point.weight);
            mean = fma(double(point.weight), row, mean);
            weight = fmax(weight, double(point.weight));
            size = fmax(size, fabs(row));
            odd |= LOSS == POISSON && point.y < 0;
        } else if (!isfinite(point.y)) {
            bad = fmax(bad, -double(i + 1));
            // An invalid sigma has precedence over an invalid sample.
            odd |= !(isfinite(point.weight) && point.weight > 0);
        } else {
            odd = true;
        }
    }
    bad = lanes_most(g, bad);
    used = lanes_total(g, used);
    square = lanes_total(g, square);
    weights = lanes_total(g, weights);
    mean = lanes_total(g, mean);
    // For counts, whose weights are 1, the scatter is relative to their mean.
    const double scatter = LOSS == POISSON ? weights * used / square - square : square - mean * mean / weights;
    return {i64(used), square, scatter > rounding_of(square) ? scatter : INFINITE, lanes_most(g, weight), lanes_most(g, size),
            bad == -INFINITE ? -1 : i64(-bad) - 1, g.any(odd)};
}

// Writes the start to the state's trial, and the bounds of the free parameters to the state. Returns false if the
// start or the bounds are invalid.
__device__ __forceinline__ bool take_start(Group g, const Batch& batch, i64 fit, State& s) {
    bool wrong = false;
    each(g, PARAMS, [&](int k) { s.trial.params[k] = batch.starts[fit * batch.start_stride + k]; });
    each(g, FREE, [&](int j) {
        const i64 k = batch.free[j];
        const bool own = batch.own_lower != nullptr;
        s.lower[j] = own ? batch.own_lower[fit * PARAMS + k] : batch.lower[k];
        s.upper[j] = own ? batch.own_upper[fit * PARAMS + k] : batch.upper[k];
        wrong |= !(s.lower[j] < s.upper[j]);
        s.free[j] = k;
    });
    g.sync();
    each(g, PARAMS, [&](int k) {
        double low = batch.lower[k], high = batch.upper[k];
#pragma unroll 1
        for (int j = 0; j < FREE; ++j) {
            if (s.free[j] != k) continue;
            low = s.lower[j];
            high = s.upper[j];
        }
        const double value = s.trial.params[k];
        const bool inside = low <= value && value <= high;
        wrong |= !isfinite(value) || !(inside || batch.clamp_start);
        s.trial.params[k] = clamp(value, low, high);
        s.present.params[k] = s.trial.params[k];
    });
    return !g.any(wrong);
}

// Counts of the earlier runs of a fit.
struct Before {
    i64 iterations, evaluations;
};

// Fills in the state of a fit. Returns true if the fit continues on the device. Otherwise sets `kind`: BAD_DATA with
// the index of the invalid sample in `point`, or NONE if the host must run the fit.
__device__ __noinline__ bool begin_fit(Group g, const Batch& batch, Before before, Span& span, State& s,
                                       unsigned& kind, unsigned& point) {
    kind = NONE;
    point = 0;
    g.sync();
    char* bytes = reinterpret_cast<char*>(&s);
    each(g, int(sizeof(State) / 8), [&](int i) { memset(bytes + 8 * i, 0, 8); });
    g.sync();
    if (!take_start(g, batch, span.fit, s)) return false;
    const Look look = look_at(g, batch, span);
    const bool refused = look.bad_sample >= 0 && !batch.omit;
    if (refused && !look.odd) {
        kind = BAD_DATA;
        point = unsigned(look.bad_sample);
        return false;
    }
    const bool ordinary = LOSS == POISSON || (is_ordinary(look.weight) && (look.size == 0.0 || is_ordinary(look.size)));
    const bool enough = look.used > 0 && (look.used >= FREE || batch.underdetermined);
    if (refused || look.odd || !ordinary || !enough) return false;
    span.whole = look.used == span.points;
    span.darkest = darkest_of(look.square, double(look.used));
    if (g.rank == 0) {
        s.request = EVALUATE;
        s.evaluations = before.evaluations;
        s.iterations = s.earlier = before.iterations;
        set_rules(batch, look.used, s);
        s.unused = batch.unused;
        s.square = look.square;
        s.signal = look.signal;
        s.rounding = rounding_of(look.square);
        s.floor = batch.floor;
    }
    g.sync();
    return true;
}
