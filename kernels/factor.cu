// Entry point of the pass that factors. Launch: THREADS threads, any number of blocks.

// The triangular factor of [J r] at `params`: `out` receives K * K numbers (see factor_pass).
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS) factor(
    Data data, const double* params, const double* columns, double floor, double* partial,
    unsigned* ticket, double* out) {
    factor_pass(data, params, columns, floor, partial, ticket, out);
}
