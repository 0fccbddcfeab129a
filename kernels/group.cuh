// Group of threads that compute one fit together: several lanes of a warp, or one. Each translation unit selects the
// size of its Group.
//
// Rules for functions of a Group: every thread of the group calls with the same arguments; `each` distributes the
// elements of vectors; every thread computes all scalars, from memory that all threads see, in the order of a
// serial loop. Therefore groups of any size and the CPU's solver yield the same bits if products are not fused.
//
// Barriers are only where a thread reads a value that another has written, or overwrites one that another may still
// read. Tests detect a mistake in each of them (tests/device/soft_cuda/mutants). Element i of a vector belongs to the
// same thread in every `each`, `copy` and `fill`, which therefore need no barriers between them. Votes are no barriers.

// STEP_PART: function of a step. STEP_LOOP: its loops. A unit that defines SLIM keeps a step in the registers of a
// lane: functions become part of their callers, and loops of known length are unrolled. In the other units steps share
// their code and are short, because warps in different phases wait for instructions.
#ifdef SLIM
#define STEP_PART __device__ __forceinline__
#define STEP_LOOP _Pragma("unroll")
#else
#define STEP_PART __device__ __noinline__
#define STEP_LOOP _Pragma("unroll 1")
#endif

// N adjacent lanes of a warp, N a power of two. A warp contains 32 / N such groups, which do not wait for each other.
template <int N>
struct Lanes {
    static constexpr int size = N;
    int rank = int(threadIdx.x) & (N - 1);
    unsigned mask = (0xffffffffu >> (32 - N)) << (threadIdx.x & 31u & ~unsigned(N - 1));

    __device__ void sync() const {
        if constexpr (N > 1) __syncwarp(mask);
    }
    __device__ bool any(bool value) const {
        if constexpr (N > 1) return __any_sync(mask, value);
        return value;
    }
    // Returns the value of the lane whose rank differs in the bits of `other`.
    template <class Value>
    __device__ Value from(Value value, int other) const {
        return __shfl_xor_sync(mask, value, other);
    }
    // Returns the value of the lane of rank 0.
    __device__ unsigned long long first(unsigned long long value) const {
        if constexpr (N > 1) return __shfl_sync(mask, value, 0, N);
        return value;
    }
};

// Calls body(0), ..., body(n - 1), each in one of the threads.
template <class Body>
__device__ __forceinline__ void each(Group g, int n, Body body) {
    STEP_LOOP
    for (int i = g.rank; i < n; i += g.size) body(i);
}

// Writes a scalar that all threads of the group may have read before and will read after.
template <class Value>
__device__ __forceinline__ void set(Group g, Value& place, Value value) {
    g.sync();
    if (g.rank == 0) place = value;
    g.sync();
}

STEP_PART void copy(Group g, const Number* from, Number* to, int n) {
    each(g, n, [&](int i) { to[i] = from[i]; });
}

STEP_PART void fill(Group g, Number* to, int n, Number value) {
    each(g, n, [&](int i) { to[i] = value; });
}
