// The kernels of a fit whose loop runs on the device.

// One evaluation of all points at the state's trial, then the solver until it wants another.
//
// `data`: the points. `state`: the fit, followed by room for a Scratch. `partial`: gridDim.x * SUMS
// numbers. `ticket`: 0, and 0 again afterwards. `factor`: null, or the (FREE + 1)^2 numbers that the
// state has asked for, with which it goes on in place of an evaluation.
//
// Launch: THREADS threads a block. Any number of blocks for an evaluation; one where `factor` is given
// or the host has set `stopped`. Returns at once where the state does not ask for what is there, so
// that launches can be queued before the host looks. Per point the cost of `normal`; the last block's
// first warp then takes a step, about 4 FREE^3 flops.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS)
    iterate(Data data, State* state, double* partial, unsigned* ticket, const double* factor) {
    const i64 request = state->request;
    const bool evaluates = request == EVALUATE && state->stopped == NONE;
    if (request != (factor ? FACTOR : EVALUATE)) return;
    if (evaluates
        && !normal_pass(data, state->trial.params, state->columns, state->floor, partial, ticket, state->trial.sums))
        return;
    if (threadIdx.x < 32) take_step(state, factor);
}

// What the covariance needs of a factor of [J r].
//
// `factor`: (FREE + 1)^2 numbers. `kept`: bits of the parameters that are estimated. `spectrum`: see
// spectrum_of. Launch: one block of one warp. About 50 FREE^3 flops.
extern "C" __global__ void __launch_bounds__(32) covariance(const double* factor, i64 kept, Spectrum* spectrum) {
    __shared__ double rows[FREE * FREE], r[FREE * FREE];
    spectrum_of(Warp(), factor, unsigned(kept), rows, r, *spectrum);
}
