// Normal equations of all points, in one pass and one launch.
//
// Reads each column, y and the weight of a point once, 8 bytes each if they are stored as f64: 16 bytes per point
// for one column without weights.

// Computes the sums over all points for the parameters in `inputs` and writes them to `out`, SUMS numbers. `out` may
// be host memory: the kernel writes it but never reads it.
//
// `floor`: lower limit of s^2 / rho' (`correct` in loss.cuh). `partial`: at least gridDim.x * SUMMED numbers.
// `ticket`: 0 before and after the launch.
// Launch: THREADS threads, any number of blocks.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS) normal(
    Data data, Inputs inputs, double floor, double* partial, unsigned* ticket, double* out) {
    __shared__ Common common;
    prepare(inputs, common);
    double* block_sums = partial + (i64)blockIdx.x * SUMMED;
    sum_points(data, common, floor, block_sums);
    if (!arrives_last(ticket, gridDim.x)) return;
    sum_blocks<SUMMED>(partial, [out](int m, double total) {
        out[m] = total;
        if (LOSS == LINEAR && m == PRODUCTS - 1) out[PRODUCTS] = 0.5 * total;
    });
}
