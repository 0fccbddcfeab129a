// Named constants for all translation units.
//
// They are macros, because a constant would need `__builtin_bit_cast`, which NVRTC before CUDA 12 lacks.

typedef long long i64;

// Number: type of the numbers of a step. It is double, except in the slim kernel of a stage in f32, whose unit defines
// STEP_IN_F32. Factors in formulas of Numbers are integers, floats (0.5f) or Numbers, because a double would turn the
// product into a double.
#ifdef STEP_IN_F32
typedef float Number;
#else
typedef double Number;
#endif
constexpr bool IS_STEP_IN_F32 = sizeof(Number) == sizeof(float);

#define INFINITE __longlong_as_double(0x7ff0000000000000LL)
#define NOT_A_NUMBER __longlong_as_double(0x7ff8000000000000LL)
