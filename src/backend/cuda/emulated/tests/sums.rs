//! Tests of a reduction over points like that of the kernels: over lanes, warps, blocks, and in the last block.

use crate::backend::cuda::driver::Driver;
use crate::backend::cuda::emulated::bench::{Bench, argument};

const SUM: &str = r#"
struct Data { const double* x; long long points; };

__device__ double block_sum(double value) {
    __shared__ double warps[THREADS / 32];
    for (int delta = 16; delta > 0; delta /= 2) value += __shfl_down_sync(0xffffffffu, value, delta);
    __syncthreads();
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    double sum = 0.0;
    for (int w = 0; w < THREADS / 32; ++w) sum += warps[w];
    return sum;
}

extern "C" __global__ void __launch_bounds__(THREADS)
sum(Data data, double* partial, unsigned* ticket, double* out) {
    __shared__ bool last;
    double value = 0.0;
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < data.points; i += stride)
        value += data.x[i];
    value = block_sum(value);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = value;
        __threadfence();
        last = atomicAdd(ticket, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    value = 0.0;
    for (int block = threadIdx.x; block < gridDim.x; block += blockDim.x) value += partial[block];
    value = block_sum(value);
    if (threadIdx.x == 0) {
        *out = value;
        *ticket = 0;
    }
}
"#;

fn bench(threads: u32) -> Option<Bench> {
    Bench::new(&format!("constexpr int THREADS = {threads};\n{SUM}"))
}

fn launch(bench: &Bench, x: &[f64], blocks: u32, threads: u32) -> f64 {
    let there = bench.put(x);
    let partial = bench.room::<f64>(blocks as usize);
    let ticket = bench.put(&[0u32]);
    let out = bench.room::<f64>(1);
    let data = [argument(there), argument(x.len() as i64)].concat();
    let arguments = [data, argument(partial), argument(ticket), argument(out)];
    bench.launch("sum", blocks, threads, &arguments).unwrap();
    assert_eq!(bench.take::<u32>(ticket, 1), [0]);
    let sum = bench.take(out, 1)[0];
    for buffer in [there, partial, ticket, out] {
        bench.device.release(buffer);
    }
    sum
}

#[test]
fn sums_do_not_depend_on_the_order_of_threads_and_blocks() {
    for threads in [32, 128, 1024] {
        let Some(bench) = bench(threads) else { return };
        for points in [0usize, 1, 31, 33, 255, 257, 65537] {
            let x: Vec<f64> = (0..points).map(|i| (i as f64 * 0.37).sin() + 0.5).collect();
            let expected: f64 = x.iter().sum();
            for blocks in [1, 3, 40] {
                bench.device.set_seed(0);
                let sum = launch(&bench, &x, blocks, threads);
                let bound = 1e-12 * (1.0 + expected);
                assert!((sum - expected).abs() < bound, "{points}: {sum}, not {expected}");
                for seed in 1..5 {
                    bench.device.set_seed(seed);
                    let again = launch(&bench, &x, blocks, threads);
                    assert_eq!(again.to_bits(), sum.to_bits(), "{points}, seed {seed}");
                }
            }
        }
        assert_eq!((bench.device.live(), bench.device.live_bytes()), (0, 0));
        assert_eq!(bench.device.calls().launches["sum"], 7 * 3 * 5);
    }
}

/// Whole numbers are summed exactly in any order: nothing is lost, nothing counted twice.
#[test]
fn a_million_points_are_counted_exactly() {
    let Some(bench) = bench(256) else { return };
    let x: Vec<f64> = (0..1_000_000).map(f64::from).collect();
    bench.device.set_seed(7);
    assert_eq!(launch(&bench, &x, 128, 256), 499_999_500_000.0);
}

#[test]
fn threads_launch_at_once() {
    let Some(first) = bench(128) else { return };
    std::thread::scope(|scope| {
        for t in 0..4 {
            // Two of the threads have their own devices; the other two share one device.
            let own = (t % 2 == 0).then(|| bench(128).unwrap());
            let shared = &first;
            scope.spawn(move || {
                let bench = own.as_ref().unwrap_or(shared);
                for n in 0..20 {
                    let x: Vec<f64> = (0..1000 * t + n).map(f64::from).collect();
                    assert_eq!(launch(bench, &x, 5, 128), x.iter().sum::<f64>());
                }
            });
        }
    });
    assert_eq!(first.device.live(), 0);
}
