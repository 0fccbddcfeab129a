// The normal equations of all points: one pass, one launch.
//
// Reads per point each column, y and weight once, 8 bytes each where stored as f64: 16 bytes for one
// column without weights.

// Beyond these many parameters the sums do not fit the registers beside a model.
constexpr int MOST_IN_REGISTERS = 8;

// Sums up the points at `inputs` into `out`, SUMS numbers, which may be memory of the host: it is written to and never
// read.
//
// `floor`: see `correct`. `partial`: gridDim.x * SUMS numbers. `ticket`: 0, and 0 again afterwards.
// Launch: THREADS threads, any number of blocks.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS) normal(
    Data data, Inputs inputs, double floor, double* partial, unsigned* ticket, double* out) {
    __shared__ Common common;
    prepare(inputs, common);
    double* block_sums = partial + (i64)blockIdx.x * SUMMED;
    if constexpr (FREE <= MOST_IN_REGISTERS)
        sum_in_registers(data, common, floor, block_sums);
    else
        sum_in_tiles(data, common, floor, block_sums);
    if (!arrives_last(ticket, gridDim.x)) return;
    sum_blocks<SUMMED>(partial, [out](int m, double total) {
        out[m] = total;
        if (LOSS == LINEAR && m == PRODUCTS - 1) out[PRODUCTS] = 0.5 * total;
    });
}
