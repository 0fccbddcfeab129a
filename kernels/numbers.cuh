// Numbers that every translation unit knows by name.
//
// As macros: `__builtin_bit_cast`, which a constant would need, is unknown to NVRTC before CUDA 12.

typedef long long i64;

#define INFINITE __longlong_as_double(0x7ff0000000000000LL)
#define NOT_A_NUMBER __longlong_as_double(0x7ff8000000000000LL)
