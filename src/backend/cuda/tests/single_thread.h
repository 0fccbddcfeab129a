// CUDA's words as plain C++: one block of one thread, which is enough for code without barriers.

#define __device__
#define __global__
#define __constant__ static
#define __forceinline__ inline
#define __noinline__

struct Index {
    unsigned x, y, z;
};
static const Index threadIdx = {0, 0, 0}, blockIdx = {0, 0, 0}, blockDim = {1, 1, 1}, gridDim = {1, 1, 1};

inline double __longlong_as_double(long long bits) {
    double value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

inline long long __double_as_longlong(double value) {
    long long bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline int __double2hiint(double value) { return int(__double_as_longlong(value) >> 32); }
