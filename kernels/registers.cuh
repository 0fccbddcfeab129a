// Sums of products for few parameters: every thread keeps the sums of its points in registers.
//
// In addition to the model, a point costs K (K + 1) / 2 fused multiply-adds and FREE multiplications for the
// factors of the columns (2 FREE if points have weights). The loop reads only the points from memory.

// Number of points that a thread evaluates together. Two points give more independent instructions, but need
// more registers.
constexpr int ABREAST = FREE <= 3 ? 2 : 1;

// Loads the points first, first + stride, ... of a thread. An index past the last point loads the last point.
__device__ __forceinline__ void load_points(const Data& data, i64 first, i64 stride, Point* points) {
#pragma unroll
    for (int a = 0; a < ABREAST; ++a) {
        const i64 i = first + a * stride;
        points[a] = load_point(data, i < data.points ? i : data.points - 1);
    }
}

// Writes the block's SUMMED sums to `block_sums`.
__device__ __forceinline__ void sum_points(
    const Data& data, const Common& common, double floor, double* block_sums) {
    Sum sums[SUMS];
#pragma unroll
    for (int m = 0; m < SUMS; ++m) clear(sums[m]);
    const i64 stride = (i64)gridDim.x * THREADS;
    i64 first = (i64)blockIdx.x * THREADS + threadIdx.x;
    Point next[ABREAST];
    if (first < data.points) load_points(data, first, stride, next);
    // The next points are loaded while the current ones are evaluated.
    while (first < data.points) {
        Point points[ABREAST];
        bool counts[ABREAST];
#pragma unroll
        for (int a = 0; a < ABREAST; ++a) {
            points[a] = next[a];
            counts[a] = first + a * stride < data.points;
        }
        first += ABREAST * stride;
        load_points(data, first, stride, next);
#pragma unroll
        for (int a = 0; a < ABREAST; ++a) {
            Term row[K], cost;
            weighted_row(points[a], data, common, floor, row, cost);
            // The substitute for a point past the last is evaluated but not added.
            if (!counts[a]) continue;
            add_row(row, sums);
            if constexpr (LOSS != LINEAR) add(sums[PRODUCTS], cost);
        }
    }
    block_totals<SUMMED>(sums, block_sums);
}
