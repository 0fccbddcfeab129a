//! Tests of launches: arguments of every kind, and grids that are too large to run.

use crate::backend::cuda::driver::{Driver, DriverError, Geometry};
use crate::backend::cuda::emulated::bench::{Bench, argument};

#[test]
fn arguments_arrive_by_value() {
    let text = r#"
        struct Data { const double* x; float scale; int power; long long n; bool half; };
        extern "C" __global__ void arguments(const Data data, float f, unsigned char c, double* __restrict__ out) {
            double value = data.x[data.n - 1] * data.scale + f + c;
            out[0] = data.half ? value / data.power : value;
        }"#;
    let Some(bench) = Bench::new(text) else { return };
    let (x, out) = (bench.put(&[1.0, 2.0, 3.0]), bench.room::<f64>(1));
    // With the padding of C: 8 + 4 + 4 + 8 + 1 + 7.
    let mut data = [argument(x), argument(0.5f32), argument(4i32), argument(3i64)].concat();
    data.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    let arguments = [data, argument(0.25f32), vec![7], argument(out)];
    bench.launch("arguments", 1, 1, &arguments).unwrap();
    assert_eq!(bench.take::<f64>(out, 1), [(3.0 * 0.5 + 0.25 + 7.0) / 4.0]);

    for wrong in [&arguments[..3], &[&arguments[..3], &[vec![0; 4]]].concat()] {
        let error = bench.launch("arguments", 1, 1, wrong).unwrap_err();
        assert!(matches!(error, DriverError::Failed { code: 1, .. }), "{error}");
    }
}

/// Every selected block of a grid of 2³¹ - 1 blocks adds the values of the geometry that it sees.
#[test]
fn blocks_of_the_largest_grid_can_be_looked_at() {
    let text = r#"
        extern "C" __global__ void points(long long n, long long* first, unsigned long long* count) {
            const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
            if (threadIdx.x == 0) { atomicMin((int*)first + 2, (int)blockIdx.x); first[0] = i; }
            if (i < n) atomicAdd(count, 1ull);
            if (gridDim.x != 2147483647u) __trap();
        }"#;
    let Some(bench) = Bench::new(text) else { return };
    let blocks = i32::MAX as u32;
    let n = i64::from(blocks) * 128 - 5;
    let (first, count) = (bench.put(&[0i64, i64::from(i32::MAX)]), bench.put(&[0u64]));
    let arguments = [argument(n), argument(first), argument(count)];
    let chosen = [3, blocks - 2, blocks - 1];
    bench.launch_blocks("points", blocks, 128, Some(&chosen), &arguments).unwrap();
    assert_eq!(bench.take::<i64>(first, 2), [(i64::from(blocks) - 1) * 128, 3]);
    assert_eq!(bench.take::<u64>(count, 1), [3 * 128 - 5]);

    let outside = bench.launch_blocks("points", 7, 128, Some(&[7]), &arguments).unwrap_err();
    assert!(matches!(outside, DriverError::Failed { code: 1, .. }), "{outside}");
}

/// A launch that cannot start returns an error, and the device stays usable.
#[test]
fn launches_that_cannot_start_are_refused() {
    let text = "extern \"C\" __global__ void __launch_bounds__(64 * 2, 1) bounded(unsigned* out) {
            atomicAdd(out, 1u); }
        extern \"C\" __global__ void free_size(unsigned* out) { atomicAdd(out, 1u); }";
    let Some(bench) = Bench::new(text) else { return };
    let out = bench.put(&[0u32]);
    let arguments = [argument(out)];
    let cases = [
        ("free_size", 1, 1025, 1),
        ("free_size", 1, 0, 1),
        ("free_size", 0, 32, 1),
        ("free_size", 1 << 31, 32, 1),
        ("bounded", 1, 129, 701),
        ("absent", 1, 32, 500),
    ];
    for (kernel, blocks, threads, expected) in cases {
        let error = bench.launch(kernel, blocks, threads, &arguments).unwrap_err();
        let DriverError::Failed { code, .. } = error else { panic!("{error}") };
        assert_eq!(code, expected, "{error}");
    }
    bench.launch("free_size", 2, 1024, &arguments).unwrap();
    bench.launch("bounded", 3, 128, &arguments).unwrap();
    assert_eq!(bench.take::<u32>(out, 1), [2 * 1024 + 3 * 128]);
}

/// Two modules of one image have separate shared and static memory, and each can be dropped.
#[test]
fn modules_do_not_share_their_state() {
    let text = "__device__ int launches = 0;
        extern \"C\" __global__ void count(int* out) { *out = ++launches; }";
    let Some(bench) = Bench::new(text) else { return };
    let out = bench.room::<i32>(1);
    let other = Bench::new(text).unwrap();
    let there = other.room::<i32>(1);
    for n in 1..4 {
        bench.launch("count", 1, 1, &[argument(out)]).unwrap();
        assert_eq!(bench.take::<i32>(out, 1), [n]);
    }
    other.launch("count", 1, 1, &[argument(there)]).unwrap();
    assert_eq!(other.take::<i32>(there, 1), [1]);
    bench.device.unload(bench.module);
    let gone = std::panic::catch_unwind(|| {
        let geometry = Geometry { blocks: 1, threads: 1 };
        bench.device.launch(bench.module, "count", geometry, &[])
    });
    assert!(gone.is_err());
}
