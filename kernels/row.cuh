// Weighted row of [J r] of one point: FREE partials and the residual.

// Number of sums over the points. The linear loss needs no sum of costs: its cost is half of the last product.
constexpr int SUMMED = LOSS == LINEAR ? PRODUCTS : SUMS;
// True if the loss weights the points by their influence.
constexpr bool WEIGHS = LOSS != LINEAR && LOSS != POISSON;

// Numbers shared by all points of a pass, in shared memory. `u`: numbers of the model that do not depend on
// the point. `columns`: factors of the columns of J, if they have factors.
struct Common {
    real u[UNIFORMS];
    Term columns[SCALED ? FREE : 1];
};

// Fills `common`. All threads of the block must call this function; all may read `common` afterwards.
__device__ __forceinline__ void prepare(const Inputs& inputs, Common& common) {
    // One thread copies each number with a constant index: kernel arguments cannot be indexed dynamically in place.
    if (threadIdx.x == 0) {
        model_uniforms(inputs.params, common.u);
#pragma unroll
        for (int j = 0; j < FREE; ++j) common.columns[j] = (Term)inputs.columns[j];
    }
    __syncthreads();
}

// One point as it is read from memory.
struct Point {
    real x[VARIABLES];
    Term y, weight;
};

__device__ __forceinline__ Point load_point(const Data& data, i64 i) {
    Point point;
    load_x(data, i, point.x);
    point.y = (Term)load_y(data, i);
    point.weight = Term(WEIGHTS == EACH ? __ldg(data.weight + i) : WEIGHTS == SAME ? data.constant_weight : 1.0);
    return point;
}

// Computes the weighted row of a point. `row`: K numbers. `cost`: loss of the point, not written if the loss is linear.
// `influence`: INFLUENCES numbers, written only if LOSS is neither LINEAR nor POISSON.
__device__ __forceinline__ void weighted_row(
    const Point& point, const Data& data, const Common& common, double floor, Term* row, Term& cost, Term* influence) {
    real out[K];
    model_point(common.u, point.x, out);
    Term residual = ((Term)out[0] - point.y) * point.weight;
    Term factor = point.weight;
    if constexpr (LOSS == POISSON) {
        factor = count_row((Term)out[0], point.y, (Term)data.loss_scale, residual, cost);
    } else if constexpr (LOSS != LINEAR) {
        factor *= correct((Term)data.loss_scale, (Term)floor, residual, cost, influence);
    }
#pragma unroll
    for (int j = 0; j < FREE; ++j) {
        row[j] = (Term)out[1 + j] * factor;
        if constexpr (SCALED) row[j] *= common.columns[j];
    }
    row[FREE] = residual;
}

__device__ __forceinline__ void weighted_row(
    const Point& point, const Data& data, const Common& common, double floor, Term* row, Term& cost) {
    Term influence[INFLUENCES];
    weighted_row(point, data, common, floor, row, cost, influence);
}

// As weighted_row if there is a point; otherwise the row and the cost are 0.
__device__ __forceinline__ void row_or_zeros(
    bool is_point, const Point& point, const Data& data, const Common& common, double floor, Term* row, Term& cost) {
    cost = 0;
    if (is_point) {
        weighted_row(point, data, common, floor, row, cost);
    } else {
#pragma unroll
        for (int j = 0; j < K; ++j) row[j] = 0;
    }
}

// Adds the products of all pairs of numbers of a row to `sums`.
template <typename S>
__device__ __forceinline__ void add_row(const Term* row, S* sums) {
#pragma unroll
    for (int j = 0; j < K; ++j)
#pragma unroll
        for (int i = 0; i <= j; ++i) add_product(sums[j * (j + 1) / 2 + i], row[i], row[j]);
}

// A pair of groups of columns, left <= right. Its number is right (right + 1) / 2 + left, like a product's in add_row.
struct GroupPair {
    int left, right;
};

__device__ __forceinline__ GroupPair group_pair(int pair) {
    int right = 0;
    while ((right + 1) * (right + 2) / 2 <= pair) ++right;
    return {pair - right * (right + 1) / 2, right};
}
