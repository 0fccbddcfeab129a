// CUDA C++ as plain C++17: the source of the kernels can run without a device.
//
// Included before the source, which is in an unnamed namespace: functions that no kernel uses then
// cost nothing, and shared variables of templates may be in a section. One block runs at a time, on
// the launching thread; the threads of a block are fibres (fibre.h) that wait for each other like
// threads of a device (block.h). A serial schedule cannot show races between warps that no order of
// fibres reveals, nor effects of the memory model, performance, registers or contraction.
#pragma once

#include "intrinsics.h"
#include "launch.h"

#define __host__
#define __device__
#define __global__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
// The compiler must not assume that a variable without a visible write is zero: launch.h writes it.
// GCC does not assume so for a variable in its own section; Clang needs the attribute `used`.
#ifdef __clang__
#define __shared__ static __attribute__((section("cuda_shared"), used))
#else
#define __shared__ static __attribute__((section("cuda_shared")))
#endif
#define __align__(bytes) __attribute__((aligned(bytes)))

#define threadIdx (::cuda_on_cpu::current->index)
#define blockIdx (::cuda_on_cpu::block_index)
#define blockDim (::cuda_on_cpu::block_size)
#define gridDim (::cuda_on_cpu::grid_size)
#define warpSize 32

struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) double2 { double x, y; };
struct alignas(8) int2 { int x, y; };
struct alignas(8) uint2 { unsigned x, y; };
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline double2 make_double2(double x, double y) { return {x, y}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
