// Sums of products for many parameters: rows of a tile of points pass through shared memory, and each
// thread sums the products of two groups of columns over a slice of the points.
//
// With two groups of G columns, G * G fused multiply-adds are fed by 2 G loads from shared memory,
// and the G * G sums of a thread stay in registers over all tiles. The distance between columns is the number of
// points of a tile, and adjacent lanes process adjacent points; therefore loads and stores have no bank conflicts.

// Distribution of columns and points among the threads of a block.
struct Tiling {
    int group;   // columns of a group
    int groups;  // the last may be padded
    int pairs;   // of groups, left <= right
    int slices;  // threads that share one pair, each with every slices-th point
};

__device__ constexpr Tiling tiling(int group) {
    int groups = (K + group - 1) / group, pairs = groups * (groups + 1) / 2;
    return {group, groups, pairs, pairs < THREADS ? THREADS / pairs : 1};
}

// Returns the tiling with the least time per point, which is proportional to (arithmetic + loads) / slices.
__device__ constexpr Tiling best_tiling() {
    Tiling best = tiling(6);
    for (int group = 5; group >= 3; --group) {
        Tiling other = tiling(group);
        int time = (group * group + 2 * group) * best.slices;
        if (time < (best.group * best.group + 2 * best.group) * other.slices) best = other;
    }
    return best;
}

constexpr Tiling TILING = best_tiling();
constexpr int GROUP = TILING.group;
constexpr int PADDED_COLUMNS = TILING.groups * GROUP;
// Points of a tile: at most one per thread, and the same number for each slice.
constexpr int TILE_POINTS = THREADS / TILING.slices * TILING.slices;
constexpr int TILE_NUMBERS = PADDED_COLUMNS * TILE_POINTS;
// At the end the same memory contains the sums of the slices for one row of each pair's products.
constexpr int ROW_SUMS = TILING.pairs * GROUP;
__device__ constexpr int larger(int a, int b) { return a > b ? a : b; }
constexpr int TILE_BYTES =
    larger(TILE_NUMBERS * sizeof(Term), ROW_SUMS * TILING.slices * sizeof(double));

// Writes the block's SUMMED sums to `block_sums`.
__device__ __forceinline__ void sum_points(
    const Data& data, const Common& common, double floor, double* block_sums) {
    __shared__ double slices[TILE_BYTES / sizeof(double)];
    Term* tile = (Term*)slices;
    const int slice = threadIdx.x % TILING.slices, pair = threadIdx.x / TILING.slices;
    const bool multiplies = pair < TILING.pairs, evaluates = threadIdx.x < TILE_POINTS;
    const GroupPair at = group_pair(pair);
    for (int p = K * TILE_POINTS + threadIdx.x; p < TILE_NUMBERS; p += THREADS) tile[p] = 0;

    Sum sums[GROUP * GROUP], costs[1];
#pragma unroll
    for (int m = 0; m < GROUP * GROUP; ++m) clear(sums[m]);
    clear(costs[0]);
    const i64 stride = (i64)gridDim.x * TILE_POINTS;
    i64 first = (i64)blockIdx.x * TILE_POINTS;
    Point next;
    i64 i = first + threadIdx.x;
    if (evaluates && i < data.points) next = load_point(data, i);
    for (; first < data.points; first += stride) {
        if (evaluates) {
            Term row[K], cost;
            row_or_zeros(i < data.points, next, data, common, floor, row, cost);
#pragma unroll
            for (int j = 0; j < K; ++j) tile[j * TILE_POINTS + threadIdx.x] = row[j];
            if constexpr (LOSS != LINEAR) add(costs[0], cost);
        }
        i += stride;
        // The next point is loaded while the products are formed.
        if (evaluates && i < data.points) next = load_point(data, i);
        __syncthreads();
        if (multiplies) {
            const Term* left = tile + at.left * GROUP * TILE_POINTS;
            const Term* right = tile + at.right * GROUP * TILE_POINTS;
#pragma unroll 1
            for (int p = slice; p < TILE_POINTS; p += TILING.slices) {
                Term a[GROUP], b[GROUP];
#pragma unroll
                for (int g = 0; g < GROUP; ++g) {
                    a[g] = left[g * TILE_POINTS + p];
                    b[g] = right[g * TILE_POINTS + p];
                }
#pragma unroll
                for (int g = 0; g < GROUP; ++g)
#pragma unroll
                    for (int h = 0; h < GROUP; ++h) add_product(sums[g * GROUP + h], a[g], b[h]);
            }
        }
        __syncthreads();
    }

    // Adds the sums of all slices, one row of the threads' products at a time.
#pragma unroll
    for (int g = 0; g < GROUP; ++g) {
        if (multiplies) {
#pragma unroll
            for (int h = 0; h < GROUP; ++h)
                slices[slice * ROW_SUMS + pair * GROUP + h] = widened(sums[g * GROUP + h]);
        }
        __syncthreads();
#pragma unroll 1
        for (int m = threadIdx.x; m < ROW_SUMS; m += THREADS) {
            double total = slices[m];
#pragma unroll 8
            for (int s = 1; s < TILING.slices; ++s) total += slices[s * ROW_SUMS + m];
            const GroupPair of = group_pair(m / GROUP);
            int row = of.left * GROUP + g, column = of.right * GROUP + m % GROUP;
            if (row <= column && column < K) block_sums[column * (column + 1) / 2 + row] = total;
        }
        __syncthreads();
    }
    if constexpr (LOSS != LINEAR) block_totals<1>(costs, block_sums + PRODUCTS);
}
