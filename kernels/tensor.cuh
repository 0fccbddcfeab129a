// Sums of products for many parameters in the f64 tensor cores of sm_80 and sm_90. Each warp evaluates 32 points, keeps
// their rows in its part of shared memory, and multiplies them 4 points at a time.
//
// A matrix instruction adds the products of 8 left columns with 8 right columns over 4 points. Lane l holds the numbers
// of point l % 4 in column l / 4 of either side, so that one load serves all products of a group of 8 columns. The lane
// receives the sums of left column l / 4 with the right columns 2 (l % 4) and 2 (l % 4) + 1.
// Source: PTX ISA, "Matrix fragments for mma.m8n8k4 with .f64".

// Groups of 8 columns of J; the last may be padded. The residual is not among them: for 8, 16, 24 or 32 parameters it
// would need a group of its own.
constexpr int SIDES = (FREE + 7) / 8;
constexpr int SIDE_PAIRS = SIDES * (SIDES + 1) / 2;
// Distance between columns of a warp's rows. A load has no bank conflicts, because it is 4 modulo 16.
constexpr int WARP_PITCH = 36;
constexpr int WARP_ROWS = SIDES * 8 * WARP_PITCH;

// Adds the products of 8 left and 8 right columns over 4 points. All lanes of the warp call it together.
__device__ __forceinline__ void add_products(double (&sums)[2], double left, double right) {
#ifdef __CUDA_ARCH__
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(sums[0]), "+d"(sums[1]) : "d"(left), "d"(right));
#else
    __shared__ double factors[WARPS][2][32];
    const int lane = threadIdx.x & 31;
    double* a = factors[threadIdx.x / 32][0];
    double* b = factors[threadIdx.x / 32][1];
    a[lane] = left;
    b[lane] = right;
    __syncwarp();
    for (int p = 0; p < 4; ++p)
        for (int e = 0; e < 2; ++e)
            sums[e] = fma(a[lane / 4 * 4 + p], b[(lane % 4 * 2 + e) * 4 + p], sums[e]);
    __syncwarp();
#endif
}

// Writes the block's SUMMED sums to `block_sums`.
__device__ __forceinline__ void sum_points(
    const Data& data, const Common& common, double floor, double* block_sums) {
    static_assert(SUMMED <= WARP_ROWS, "a warp's sums fit where its rows are");
    __shared__ double rows[WARPS][WARP_ROWS];
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    double* own = rows[warp];
    for (int p = FREE * WARP_PITCH + lane; p < WARP_ROWS; p += 32) own[p] = 0.0;

    double products[SIDE_PAIRS][2], gradient[SIDES], square = 0.0, costs = 0.0;
#pragma unroll
    for (int m = 0; m < SIDE_PAIRS; ++m) products[m][0] = products[m][1] = 0.0;
#pragma unroll
    for (int g = 0; g < SIDES; ++g) gradient[g] = 0.0;
    const i64 stride = (i64)gridDim.x * THREADS;
    i64 first = (i64)blockIdx.x * THREADS + 32 * warp, i = first + lane;
    Point next;
    if (i < data.points) next = load_point(data, i);
    const double* fragments = own + lane / 4 * WARP_PITCH + lane % 4;
    for (; first < data.points; first += stride) {
        double row[K], cost;
        row_or_zeros(i < data.points, next, data, common, floor, row, cost);
        // All lanes have read the rows of the last points.
        __syncwarp();
#pragma unroll
        for (int j = 0; j < FREE; ++j) own[j * WARP_PITCH + lane] = row[j];
        const double residual = row[FREE];
        square = fma(residual, residual, square);
        if constexpr (LOSS != LINEAR) costs += cost;
        i += stride;
        // The next point is loaded while the products are formed.
        if (i < data.points) next = load_point(data, i);
        __syncwarp();
#pragma unroll
        for (int step = 0; step < 8; ++step) {
            double side[SIDES];
#pragma unroll
            for (int g = 0; g < SIDES; ++g) side[g] = fragments[g * 8 * WARP_PITCH + 4 * step];
            const double of_point = __shfl_sync(ALL_LANES, residual, 4 * step + lane % 4);
#pragma unroll
            for (int g = 0; g < SIDES; ++g) gradient[g] = fma(side[g], of_point, gradient[g]);
#pragma unroll
            for (int right = 0; right < SIDES; ++right)
#pragma unroll
                for (int left = 0; left <= right; ++left)
                    add_products(products[right * (right + 1) / 2 + left], side[left], side[right]);
        }
    }

    // The warp's sums take the place of its rows.
    __syncwarp();
#pragma unroll
    for (int right = 0; right < SIDES; ++right)
#pragma unroll
        for (int left = 0; left <= right; ++left)
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                const int row = left * 8 + lane / 4, column = right * 8 + lane % 4 * 2 + e;
                if (row <= column && column < FREE)
                    own[column * (column + 1) / 2 + row] = products[right * (right + 1) / 2 + left][e];
            }
#pragma unroll
    for (int g = 0; g < SIDES; ++g) {
        double total = gradient[g];
        total += __shfl_xor_sync(ALL_LANES, total, 1);
        total += __shfl_xor_sync(ALL_LANES, total, 2);
        const int column = g * 8 + lane / 4;
        if (lane % 4 == 0 && column < FREE) own[FREE * (FREE + 1) / 2 + column] = total;
    }
    square = warp_total(square);
    if (lane == 0) own[PRODUCTS - 1] = square;
    if constexpr (LOSS != LINEAR) {
        costs = warp_total(costs);
        if (lane == 0) own[PRODUCTS] = costs;
    }
    __syncthreads();
#pragma unroll 1
    for (int m = threadIdx.x; m < SUMMED; m += THREADS) {
        double total = rows[0][m];
#pragma unroll
        for (int w = 1; w < WARPS; ++w) total += rows[w][m];
        block_sums[m] = total;
    }
}
