// Whole fits of a batch by groups of lanes: each group takes a fit, makes it from its first evaluation to its
// standard errors, and takes the next one.

constexpr int GROUPS = BATCH_THREADS / LANES;

// Whether the host makes another run of a fit that ended like this.
__device__ __forceinline__ bool ends_badly(const State& s) {
    switch (s.termination) {
        case NO_PROGRESS:
        case DEGENERATE:
        case MODEL_NON_FINITE:
        case ZERO_GRADIENT_AT_START: return s.evaluations < s.limit;
        default: return false;
    }
}

// What the host does about a start whose sums are not safe, where that is only because parameters have no effect
// there: nothing, but to evaluate once more. False if it is anything else.
template <class Group>
__device__ __noinline__ bool only_without_effect(Group g, const Batch& batch, const Span& span, Bench& bench) {
    State& s = bench.state;
    bool wrong = false;
#pragma unroll 1
    for (int m = 0; m < SUMS; ++m) wrong |= !isfinite(s.trial.sums[m]);
#pragma unroll 1
    for (int j = 0; j < FREE; ++j) {
        const double square = product(s.trial.sums, j, j);
        wrong |= square != 0.0 && !(1e-200 <= square && square <= 1e200);
    }
    if (wrong) return false;
    // A square of 0 may be that of a partial whose square underflows.
    prepare_lanes(g, s.trial.params, bench.common);
#pragma unroll 1
    for (i64 i = g.rank; i < span.points; i += g.size) {
        Term row[K], cost;
        row_at(batch, span, i, bench.common, s.floor, row, cost);
#pragma unroll
        for (int j = 0; j < FREE; ++j) wrong |= row[j] != 0.0 && product(s.trial.sums, j, j) == 0.0;
    }
    if (g.any(wrong)) return false;
    if (g.rank == 0) {
        s.rescaled = 1;
        s.request = EVALUATE;
    }
    g.sync();
    return true;
}

// Makes one fit. `bench`: room in memory that all lanes see.
template <class Group>
__device__ __noinline__ void make_fit(Group g, const Batch& batch, i64 fit, Bench& bench) {
    State& s = bench.state;
    Span span = span_of(batch, fit);
    unsigned* counts = batch.out.counts + fit * COUNTS;
    unsigned kind = FOR_THE_HOST, point = 0;
    Before before = {0, 0};
    if (batch.continued) {
        kind = counts[0];
        if (kind == FOR_THE_HOST || kind == BAD_DATA) return;
        before = {counts[2], counts[3]};
    }
    bool done = false;
    // A limit that ended the first stage is the host's affair.
    if (kind != MAX_EVALUATIONS && begin_fit(g, batch, before, span, s, kind, point)) {
#pragma unroll 1
        while (s.request != DONE) {
            if (s.request == HOST && !only_without_effect(g, batch, span, bench)) break;
            if (s.request == EVALUATE) {
                sum_fit(g, batch, span, s.trial.params, s.floor, bench, s.trial.sums);
                evaluated(g, s);
            } else {
                factor_fit(g, batch, span, s.present.params, bench);
                factored(g, s, bench.factor);
            }
            advance(g, s, bench.scratch);
        }
        done = s.request == DONE && !ends_badly(s);
        if (done) finish_fit(g, batch, span, bench);
    }
    g.sync();
    if (!done && g.rank == 0) {
        counts[0] = kind == BAD_DATA ? BAD_DATA : FOR_THE_HOST;
        counts[1] = point;
    }
}
