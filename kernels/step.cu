// A step of the solver as part of a kernel: one warp, in the fastest memory that has room.

// A state that is small enough is worked on in shared memory, a larger one where it is.
constexpr bool IN_SHARED = sizeof(State) + sizeof(Scratch) <= 16384;

__device__ __noinline__ void copy_state(Warp g, const State* from, State* to) {
    const char* source = reinterpret_cast<const char*>(from);
    char* target = reinterpret_cast<char*>(to);
    each(g, int(sizeof(State) / 8), [&](int i) { memcpy(target + 8 * i, source + 8 * i, 8); });
    g.sync();
}

struct Work {
    State state;
    Scratch scratch;
};

// Goes on with what the state at `state` (room for a Scratch behind it) waits for: the factor of [J r]
// if it asked for that, otherwise the sums at the trial, or nothing if the host has ended the fit.
__device__ __noinline__ void take_step(State* state, const double* factor) {
    const Warp g = Warp();
    const auto go = [g, factor](State& s, Scratch& w) {
        const bool wants_factor = s.request == FACTOR;
        g.sync();
        if (wants_factor)
            factored(g, s, factor);
        else if (s.stopped != NONE)
            stop(g, s);
        else
            evaluated(g, s);
        advance(g, s, w);
    };
    if constexpr (IN_SHARED) {
        __shared__ Work work;
        copy_state(g, state, &work.state);
        go(work.state, work.scratch);
        copy_state(g, &work.state, state);
    } else {
        go(*state, *reinterpret_cast<Scratch*>(state + 1));
    }
}

// Goes on with what the state waits for until it waits again. `state`: the fit, followed by room for a
// Scratch. `factor`: null, or the (FREE + 1)^2 numbers of the factor that the state has asked for.
//
// Launch: one block of one warp, after `evaluate` or `factor`. Returns at once where the state asks for
// something else, so that launches can be queued before the host looks. About 4 FREE^3 flops.
extern "C" __global__ void __launch_bounds__(32) step(State* state, const double* factor) {
    if (state->request == (factor ? FACTOR : EVALUATE)) take_step(state, factor);
}
