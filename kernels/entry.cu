// Entry points that pass over the points of one fit. Launch: THREADS threads, any number of blocks.

// The normal equations at `params`: `out` receives SUMS numbers (see normal_pass).
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS) normal(
    Data data, const double* params, const double* columns, double floor, double* partial,
    unsigned* ticket, double* out) {
    normal_pass(data, params, columns, floor, partial, ticket, out);
}

// The triangular factor of [J r] at `params`: `out` receives K * K numbers (see factor_pass).
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS) factor(
    Data data, const double* params, const double* columns, double floor, double* partial,
    unsigned* ticket, double* out) {
    factor_pass(data, params, columns, floor, partial, ticket, out);
}
