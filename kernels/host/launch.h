// Launches: the functions that a library of kernels exports to the emulation's driver.
//
// CUDA_ON_CPU_KERNEL(name, bound) exports `name__launch`, which runs the kernel over all blocks of a
// grid, or over chosen blocks if the grid is too large: a kernel that strides by gridDim.x can be
// tested on its last blocks only. It never ends the process: errors are in the Outcome.
#pragma once

#include "block.h"

#include <stdlib.h>
#include <utility>

// The shared memory of a block is in its own section, whose start and end the linker provides.
extern "C" char __start_cuda_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_cuda_shared[] __attribute__((weak, visibility("hidden")));

namespace cuda_on_cpu {

struct Request {
    unsigned blocks, threads;
    u64 seed;                 // 0: natural order
    const unsigned* chosen;   // blocks to run, in this order; null for all
    u64 chosen_count;
    const void* const* arguments;
    const u64* argument_bytes;
    u64 argument_count;
};

static const void* const* arguments;

static size_t shared_bytes() { return __stop_cuda_shared - __start_cuda_shared; }

static void run_grid(const Request& request) {
    const u64 count = request.chosen ? request.chosen_count : request.blocks;
    unsigned* order = nullptr;
    if (seed && !request.chosen) {
        order = static_cast<unsigned*>(malloc(count * sizeof(unsigned)));
        if (!order) {
            outcome->code = OUT_OF_MEMORY;
            say("no memory for the order of %llu blocks", count);
            return;
        }
        for (u64 i = 0; i < count; ++i) order[i] = static_cast<unsigned>(i);
        for (u64 i = count; i > 1; --i) std::swap(order[i - 1], order[random_below(i)]);
    }
    for (u64 i = 0; i < count && outcome->code == OK; ++i) {
        const unsigned block = request.chosen ? request.chosen[i] : order ? order[i] : i;
        // All bits set are a NaN, which reveals reads before writes.
        if (shared_bytes()) memset(__start_cuda_shared, 0xFF, shared_bytes());
        run_block(block);
    }
    free(order);
}

template <class T>
T argument(size_t i) {
    T value;
    memcpy(&value, arguments[i], sizeof value);
    return value;
}

template <class... T, size_t... I>
void call(void (*kernel)(T...), std::index_sequence<I...>) {
    kernel(argument<T>(I)...);
}

template <class... T>
void call(void (*kernel)(T...)) {
    call(kernel, std::index_sequence_for<T...>{});
}

static void refuse(int code, const char* what, u64 found, u64 expected) {
    outcome->code = code;
    say("%s: %llu where it takes %llu", what, found, expected);
}

template <class... T>
void launch(void (*)(T...), void (*with_arguments)(), u64 bound, const Request& request,
            Outcome& result) {
    result = {};
    outcome = &result;
    const u64 expected[] = {sizeof(T)..., 0};
    if (request.argument_count != sizeof...(T))
        return refuse(INVALID_VALUE, "arguments", request.argument_count, sizeof...(T));
    for (size_t i = 0; i < sizeof...(T); ++i)
        if (request.argument_bytes[i] != expected[i])
            return refuse(INVALID_VALUE, "bytes of an argument", request.argument_bytes[i],
                          expected[i]);
    if (request.blocks < 1 || request.blocks > 0x7fffffffu)
        return refuse(INVALID_VALUE, "blocks of a grid", request.blocks, 0x7fffffffu);
    if (request.threads < 1 || request.threads > MAX_THREADS)
        return refuse(INVALID_VALUE, "threads of a block", request.threads, MAX_THREADS);
    if (bound && request.threads > bound)
        return refuse(OUT_OF_RESOURCES, "threads beyond __launch_bounds__", request.threads, bound);
    for (u64 i = 0; request.chosen && i < request.chosen_count; ++i)
        if (request.chosen[i] >= request.blocks)
            return refuse(INVALID_VALUE, "chosen block", request.chosen[i], request.blocks - 1);
    if (!stacks.reserve(request.threads))
        return refuse(OUT_OF_MEMORY, "no memory for stacks of as many threads", request.threads, 0);
    grid_size = {request.blocks, 1, 1};
    block_size = {request.threads, 1, 1};
    arguments = request.arguments;
    body = with_arguments;
    seed = request.seed;
    random_state = request.seed * 0x9E3779B97F4A7C15ull;
    run_grid(request);
}

constexpr u64 first_of(u64 first, u64 = 0, u64 = 0) { return first; }

}  // namespace cuda_on_cpu

#define CUDA_ON_CPU_EXPORT extern "C" __attribute__((visibility("default")))

// `bound` is the first argument of the kernel's __launch_bounds__, or 0.
#define CUDA_ON_CPU_KERNEL(kernel, bound)                                                    \
    CUDA_ON_CPU_EXPORT void kernel##__launch(const cuda_on_cpu::Request* request,            \
                                             cuda_on_cpu::Outcome* outcome) {                \
        cuda_on_cpu::launch(kernel, [] { cuda_on_cpu::call(kernel); }, bound, *request, *outcome); \
    }

// Bytes of shared memory of all kernels of the library together.
CUDA_ON_CPU_EXPORT cuda_on_cpu::u64 cuda_on_cpu__shared_bytes() {
    return cuda_on_cpu::shared_bytes();
}

// To be called by a signal handler on the launching thread if a thread of the kernel faults at `address`; `what`
// describes the fault. Ends the launch and does not return, unless no kernel is running.
CUDA_ON_CPU_EXPORT CUDA_ON_CPU_UNWATCHED void cuda_on_cpu__fault(cuda_on_cpu::u64 address, const char* what) {
    using namespace cuda_on_cpu;
    if (!current) return;
    begin_fault(ILLEGAL_ADDRESS);
    outcome->address = address;
    if (stacks.is_guard(reinterpret_cast<void*>(address)))
        say("the stack of thread %u overflowed", current->number);
    else
        say("thread %u: %s", current->number, what);
    leave_block();
}
