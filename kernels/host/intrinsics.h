// Functions that CUDA C++ provides without a header and that kernels here may use: barriers,
// exchanges of a warp, atomics, bits, conversions and mathematics.
//
// Left out on purpose, so that a kernel which uses it does not compile: floating-point atomics (sums
// must not depend on the order of arrival), __activemask (its result is not reliable) and everything
// from a header that NVRTC does not have.
#pragma once

// Omits the special functions of C++17, half of the header <cmath>.
#define __STDCPP_WANT_MATH_SPEC_FUNCS__ 0
#include "block.h"

#include <cmath>

#define CUDA_ON_CPU_SITE(name) (::cuda_on_cpu::Site{name, __LINE__, __COUNTER__})

// Barriers of the block.
#define __syncthreads() \
    ((void)::cuda_on_cpu::block_barrier(false, CUDA_ON_CPU_SITE("__syncthreads")))
#define __syncthreads_or(predicate) \
    ((int)(::cuda_on_cpu::block_barrier((predicate) != 0, CUDA_ON_CPU_SITE("__syncthreads_or")).result != 0))
#define __syncthreads_and(predicate) \
    (::cuda_on_cpu::all_agree(::cuda_on_cpu::block_barrier((predicate) != 0, CUDA_ON_CPU_SITE("__syncthreads_and"))))
#define __syncthreads_count(predicate) \
    ((int)::cuda_on_cpu::block_barrier((predicate) != 0, CUDA_ON_CPU_SITE("__syncthreads_count")).result)

// Exchanges of the lanes of a mask.
#define __syncwarp(...) (::cuda_on_cpu::WarpBarrier{CUDA_ON_CPU_SITE("__syncwarp")}(__VA_ARGS__))
#define __shfl_sync(mask, ...) \
    (::cuda_on_cpu::shuffle_index(CUDA_ON_CPU_SITE("__shfl_sync"), mask, __VA_ARGS__))
#define __shfl_up_sync(mask, ...) \
    (::cuda_on_cpu::shuffle_up(CUDA_ON_CPU_SITE("__shfl_up_sync"), mask, __VA_ARGS__))
#define __shfl_down_sync(mask, ...) \
    (::cuda_on_cpu::shuffle_down(CUDA_ON_CPU_SITE("__shfl_down_sync"), mask, __VA_ARGS__))
#define __shfl_xor_sync(mask, ...) \
    (::cuda_on_cpu::shuffle_xor(CUDA_ON_CPU_SITE("__shfl_xor_sync"), mask, __VA_ARGS__))
#define __ballot_sync(mask, predicate) \
    (::cuda_on_cpu::vote(CUDA_ON_CPU_SITE("__ballot_sync"), mask, (predicate) != 0).ballot)
#define __any_sync(mask, predicate) \
    ((int)(::cuda_on_cpu::vote(CUDA_ON_CPU_SITE("__any_sync"), mask, (predicate) != 0).any()))
#define __all_sync(mask, predicate) \
    ((int)(::cuda_on_cpu::vote(CUDA_ON_CPU_SITE("__all_sync"), mask, (predicate) != 0).all()))

#define __trap() (::cuda_on_cpu::trap(__LINE__))

namespace cuda_on_cpu {

inline int all_agree(const Thread& t) { return t.result == t.participants; }

struct WarpBarrier {
    Site site;
    void operator()(unsigned mask = 0xffffffffu) const {
        warp_exchange(Exchange::Sync, mask, 0, 0, site);
    }
};

struct Vote {
    unsigned ballot, participants;
    bool any() const { return ballot != 0; }
    bool all() const { return ballot == participants; }
};

inline Vote vote(Site site, unsigned mask, bool predicate) {
    const Thread& t = warp_exchange(Exchange::Vote, mask, predicate, 0, site);
    return {static_cast<unsigned>(t.result), t.participants};
}

template <class To, class From>
To same_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "a conversion of bits keeps their number");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

template <class T>
T shuffle(Site site, unsigned mask, T value, unsigned source) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles exchange 4 or 8 bytes");
    u64 bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = warp_exchange(Exchange::Shuffle, mask, bits, source, site).result;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// Faults unless `width` is a power of 2, at most 32. `width` lanes form a group; a lane that would read outside its
// group reads its own value.
inline void check_width(Site site, int width) {
    if (width >= 1 && width <= 32 && (width & (width - 1)) == 0) return;
    begin_fault(LAUNCH_FAILED);
    say("%s in line %d: width %d", site.intrinsic, site.line, width);
    leave_block();
}

template <class T>
T shuffle_index(Site site, unsigned mask, T value, int source, int width = 32) {
    check_width(site, width);
    const unsigned lane = current->lane(), group = width - 1;
    return shuffle(site, mask, value, (lane & ~group) | (source & group));
}

template <class T>
T shuffle_up(Site site, unsigned mask, T value, unsigned delta, int width = 32) {
    check_width(site, width);
    const unsigned lane = current->lane(), group = width - 1;
    return shuffle(site, mask, value, (lane & group) < delta ? lane : lane - delta);
}

template <class T>
T shuffle_down(Site site, unsigned mask, T value, unsigned delta, int width = 32) {
    check_width(site, width);
    const unsigned lane = current->lane(), group = width - 1;
    return shuffle(site, mask, value, (lane & group) + u64(delta) > group ? lane : lane + delta);
}

// Lanes of earlier groups can be read, lanes of later groups cannot.
template <class T>
T shuffle_xor(Site site, unsigned mask, T value, int bits, int width = 32) {
    check_width(site, width);
    const unsigned lane = current->lane(), group = width - 1;
    const unsigned other = lane ^ static_cast<unsigned>(bits);
    return shuffle(site, mask, value, other > (lane | group) ? lane : other);
}

[[noreturn]] inline void trap(int line) {
    begin_fault(LAUNCH_FAILED);
    say("thread %u trapped in line %d", current->number, line);
    leave_block();
}

// Replaces *at by change(*at) and returns the old value. The threads of a block never run concurrently; therefore a
// plain operation is atomic. Other threads may run before it.
template <class T, class Change>
T atomically(T* at, Change change) {
    give_way();
    const T old = *at;
    *at = change(old);
    return old;
}

}  // namespace cuda_on_cpu

#define CUDA_ON_CPU_ATOMIC(T, name, changed)                                          \
    inline T name(T* at, T value) {                                                   \
        return ::cuda_on_cpu::atomically(at, [value](T old) -> T { return changed; }); \
    }
#define CUDA_ON_CPU_ATOMICS(T)                                         \
    CUDA_ON_CPU_ATOMIC(T, atomicAdd, old + value)                      \
    CUDA_ON_CPU_ATOMIC(T, atomicMin, value < old ? value : old)        \
    CUDA_ON_CPU_ATOMIC(T, atomicMax, value > old ? value : old)        \
    CUDA_ON_CPU_ATOMIC(T, atomicExch, (static_cast<void>(old), value)) \
    CUDA_ON_CPU_ATOMIC(T, atomicAnd, old & value)                      \
    CUDA_ON_CPU_ATOMIC(T, atomicOr, old | value)                       \
    CUDA_ON_CPU_ATOMIC(T, atomicXor, old ^ value)                      \
    inline T atomicCAS(T* at, T expected, T value) {                   \
        return ::cuda_on_cpu::atomically(                              \
            at, [=](T old) -> T { return old == expected ? value : old; }); \
    }
CUDA_ON_CPU_ATOMICS(int)
CUDA_ON_CPU_ATOMICS(unsigned)
CUDA_ON_CPU_ATOMICS(unsigned long long)
CUDA_ON_CPU_ATOMIC(int, atomicSub, old - value)
CUDA_ON_CPU_ATOMIC(unsigned, atomicSub, old - value)
CUDA_ON_CPU_ATOMIC(float, atomicExch, (static_cast<void>(old), value))

inline void __threadfence() { ::cuda_on_cpu::give_way(); }
inline void __threadfence_block() { ::cuda_on_cpu::give_way(); }
inline void __threadfence_system() { ::cuda_on_cpu::give_way(); }

// Loads and stores with a hint to the caches.
template <class T> T __ldg(const T* at) { return *at; }
template <class T> T __ldca(const T* at) { return *at; }
template <class T> T __ldcg(const T* at) { return *at; }
template <class T> T __ldcs(const T* at) { return *at; }
template <class T> T __ldcv(const T* at) { return *at; }
template <class T> void __stcg(T* at, T value) { *at = value; }
template <class T> void __stcs(T* at, T value) { *at = value; }
template <class T> void __stwt(T* at, T value) { *at = value; }

inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline int __clz(int v) { return v ? __builtin_clz(static_cast<unsigned>(v)) : 32; }
inline int __clzll(long long v) {
    return v ? __builtin_clzll(static_cast<unsigned long long>(v)) : 64;
}
inline unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}

inline long long __double_as_longlong(double v) { return ::cuda_on_cpu::same_bits<long long>(v); }
inline double __longlong_as_double(long long v) { return ::cuda_on_cpu::same_bits<double>(v); }
inline int __float_as_int(float v) { return ::cuda_on_cpu::same_bits<int>(v); }
inline float __int_as_float(int v) { return ::cuda_on_cpu::same_bits<float>(v); }
inline unsigned __float_as_uint(float v) { return ::cuda_on_cpu::same_bits<unsigned>(v); }
inline float __uint_as_float(unsigned v) { return ::cuda_on_cpu::same_bits<float>(v); }
inline int __double2hiint(double v) { return static_cast<int>(__double_as_longlong(v) >> 32); }
inline int __double2loint(double v) { return static_cast<int>(__double_as_longlong(v)); }
inline double __hiloint2double(int high, int low) {
    const auto bits = static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32;
    return __longlong_as_double(static_cast<long long>(bits | static_cast<unsigned>(low)));
}
inline float __double2float_rn(double v) { return static_cast<float>(v); }
inline int __double2int_rn(double v) { return static_cast<int>(std::nearbyint(v)); }
inline long long __double2ll_rn(double v) { return std::llrint(v); }
inline double __int2double_rn(int v) { return v; }
inline double __ll2double_rn(long long v) { return static_cast<double>(v); }

// Operations that the device compiler must not contract. Here the compiler contracts only on request.
#ifdef CUDA_ON_CPU_ROUNDS_OTHERWISE
#define CUDA_ON_CPU_APART volatile
#else
#define CUDA_ON_CPU_APART
#endif
inline double __dadd_rn(double a, double b) { CUDA_ON_CPU_APART const double sum = a + b; return sum; }
inline double __dsub_rn(double a, double b) { CUDA_ON_CPU_APART const double left = a - b; return left; }
inline double __dmul_rn(double a, double b) { CUDA_ON_CPU_APART const double product = a * b; return product; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __drcp_rn(double a) { return 1.0 / a; }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __fadd_rn(float a, float b) { CUDA_ON_CPU_APART const float value = a + b; return value; }
inline float __fsub_rn(float a, float b) { CUDA_ON_CPU_APART const float value = a - b; return value; }
inline float __fmul_rn(float a, float b) { CUDA_ON_CPU_APART const float value = a * b; return value; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }

// The overloads of <cmath> are those of CUDA: a float argument yields a float.
using std::abs;
using std::acos;
using std::acosh;
using std::asin;
using std::asinh;
using std::atan;
using std::atan2;
using std::atanh;
using std::cbrt;
using std::ceil;
using std::copysign;
using std::cos;
using std::cosh;
using std::erf;
using std::erfc;
using std::exp;
using std::exp2;
using std::expm1;
using std::fabs;
using std::fdim;
using std::floor;
using std::fma;
using std::fmax;
using std::fmin;
using std::fmod;
using std::frexp;
using std::hypot;
using std::ilogb;
using std::isfinite;
using std::isinf;
using std::isnan;
using std::ldexp;
using std::lgamma;
using std::llrint;
using std::log;
using std::log10;
using std::log1p;
using std::log2;
using std::logb;
using std::modf;
using std::nearbyint;
using std::nextafter;
using std::pow;
using std::remainder;
using std::rint;
using std::round;
using std::scalbn;
using std::signbit;
using std::sin;
using std::sinh;
using std::sqrt;
using std::tan;
using std::tanh;
using std::tgamma;
using std::trunc;

#include "erfcx.h"

inline double rsqrt(double a) { return 1.0 / std::sqrt(a); }
inline float rsqrt(float a) { return 1.0f / std::sqrt(a); }
inline float rsqrtf(float a) { return 1.0f / std::sqrt(a); }
inline double rcbrt(double a) { return 1.0 / std::cbrt(a); }

#define CUDA_ON_CPU_MINMAX(T)                              \
    inline T min(T a, T b) { return b < a ? b : a; }       \
    inline T max(T a, T b) { return a < b ? b : a; }
CUDA_ON_CPU_MINMAX(int)
CUDA_ON_CPU_MINMAX(unsigned)
CUDA_ON_CPU_MINMAX(long)
CUDA_ON_CPU_MINMAX(unsigned long)
CUDA_ON_CPU_MINMAX(long long)
CUDA_ON_CPU_MINMAX(unsigned long long)
// min and max of a number and a NaN are the number.
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }

#ifdef CUDA_ON_CPU_ROUNDS_OTHERWISE
// Simulates a different GPU: some results differ by one unit in the last place. Round numbers, like exp(0), do not.
namespace cuda_on_cpu {
inline double otherwise(double v) {
    const long long bits = __double_as_longlong(v);
    if (!std::isfinite(v) || (bits & 0xfffff) == 0) return v;
    return __longlong_as_double(bits + (static_cast<unsigned long long>(bits) * 0x9e3779b97f4a7c15ull >> 40) % 3 - 1);
}
inline float otherwise(float v) {
    const int bits = __float_as_int(v);
    if (!std::isfinite(v) || (bits & 0xff) == 0) return v;
    return __int_as_float(bits + static_cast<int>((static_cast<unsigned>(bits) * 0x9e3779b9u >> 16) % 3) - 1);
}
}  // namespace cuda_on_cpu
#define exp(...) ::cuda_on_cpu::otherwise(std::exp(__VA_ARGS__))
#define expm1(...) ::cuda_on_cpu::otherwise(std::expm1(__VA_ARGS__))
#define log(...) ::cuda_on_cpu::otherwise(std::log(__VA_ARGS__))
#define log1p(...) ::cuda_on_cpu::otherwise(std::log1p(__VA_ARGS__))
#define log2(...) ::cuda_on_cpu::otherwise(std::log2(__VA_ARGS__))
#define log10(...) ::cuda_on_cpu::otherwise(std::log10(__VA_ARGS__))
#define pow(...) ::cuda_on_cpu::otherwise(std::pow(__VA_ARGS__))
#define cbrt(...) ::cuda_on_cpu::otherwise(std::cbrt(__VA_ARGS__))
#define hypot(...) ::cuda_on_cpu::otherwise(std::hypot(__VA_ARGS__))
#define sin(...) ::cuda_on_cpu::otherwise(std::sin(__VA_ARGS__))
#define cos(...) ::cuda_on_cpu::otherwise(std::cos(__VA_ARGS__))
#define tan(...) ::cuda_on_cpu::otherwise(std::tan(__VA_ARGS__))
#define atan(...) ::cuda_on_cpu::otherwise(std::atan(__VA_ARGS__))
#define atan2(...) ::cuda_on_cpu::otherwise(std::atan2(__VA_ARGS__))
#define tanh(...) ::cuda_on_cpu::otherwise(std::tanh(__VA_ARGS__))
#define erf(...) ::cuda_on_cpu::otherwise(std::erf(__VA_ARGS__))
#define erfc(...) ::cuda_on_cpu::otherwise(std::erfc(__VA_ARGS__))
#define lgamma(...) ::cuda_on_cpu::otherwise(std::lgamma(__VA_ARGS__))
#endif
