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

// Makes one fit. `bench`: room in memory that all lanes see.
template <class Group>
__device__ __noinline__ void make_fit(Group g, const Batch& batch, const Results& out, i64 fit, Bench& bench) {
    State& s = bench.state;
    Span span = span_of(batch, fit);
    unsigned kind = FOR_THE_HOST, point = 0;
    bool done = false;
    if (begin_fit(g, batch, span, s, kind, point)) {
#pragma unroll 1
        while (s.request == EVALUATE || s.request == FACTOR) {
            if (s.request == EVALUATE) {
                sum_fit(g, batch, span, s.trial.params, s.floor, bench, s.trial.sums);
                evaluated(g, s);
            } else {
                factor_fit(g, batch, span, s.present.params, bench);
                factored(g, s, bench.factor);
            }
            advance(g, s, bench.scratch);
        }
        if (s.request == DONE && !ends_badly(s)) done = finish_fit(g, batch, span, bench, out);
    }
    if (!done && g.rank == 0) {
        out.counts[fit * COUNTS] = kind;
        out.counts[fit * COUNTS + 1] = point;
    }
    g.sync();
}
