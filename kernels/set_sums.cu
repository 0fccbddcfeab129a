// Passes over several sets of points of one model, each at parameters of its own, by groups of lanes: what a joint fit needs of
// its sets. The fits of `batch` are the sets; all their points count.

// Calls `pass(set, span, bench)` for each set from `first` on, before `end`. `darkest`: the expectation of counts of each set below
// which a point without events weighs no more; null for measurements.
template <typename Pass>
__device__ __forceinline__ void each_set(Group g, const Batch& batch, const double* darkest, i64 first, i64 end, Pass pass) {
    __shared__ Bench benches[GROUPS];
    const int group = threadIdx.x / Group::size;
#pragma unroll 1
    for (i64 set = first + i64(blockIdx.x) * GROUPS + group; set < end; set += i64(gridDim.x) * GROUPS) {
        Span span = span_of(batch, set);
        if (LOSS == POISSON) span.darkest = darkest[set];
        pass(set, span, benches[group]);
    }
}

// The sums of each set at its `params`, PARAMS numbers each, into `sums`, SUMS numbers each.
//
// Launch, of both: BATCH_THREADS threads, any number of blocks; results depend on neither. Shared memory: GROUPS *
// sizeof(Bench) bytes. A pass reads y, and the set's columns and sigma, once, and writes the numbers of each set; a point
// takes K (K + 1) / 2 fused multiply-adds beside the model in sum_sets, 2 K (K + 1) in factor_sets.
extern "C" __global__ void __launch_bounds__(BATCH_THREADS, RESIDENT_THREADS / BATCH_THREADS) sum_sets(
    const Batch* batch, const double* darkest, const double* params, i64 first, i64 end, double floor, double* sums) {
    const Group g;
    each_set(g, *batch, darkest, first, end, [&](i64 set, const Span& span, Bench& bench) {
        double* found = bench.state.trial.sums;
        sum_fit(g, *batch, span, params + set * PARAMS, floor, bench, found);
        g.sync();
        copy(g, found, sums + set * SUMS, SUMS);
    });
}

// The triangular factors of the rows of each set, K * K numbers, and what is known of its influence, INFLUENCES
// numbers, into `factors`.
extern "C" __global__ void __launch_bounds__(BATCH_THREADS, RESIDENT_THREADS / BATCH_THREADS) factor_sets(
    const Batch* batch, const double* darkest, const double* params, i64 first, i64 end, double* factors) {
    const Group g;
    each_set(g, *batch, darkest, first, end, [&](i64 set, const Span& span, Bench& bench) {
        if constexpr (!WEIGHS) fill(g, bench.influence, INFLUENCES, 0.0);
        factor_fit(g, *batch, span, params + set * PARAMS, bench);
        if constexpr (WEIGHS) g.sync();
        double* found = factors + set * (K * K + INFLUENCES);
        copy(g, bench.pass.factor, found, K * K);
        copy(g, bench.influence, found + K * K, INFLUENCES);
    });
}
