//! Tests of exchanges between lanes: every direction, every width, and groups of lanes that exchange independently.

use crate::backend::cuda::emulated::bench::{Bench, argument};

/// Returns the lane that `lane` reads, by the definition of the instruction `shfl.sync` in the PTX ISA.
/// `clamp` and `segment` are the parts of its operand `c`, in which CUDA C++ encodes the width.
fn source(kind: &str, lane: u32, b: u32, width: u32) -> u32 {
    let segment = (32 - width) & 31;
    let clamp = if kind == "up" { 0 } else { 31 };
    let max_lane = (lane & segment) | (clamp & !segment);
    let min_lane = lane & segment;
    let (j, inside) = match kind {
        "up" => {
            let j = lane as i64 - i64::from(b);
            (j, j >= i64::from(max_lane))
        }
        "down" => {
            let j = i64::from(lane + b);
            (j, j <= i64::from(max_lane))
        }
        "xor" => {
            let j = i64::from(lane ^ b);
            (j, j <= i64::from(max_lane))
        }
        _ => {
            let j = i64::from(min_lane | (b & !segment & 31));
            (j, j <= i64::from(max_lane))
        }
    };
    if inside { j as u32 } else { lane }
}

#[test]
fn every_shuffle_reads_the_lane_that_the_instruction_reads() {
    let text = r#"
        extern "C" __global__ void shuffles(int b, int width, int* index, double* up, float* down, long long* exclusive) {
            const int t = threadIdx.x;
            index[t] = __shfl_sync(0xffffffffu, t, b, width);
            up[t] = __shfl_up_sync(0xffffffffu, (double)t, b, width);
            down[t] = __shfl_down_sync(0xffffffffu, (float)t, b, width);
            exclusive[t] = __shfl_xor_sync(0xffffffffu, (long long)t, b, width);
        }"#;
    let Some(bench) = Bench::new(text) else { return };
    let (index, up) = (bench.room::<i32>(64), bench.room::<f64>(64));
    let (down, exclusive) = (bench.room::<f32>(64), bench.room::<i64>(64));
    for width in [1u32, 2, 4, 8, 16, 32] {
        for b in 0..32u32 {
            let there = [index, up, down, exclusive].map(argument);
            let arguments = [argument(b as i32), argument(width as i32)].into_iter().chain(there);
            let arguments: Vec<Vec<u8>> = arguments.collect();
            bench.device.set_seed(u64::from(b));
            bench.launch("shuffles", 1, 64, &arguments).unwrap();
            let expected = |kind: &'static str| {
                (0..64).map(move |t| f64::from(t / 32 * 32 + source(kind, t % 32, b, width)))
            };
            let found: Vec<i32> = bench.take(index, 64);
            assert!(found.iter().map(|&v| f64::from(v)).eq(expected("index")), "{b} of {width}");
            assert!(bench.take::<f64>(up, 64).into_iter().eq(expected("up")), "{b} of {width}");
            let found: Vec<f32> = bench.take(down, 64);
            assert!(found.iter().map(|&v| f64::from(v)).eq(expected("down")), "{b} of {width}");
            let found: Vec<i64> = bench.take(exclusive, 64);
            assert!(found.iter().map(|&v| v as f64).eq(expected("xor")), "{b} of {width}");
        }
    }
}

/// Each group of lanes computes its own number of sums: no group waits for another group of its warp.
#[test]
fn groups_of_lanes_exchange_on_their_own() {
    for group in [1u32, 2, 4, 8, 16, 32] {
        let text = format!(
            r#"
            extern "C" __global__ void groups(double* out) {{
                constexpr int GROUP = {group};
                const int lane = threadIdx.x % 32, number = threadIdx.x / GROUP;
                const unsigned mask = (0xffffffffu >> (32 - GROUP)) << (lane / GROUP * GROUP);
                double value = threadIdx.x;
                for (int round = 0; round <= number % 5; ++round) {{
                    for (int step = GROUP / 2; step > 0; step /= 2)
                        value += __shfl_xor_sync(mask, value, step, GROUP);
                    if (__any_sync(mask, value < 0.0)) value = -1.0;
                    __syncwarp(mask);
                }}
                out[threadIdx.x] = value;
            }}"#
        );
        let Some(bench) = Bench::new(&text) else { return };
        let out = bench.room::<f64>(96);
        for seed in 0..4 {
            bench.device.set_seed(seed);
            bench.launch("groups", 1, 96, &[argument(out)]).unwrap();
            let found: Vec<f64> = bench.take(out, 96);
            for (t, found) in found.into_iter().enumerate() {
                let number = t as u32 / group;
                let first: u32 = (number * group..(number + 1) * group).sum();
                let rounds = number % 5;
                let expected = f64::from(first) * f64::from(group).powi(rounds as i32);
                let expected = if group == 1 { t as f64 } else { expected };
                assert_eq!(found, expected, "group {group}, thread {t}, seed {seed}");
            }
        }
    }
}

#[test]
fn votes_and_predicates_count_who_is_there() {
    let text = r#"
        extern "C" __global__ void votes(unsigned* out) {
            const unsigned t = threadIdx.x;
            const unsigned mask = t < 8 ? 0x000000ffu : 0xffffff00u;
            if (t == 12) return;
            unsigned* mine = out + 8 * t;
            mine[0] = __ballot_sync(mask, t % 3 == 0);
            mine[1] = __any_sync(mask, t == 20);
            mine[2] = __all_sync(mask, t != 12);
            mine[3] = __syncthreads_count(t % 2);
            mine[4] = __syncthreads_or(t == 40);
            mine[5] = __syncthreads_and(t != 12);
            mine[6] = __syncthreads_and(t != 7);
            mine[7] = __popc(mine[0]) + __clz(1) + __ffs(8);
        }"#;
    let Some(bench) = Bench::new(text) else { return };
    let out = bench.room::<u32>(8 * 32);
    bench.launch("votes", 1, 32, &[argument(out)]).unwrap();
    let found: Vec<u32> = bench.take(out, 8 * 32);
    let thirds = |lanes: std::ops::Range<u32>| {
        lanes.filter(|t| t % 3 == 0 && *t != 12).map(|t| 1 << t).sum::<u32>()
    };
    for t in (0..32).filter(|&t| t != 12) {
        let (ballot, any) = if t < 8 { (thirds(0..8), 0) } else { (thirds(8..32), 1) };
        let expected = [ballot, any, 1, 16, 0, 1, 0, ballot.count_ones() + 31 + 4];
        assert_eq!(found[8 * t..8 * t + 8], expected, "thread {t}");
    }
}
