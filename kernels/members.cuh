// Bit sets of free parameters, and copies of the values of their members.

constexpr unsigned ALL = FREE == 32 ? 0xffffffffu : (1u << FREE) - 1u;

__device__ __forceinline__ bool contains(unsigned members, int j) { return members >> j & 1u; }

// Returns the number of members before j, which is the position of j among them.
__device__ __forceinline__ int position(unsigned members, int j) { return __popc(members & ((1u << j) - 1u)); }

__device__ __forceinline__ int count(unsigned members) { return __popc(members); }

// Copies the values of the members to consecutive elements of `to`.
STEP_PART void gather(Group g, const Number* values, unsigned members, Number* to) {
    each(g, FREE, [&](int j) {
        if (contains(members, j)) to[position(members, j)] = values[j];
    });
    g.sync();
}

// Copies consecutive values to the elements of `to` that belong to the members.
STEP_PART void scatter(Group g, const Number* values, unsigned members, Number* to) {
    each(g, FREE, [&](int j) {
        if (contains(members, j)) to[j] = values[position(members, j)];
    });
    g.sync();
}
