// Sums over the threads of a warp, of a block and of a grid, always in the same order.
//
// Terms are doubles, or floats whose sums are kept in two floats (COMPENSATED). The order depends only
// on the numbers of threads and blocks; therefore equal launches yield equal bits.

constexpr unsigned ALL_LANES = 0xffffffffu;
constexpr int WARPS = THREADS / 32;
// Minimum of resident blocks in the launch bounds of kernels that pass over points. Without it the compiler
// spills a few registers to fit one more block, which no pass needs.
constexpr int RESIDENT_BLOCKS = 2;

// Sum of floats with about 42 bits: `high` is the sum, and `low` the sum of its rounding errors, itself
// rounded.
struct Pair {
    float high, low;
};

template <bool IN_FLOATS>
struct Arithmetic {
    typedef double Term;
    typedef double Sum;
};
template <>
struct Arithmetic<true> {
    typedef float Term;
    typedef Pair Sum;
};
// Type of the numbers of a weighted row, and type of the sums of their products.
typedef Arithmetic<COMPENSATED>::Term Term;
typedef Arithmetic<COMPENSATED>::Sum Sum;

__device__ __forceinline__ void clear(double& sum) { sum = 0.0; }
__device__ __forceinline__ void clear(Pair& sum) { sum.high = sum.low = 0.0f; }

// sum += value
__device__ __forceinline__ void add(double& sum, double value) { sum += value; }
// sum += value; the error of high + value is computed exactly (Knuth's two-sum; Higham, 2nd ed., section 4.3).
__device__ __forceinline__ void add(Pair& sum, float value) {
    float total = sum.high + value;
    float seen = total - sum.high;
    sum.low += (sum.high - (total - seen)) + (value - seen);
    sum.high = total;
}

// sum += a b
__device__ __forceinline__ void add_product(double& sum, double a, double b) { sum = fma(a, b, sum); }
__device__ __forceinline__ void add_product(float& sum, float a, float b) { sum = fmaf(a, b, sum); }
__device__ __forceinline__ void add_product(Pair& sum, float a, float b) {
    float product = a * b;
    float rest = fmaf(a, b, -product);
    add(sum, product);
    sum.low += rest;
}

__device__ __forceinline__ double merged(double a, double b) { return a + b; }
__device__ __forceinline__ Pair merged(Pair a, Pair b) {
    add(a, b.high);
    a.low += b.low;
    return a;
}

__device__ __forceinline__ double widened(double sum) { return sum; }
__device__ __forceinline__ double widened(Pair sum) { return (double)sum.high + (double)sum.low; }

__device__ __forceinline__ double from_lane(double value, int mask) {
    return __shfl_xor_sync(ALL_LANES, value, mask);
}
__device__ __forceinline__ Pair from_lane(Pair sum, int mask) {
    Pair other;
    other.high = __shfl_xor_sync(ALL_LANES, sum.high, mask);
    other.low = __shfl_xor_sync(ALL_LANES, sum.low, mask);
    return other;
}

// Returns the total of one number per lane, the same bits in every lane.
__device__ __forceinline__ double warp_total(double value) {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(ALL_LANES, value, mask);
    return value;
}

// Replaces four numbers per lane by their totals, the same bits in every lane: 10 exchanges instead of 20.
__device__ __forceinline__ void warp_totals4(double* v) {
    int lane = threadIdx.x & 31;
    bool upper = lane & 16, odd = lane & 8;
    double a = (upper ? v[2] : v[0]) + __shfl_xor_sync(ALL_LANES, upper ? v[0] : v[2], 16);
    double b = (upper ? v[3] : v[1]) + __shfl_xor_sync(ALL_LANES, upper ? v[1] : v[3], 16);
    double total = (odd ? b : a) + __shfl_xor_sync(ALL_LANES, odd ? a : b, 8);
#pragma unroll
    for (int mask = 4; mask > 0; mask /= 2) total += __shfl_xor_sync(ALL_LANES, total, mask);
#pragma unroll
    for (int c = 0; c < 4; ++c) v[c] = __shfl_sync(ALL_LANES, total, 8 * c);
}

// Range of the numbers 0..COUNT whose totals a lane contains.
struct Share {
    int first, count;
};

// Adds up `COUNT` numbers per lane by recursive halving: at each step a lane keeps one half of its numbers and
// sends the other half to its partner. This takes COUNT exchanges; a tree for each number takes 5 COUNT.
// Afterwards sums[0..share.count] of a lane are totals over the 2 * OTHER lanes that exchange numbers.
// `from(value, bit)` returns the value of the lane whose rank differs in `bit`.
template <int COUNT, int OTHER, class Number, class From>
__device__ __forceinline__ void halve(int rank, Number* sums, Share& share, From from) {
    if constexpr (OTHER > 0) {
        constexpr int HALF = (COUNT + 1) / 2;
        const bool upper = (rank & OTHER) != 0;
#pragma unroll
        for (int i = 0; i < HALF; ++i) {
            Number other;
            clear(other);
            if (HALF + i < COUNT) other = sums[HALF + i];
            const Number given = upper ? sums[i] : other, kept = upper ? other : sums[i];
            sums[i] = merged(kept, from(given, OTHER));
        }
        if (upper) {
            share.first += HALF;
            share.count = share.count > HALF ? share.count - HALF : 0;
        } else {
            share.count = share.count < HALF ? share.count : HALF;
        }
        halve<HALF, OTHER / 2>(rank, sums, share, from);
    }
}

// Writes the totals of `COUNT` numbers per thread over the block to `out[0..COUNT]`. Contains one barrier; a
// second one is needed before other threads read `out`.
template <int COUNT>
__device__ __forceinline__ void block_totals(Sum* sums, double* out) {
    __shared__ double warps[WARPS * COUNT];
    Share share = {0, COUNT};
    halve<COUNT, 16>(threadIdx.x & 31, sums, share, [](Sum sum, int other) { return from_lane(sum, other); });
    double* warp = warps + threadIdx.x / 32 * COUNT + share.first;
#pragma unroll
    for (int i = 0; i < (COUNT + 31) / 32; ++i)
        if (i < share.count) warp[i] = widened(sums[i]);
    __syncthreads();
#pragma unroll 1
    for (int m = threadIdx.x; m < COUNT; m += THREADS) {
        double total = warps[m];
#pragma unroll
        for (int w = 1; w < WARPS; ++w) total += warps[w * COUNT + m];
        out[m] = total;
    }
}

// Returns true in the last block that arrives. The results of all blocks are then visible to this block, and the
// ticket is reset to 0. All threads of `blocks` blocks call it, after they have written their part of the block's
// results to global memory.
__device__ __forceinline__ bool arrives_last(unsigned* ticket, unsigned blocks) {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        // The fence is after the barrier, so that it covers the writes of all threads of the block.
        __threadfence();
        last = atomicAdd(ticket, 1u) == blocks - 1;
        if (last) *ticket = 0;
        __threadfence();
    }
    __syncthreads();
    return last;
}

// Calls write(m, sum of partial[b * COUNT + m] over the blocks b) for each m < COUNT. All threads of one block call it.
//
// Adjacent threads read adjacent numbers of a row of `partial`, several rows at a time if they fit; therefore
// loads are coalesced. Each thread has 16 loads in flight, because the latency of L2 dominates the time.
template <int COUNT, class Write>
__device__ __forceinline__ void sum_blocks(const double* partial, Write write) {
    constexpr int SLICES = COUNT < THREADS ? THREADS / COUNT : 1;
    __shared__ double slices[SLICES > 1 ? SLICES * COUNT : 1];
    const i64 blocks = gridDim.x;
#pragma unroll 1
    for (int item = threadIdx.x; item < SLICES * COUNT; item += THREADS) {
        const int m = item % COUNT;
        double total = 0.0;
        for (i64 b = item / COUNT; b < blocks; b += 16 * SLICES) {
            double loaded[16];
            // Numbers past the last block are 0, so that the last round also waits only once for its loads.
#pragma unroll
            for (int l = 0; l < 16; ++l) {
                const i64 block = b + l * SLICES;
                loaded[l] = block < blocks ? partial[block * COUNT + m] : 0.0;
            }
#pragma unroll
            for (int l = 0; l < 16; ++l) total += loaded[l];
        }
        if (SLICES > 1)
            slices[item] = total;
        else
            write(m, total);
    }
    if (SLICES > 1) {
        __syncthreads();
        if (threadIdx.x < COUNT) {
            double total = slices[threadIdx.x];
#pragma unroll
            for (int s = 1; s < SLICES; ++s) total += slices[s * COUNT + threadIdx.x];
            write(threadIdx.x, total);
        }
    }
}
