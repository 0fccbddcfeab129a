// A step of the solver as part of a kernel: one warp, in the fastest memory that has room.

// A state that is small enough is worked on in shared memory, a larger one where it is.
constexpr bool IN_SHARED = sizeof(State) + sizeof(Scratch) <= 16384;

__device__ __noinline__ void copy_state(Warp g, const State* from, State* to) {
    const char* source = reinterpret_cast<const char*>(from);
    char* target = reinterpret_cast<char*>(to);
#pragma unroll 1
    for (int i = g.rank; i < int(sizeof(State) / 8); i += Warp::size) memcpy(target + 8 * i, source + 8 * i, 8);
    g.sync();
}

struct Work {
    State state;
    Scratch scratch;
};

// Runs `go(state, scratch)` in the fastest memory that has room for them.
template <class Go>
__device__ __forceinline__ void on_state(Warp g, State* state, Go go) {
    if constexpr (IN_SHARED) {
        __shared__ Work work;
        copy_state(g, state, &work.state);
        go(work.state, work.scratch);
        copy_state(g, &work.state, state);
    } else {
        go(*state, *reinterpret_cast<Scratch*>(state + 1));
    }
}

// Goes on with what the state at `state` (room for a Scratch behind it) waits for: the factor of [J r]
// if it asked for that, otherwise the sums at the trial, or nothing if the host has ended the fit.
__device__ __noinline__ void take_step(State* state, const double* factor) {
    const Warp g = Warp();
    on_state(g, state, [g, factor](State& s, Scratch& w) {
        if (s.request == FACTOR)
            factored(g, s, factor);
        else if (s.stopped != NONE)
            stop(g, s);
        else
            evaluated(g, s);
        advance(g, s, w);
    });
}
