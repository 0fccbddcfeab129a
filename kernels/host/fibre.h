// Fibres: stacks between which execution switches. The threads of a block can wait for each other in the
// middle of a kernel without being threads of the operating system.
//
// A switch costs about 20 instructions in the assembly of x86-64 (System V); elsewhere, or with
// CUDA_ON_CPU_UCONTEXT defined, swapcontext is used, which is six times slower. Below every stack is a
// guard page: a stack overflow faults instead of overwriting the adjacent stack.
#pragma once

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#if !defined(__x86_64__) && !defined(CUDA_ON_CPU_UCONTEXT)
#define CUDA_ON_CPU_UCONTEXT
#endif
#ifdef CUDA_ON_CPU_UCONTEXT
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define CUDA_ON_CPU_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CUDA_ON_CPU_ASAN
#endif
#endif
#ifdef CUDA_ON_CPU_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
// For functions whose frames may be abandoned on a stack that is used again: ASan would keep their records.
#define CUDA_ON_CPU_UNWATCHED __attribute__((no_sanitize("address"), noinline))
#else
#define CUDA_ON_CPU_UNWATCHED
#endif

namespace cuda_on_cpu {

struct Fibre {
#ifdef CUDA_ON_CPU_UCONTEXT
    ucontext_t context;
#else
    void* stack_pointer = nullptr;
#endif
    const void* stack = nullptr;  // lowest address; for the launching thread known to ASan only
    size_t stack_bytes = 0;
};

#ifndef CUDA_ON_CPU_UCONTEXT
// Pushes the registers that a callee must preserve, exchanges the stacks, and pops the registers of the other fibre.
#ifdef __clang__
__attribute__((naked, noinline))
#else
__attribute__((naked, noinline, noipa))
#endif
static void exchange_stacks(void** /* rdi: save */, void* /* rsi: to */) {
    asm("pushq %rbp\n\t"
        "pushq %rbx\n\t"
        "pushq %r12\n\t"
        "pushq %r13\n\t"
        "pushq %r14\n\t"
        "pushq %r15\n\t"
        "movq %rsp, (%rdi)\n\t"
        "movq %rsi, %rsp\n\t"
        "popq %r15\n\t"
        "popq %r14\n\t"
        "popq %r13\n\t"
        "popq %r12\n\t"
        "popq %rbx\n\t"
        "popq %rbp\n\t"
        "ret\n\t");
}
#endif

// Switches from `from` to `to`. `from` continues here after a switch back to it.
CUDA_ON_CPU_UNWATCHED static void switch_fibres(Fibre& from, Fibre& to) {
#ifdef CUDA_ON_CPU_ASAN
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, to.stack, to.stack_bytes);
#endif
#ifdef CUDA_ON_CPU_UCONTEXT
    swapcontext(&from.context, &to.context);
#else
    exchange_stacks(&from.stack_pointer, to.stack_pointer);
#endif
#ifdef CUDA_ON_CPU_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

// Must be the first call on a fibre's stack. `launcher` receives the location of the
// stack that started the first fibre; ASan needs it when control returns there.
static void arrive_on_fibre([[maybe_unused]] Fibre& launcher) {
#ifdef CUDA_ON_CPU_ASAN
    const void* bottom = nullptr;
    size_t bytes = 0;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
    if (!launcher.stack) {
        launcher.stack = bottom;
        launcher.stack_bytes = bytes;
    }
#endif
}

// Prepares `fibre` to call `entry`, which never returns, at the first switch to it.
static void prepare_fibre(Fibre& fibre, char* stack, size_t bytes, void (*entry)()) {
    fibre.stack = stack;
    fibre.stack_bytes = bytes;
#ifdef CUDA_ON_CPU_ASAN
    __asan_unpoison_memory_region(stack, bytes);
#endif
#ifdef CUDA_ON_CPU_UCONTEXT
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = stack;
    fibre.context.uc_stack.ss_size = bytes;
    fibre.context.uc_link = nullptr;
    makecontext(&fibre.context, entry, 0);
#else
    // On entry to a function the stack pointer is 8 above a multiple of 16, as it is after `ret` here.
    void** top = reinterpret_cast<void**>(stack + bytes);
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(entry);
    for (int preserved = 0; preserved < 6; ++preserved) *--top = nullptr;
    fibre.stack_pointer = top;
#endif
}

// Stacks for the largest number of fibres needed so far; they are freed when the library is unloaded.
class Stacks {
public:
#ifdef CUDA_ON_CPU_ASAN
    static constexpr size_t BYTES = 1 << 20;
#else
    static constexpr size_t BYTES = 1 << 18;
#endif

    ~Stacks() { give_back(); }

    // Returns false if there is not enough memory.
    bool reserve(size_t count) {
        if (count <= count_) return true;
        give_back();
        void* memory = mmap(nullptr, count * stride(), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return false;
        memory_ = static_cast<char*>(memory);
        count_ = count;
        for (size_t i = 0; i < count; ++i) mprotect(memory_ + i * stride(), page(), PROT_NONE);
        return true;
    }

    char* operator[](size_t i) const { return memory_ + i * stride() + page(); }

    // Returns true if an address is in the guard page below a stack.
    bool is_guard(const void* address) const {
        const char* at = static_cast<const char*>(address);
        return memory_ && at >= memory_ && at < memory_ + count_ * stride() &&
               static_cast<size_t>(at - memory_) % stride() < page();
    }

private:
    static size_t page() {
        static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        return bytes;
    }
    // ASan must drop the frames of threads that never returned, because the system can reuse
    // these addresses.
    void give_back() {
        if (!memory_) return;
#ifdef CUDA_ON_CPU_ASAN
        __asan_unpoison_memory_region(memory_, count_ * stride());
#endif
        munmap(memory_, count_ * stride());
        memory_ = nullptr;
        count_ = 0;
    }

    static size_t stride() { return BYTES + page(); }

    char* memory_ = nullptr;
    size_t count_ = 0;
};

}  // namespace cuda_on_cpu
