// Bandwidth of device memory: a kernel that only copies and a kernel that only reads.
//
// Launch geometry: any one-dimensional grid of blocks of any size; adjacent threads access adjacent
// memory. The kernels have no barriers and use no shared memory.

typedef long long i64;

// Copies n pairs of doubles. Bytes per pair: 16 read, 16 written; no flops.
extern "C" __global__ void copy_pairs(const double2* from, double2* to, i64 n) {
    const i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        to[i] = from[i];
    }
}

// Reads n pairs of doubles, all of which must be 0. Writes one number to `sink` if their sum is not 0, so that
// the compiler cannot remove the loads. Bytes per pair: 16 read; 2 flops. Each thread has four loads in
// flight, because a single load leaves the bus idle.
extern "C" __global__ void read_pairs(const double2* from, double* sink, i64 n) {
    const i64 stride = (i64)gridDim.x * blockDim.x;
    i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 0.0;
    for (; i + 3 * stride < n; i += 4 * stride) {
        const double2 a = from[i], b = from[i + stride];
        const double2 c = from[i + 2 * stride], d = from[i + 3 * stride];
        sum += ((a.x + a.y) + (b.x + b.y)) + ((c.x + c.y) + (d.x + d.y));
    }
    for (; i < n; i += stride) {
        const double2 a = from[i];
        sum += a.x + a.y;
    }
    if (sum != 0.0) {
        *sink = sum;
    }
}
