// The kernels of a fit whose loop runs on the device.
//
// iterate     one evaluation of all points at the state's trial, then the solver until it wants another
//   data      the points; state: the fit, followed by room for a Scratch
//   partial   gridDim.x * SUMS numbers; ticket: one counter, 0 before and after
//   launch    THREADS threads a block, any number of blocks. A launch returns at once unless the state
//             asks for an evaluation, so that several can be queued before the host looks.
//   cost      that of `normal`; the last block's first warp then takes a step, about 4 n^3 flops
//
// resume      goes on where an evaluation is not what was wanted: with the factor of [J r] at the
//             state's present parameters, (FREE + 1)^2 numbers, if the state asks for that; otherwise,
//             whatever `factor` is, the host has set `stopped` and the fit ends
//   launch    one block of one warp
//
// covariance  what the covariance needs of a factor of [J r], as `scaled_factor` and `jacobi_svd` give
//   factor    (FREE + 1)^2 numbers; kept: bits of the parameters that are estimated
//   spectrum  FREE lengths of columns, FREE singular values, FREE * FREE right singular vectors by
//             columns of as many numbers as are kept, then 1 if the singular values were found, 0 if not
//   launch    one block of one warp

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

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    iterate(Data data, State* state, double* partial, unsigned* ticket, const double* factor) {
    const bool resumes = factor != nullptr && state->request == FACTOR;
    const bool stops = state->request == EVALUATE && state->stopped != NONE;
    if (state->request != EVALUATE && !resumes) return;
    if (!resumes && !stops
        && !normal_pass(data, state->trial.params, state->columns, state->floor, partial, ticket, state->trial.sums))
        return;
    if (threadIdx.x >= 32) return;
    const Warp g = whole_warp();
    on_state(g, state, [g, factor, resumes, stops](State& s, Scratch& w) {
        if (resumes) factored(g, s, factor);
        else if (stops) stop(g, s);
        else evaluated(g, s);
        advance(g, s, w);
    });
}

extern "C" __global__ void __launch_bounds__(32) covariance(const double* factor, i64 kept, Spectrum* spectrum) {
    __shared__ double rows[FREE * FREE], r[FREE * FREE];
    spectrum_of(whole_warp(), factor, unsigned(kept), rows, r, *spectrum);
}
