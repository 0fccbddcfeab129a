// Complete fits of a batch by groups of lanes: each group runs a fit from its first evaluation to its standard
// errors, and then the next fit.

// Returns true if a fit with this termination needs a second run, as in `src/solver/runs.rs`.
__device__ __forceinline__ bool ends_badly(const State& s) {
    switch (s.termination) {
        case NO_PROGRESS:
        case DEGENERATE:
        case MODEL_NON_FINITE:
        case ZERO_GRADIENT_AT_START: return s.evaluations < s.limit;
        default: return false;
    }
}

// Returns a value 1 % away from p: farther from 0 or, if a bound prevents that, closer to 0; halfway to the farther
// bound if both bounds are near.
__device__ __forceinline__ double beside(double p, double low, double high) {
    const double step = p == 0.0 ? 0.01 : 0.01 * p;
    const double up = p + step, down = p - step;
    if (isfinite(up) && low <= up && up <= high) return up;
    if (isfinite(down) && low <= down && down <= high) return down;
    return high - p >= p - low ? p + 0.5 * (high - p) : p - 0.5 * (p - low);
}

// Returns true if the sums at the start are unsafe only because parameters have no effect there; then requests a
// second evaluation, as the host does. Returns false for any other cause.
__device__ __noinline__ bool only_without_effect(Group g, const Batch& batch, const Span& span, Bench& bench) {
    State& s = bench.state;
    bool wrong = !all_finite(g, s.trial.sums, SUMS);
#pragma unroll 1
    for (int j = 0; j < FREE; ++j) {
        const double square = product(s.trial.sums, j, j);
        wrong |= square != 0.0 && !(1e-200 <= square && square <= 1e200);
    }
    if (wrong) return false;
    // A sum of squares can also be 0 because squares of partials underflow.
    prepare_lanes(g, s.trial.params, bench.common);
#pragma unroll 1
    for (i64 i = g.rank; i < span.points; i += g.size) {
        Term row[K], cost, influence[INFLUENCES];
        row_at(batch, span, i, bench.common, s.floor, row, cost, influence);
#pragma unroll
        for (int j = 0; j < FREE; ++j) wrong |= row[j] != 0.0 && product(s.trial.sums, j, j) == 0.0;
    }
    if (g.any(wrong)) return false;
    if (g.rank == 0) {
        s.without_effect = 1;
        s.request = EVALUATE;
    }
    g.sync();
    return true;
}

// Runs the fit from the state's request to its termination. Returns false if the host must handle the start.
__device__ __noinline__ bool run_to_end(Group g, const Batch& batch, const Span& span, Bench& bench) {
    State& s = bench.state;
#pragma unroll 1
    while (s.request != DONE) {
        if (s.request == HOST && !only_without_effect(g, batch, span, bench)) return false;
        if (s.request == EVALUATE) {
            sum_fit(g, batch, span, s.trial.params, s.floor, bench, s.trial.sums);
            if (is_far_from_start(batch, s)) return false;
            evaluated(g, s);
        } else {
            factor_fit(g, batch, span, s.present.params, bench);
            factored(g, s, bench.pass.factor);
        }
        advance(g, s, bench.scratch);
    }
    return true;
}

// Prepares the second run: selects the other scaling, and moves the start if `beside_start`, because no parameter had
// an effect at the first start.
__device__ __forceinline__ void begin_again(Group g, State& s, bool beside_start) {
#pragma unroll 1
    for (int j = g.rank; beside_start && j < FREE; j += g.size) {
        double& param = s.trial.params[s.free[j]];
        param = beside(param, s.lower[j], s.upper[j]);
    }
    if (g.rank == 0) s.scaling = PRESENT;
    g.sync();
}

// Runs one fit in f32, before the stage in f64.
__device__ __noinline__ void make_rough_fit(Group g, const Batch& batch, i64 fit, Bench& bench) {
    State& s = bench.state;
    Span span = span_of(batch, fit);
    const unsigned* counts = batch.out.counts + fit * COUNTS;
    Before before = {0, 0};
    if (batch.continued) before = {counts[2], counts[3]};
    unsigned kind, point;
    const bool ended = begin_fit(g, batch, before, span, s, kind, point) && run_to_end(g, batch, span, bench);
    bool good = ended && batch.keep && is_good_in_f32(g, batch, span, s);
    if (good) {
        // All lanes must have read the norms of the columns, which are recomputed.
        g.sync();
        finish_fit(g, batch, span, bench);
        good = confirms_errors(g, batch, span, s, bench.influence);
    }
    if (!good) hand_on(g, batch, span, before, s, ended);
}

// Runs one fit. If it ends badly it runs again, and the results are then from the better run.
// `bench`: memory that all lanes share.
__device__ __noinline__ void make_fit(Group g, const Batch& batch, i64 fit, Bench& bench) {
    State& s = bench.state;
    Span span = span_of(batch, fit);
    unsigned* counts = batch.out.counts + fit * COUNTS;
    unsigned kind = NONE, point = 0;
    Before before = {0, 0};
    if (batch.continued) {
        kind = unsigned(reason_in(counts));
        if (kind == NONE || kind == BAD_DATA || (batch.keep && is_converged(kind))) return;
        before = {counts[2], counts[3]};
    }
    // If the limit of evaluations ended the first stage, the host handles the fit.
    bool done = kind != MAX_EVALUATIONS, again = false, beside_start = false;
    double first_cost = 0.0;
#pragma unroll 1
    while (done) {
        done = begin_fit(g, batch, before, span, s, kind, point);
        if (!done) break;
        if (again) begin_again(g, s, beside_start);
        done = run_to_end(g, batch, span, bench);
        if (!done) break;
        // The second run follows only if the first has not converged. Its result is written if it has converged or has
        // the lower cost.
        if (!again || is_converged(s.termination) || cost_of(s.present) < first_cost) {
            finish_fit(g, batch, span, bench);
        } else if (g.rank == 0) {
            counts[2] = unsigned(s.iterations);
            counts[3] = unsigned(s.evaluations);
        }
        if (again || !ends_badly(s)) break;
        again = true;
        beside_start = s.termination == ZERO_GRADIENT_AT_START;
        first_cost = cost_of(s.present);
        before = {s.iterations, s.evaluations};
    }
    g.sync();
    if (!done && g.rank == 0) {
        counts[0] = kind == BAD_DATA ? BAD_DATA : NONE;
        counts[1] = point;
    }
}

// Runs every fit of `batch`, or the fits of a list, and writes their results. `next`: number of fits that groups have
// started, initially 0. `left`: null, or the number of fits to run, which follow. Each group starts the next fit when it
// is free, so that a slow fit does not delay others. A fit whose kind is NONE or BAD_DATA has no other results.
//
// Launch: BATCH_THREADS threads, any number of blocks; results depend on neither. Shared memory: GROUPS *
// sizeof(Bench) bytes. Memory traffic of a fit: its samples, and its columns, sigma and mask if it has its own, in
// the types in which they are stored. They are read once by the scan and once by each evaluation. Only the first of
// these reads comes from device memory; the others come from the caches. An evaluation costs K (K + 1) / 2 fused
// multiply-adds per point in addition to the model, and the step after it about 4 FREE^3 operations.
extern "C" __global__ void __launch_bounds__(BATCH_THREADS, RESIDENT_THREADS / BATCH_THREADS) make_fits(
    const Batch* batch, unsigned long long* next, const unsigned* left) {
    __shared__ Bench benches[GROUPS];
    const Group g;
    const i64 fits = left ? i64(left[0]) : batch->fits;
    while (true) {
        const i64 number = i64(g.first(g.rank == 0 ? atomicAdd(next, 1ull) : 0ull));
        if (number >= fits) return;
        const i64 fit = left ? i64(left[1 + number]) : number;
        Bench& bench = benches[threadIdx.x / Group::size];
        if constexpr (ROUGH)
            make_rough_fit(g, *batch, fit, bench);
        else
            make_fit(g, *batch, fit, bench);
    }
}
