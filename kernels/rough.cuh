// Rounding in f32: tests whether a fit in f32 is final. Both kernels of batches use them.

// Rounding error of a value in f32, relative to y: four unit roundoffs, 2^-22.
constexpr Number ROUNDED = 2.384185791015625e-7;
// Largest permitted shift of a parameter by rounding, in standard errors.
constexpr Number HARMLESS = 0.01;
// Smallest squared pivot of the columns of J, each scaled to length 1, that f32 determines to 1e-4.
constexpr Number LEAST_PIVOT_IN_F32 = 1e-6;
// Smallest sum of the squares of a column of J whose terms are normal numbers of f32.
constexpr Number LEAST_SQUARE_IN_F32 = 1e-30;
// Largest ratio of the standard error of a parameter to its standard error as the only parameter. Rounding of the sums in
// f32 changes the errors by less than 1 %.
constexpr Number MOST_CORRELATED = 50.0;
// Maximum ratio of the abscissae of a fit to the range that they cover.
constexpr double MOST_DISTANT = 64.0;

// Lowest and highest abscissae in each column that the model reads.
struct Extent {
    real low[VARIABLES], high[VARIABLES];
};

__device__ __forceinline__ Extent empty_extent() {
    Extent extent;
#pragma unroll
    for (int v = 0; v < VARIABLES; ++v) {
        extent.low[v] = real(INFINITE);
        extent.high[v] = -real(INFINITE);
    }
    return extent;
}

__device__ __forceinline__ void extend(Extent& extent, const real* x) {
#pragma unroll
    for (int v = 0; v < VARIABLES; ++v) {
        extent.low[v] = fmin(extent.low[v], x[v]);
        extent.high[v] = fmax(extent.high[v], x[v]);
    }
}

// Returns true if f32 distinguishes the abscissae: the range of each column is not small relative to the largest
// magnitude in the column. `extent`: that of the points of the calling lane. All `lanes` call it.
template <int N>
__device__ __forceinline__ bool are_apart(Lanes<N> lanes, const Extent& extent) {
    bool apart = true;
#pragma unroll
    for (int v = 0; v < VARIABLES; ++v) {
        double least = extent.low[v], most = extent.high[v];
#pragma unroll
        for (int other = N / 2; other > 0; other /= 2) {
            least = fmin(least, lanes.from(least, other));
            most = fmax(most, lanes.from(most, other));
        }
        apart &= fmax(fabs(least), fabs(most)) <= MOST_DISTANT * (most - least);
    }
    return apart;
}

// Returns true if the last step was short relative to the standard errors, and the step before changed the cost as
// predicted and did not change the columns of J much.
STEP_PART bool ends_within_errors(const State& s) {
    if (!is_converged(s.termination) || s.iterations == s.earlier) return false;
    const Number variance = variance_of(s);
    const bool is_short = 2 * s.fall <= s.etol * s.etol * variance, is_calm = fabs(s.ratio - 1) <= CALM_RATIO;
    return is_short && is_calm && s.bend <= CALM_BEND && stands_out(s, variance);
}

// Returns true if rounding moves each parameter by at most HARMLESS standard errors. The shift is at most e / d standard
// errors. e is the rounding error of all values together, or of the terms whose sums they are; d is the standard
// deviation of a row. Products of numbers of a row must not be subnormal in f32. e includes the rounding of the
// parameters to f32, an eighth of ROUNDED.
STEP_PART bool rounding_is_harmless(const State& s) {
    Number size = root(s.square);
    bool good = true;
    STEP_LOOP
    for (int j = 0; j < FREE; ++j) {
        const Number pivot = quotient(s.r[j * FREE + j], s.norms[j]);
        good &= pivot * pivot > LEAST_PIVOT_IN_F32 && s.norms[j] * s.norms[j] >= LEAST_SQUARE_IN_F32;
        size = fmax(size, s.norms[j] * fabs(s.present.q[j]));
    }
    return good && ROUNDED * size <= HARMLESS * root(variance_of(s));
}

// Returns true if the standard error of parameter j is that of f64 although other parameters are correlated with it.
// `row_error`: standard deviation of a weighted residual.
__device__ __forceinline__ bool is_error_of_f64(const State& s, int j, Number error, Number row_error) {
    return s.norms[j] * error <= MOST_CORRELATED * row_error;
}

// Returns true if a value is far from its bounds, compared with its standard error.
__device__ __forceinline__ bool is_clear(Number value, Number low, Number high, Number error) {
    return fmin(value - low, high - value) > 2 * HARMLESS * error;
}
