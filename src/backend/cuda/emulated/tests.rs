//! The emulation itself.

use super::*;

/// A block sum: lanes by shuffles, warps through shared memory.
const BLOCK_SUM: &str = r#"
struct Data { const double* x; long long n; };

extern "C" __global__ void __launch_bounds__(256) block_sum(Data data, double* sums) {
    __shared__ double warps[8];
    double sum = 0.0;
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < data.n; i += stride)
        sum += data.x[i];
    for (int delta = 16; delta > 0; delta /= 2) sum += __shfl_down_sync(0xffffffffu, sum, delta);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0.0;
        for (int w = 0; w < blockDim.x / 32; ++w) sum += warps[w];
        sums[blockIdx.x] = sum;
    }
}
"#;

fn bytes_of(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_ne_bytes()).collect()
}

#[test]
fn blocks_sum_odd_numbers_of_points() {
    let Some(device) = emulator_or_skip(Settings::default()) else { return };
    let image = device.compile(BLOCK_SUM, (9, 0)).unwrap();
    let module = device.load(&image.bytes).unwrap();
    for n in [0usize, 1, 31, 33, 255, 257, 65537] {
        let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.1).sin()).collect();
        let there = device.allocate(8 * n).unwrap();
        device.upload(there, &bytes_of(&x)).unwrap();
        let sums = device.allocate(8 * 5).unwrap();
        for seed in 0..4 {
            device.set_seed(seed);
            let mut data = there.0.to_ne_bytes().to_vec();
            data.extend((n as i64).to_ne_bytes());
            let geometry = Geometry { blocks: 5, threads: 256 };
            device.launch(module, "block_sum", geometry, &[&data, &sums.0.to_ne_bytes()]).unwrap();
            let mut found = vec![0u8; 40];
            device.download(sums, &mut found).unwrap();
            let total: f64 =
                found.chunks(8).map(|b| f64::from_ne_bytes(b.try_into().unwrap())).sum();
            assert!((total - x.iter().sum::<f64>()).abs() < 1e-9, "{n} {total}");
        }
        device.release(sums);
        device.release(there);
    }
    assert_eq!(device.live(), 0);
}
