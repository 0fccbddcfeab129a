//! Kernels with deliberate errors, each of which the emulator must detect.

use crate::backend::cuda::driver::{CompileError, Compiler};
use crate::backend::cuda::driver::{Driver, DriverError, Queue};
use crate::backend::cuda::emulated::bench::{Bench, argument};
use crate::backend::cuda::emulated::{Settings, emulator_or_skip};

/// Runs a body of `kernel(double* out)` on one block; `out` has one number per thread.
fn run(body: &str, threads: u32, seed: u64) -> Option<Result<Vec<f64>, (i32, String)>> {
    let text = format!("extern \"C\" __global__ void kernel(double* out) {{\n{body}\n}}");
    let bench = Bench::new(&text)?;
    bench.device.set_seed(seed);
    let out = bench.room::<f64>(threads as usize);
    let launched = bench.launch("kernel", 1, threads, &[argument(out)]);
    Some(match launched {
        Ok(()) => Ok(bench.take(out, threads as usize)),
        Err(error) => {
            let DriverError::Lost { code, ref text, call } = error else { panic!("{error}") };
            assert_eq!(call, "cuLaunchKernel");
            assert_eq!(
                bench.device.upload(out, &[0], Queue::Work),
                Err(error.clone()),
                "the fault stays"
            );
            assert_eq!(bench.device.allocate(8), Err(error.clone()));
            Err((code, text.clone()))
        }
    })
}

/// Checks that a launch fails with this code and text, in natural and in random order of the threads.
fn fails(body: &str, threads: u32, code: i32, said: &str) {
    for seed in [0, 1, 2] {
        let Some(result) = run(body, threads, seed) else { return };
        let (found, text) = result.expect_err("the mutant was not found");
        assert_eq!(found, code, "{text}");
        assert!(text.contains(said), "seed {seed}: {text}");
    }
}

const REVERSED: &str = "__shared__ double s[128]; s[threadIdx.x] = threadIdx.x;
    BARRIER
    out[threadIdx.x] = s[127 - threadIdx.x];";

#[test]
fn a_missing_barrier_shows() {
    let expected: Vec<f64> = (0..128).rev().map(f64::from).collect();
    for seed in 0..5 {
        let Some(right) = run(&REVERSED.replace("BARRIER", "__syncthreads();"), 128, seed) else {
            return;
        };
        assert_eq!(right.unwrap(), expected);
        let wrong = run(&REVERSED.replace("BARRIER", ""), 128, seed).unwrap().unwrap();
        assert!(wrong.iter().any(|v| v.is_nan()), "seed {seed}: {wrong:?}");
    }
}

/// The second barrier separates the next round's write from the reads of this round. The order of the
/// threads that shows the error depends on the writer; at least one of a few orders must show it.
#[test]
fn a_missing_second_barrier_shows() {
    for writer in [0, 127] {
        let body = |barrier: &str| {
            format!(
                "__shared__ double s; double sum = 0.0;
                for (int round = 1; round <= 3; ++round) {{
                    if (threadIdx.x == {writer}) s = round;
                    __syncthreads();
                    sum += s;
                    {barrier}
                }}
                out[threadIdx.x] = sum;"
            )
        };
        let Some(right) = run(&body("__syncthreads();"), 128, 3) else { return };
        assert_eq!(right.unwrap(), [6.0; 128]);
        let found = (0..4).any(|seed| run(&body(""), 128, seed).unwrap().unwrap() != [6.0; 128]);
        assert!(found, "writer {writer}");
    }
}

#[test]
fn a_missing_warp_barrier_shows() {
    let body = "__shared__ double s[32]; s[threadIdx.x] = threadIdx.x;
        out[threadIdx.x] = s[threadIdx.x ^ 1];";
    for seed in 0..4 {
        let Some(found) = run(body, 32, seed) else { return };
        assert!(found.unwrap().iter().any(|v| v.is_nan()), "seed {seed}");
    }
}

#[test]
fn diverging_barriers_are_found() {
    let body = "if (threadIdx.x < 100) __syncthreads();
        __syncthreads(); out[threadIdx.x] = 0.0;";
    fails(body, 128, 719, "barriers diverge: thread");
    let line = "if (threadIdx.x < 100) __syncthreads(); else __syncthreads();";
    fails(line, 128, 719, "line 2");
}

/// A barrier does not wait for threads that have exited, as on hardware since compute capability 7.0.
#[test]
fn a_barrier_does_not_wait_for_exited_threads() {
    let body = "out[threadIdx.x] = 1.0; if (threadIdx.x >= 40) return;
        __syncthreads(); out[threadIdx.x] = 2.0;";
    let Some(found) = run(body, 128, 0) else { return };
    let expected: Vec<f64> = (0..128).map(|t| if t < 40 { 2.0 } else { 1.0 }).collect();
    assert_eq!(found.unwrap(), expected);
}

#[test]
fn a_shuffle_from_a_lane_that_exited_is_found() {
    let body = "if (threadIdx.x >= 26) return;
        out[threadIdx.x] = __shfl_down_sync(0xffffffffu, 1.0, 1);";
    fails(body, 32, 719, "thread 25 reads lane 26, which has exited or does not exist");
    // If the block size is not a multiple of 32, some lanes do not exist.
    fails("out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0, 1);", 33, 719, "lane 1, which has");
    let body = "if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0x0000ffffu, 1.0, 16);";
    fails(body, 32, 719, "reads lane 16, which is not in the mask");
    let body = "out[threadIdx.x] = __shfl_sync(0x0000ffffu, 1.0, 0);";
    fails(body, 32, 719, "is not in its own mask 0000ffff");
}

#[test]
fn a_warp_that_meets_at_different_places_is_found() {
    let body = "if (threadIdx.x % 2) __syncwarp(); else out[0] = __shfl_sync(0xffffffffu, 1.0, 0);";
    fails(body, 32, 719, "a warp diverges");
}

#[test]
fn shared_memory_that_nobody_wrote_is_a_nan() {
    let body = "__shared__ double s[128]; if (threadIdx.x == 0) s[0] = 1.0;
        __syncthreads(); out[threadIdx.x] = s[threadIdx.x];";
    let Some(found) = run(body, 128, 0) else { return };
    let found = found.unwrap();
    assert_eq!(found[0], 1.0);
    assert!(found[1..].iter().all(|v| v.is_nan()));
    let never = "__shared__ double s[128]; out[threadIdx.x] = s[threadIdx.x];";
    assert!(run(never, 128, 0).unwrap().unwrap().iter().all(|v| v.is_nan()));
}

/// A block does not see values that another block left in shared memory.
#[test]
fn blocks_do_not_inherit_shared_memory() {
    let text = "extern \"C\" __global__ void kernel(double* out) {
        __shared__ double s; out[blockIdx.x] = s; __syncthreads(); s = 1.0; }";
    let Some(bench) = Bench::new(text) else { return };
    let out = bench.room::<f64>(3);
    bench.launch("kernel", 3, 32, &[argument(out)]).unwrap();
    assert!(bench.take::<f64>(out, 3).iter().all(|v| v.is_nan()));
}

#[test]
fn accesses_beyond_a_buffer_fault() {
    // An odd number of doubles leaves 8 bytes before the page; a write to them is found only at the
    // release. Therefore the test uses the second number beyond the end.
    for threads in [1, 31, 33, 513] {
        let write = "if (threadIdx.x == 0) out[blockDim.x + 1] = 0.0;";
        fails(write, threads, 700, "8 bytes past the end of a buffer");
        let read = "out[threadIdx.x] = out[threadIdx.x + blockDim.x + 1];";
        fails(read, threads, 700, "illegal address at 0x");
    }
    fails("out[-1000000000000LL] = 0.0;", 1, 700, "illegal address");
    fails("((double*)0)[threadIdx.x] = 0.0;", 3, 700, "illegal address");
}

#[test]
fn a_released_buffer_cannot_be_touched() {
    let text = "extern \"C\" __global__ void kernel(double* out) { *out = 1.0; }";
    let Some(bench) = Bench::new(text) else { return };
    let out = bench.room::<f64>(1);
    bench.device.release(out);
    let error = bench.launch("kernel", 1, 1, &[argument(out)]).unwrap_err();
    assert!(matches!(error, DriverError::Lost { code: 700, .. }), "{error}");
}

#[test]
fn deadlocks_are_found() {
    let body = "if (threadIdx.x == 3) __syncthreads();
        else out[threadIdx.x] = __shfl_sync(0xffffffffu, 1.0, 0);";
    fails(body, 32, 702, "thread 3 waits at __syncthreads, line 2");
    fails(body, 32, 702, "waits at __shfl_sync, line 3 (mask ffffffff)");
    let masks = "unsigned mask = threadIdx.x < 16 ? 0xffffffffu : 0xffff0000u; __syncwarp(mask);
        __syncthreads();";
    fails(masks, 32, 702, "deadlock");
}

#[test]
fn other_faults_of_a_kernel_lose_the_device() {
    fails("if (threadIdx.x == 5) __trap();", 32, 719, "thread 5 trapped in line 2");
    fails("out[0] = 1 / (int)(threadIdx.x - threadIdx.x);", 1, 700, "divided by zero");
    let deep = "volatile char room[1 << 20]; room[0] = 1; out[0] = room[0];";
    fails(deep, 1, 700, "the stack of thread 0 overflowed");
}

#[test]
fn floating_point_atomics_do_not_compile() {
    let Some(device) = emulator_or_skip(Settings::default()) else { return };
    let text = "extern \"C\" __global__ void kernel(double* a) { atomicAdd(a, 1.0); }";
    let Err(CompileError::Refused { log }) = device.compile(text, (9, 0)) else { panic!() };
    assert!(log.contains("unit.cu:1:"), "{log}");
}

/// Each of two kernels in one text may use 48 kB.
#[test]
fn too_much_shared_memory_does_not_compile() {
    let Some(device) = emulator_or_skip(Settings::default()) else { return };
    let kernel = |name: &str, bytes: usize| {
        format!(
            "extern \"C\" __global__ void {name}(char* out) {{
                __shared__ char s[{bytes}]; s[threadIdx.x] = 1;
                __syncthreads(); *out = s[threadIdx.x + 1]; }}\n"
        )
    };
    let fits = kernel("a", 48 << 10) + &kernel("b", 48 << 10);
    assert_eq!(device.compile(&fits, (9, 0)).err(), None);
    let over = kernel("a", 48 << 10) + &kernel("b", (48 << 10) + 1);
    let Err(CompileError::Refused { log }) = device.compile(&over, (9, 0)) else { panic!() };
    assert!(log.contains("entry `b` uses too much shared data (49153 bytes, 49152 max)"), "{log}");
}
