// The triangular factor of [J r] by Householder reflections: every warp folds rows into a factor of
// its own, then the factors of the warps and of the blocks are folded into one.
//
// Costs about 2 K^2 flops per row in addition to the model. The latency of K successive reflections dominates the
// time; therefore each fold takes as many rows as fit.

// Geometry of a fold: number of rows of each lane, and number of warps of a block that fold.
struct Folding {
    int lane_rows, warps;
};

__device__ constexpr Folding folding() {
    // Bytes of shared memory for the folds, without `Common`.
    const int room = 44000 - (int)sizeof(Common);
    for (int warps = WARPS; warps > 1; warps /= 2)
        for (int rows = 8; rows >= (warps > 2 ? 2 : 1); rows /= 2)
            if (warps * (32 * rows * K + PRODUCTS + INFLUENCES) * (int)sizeof(double) <= room) return {rows, warps};
    return {1, 1};
}

constexpr int LANE_ROWS = folding().lane_rows;
constexpr int FOLDING_WARPS = folding().warps;
constexpr int FOLD_ROWS = 32 * LANE_ROWS;

// Memory of a warp that folds: its factor, packed like the products, and the rows of the next fold,
// column j at rows + j * FOLD_ROWS.
struct Fold {
    double influence[INFLUENCES];  // sums for `Influence` over all folded points
    double r[PRODUCTS];
    double rows[K * FOLD_ROWS];
};

__device__ __forceinline__ int packed(int i, int j) { return j * (j + 1) / 2 + i; }

// Returns the larger of a and |b|; infinity if b is NaN.
__device__ __forceinline__ double larger_magnitude(double a, double b) {
    b = fabs(b);
    return b <= a ? a : (b < INFINITE ? b : INFINITE);
}

// Returns the reflection of [alpha; v] if squares exceed the range of f64. Scales v in place by a power of two first.
template <int COUNT>
__device__ __forceinline__ Reflection scaled_reflection(double alpha, double* v) {
    double size = 0.0;
#pragma unroll
    for (int q = 0; q < COUNT; ++q) size = larger_magnitude(size, v[q]);
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2)
        size = larger_magnitude(size, __shfl_xor_sync(ALL_LANES, size, mask));
    if (size == 0.0 && fabs(alpha) < INFINITE) return {1.0, 0.0, 0.0, alpha};
    size = larger_magnitude(size, alpha);
    if (!(size < INFINITE)) return {NOT_A_NUMBER, NOT_A_NUMBER, NOT_A_NUMBER, NOT_A_NUMBER};
    // With exponents of at most 1022 in magnitude, the power and its reciprocal are normal numbers.
    int exponent = ilogb(size);
    exponent = exponent > 1022 ? 1022 : exponent < -1022 ? -1022 : exponent;
    double scale = ldexp(1.0, -exponent), total = 0.0;
#pragma unroll
    for (int q = 0; q < COUNT; ++q) {
        v[q] *= scale;
        total = fma(v[q], v[q], total);
    }
    Reflection scaled = reflection_of_total(alpha * scale, fma(alpha * scale, alpha * scale, warp_total(total)));
    scaled.diagonal *= ldexp(1.0, exponent);
    return scaled;
}

// Returns the reflection of [alpha; v], the same bits in all lanes. Every lane has the same alpha and `COUNT` numbers
// of v. The reflection is the identity if v is zero, or so small relative to alpha that v'v underflows. It is NaN if v
// is not finite.
template <int COUNT>
__device__ __forceinline__ Reflection make_reflection(double alpha, double* v) {
    double squares = 0.0;
#pragma unroll
    for (int q = 0; q < COUNT; ++q) squares = fma(v[q], v[q], squares);
    squares = warp_total(squares);
    double total = fma(alpha, alpha, squares);
    // The range is narrower than the squares need, so that products of v with columns of any size do not overflow.
    if (!(total > 1e-100 && total < 1e100)) return scaled_reflection<COUNT>(alpha, v);
    if (squares == 0.0) return {1.0, 0.0, 0.0, alpha};
    return reflection_of_total(alpha, total);
}

// Folds the rows of a warp into its factor and overwrites the rows. Each lane must have written its own rows, and all
// lanes must see the factor; all lanes call this function and see the new factor afterwards. Diagonal elements have
// either sign. A column of zeros is unchanged; a NaN makes its column and all later columns NaN.
__device__ __noinline__ void fold(Fold& fold) {
    const int lane = threadIdx.x & 31;
#pragma unroll 1
    for (int j = 0; j < K; ++j) {
        double v[LANE_ROWS];
#pragma unroll
        for (int q = 0; q < LANE_ROWS; ++q) v[q] = fold.rows[j * FOLD_ROWS + 32 * q + lane];
        const Reflection reflection = make_reflection<LANE_ROWS>(fold.r[packed(j, j)], v);
        __syncwarp();
        if (lane == 0) fold.r[packed(j, j)] = reflection.diagonal;
        // Four columns at a time share one exchange of sums. Indices past the last column repeat the last
        // column; the same numbers are then written again.
#pragma unroll 1
        for (int i = j + 1; i < K; i += 4) {
            double a[4][LANE_ROWS], rho[4], product[4];
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                const int column = i + c < K ? i + c : K - 1;
                rho[c] = fold.r[packed(j, column)];
                product[c] = 0.0;
#pragma unroll
                for (int q = 0; q < LANE_ROWS; ++q) {
                    a[c][q] = fold.rows[column * FOLD_ROWS + 32 * q + lane];
                    product[c] = fma(v[q], a[c][q], product[c]);
                }
            }
            warp_totals4(product);
            __syncwarp();
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                const int column = i + c < K ? i + c : K - 1;
                const double factor = fma(reflection.bring, rho[c], reflection.turn * product[c]);
#pragma unroll
                for (int q = 0; q < LANE_ROWS; ++q)
                    fold.rows[column * FOLD_ROWS + 32 * q + lane] = fma(factor, v[q], a[c][q]);
                if (lane == 0)
                    fold.r[packed(j, column)] =
                        fma(reflection.keep, rho[c], reflection.bring * product[c]);
            }
        }
    }
    __syncwarp();
}

// Sets the fold to zero. All lanes call; afterwards any lane may write the numbers.
__device__ __forceinline__ void clear(Fold& fold) {
    for (int m = threadIdx.x & 31; m < PRODUCTS; m += 32) fold.r[m] = 0.0;
    for (int m = threadIdx.x & 31; m < INFLUENCES; m += 32) fold.influence[m] = 0.0;
    __syncwarp();
}

// Folds the rows of `count` factors; `at(f, i, j)` returns element (i, j) of factor f, i <= j. The calling
// warp folds every `stride`-th group of FOLD_ROWS rows from group `start` on.
template <class At>
__device__ __forceinline__ void fold_factors(Fold& into, i64 count, int start, int stride, At at) {
    const int lane = threadIdx.x & 31;
    for (i64 base = (i64)start * FOLD_ROWS; base < count * K; base += (i64)stride * FOLD_ROWS) {
        for (int q = 0; q < LANE_ROWS; ++q) {
            const i64 row = base + 32 * q + lane, f = row / K;
            const int i = (int)(row - f * K);
#pragma unroll 4
            for (int j = 0; j < K; ++j)
                into.rows[j * FOLD_ROWS + 32 * q + lane] = f < count && i <= j ? at(f, i, j) : 0.0;
        }
        fold(into);
    }
}

// Number of values of a factor: K * K column-major, zeros below the diagonal, then the influence of the points.
constexpr int FACTOR_NUMBERS = K * K + INFLUENCES;

// Folds the factors of the block's other warps into the factor of the first warp, and writes it to `out`,
// FACTOR_NUMBERS values. All threads call; `out` may be read after a barrier.
__device__ __forceinline__ void fold_warps(Fold* folds, double* out) {
    __syncthreads();
    if (threadIdx.x >= 32) return;
    const auto at = [folds](i64 f, int i, int j) { return folds[1 + f].r[packed(i, j)]; };
    fold_factors(folds[0], FOLDING_WARPS - 1, 0, 1, at);
    for (int m = threadIdx.x; m < K * K; m += 32) {
        const int i = m % K, j = m / K;
        out[m] = i <= j ? folds[0].r[packed(i, j)] : 0.0;
    }
    for (int m = threadIdx.x; m < INFLUENCES; m += 32) {
        double total = 0.0;
        for (int f = 0; f < FOLDING_WARPS; ++f) total += folds[f].influence[m];
        out[K * K + m] = total;
    }
}

// Computes the triangular factor of the rows of all points for the parameters in `inputs`. Writes it to `out`,
// FACTOR_NUMBERS values. `out` may be host memory: the kernel writes it but never reads it.
//
// Arguments as for `normal`, but `partial` has gridDim.x * FACTOR_NUMBERS numbers. The last block folds the
// factors of all blocks; therefore a grid of much more than sqrt(points / K) blocks is slower.
// Launch: THREADS threads, any number of blocks.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS) factor(
    Data data, Inputs inputs, double floor, double* partial, unsigned* ticket, double* out) {
    __shared__ Common common;
    __shared__ Fold folds[FOLDING_WARPS];
    prepare(inputs, common);
    const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    if (warp < FOLDING_WARPS) {
        Fold& own = folds[warp];
        clear(own);
        const i64 stride = (i64)gridDim.x * FOLDING_WARPS * FOLD_ROWS;
        double sums[INFLUENCES] = {};
        i64 base = ((i64)blockIdx.x * FOLDING_WARPS + warp) * FOLD_ROWS;
        for (; base < data.points; base += stride) {
#pragma unroll 1
            for (int q = 0; q < LANE_ROWS; ++q) {
                const i64 i = base + 32 * q + lane;
                Term row[K], cost, influence[INFLUENCES] = {};
                if (i < data.points) {
                    weighted_row(load_point(data, i), data, common, floor, row, cost, influence);
                } else {
#pragma unroll
                    for (int j = 0; j < K; ++j) row[j] = 0;
                }
#pragma unroll
                for (int j = 0; j < K; ++j) own.rows[j * FOLD_ROWS + 32 * q + lane] = row[j];
#pragma unroll
                for (int m = 0; m < INFLUENCES; ++m) sums[m] += influence[m];
            }
            fold(own);
        }
        if constexpr (WEIGHS) {
#pragma unroll
            for (int m = 0; m < INFLUENCES; ++m) {
                const double total = warp_total(sums[m]);
                if (lane == 0) own.influence[m] = total;
            }
        }
    }
    fold_warps(folds, partial + (i64)blockIdx.x * FACTOR_NUMBERS);
    if (!arrives_last(ticket, gridDim.x)) return;
    if (warp < FOLDING_WARPS) {
        clear(folds[warp]);
        const auto at = [partial](i64 f, int i, int j) { return partial[f * FACTOR_NUMBERS + j * K + i]; };
        fold_factors(folds[warp], gridDim.x, warp, FOLDING_WARPS, at);
        if (warp == 0)
            for (int m = lane; m < INFLUENCES; m += 32)
                for (i64 b = 0; b < gridDim.x; ++b) folds[0].influence[m] += partial[b * FACTOR_NUMBERS + K * K + m];
    }
    fold_warps(folds, out);
}
