// Entry points of passes that sum up normal equations. Launch: THREADS threads, any number of blocks.

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
