// The normal equations of all points, for few parameters: every thread keeps the sums of its points
// in registers.
//
// Per point 8 bytes for each column, y and weight that is stored as f64; K (K + 1) / 2 fused
// multiply-adds beside the model and 2 FREE multiplications for the weights.

// Products of the columns of [J r], upper triangle by columns, then the cost.
constexpr int PRODUCTS = K * (K + 1) / 2;
constexpr int SUMS = PRODUCTS + 1;
// A linear cost is half of the last product.
constexpr int SUMMED = LOSS == LINEAR ? PRODUCTS : SUMS;

// Points of a thread that are evaluated together: more independent work where registers allow.
constexpr int ABREAST = FREE <= 3 ? 2 : 1;

__device__ __forceinline__ void add_row(const Term* row, Sum* sums) {
#pragma unroll
    for (int j = 0; j < K; ++j)
#pragma unroll
        for (int i = 0; i <= j; ++i) add_product(sums[j * (j + 1) / 2 + i], row[i], row[j]);
}

// The points first, first + stride, ... of a thread. Those beyond the end repeat the last one with
// weight 0: they add zeros, or what is not a number where that point is not one.
__device__ __forceinline__ void load_points(const Data& data, i64 first, i64 stride, Point* points) {
#pragma unroll
    for (int a = 0; a < ABREAST; ++a) {
        i64 i = first + a * stride;
        bool inside = i < data.points;
        points[a] = load_point(data, inside ? i : data.points - 1);
        if (!inside) points[a].weight = 0;
    }
}

// Sums up all points of the grid. True in exactly one block, the last to arrive, where `out` (SUMS
// numbers) is complete and visible to all threads of the block.
//
// `params`: PARAMS numbers. `columns`: FREE factors. `partial`: gridDim.x * SUMS numbers of room.
// `ticket`: 0, and 0 again afterwards. blockDim.x is THREADS, the grid is of any size.
__device__ bool normal_pass(
    const Data& data, const double* params, const double* columns, double floor, double* partial,
    unsigned* ticket, double* out) {
    __shared__ Common common;
    prepare(params, columns, common);
    Sum sums[SUMS];
#pragma unroll
    for (int m = 0; m < SUMS; ++m) clear(sums[m]);
    const i64 stride = (i64)gridDim.x * THREADS;
    i64 first = (i64)blockIdx.x * THREADS + threadIdx.x;
    Point next[ABREAST];
    if (first < data.points) load_points(data, first, stride, next);
    // The next points are on their way while these are evaluated.
    while (first < data.points) {
        Point points[ABREAST];
#pragma unroll
        for (int a = 0; a < ABREAST; ++a) points[a] = next[a];
        first += ABREAST * stride;
        load_points(data, first, stride, next);
#pragma unroll
        for (int a = 0; a < ABREAST; ++a) {
            Term row[K], cost;
            weighted_row(points[a], data, common, floor, row, cost);
            add_row(row, sums);
            if constexpr (LOSS != LINEAR) add(sums[PRODUCTS], cost);
        }
    }
    block_totals<SUMMED>(sums, partial + (i64)blockIdx.x * SUMMED);
    if (!arrives_last(ticket)) return false;
    sum_blocks<SUMMED>(partial, out);
    if (LOSS == LINEAR && threadIdx.x == 0) out[PRODUCTS] = 0.5 * out[PRODUCTS - 1];
    __syncthreads();
    return true;
}
