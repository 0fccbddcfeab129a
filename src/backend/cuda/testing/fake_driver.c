/* A CUDA driver without a device, for tests: its memory is the host's, its work is done as late as the
 * real driver's may be, when a stream or an event is waited for, so that a buffer that is reused too
 * early shows. Streams run beside each other: one runs no further than another waits for it.
 *
 *   VERSION=13010   what cuDriverGetVersion says        INIT=100       what cuInit returns
 *   DEVICES=1       what cuDeviceGetCount says          SILENT         no error has a text
 *   MEMORY=bytes    of a device                         NO_PINNED      no page-locked host memory
 *   BUSY            the device refuses a context        EMPTY          a library without functions
 *   WITHOUT_name    without that function               CAPABILITY=90  compute capability, 10 times
 *
 * A module is the text "FAKE" and has four kernels: add(double* values, long long n, double term),
 * copy(double* to, long long n, const double* from), fault(), which ends the device, and refuse(),
 * which cannot be launched. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef VERSION
#define VERSION 13010
#endif
#ifndef DEVICES
#define DEVICES 1
#endif
#ifndef INIT
#define INIT 0
#endif
#ifndef TIME_LIMIT
#define TIME_LIMIT 0
#endif
#ifndef CAPABILITY
#define CAPABILITY 90
#endif
#ifndef MEMORY
#define MEMORY (1 << 28)
#endif

enum { OK, INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED, NO_DEVICE = 100, INVALID_DEVICE = 101,
       INVALID_IMAGE = 200, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_FOUND = 500,
       ILLEGAL_ADDRESS = 700, LAUNCH_OUT_OF_RESOURCES = 701, BUSY_DEVICE = 46 };
enum { COPY, SET, ADD, FAULT, MARK, WAIT };

struct block { char *at; size_t bytes; struct block *next; };
/* A mark has its stream in `to`, a wait has its mark in `to`; `bytes` of a mark: whether it was passed. */
struct work { int kind; char *to; const char *from; size_t bytes; double term; struct work *next; };
struct stream { struct work *first, **last; struct stream *next; };

int dualfit_fake_driver = 1;

#ifndef EMPTY
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *device_memory, *host_memory;
static struct stream *streams;
static size_t used;
static int ready, contexts, modules, events, dead;
static int context, module;
static __thread void *current[8];
static __thread int depth;

static void fail(const char *what) { fprintf(stderr, "FAKE DRIVER: %s\n", what); abort(); }

/* Calls are serial, as the driver's own locks make them. */
#define ENTER(condition, code)                                                                         \
    pthread_mutex_lock(&lock);                                                                         \
    int result = dead ? dead : !(condition) ? (code) : OK;                                             \
    if (result == OK)
#define LEAVE                                                                                          \
    pthread_mutex_unlock(&lock);                                                                       \
    return result
#define IN_CONTEXT ENTER(depth > 0 && current[depth - 1] == &context && contexts > 0, INVALID_CONTEXT)

static int inside(const struct block *list, const char *at, size_t bytes) {
    for (; list; list = list->next)
        if (at >= list->at && at + bytes <= list->at + list->bytes) return 1;
    return 0;
}

static void *take(struct block **list, size_t bytes) {
    struct block *block = malloc(sizeof *block);
    *block = (struct block){malloc(bytes), bytes, *list};
    memset(block->at, 0xA5, bytes);
    *list = block;
    return block->at;
}

static size_t give(struct block **list, const void *at) {
    for (; *list; list = &(*list)->next)
        if ((*list)->at == at) {
            struct block *block = *list;
            size_t bytes = block->bytes;
            *list = block->next;
            free(block->at);
            free(block);
            return bytes;
        }
    return 0;
}

static struct stream *known(const void *on) {
    struct stream *stream = streams;
    while (stream && stream != on) stream = stream->next;
    return stream;
}

__attribute__((unused)) static int under_way(void) {
    for (struct stream *stream = streams; stream; stream = stream->next)
        if (stream->first) return 1;
    return 0;
}

/* Whether work that waits uses this memory. */
__attribute__((unused)) static int in_use(const char *at, size_t bytes) {
    for (struct stream *stream = streams; stream; stream = stream->next)
        for (struct work *work = stream->first; work; work = work->next) {
            size_t length = work->kind == ADD ? 8 * work->bytes : work->bytes;
            if (work->kind > ADD) continue;
            if (work->to < at + bytes && at < work->to + length) return 1;
            if (work->kind == COPY && work->from < at + bytes && at < work->from + length) return 1;
        }
    return 0;
}

static void *enqueue(struct stream *stream, struct work work) {
    struct work *copy = malloc(sizeof *copy);
    *copy = work;
    copy->next = NULL;
    *stream->last = copy;
    stream->last = &copy->next;
    return copy;
}

/* Does the work of a stream up to `mark`, or all of it, and what other streams must do before. */
static int run(struct stream *stream, const struct work *mark) {
    while (stream->first && !dead) {
        struct work *work = stream->first;
        int is_mark = work == mark;
        if (work->kind == WAIT) {
            struct work *awaited = (struct work *)work->to;
            if (!awaited->bytes) run((struct stream *)awaited->to, awaited);
        }
        if (work->kind == COPY) memcpy(work->to, work->from, work->bytes);
        if (work->kind == SET) memset(work->to, (int)work->term, work->bytes);
        if (work->kind == FAULT) dead = ILLEGAL_ADDRESS;
        if (work->kind == ADD)
            for (size_t i = 0; i < work->bytes; i++) ((double *)work->to)[i] += work->term;
        stream->first = work->next;
        if (!stream->first) stream->last = &stream->first;
        if (work->kind != MARK) free(work);
        else work->bytes = 1;
        if (is_mark) break;
    }
    return dead;
}

#ifndef WITHOUT_cuInit
int cuInit(unsigned flags) { ready = INIT == 0 && flags == 0; return INIT; }
#endif
#ifndef WITHOUT_cuDriverGetVersion
int cuDriverGetVersion(int *version) { *version = VERSION; return OK; }
#endif
#ifndef WITHOUT_cuGetErrorName
int cuGetErrorName(int code, const char **name) { (void)code; *name = "CUDA_ERROR_FAKE"; return OK; }
#endif
#ifndef WITHOUT_cuGetErrorString
int cuGetErrorString(int code, const char **text) {
#ifdef SILENT
    (void)code;
    *text = NULL;
    return INVALID_VALUE;
#else
    static __thread char buffer[40];
    snprintf(buffer, sizeof buffer, "fake error %d", code);
    *text = buffer;
    return OK;
#endif
}
#endif
#ifndef WITHOUT_cuDeviceGetCount
int cuDeviceGetCount(int *count) { *count = DEVICES; return ready ? OK : NOT_INITIALIZED; }
#endif
#ifndef WITHOUT_cuDeviceGet
int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal + 70;
    return !ready ? NOT_INITIALIZED : ordinal < 0 || ordinal >= DEVICES ? INVALID_DEVICE : OK;
}
#endif
#ifndef WITHOUT_cuDeviceGetName
int cuDeviceGetName(char *name, int bytes, int device) {
    snprintf(name, bytes, "Fake device %d", device - 70);
    return OK;
}
#endif
#ifndef WITHOUT_cuDeviceGetAttribute
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    switch (attribute) {
    case 13: *value = 1980000; return OK;
    case 16: *value = 132; return OK;
    case 17: *value = TIME_LIMIT; return OK;
    case 36: *value = 3201000; return OK;
    case 37: *value = 6144; return OK;
    case 75: *value = CAPABILITY / 10; return OK;
    case 76: *value = CAPABILITY % 10; return OK;
    default: return INVALID_VALUE;
    }
}
#endif
#ifndef WITHOUT_cuDeviceTotalMem_v2
int cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = MEMORY; return OK; }
#endif
#ifndef WITHOUT_cuDevicePrimaryCtxRetain
int cuDevicePrimaryCtxRetain(void **out, int device) {
#ifdef BUSY
    (void)out, (void)device;
    return BUSY_DEVICE;
#endif
    ENTER(device >= 70, INVALID_DEVICE) { contexts++; *out = &context; }
    LEAVE;
}
#endif
#ifndef WITHOUT_cuDevicePrimaryCtxRelease_v2
int cuDevicePrimaryCtxRelease_v2(int device) {
    (void)device;
    if (--contexts == 0 && !dead) {
        if (device_memory) fail("device memory leaks");
        if (host_memory) fail("page-locked memory leaks");
        if (modules || streams || events) fail("modules, streams or events leak");
        fprintf(stderr, "FAKE DRIVER: nothing leaks\n");
    }
    return OK;
}
#endif
#ifndef WITHOUT_cuCtxPushCurrent_v2
int cuCtxPushCurrent_v2(void *handle) {
    if (depth == 8) fail("contexts are pushed and not popped");
    current[depth++] = handle;
    return handle == &context ? OK : INVALID_CONTEXT;
}
#endif
#ifndef WITHOUT_cuCtxPopCurrent_v2
int cuCtxPopCurrent_v2(void **handle) {
    if (depth == 0) fail("a context is popped that was not pushed");
    *handle = current[--depth];
    return OK;
}
#endif
#ifndef WITHOUT_cuMemGetInfo_v2
int cuMemGetInfo_v2(size_t *available, size_t *total) {
    IN_CONTEXT { *available = MEMORY - used; *total = MEMORY; }
    LEAVE;
}
#endif
#ifndef WITHOUT_cuMemAlloc_v2
int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
    IN_CONTEXT {
        if (bytes == 0) result = INVALID_VALUE;
        else if (bytes > MEMORY - used) result = OUT_OF_MEMORY;
        else { used += bytes; *address = (size_t)take(&device_memory, bytes); }
    }
    LEAVE;
}
#endif
#ifndef WITHOUT_cuMemFree_v2
int cuMemFree_v2(unsigned long long address) {
    IN_CONTEXT {
        for (struct block *block = device_memory; block; block = block->next)
            if (block->at == (char *)(size_t)address && in_use(block->at, block->bytes))
                fail("memory is freed while work is under way");
        size_t bytes = give(&device_memory, (void *)(size_t)address);
        used -= bytes;
        if (!bytes) fail("memory is freed that was not allocated");
    }
    LEAVE;
}
#endif
#ifndef WITHOUT_cuMemHostAlloc
int cuMemHostAlloc(void **at, size_t bytes, unsigned flags) {
    (void)flags;
#ifdef NO_PINNED
    (void)at, (void)bytes;
    return OUT_OF_MEMORY;
#else
    IN_CONTEXT *at = take(&host_memory, bytes);
    LEAVE;
#endif
}
#endif
#ifndef WITHOUT_cuMemFreeHost
int cuMemFreeHost(void *at) {
    IN_CONTEXT if (!give(&host_memory, at)) fail("host memory is freed that was not allocated");
    LEAVE;
}
#endif
#ifndef WITHOUT_cuMemcpyHtoDAsync_v2
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *on) {
    IN_CONTEXT {
        struct stream *stream = known(on);
        if (!stream || !inside(device_memory, (char *)(size_t)to, bytes)) result = INVALID_VALUE;
        else enqueue(stream, (struct work){COPY, (char *)(size_t)to, from, bytes, 0, NULL});
    }
    LEAVE;
}
#endif
#ifndef WITHOUT_cuMemcpyDtoHAsync_v2
int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *on) {
    IN_CONTEXT {
        struct stream *stream = known(on);
        if (!stream || !inside(device_memory, (char *)(size_t)from, bytes)) result = INVALID_VALUE;
        else enqueue(stream, (struct work){COPY, to, (char *)(size_t)from, bytes, 0, NULL});
    }
    LEAVE;
}
#endif
#ifndef WITHOUT_cuMemsetD8Async
int cuMemsetD8Async(unsigned long long at, unsigned char value, size_t bytes, void *on) {
    IN_CONTEXT {
        struct stream *stream = known(on);
        if (!stream || !inside(device_memory, (char *)(size_t)at, bytes)) result = INVALID_VALUE;
        else enqueue(stream, (struct work){SET, (char *)(size_t)at, NULL, bytes, value, NULL});
    }
    LEAVE;
}
#endif
#ifndef WITHOUT_cuStreamCreate
int cuStreamCreate(void **out, unsigned flags) {
    (void)flags;
    IN_CONTEXT {
        struct stream *stream = malloc(sizeof *stream);
        *stream = (struct stream){NULL, &stream->first, streams};
        *out = streams = stream;
    }
    LEAVE;
}
#endif
#ifndef WITHOUT_cuStreamSynchronize
int cuStreamSynchronize(void *on) {
    IN_CONTEXT result = known(on) ? run(known(on), NULL) : INVALID_HANDLE;
    LEAVE;
}
#endif
#ifndef WITHOUT_cuStreamWaitEvent
int cuStreamWaitEvent(void *on, void *event, unsigned flags) {
    ENTER(known(on) && event && !flags, INVALID_HANDLE) {
        struct work *mark = *(void **)event;
        if (mark && !mark->bytes) enqueue(known(on), (struct work){WAIT, (char *)mark, NULL, 0, 0, NULL});
    }
    LEAVE;
}
#endif
#ifndef WITHOUT_cuStreamDestroy_v2
int cuStreamDestroy_v2(void *on) {
    ENTER(known(on), INVALID_HANDLE) {
        struct stream **link = &streams;
        while (*link != on) link = &(*link)->next;
        *link = (*link)->next;
        free(on);
    }
    LEAVE;
}
#endif
#ifndef WITHOUT_cuEventCreate
int cuEventCreate(void **out, unsigned flags) {
    (void)flags;
    IN_CONTEXT { events++; *out = calloc(1, sizeof(void *)); }
    LEAVE;
}
#endif
#ifndef WITHOUT_cuEventRecord
int cuEventRecord(void *event, void *on) {
    ENTER(known(on), INVALID_HANDLE)
        *(void **)event = enqueue(known(on), (struct work){MARK, on, NULL, 0, 0, NULL});
    LEAVE;
}
#endif
#ifndef WITHOUT_cuEventSynchronize
int cuEventSynchronize(void *event) {
    ENTER(event != NULL, INVALID_HANDLE) {
        struct work *mark = *(void **)event;
        /* A mark that has been passed is done; one that was never recorded is, too. */
        if (mark && !mark->bytes) result = run((struct stream *)mark->to, mark);
    }
    LEAVE;
}
#endif
#ifndef WITHOUT_cuEventDestroy_v2
int cuEventDestroy_v2(void *event) {
    ENTER(event != NULL, INVALID_HANDLE) { events--; free(event); }
    LEAVE;
}
#endif
#ifndef WITHOUT_cuModuleLoadData
int cuModuleLoadData(void **out, const void *image) {
    IN_CONTEXT {
        if ((size_t)image % 8) fail("an image is not aligned");
        if (strcmp(image, "FAKE")) result = INVALID_IMAGE;
        else { modules++; *out = &module; }
    }
    LEAVE;
}
#endif
#ifndef WITHOUT_cuModuleGetFunction
int cuModuleGetFunction(void **out, void *from, const char *name) {
    static const char *kernels[] = {"add", "copy", "fault", "refuse"};
    ENTER(from == &module, INVALID_HANDLE) {
        result = NOT_FOUND;
        for (int i = 0; i < 4; i++)
            if (!strcmp(name, kernels[i])) { *out = &kernels[i]; result = OK; }
    }
    LEAVE;
}
#endif
#ifndef WITHOUT_cuFuncSetAttribute
int cuFuncSetAttribute(void *kernel, int attribute, int value) {
    ENTER(kernel != NULL, INVALID_HANDLE) {
        /* Percent of shared memory; the kernel `refuse` refuses that, too. */
        if (attribute != 9 || value < -1 || value > 100 || !strcmp(*(const char **)kernel, "refuse"))
            result = INVALID_VALUE;
    }
    LEAVE;
}
#endif
#ifndef WITHOUT_cuOccupancyMaxActiveBlocksPerMultiprocessor
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *kernel, int threads, size_t shared) {
    ENTER(kernel != NULL, INVALID_HANDLE) {
        /* The kernel `refuse` needs more than a multiprocessor has. */
        if (threads < 1 || shared) result = INVALID_VALUE;
        else *blocks = strcmp(*(const char **)kernel, "refuse") ? 2048 / threads : 0;
    }
    LEAVE;
}
#endif
#ifndef WITHOUT_cuModuleUnload
int cuModuleUnload(void *handle) {
    ENTER(handle == &module, INVALID_HANDLE) {
        if (under_way()) fail("a module is unloaded while work is under way");
        modules--;
    }
    LEAVE;
}
#endif
#ifndef WITHOUT_cuLaunchKernel
int cuLaunchKernel(void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *on, void **arguments, void **extra) {
    IN_CONTEXT {
        const char *name = *(const char **)kernel;
        struct work work = {FAULT, NULL, NULL, 0, 0, NULL};
        if (!known(on) || gy != 1 || gz != 1 || by != 1 || bz != 1 || shared || extra || !gx || !bx)
            result = INVALID_VALUE;
        else if (!strcmp(name, "refuse")) result = LAUNCH_OUT_OF_RESOURCES;
        else {
            if (!strcmp(name, "add")) {
                work.kind = ADD;
                memcpy(&work.to, arguments[0], 8);
                memcpy(&work.bytes, arguments[1], 8);
                memcpy(&work.term, arguments[2], 8);
                if (!inside(device_memory, work.to, 8 * work.bytes)) work.kind = FAULT;
            }
            if (!strcmp(name, "copy")) {
                work.kind = COPY;
                memcpy(&work.to, arguments[0], 8);
                memcpy(&work.bytes, arguments[1], 8);
                memcpy(&work.from, arguments[2], 8);
                work.bytes *= 8;
                if (!inside(device_memory, work.to, work.bytes)) work.kind = FAULT;
                if (!inside(device_memory, work.from, work.bytes)) work.kind = FAULT;
            }
            enqueue(known(on), work);
        }
    }
    LEAVE;
}
#endif
#endif
