// One block: its threads as fibres, the order in which they run, and the points where they wait for
// each other (the barrier of the block, the exchanges of a warp).
//
// A thread runs until it must wait or has finished. With seed 0 the threads that can run do so in
// the order in which they became able to; with another seed one of them is drawn at random, and
// atomic operations let other threads run. Behaviour that the hardware leaves undefined ends the launch
// with a message: threads at different barriers, lanes at different exchanges, a shuffle that reads a lane
// which does not take part, and a block in which no thread can continue.
//
// All state is static: a library runs one launch at a time (its caller holds a lock), several
// libraries run at once.
#pragma once

#include "fibre.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

namespace cuda_on_cpu {

typedef unsigned long long u64;

// Error codes of the CUDA driver, with the numbers of cuda.h.
enum Code : int {
    OK = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    ILLEGAL_ADDRESS = 700,
    OUT_OF_RESOURCES = 701,
    LAUNCH_TIMEOUT = 702,
    LAUNCH_FAILED = 719,
};

// Result of a launch; the caller owns the memory.
struct Outcome {
    int code;
    u64 address;  // that a thread could not touch, if the code is ILLEGAL_ADDRESS
    u64 switches;  // between threads
    char text[1024];
};

// Source location of a barrier or an exchange; `number` distinguishes two on one line.
struct Site {
    const char* intrinsic;
    int line;
    int number;
};

enum class State : unsigned char { Ready, AtBarrier, AtExchange, Exited };
enum class Exchange : unsigned char { Sync, Shuffle, Vote };

struct Thread {
    Fibre fibre;
    uint3 index;
    unsigned number;  // in the block
    State state;
    Site site;        // where it waits
    // Inputs and results of an exchange of its warp.
    Exchange exchange;
    unsigned mask;
    unsigned source;  // lane
    u64 value;
    u64 result;
    unsigned participants;  // lanes

    unsigned lane() const { return number % 32; }
};

constexpr unsigned MAX_THREADS = 1024;

static Thread threads[MAX_THREADS];
static Thread* current;
static uint3 block_index;
static dim3 block_size, grid_size;
static Stacks stacks;
static Fibre launcher;
static Outcome* outcome;
static void (*body)();

static unsigned alive;                       // threads of the block
static unsigned alive_lanes[MAX_THREADS / 32];  // of each warp
static unsigned waiting;                     // at the barrier
static Site barrier_site;
static unsigned barrier_true;                // threads that brought a true predicate

static unsigned ready[MAX_THREADS];          // a ring of thread numbers
static unsigned ready_first, ready_count;
static u64 seed, random_state;

// xorshift64*: Vigna, An experimental exploration of Marsaglia's xorshift generators (2016).
static u64 random_below(u64 bound) {
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (random_state * 0x2545F4914F6CDD1Dull >> 16) % bound;
}

// Ends the launch; the other threads of the block are abandoned.
[[noreturn]] CUDA_ON_CPU_UNWATCHED static void leave_block() {
    Fibre abandoned;
    switch_fibres(current ? current->fibre : abandoned, launcher);
    __builtin_unreachable();
}

static void say(const char* format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char* format, ...) {
    size_t said = strlen(outcome->text);
    va_list values;
    va_start(values, format);
    vsnprintf(outcome->text + said, sizeof outcome->text - said, format, values);
    va_end(values);
}

static void begin_fault(int code) {
    outcome->code = code;
    outcome->text[0] = 0;
    say("block %u: ", block_index.x);
}

static void push_ready(Thread& thread) {
    thread.state = State::Ready;
    ready[(ready_first + ready_count++) % MAX_THREADS] = thread.number;
}

[[noreturn]] static void deadlock() {
    begin_fault(LAUNCH_TIMEOUT);
    say("deadlock, nobody can go on:");
    unsigned named = 0;
    const unsigned count = block_size.x;
    for (unsigned i = 0; i < count && named < 8; ++i) {
        const Thread& t = threads[i];
        // Adjacent threads that wait at the same place are reported once.
        const Thread* before = i ? &threads[i - 1] : nullptr;
        if (t.state == State::Exited) continue;
        if (before && before->state == t.state && before->site.number == t.site.number) continue;
        say("%s thread %u waits at %s, line %d", named++ ? "," : "", i, t.site.intrinsic,
            t.site.line);
        if (t.state == State::AtExchange) say(" (mask %08x)", t.mask);
    }
    leave_block();
}

// Switches to a thread that can run; returns when the caller is selected again.
static void run_next() {
    if (ready_count == 0) deadlock();
    if (seed) {
        unsigned& drawn = ready[(ready_first + random_below(ready_count)) % MAX_THREADS];
        const unsigned number = drawn;
        drawn = ready[ready_first];
        ready[ready_first] = number;
    }
    Thread& next = threads[ready[ready_first]];
    ready_first = (ready_first + 1) % MAX_THREADS;
    --ready_count;
    if (&next == current) return;
    Thread& me = *current;
    current = &next;
    ++outcome->switches;
    switch_fibres(me.fibre, next.fibre);
}

// Lets other threads run if there is a seed. Called where the order of threads may matter although no thread waits.
static void give_way() {
    if (!seed) return;
    push_ready(*current);
    run_next();
}

static void release_barrier() {
    const unsigned count = block_size.x;
    for (unsigned i = 0; i < count; ++i) {
        if (threads[i].state != State::AtBarrier) continue;
        threads[i].result = barrier_true;
        threads[i].participants = waiting;
        push_ready(threads[i]);
    }
    waiting = 0;
    barrier_true = 0;
}

// Waits for all threads of the block that have not exited. Afterwards `result` of the caller is the
// number of true predicates, and `participants` the number of threads.
static const Thread& block_barrier(bool predicate, Site site) {
    Thread& me = *current;
    if (waiting == 0) {
        barrier_site = site;
    } else if (barrier_site.number != site.number) {
        begin_fault(LAUNCH_FAILED);
        say("barriers diverge: thread %u is at %s, line %d, while others wait at %s, line %d",
            me.number, site.intrinsic, site.line, barrier_site.intrinsic, barrier_site.line);
        leave_block();
    }
    me.state = State::AtBarrier;
    me.site = site;
    ++waiting;
    barrier_true += predicate;
    if (waiting == alive) release_barrier();
    run_next();
    return me;
}

// Completes the exchange of the lanes of `mask` if the last of them has arrived.
static void finish_exchange(unsigned warp, unsigned mask) {
    Thread* lanes = threads + warp * 32;
    unsigned came = 0, votes = 0;
    const Thread* first = nullptr;
    const unsigned needed = mask & alive_lanes[warp];
    for (unsigned lane = 0; lane < 32; ++lane) {
        if (!(needed >> lane & 1)) continue;
        const Thread& t = lanes[lane];
        if (t.state != State::AtExchange || t.mask != mask) return;
        came |= 1u << lane;
        votes |= unsigned(t.value != 0) << lane;
        if (!first) first = &t;
        if (first->site.number != t.site.number) {
            begin_fault(LAUNCH_FAILED);
            say("a warp diverges: thread %u is at %s, line %d, thread %u at %s, line %d "
                "(both with mask %08x)",
                first->number, first->site.intrinsic, first->site.line, t.number,
                t.site.intrinsic, t.site.line, mask);
            leave_block();
        }
    }
    for (unsigned lane = 0; lane < 32; ++lane) {
        if (!(came >> lane & 1)) continue;
        Thread& t = lanes[lane];
        t.participants = came;
        t.result = votes;
        if (t.exchange == Exchange::Shuffle) {
            if (!(came >> t.source & 1)) {
                begin_fault(LAUNCH_FAILED);
                say("%s in line %d: thread %u reads lane %u, which %s", t.site.intrinsic,
                    t.site.line, t.number, t.source,
                    mask >> t.source & 1 ? "has exited or does not exist" : "is not in the mask");
                leave_block();
            }
            t.result = lanes[t.source].value;
        }
    }
    for (unsigned lane = 0; lane < 32; ++lane) {
        if (came >> lane & 1) push_ready(lanes[lane]);
    }
}

// Waits for the lanes of `mask` that have not exited. Only these lanes take part; therefore groups of lanes
// of one warp can exchange independently of each other.
static const Thread& warp_exchange(Exchange exchange, unsigned mask, u64 value, unsigned source,
                                   Site site) {
    Thread& me = *current;
    if (!(mask >> me.lane() & 1)) {
        begin_fault(LAUNCH_FAILED);
        say("%s in line %d: thread %u, lane %u, is not in its own mask %08x", site.intrinsic,
            site.line, me.number, me.lane(), mask);
        leave_block();
    }
    me.state = State::AtExchange;
    me.site = site;
    me.exchange = exchange;
    me.mask = mask;
    me.value = value;
    me.source = source;
    finish_exchange(me.number / 32, mask);
    run_next();
    return me;
}

// Ends the thread and releases the threads that wait for it.
static void exit_thread() {
    Thread& me = *current;
    const unsigned warp = me.number / 32;
    me.state = State::Exited;
    alive_lanes[warp] &= ~(1u << me.lane());
    --alive;
    for (unsigned lane = 0; lane < 32; ++lane) {
        const Thread& t = threads[warp * 32 + lane];
        if (alive_lanes[warp] >> lane & 1 && t.state == State::AtExchange)
            finish_exchange(warp, t.mask);
    }
    if (alive == 0) leave_block();
    if (waiting == alive) release_barrier();
    run_next();
    __builtin_unreachable();
}

static void start_thread() {
    arrive_on_fibre(launcher);
    body();
    exit_thread();
}

// Runs block `index` of the grid from its first thread to its last, or to a fault.
static void run_block(unsigned index) {
    block_index = {index, 0, 0};
    const unsigned count = block_size.x;
    alive = count;
    waiting = 0;
    barrier_true = 0;
    ready_first = 0;
    ready_count = 0;
    for (unsigned& lanes : alive_lanes) lanes = 0;
    for (unsigned i = 0; i < count; ++i) {
        Thread& t = threads[i];
        t.index = {i, 0, 0};
        t.number = i;
        t.site = {"its start", 0, -1};
        alive_lanes[i / 32] |= 1u << i % 32;
        prepare_fibre(t.fibre, stacks[i], Stacks::BYTES, start_thread);
        push_ready(t);
    }
    const unsigned first = seed ? static_cast<unsigned>(random_below(count)) : 0;
    ready[0] = first;
    ready[first] = 0;
    ready_first = 1;
    --ready_count;
    current = &threads[first];
    launcher.stack = nullptr;
    switch_fibres(launcher, current->fibre);
    current = nullptr;
}

}  // namespace cuda_on_cpu
