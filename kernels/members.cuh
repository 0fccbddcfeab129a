// Sets of free parameters, as bits, and the values of their members.

constexpr unsigned ALL = FREE == 32 ? 0xffffffffu : (1u << FREE) - 1u;

__device__ __forceinline__ bool contains(unsigned members, int j) { return members >> j & 1u; }

// How many members come before j: its place among them.
__device__ __forceinline__ int position(unsigned members, int j) { return __popc(members & ((1u << j) - 1u)); }

__device__ __forceinline__ int count(unsigned members) { return __popc(members); }

// Writes the values of the members, one after the other, to `to`.
__device__ __noinline__ void gather(Group g, const double* values, unsigned members, double* to) {
    each(g, FREE, [&](int j) {
        if (contains(members, j)) to[position(members, j)] = values[j];
    });
    g.sync();
}

// Writes values that stand one after the other to the places of the members.
__device__ __noinline__ void scatter(Group g, const double* values, unsigned members, double* to) {
    each(g, FREE, [&](int j) {
        if (contains(members, j)) to[j] = values[position(members, j)];
    });
    g.sync();
}
