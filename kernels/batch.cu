// Entry point of batches: one persistent kernel makes all fits.

// Threads resident at once: they ask for 128 registers each, or for 168 where the sums of 6 to 8 parameters need them.
constexpr int RESIDENT_THREADS = FREE > 5 && FREE <= 8 ? 384 : 512;

// Makes every fit of `batch` and writes what it found to the batch's results. `next`: the number of fits that are
// taken, 0 at first; each group takes the next one, so that a slow fit delays nobody. A fit whose kind is
// FOR_THE_HOST or BAD_DATA has no other numbers.
//
// Launch: BATCH_THREADS threads, any number of blocks; results depend on neither. Shared memory: GROUPS *
// sizeof(Bench) bytes. A fit reads every sample, and what is its own of columns, sigma and mask, as they are stored,
// once to look at them and once for each evaluation, from the caches but for the first time; an evaluation takes
// K (K + 1) / 2 fused multiply-adds a point beside the model, and the step after it about 4 FREE^3 operations.
extern "C" __global__ void __launch_bounds__(BATCH_THREADS, RESIDENT_THREADS / BATCH_THREADS) make_fits(
    const Batch* batch, unsigned long long* next) {
    __shared__ Bench benches[GROUPS];
    const Lanes<LANES> g;
    while (true) {
        const i64 fit = i64(g.first(g.rank == 0 ? atomicAdd(next, 1ull) : 0ull));
        if (fit >= batch->fits) return;
        make_fit(g, *batch, fit, benches[threadIdx.x / LANES]);
    }
}
