// Named constants for all translation units.
//
// They are macros, because a constant would need `__builtin_bit_cast`, which NVRTC before CUDA 12 lacks.

typedef long long i64;

#define INFINITE __longlong_as_double(0x7ff0000000000000LL)
#define NOT_A_NUMBER __longlong_as_double(0x7ff8000000000000LL)
