// Entry point of the solver of a fit whose loop runs on the device.

// Goes on with what the state waits for until it waits again. `state`: the fit, followed by room for a
// Scratch. `factor`: null, or the (FREE + 1)^2 numbers of the factor that the state has asked for.
//
// Launch: one block of one warp, after `evaluate` or `factor`. Returns at once where the state asks for
// something else, so that launches can be queued before the host looks. About 4 FREE^3 flops.
extern "C" __global__ void __launch_bounds__(32) step(State* state, const double* factor) {
    if (state->request == (factor ? FACTOR : EVALUATE)) take_step(state, factor);
}
