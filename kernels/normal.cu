// The normal equations of all points: one pass, one launch.
//
// Reads per point each column, y and weight once, 8 bytes each where stored as f64: 16 bytes for one
// column without weights.

// Beyond these many parameters the sums do not fit the registers beside a model.
constexpr int MOST_IN_REGISTERS = 8;

// Sums up all points of the grid. True in exactly one block, the last to arrive, where `out` (SUMS
// numbers) is complete for all threads of the block after a barrier.
//
// `params`: PARAMS numbers. `columns`: FREE factors. `floor`: see `correct`. `partial`: room for
// gridDim.x * SUMS numbers. `ticket`: 0, and 0 again afterwards. blockDim.x is THREADS; the grid is
// of any size.
__device__ bool normal_pass(
    const Data& data, const double* params, const double* columns, double floor, double* partial,
    unsigned* ticket, double* out) {
    __shared__ Common common;
    prepare(params, columns, common);
    double* block_sums = partial + (i64)blockIdx.x * SUMMED;
    if constexpr (FREE <= MOST_IN_REGISTERS)
        sum_in_registers(data, common, floor, block_sums);
    else
        sum_in_tiles(data, common, floor, block_sums);
    if (!arrives_last(ticket, gridDim.x)) return false;
    sum_blocks<SUMMED>(partial, out);
    if constexpr (LOSS == LINEAR) {
        __syncthreads();
        if (threadIdx.x == 0) out[PRODUCTS] = 0.5 * out[PRODUCTS - 1];
    }
    return true;
}

// Entry points. Launch: THREADS threads, any number of blocks.

// The normal equations at `params`: `out` receives SUMS numbers (see normal_pass).
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS) normal(
    Data data, const double* params, const double* columns, double floor, double* partial,
    unsigned* ticket, double* out) {
    normal_pass(data, params, columns, floor, partial, ticket, out);
}

// The same at the trial of a fit whose loop runs on the device, into the trial's sums. Returns at once
// unless the fit waits for that, so that launches can be queued before the host looks.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS) evaluate(
    Data data, State* state, double* partial, unsigned* ticket) {
    if (state->request != EVALUATE || state->stopped != NONE) return;
    normal_pass(
        data, state->trial.params, state->columns, state->floor, partial, ticket, state->trial.sums);
}
