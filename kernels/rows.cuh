// Weighted rows of [J r] in device memory, for models with more parameters than a block can sum:
// `rows` writes them, chunk by chunk, and `gram` adds up their products.

// Writes the rows of the points first..first + count: column j of row i at matrix[j * stride + i]. Writes the point's
// share of the cost to cost[i]: C^2 rho / 2 for a loss rho with scale C, or half of the squared residual.
//
// `floor`: see `correct`. Launch: THREADS threads, any number of blocks. Reads each point and writes 8 (K + 1)
// bytes per point; the partials pass through local memory if they do not fit into registers.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS) rows(
    Data data, Inputs inputs, double floor, i64 first, i64 count, i64 stride, double* matrix, double* cost) {
    __shared__ Common common;
    prepare(inputs, common);
    const i64 step = (i64)gridDim.x * THREADS;
    for (i64 i = (i64)blockIdx.x * THREADS + threadIdx.x; i < count; i += step) {
        Term row[K], loss;
        weighted_row(load_point(data, first + i), data, common, floor, row, loss);
#pragma unroll
        for (int j = 0; j < K; ++j) matrix[j * stride + i] = row[j];
        cost[i] = LOSS == LINEAR ? Term(0.5) * row[FREE] * row[FREE] : loss;
    }
}

// A block computes the products of GRAM_COLUMNS by GRAM_COLUMNS columns, GRAM_POINTS points at a time.
// Each thread computes GRAM_SIDE by GRAM_SIDE products for one of GRAM_SLICES slices of the points.
constexpr int GRAM_SIDE = 4;
constexpr int GRAM_LINE = GRAM_COLUMNS / GRAM_SIDE;
constexpr int GRAM_SLICES = THREADS / (GRAM_LINE * GRAM_LINE);
constexpr int GRAM_POINTS = 32;
// Odd, so that points of different columns are in different banks.
constexpr int GRAM_PITCH = GRAM_POINTS + 1;

// Loads GRAM_POINTS points of GRAM_COLUMNS columns from `column` on, and zeros past the last column or point.
__device__ __forceinline__ void load_gram_tile(
    const double* matrix, i64 stride, int column, i64 point, i64 end, double* tile) {
    for (int m = threadIdx.x; m < GRAM_COLUMNS * GRAM_POINTS; m += THREADS) {
        const int c = m / GRAM_POINTS, p = m % GRAM_POINTS;
        const bool inside = column + c < K && point + p < end;
        tile[c * GRAM_PITCH + p] = inside ? __ldg(matrix + (column + c) * stride + point + p) : 0.0;
    }
}

// Adds sums over `count` points to `out`: the PRODUCTS of the K columns of `matrix`, upper triangle by
// columns, then the cost.
//
// `matrix`, `cost`, `stride`: as `rows` wrote them. `partial`: splits * SUMS numbers.
// `tickets`: one counter for each pair of groups of GRAM_COLUMNS columns, 0 before and after the launch.
// Launch: THREADS threads, pairs * splits blocks with pairs = g (g + 1) / 2, g = K / GRAM_COLUMNS
// rounded up, and any number of splits of the points. The order of the sums depends only on the splits.
// Costs per point: about K^2 flops, and 8 K g bytes through the L2 cache.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS) gram(
    const double* matrix, const double* cost, i64 count, i64 stride, i64 splits, double* partial,
    unsigned* tickets, double* out) {
    __shared__ double tiles[2 * GRAM_COLUMNS * GRAM_PITCH];
    const int pairs = gridDim.x / splits, pair = blockIdx.x % pairs;
    const i64 split = blockIdx.x / pairs;
    const GroupPair at = group_pair(pair);
    // Each split consists of whole tiles.
    const i64 chunks = (count + GRAM_POINTS - 1) / GRAM_POINTS;
    const i64 begin = split * chunks / splits * GRAM_POINTS;
    const i64 past = (split + 1) * chunks / splits * GRAM_POINTS, end = past < count ? past : count;
    const int slice = threadIdx.x / (GRAM_LINE * GRAM_LINE);
    const int x = threadIdx.x % GRAM_LINE, y = threadIdx.x / GRAM_LINE % GRAM_LINE;
    double* left = tiles;
    double* right = at.left == at.right ? left : left + GRAM_COLUMNS * GRAM_PITCH;

    double sums[GRAM_SIDE][GRAM_SIDE];
#pragma unroll
    for (int a = 0; a < GRAM_SIDE; ++a)
#pragma unroll
        for (int b = 0; b < GRAM_SIDE; ++b) sums[a][b] = 0.0;
    double cost_sum = 0.0;
    for (i64 point = begin; point < end; point += GRAM_POINTS) {
        load_gram_tile(matrix, stride, at.left * GRAM_COLUMNS, point, end, left);
        if (left != right)
            load_gram_tile(matrix, stride, at.right * GRAM_COLUMNS, point, end, right);
        if (pair == 0 && threadIdx.x < GRAM_POINTS && point + threadIdx.x < end)
            cost_sum += cost[point + threadIdx.x];
        __syncthreads();
#pragma unroll 4
        for (int p = slice; p < GRAM_POINTS; p += GRAM_SLICES) {
            double a[GRAM_SIDE], b[GRAM_SIDE];
#pragma unroll
            for (int i = 0; i < GRAM_SIDE; ++i) {
                a[i] = left[(y + i * GRAM_LINE) * GRAM_PITCH + p];
                b[i] = right[(x + i * GRAM_LINE) * GRAM_PITCH + p];
            }
#pragma unroll
            for (int i = 0; i < GRAM_SIDE; ++i)
#pragma unroll
                for (int j = 0; j < GRAM_SIDE; ++j) sums[i][j] = fma(a[i], b[j], sums[i][j]);
        }
        __syncthreads();
    }

    // Adds up the sums of the slices in order, through shared memory.
    for (int s = 1; s < GRAM_SLICES; ++s) {
        if (s > 1) __syncthreads();
        const int lane = threadIdx.x % (GRAM_LINE * GRAM_LINE);
#pragma unroll
        for (int m = 0; m < GRAM_SIDE * GRAM_SIDE; ++m) {
            double* place = tiles + m * GRAM_LINE * GRAM_LINE + lane;
            if (slice == s) *place = sums[m / GRAM_SIDE][m % GRAM_SIDE];
        }
        __syncthreads();
#pragma unroll
        for (int m = 0; m < GRAM_SIDE * GRAM_SIDE; ++m) {
            const double* place = tiles + m * GRAM_LINE * GRAM_LINE + lane;
            if (slice == 0) sums[m / GRAM_SIDE][m % GRAM_SIDE] += *place;
        }
    }
    if (slice == 0) {
#pragma unroll
        for (int i = 0; i < GRAM_SIDE; ++i)
#pragma unroll
            for (int j = 0; j < GRAM_SIDE; ++j) {
                const i64 row = at.left * GRAM_COLUMNS + y + i * GRAM_LINE;
                const i64 column = at.right * GRAM_COLUMNS + x + j * GRAM_LINE;
                if (row <= column && column < K)
                    partial[split * SUMS + column * (column + 1) / 2 + row] = sums[i][j];
            }
    }
    if (pair == 0 && threadIdx.x < 32) {
        cost_sum = warp_total(cost_sum);
        if (threadIdx.x == 0) partial[split * SUMS + PRODUCTS] = cost_sum;
    }

    // Of the blocks of a pair, the one that finishes last adds up the sums of all splits.
    if (!arrives_last(tickets + pair, splits)) return;
    for (int m = threadIdx.x; m < GRAM_COLUMNS * GRAM_COLUMNS; m += THREADS) {
        const i64 row = at.left * GRAM_COLUMNS + m % GRAM_COLUMNS;
        const i64 column = at.right * GRAM_COLUMNS + m / GRAM_COLUMNS;
        if (row <= column && column < K) {
            const i64 to = column * (column + 1) / 2 + row;
            double total = out[to];
            for (i64 s = 0; s < splits; ++s) total += partial[s * SUMS + to];
            out[to] = total;
        }
    }
    if (pair == 0 && threadIdx.x == 0) {
        double total = out[PRODUCTS];
        for (i64 s = 0; s < splits; ++s) total += partial[s * SUMS + PRODUCTS];
        out[PRODUCTS] = total;
    }
}
