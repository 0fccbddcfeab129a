//! Tests of instructions against independent computations from their definitions.

use super::arithmetic::arithmetic;
use super::convert::Conversion;
use super::numbers::{Lanes, kept};
use super::{Loaded, Settings, Trial, launch};
use crate::machine::memory::Memory;
use crate::mutant::{Mistake, Mutant};
use crate::program::{Arithmetic, Form, Part, Rounding, Type};
use crate::ptx::parse;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const FORM: Form = Form::PLAIN;

fn one(kind: Arithmetic, of: Type, form: Form, from: [u64; 4]) -> u64 {
    let from = from.map(|value| [value; 32]);
    arithmetic(kind, of, form, from.each_ref(), &mut [0; 32], u32::MAX).unwrap()[7]
}

fn random() -> SmallRng {
    SmallRng::seed_from_u64(11)
}

/// Returns a random value; about half of the values are edge cases.
fn value(random: &mut SmallRng, bits: u32) -> u64 {
    let any: u64 = random.random();
    let edges = [0, 1, 2, u64::MAX, u64::MAX - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1];
    let picked = if random.random() { any } else { edges[random.random_range(0..edges.len())] };
    if bits == 64 { picked } else { picked & ((1 << bits) - 1) }
}

/// 128-bit sums in four words of 32 bits with carries between them, as NVRTC generates them.
#[test]
fn carries_go_from_word_to_word() {
    let mut random = random();
    for _ in 0..1000 {
        let [a, b]: [u128; 2] = [random.random(), random.random()];
        for kind in [Arithmetic::Add, Arithmetic::Subtract] {
            let (mut carry, mut found): (Lanes, u128) = ([0; 32], 0);
            for word in 0..4 {
                let form = Form { carry_in: word > 0, carry_out: true, ..FORM };
                let of = |value: u128| [u64::from((value >> (32 * word)) as u32); 32];
                let (a, b, none) = (of(a), of(b), [0; 32]);
                let from = [&a, &b, &none, &none];
                let out = arithmetic(kind, Type::U32, form, from, &mut carry, 1 << 3).unwrap();
                found |= u128::from(out[3]) << (32 * word);
            }
            let expected = match kind {
                Arithmetic::Add => a.wrapping_add(b),
                _ => a.wrapping_sub(b),
            };
            assert_eq!(found, expected);
            assert_eq!(carry[4], 0, "a lane that is not active");
        }
    }
}

#[test]
fn products_have_all_their_bits() {
    let mut random = random();
    for _ in 0..2000 {
        for (of, bits, signed) in [
            (Type::U32, 32, false),
            (Type::S32, 32, true),
            (Type::U64, 64, false),
            (Type::S64, 64, true),
        ] {
            let [a, b] = [value(&mut random, bits), value(&mut random, bits)];
            let read = |value: u64| match (signed, bits) {
                (true, 32) => i128::from(value as u32 as i32),
                (true, _) => i128::from(value as i64),
                (false, _) => i128::from(value),
            };
            let product = (read(a) as u128).wrapping_mul(read(b) as u128);
            let mask = u128::MAX >> (128 - bits);
            let part = |part| one(Arithmetic::Multiply, of, Form { part, ..FORM }, [a, b, 0, 0]);
            assert_eq!(u128::from(part(Part::Low)), product & mask);
            assert_eq!(u128::from(part(Part::High)), (product >> bits) & mask);
            if bits == 32 {
                assert_eq!(u128::from(part(Part::Wide)), product & u128::from(u64::MAX));
            }
        }
    }
}

#[test]
fn fields_of_bits_are_those_of_their_definition() {
    let mut random = random();
    for _ in 0..2000 {
        for (of, bits) in [(Type::U32, 32), (Type::U64, 64), (Type::S32, 32), (Type::S64, 64)] {
            let [a, b] = [value(&mut random, bits), value(&mut random, bits)];
            let [at, count]: [u64; 2] = [random.random_range(0..80), random.random_range(0..80)];
            let bit =
                |of: u64, number: u64| if number < u64::from(bits) { of >> number & 1 } else { 0 };
            // The sign is the last bit of the field that exists.
            let last = (at + count).saturating_sub(1).min(u64::from(bits) - 1);
            let sign = if of.is_signed() && count > 0 { bit(a, last) } else { 0 };
            let extracted = (0..u64::from(bits)).map(|i| {
                let inside = i < count && at + i < u64::from(bits);
                (if inside { bit(a, at + i) } else { sign }) << i
            });
            let found = one(Arithmetic::ExtractBits, of, FORM, [a, at, count, 0]);
            assert_eq!(found, extracted.sum::<u64>(), "{a:x} from {at}, {count} of {of:?}");
            let inserted = (0..u64::from(bits)).map(|i| {
                let inside = i >= at && i - at < count;
                (if inside { bit(a, i - at) } else { bit(b, i) }) << i
            });
            let found = one(Arithmetic::InsertBits, of, FORM, [a, b, at, count]);
            assert_eq!(found, inserted.sum::<u64>());
        }
        let [a, b, c]: [u32; 3] = [random.random(), random.random(), random.random()];
        let words = [a, b, c].map(u64::from);
        let table =
            |table| one(Arithmetic::Table, Type::B32, FORM, [words[0], words[1], words[2], table]);
        assert_eq!(table(0x80), u64::from(a & b & c));
        assert_eq!(table(0xfe), u64::from(a | b | c));
        assert_eq!(table(0x96), u64::from(a ^ b ^ c));
        assert_eq!(table(0xca), u64::from((a & b) | (!a & c)));
        let by = c & 31;
        let both = u64::from(b) << 32 | u64::from(a);
        let shifted = |kind| one(kind, Type::B32, FORM, [words[0], words[1], by.into(), 0]);
        let right = Arithmetic::FunnelRight { clamp: false };
        assert_eq!(shifted(right), u64::from((both >> by) as u32));
        let left = Arithmetic::FunnelLeft { clamp: false };
        assert_eq!(shifted(left), (both << by) >> 32);
        let bytes: Vec<u8> = both.to_le_bytes().into();
        let selectors = c & 0x7777;
        let picked = [0, 1, 2, 3].map(|k| bytes[(selectors >> (4 * k)) as usize & 7]);
        let permuted = one(
            Arithmetic::PermuteBytes,
            Type::B32,
            FORM,
            [words[0], words[1], selectors.into(), 0],
        );
        assert_eq!(permuted, u64::from(u32::from_le_bytes(picked)));
    }
}

/// Sums of singles in each rounding mode, against the exact value in 128 bits and the neighbours of the result.
#[test]
fn sums_of_singles_are_rounded_once() {
    let mut random = random();
    for _ in 0..20_000 {
        // Products and sums are multiples of 2^-60 below 2^60, therefore integers of 128 bits after scaling by 2^60.
        let mut single = || {
            let digits: i32 = random.random_range(-(1 << 24)..1 << 24);
            digits as f32 * 2.0_f32.powi(random.random_range(-30..5))
        };
        let [a, b, c] = [single(), single(), single()];
        let whole = |value: f64| (value * 2.0_f64.powi(60)) as i128;
        let exact = whole(f64::from(a) * f64::from(b)) + whole(c.into());
        for rounding in [Rounding::Nearest, Rounding::Down, Rounding::Up, Rounding::TowardZero] {
            let bits = [a, b, c].map(kept);
            let from = [bits[0], bits[1], bits[2], 0];
            let form = Form { rounding, ..FORM };
            let found = f32::from_bits(one(Arithmetic::MultiplyAdd, Type::F32, form, from) as u32);
            let near = whole(found.into());
            let [below, above] = [found.next_down(), found.next_up()].map(|v| whole(v.into()));
            let fits = match rounding {
                Rounding::Down => near <= exact && exact < above,
                Rounding::Up => near >= exact && exact > below,
                Rounding::TowardZero if exact >= 0 => near <= exact && exact < above,
                Rounding::TowardZero => near >= exact && exact > below,
                Rounding::Nearest => {
                    let distance = |of: i128| (of - exact).abs();
                    distance(near) <= distance(above) && distance(near) <= distance(below)
                }
            };
            assert!(fits, "{a:e} * {b:e} + {c:e} is {found:e}, {rounding:?}");
        }
        if c != 0.0 {
            let found = one(Arithmetic::MultiplyAdd, Type::F32, FORM, [a, b, c, 0.0].map(kept));
            assert_eq!(found, kept(a.mul_add(b, c)));
        }
    }
}

#[test]
fn conversions_saturate_and_round() {
    let plain = Conversion {
        into: Type::S32,
        of: Type::F64,
        rounding: Some(Rounding::TowardZero),
        to_integral: true,
        saturate: false,
        flush: false,
    };
    let to = |value: f64, rounding| {
        Conversion { rounding: Some(rounding), ..plain }.of(value.to_bits()) as u32 as i32
    };
    assert_eq!(to(-2.5, Rounding::TowardZero), -2);
    assert_eq!(to(-2.5, Rounding::Down), -3);
    assert_eq!(to(-2.5, Rounding::Up), -2);
    assert_eq!(to(-2.5, Rounding::Nearest), -2);
    assert_eq!(to(3.5, Rounding::Nearest), 4);
    assert_eq!(to(1e300, Rounding::Nearest), i32::MAX);
    assert_eq!(to(-1e300, Rounding::Nearest), i32::MIN);
    assert_eq!(to(f64::NAN, Rounding::Nearest), 0);
    let unsigned = Conversion { into: Type::U64, ..plain };
    assert_eq!(unsigned.of((-1.0_f64).to_bits()), 0);
    assert_eq!(unsigned.of(1e30_f64.to_bits()), u64::MAX);
    let narrow = Conversion { into: Type::S32, of: Type::S8, rounding: None, ..plain };
    assert_eq!(narrow.of(0x80) as u32 as i32, -128);
    let single = Conversion { into: Type::F32, to_integral: false, ..plain };
    let below = 0.1_f32.next_down();
    assert_eq!(single.of(0.1_f64.to_bits()), kept(below), "toward zero");
    let near = Conversion { rounding: Some(Rounding::Nearest), ..single };
    assert_eq!(near.of(0.1_f64.to_bits()), kept(0.1));
    let whole = Conversion { into: Type::F32, of: Type::U64, rounding: None, ..plain };
    assert_eq!(whole.of(u64::MAX), kept(18_446_744_073_709_551_615.0_f32));
}

const HEAD: &str = ".version 7.5\n.target sm_75\n.address_size 64\n";

/// Runs a kernel of one block. Returns the `words` words that its pointer refers to, and the races.
fn kernel(
    body: &str,
    threads: u32,
    words: usize,
    settings: Settings,
) -> Result<(Vec<u32>, Vec<String>), super::Fault> {
    kernel_of_blocks(body, (1, threads), words, settings)
}

fn kernel_of_blocks(
    body: &str,
    (blocks, threads): (u32, u32),
    words: usize,
    settings: Settings,
) -> Result<(Vec<u32>, Vec<String>), super::Fault> {
    let text = format!("{HEAD}.visible .entry kernel(.param .u64 to) {{\n{body}\n}}\n");
    let mut memory = Memory::default();
    let loaded = Loaded::new(parse(&text).unwrap(), &mut memory);
    let at = memory.allocate(4 * words, 0);
    let number = loaded.module.kernel("kernel").unwrap();
    let arguments = [at.to_le_bytes().to_vec()];
    let report = launch(&loaded, number, blocks, threads, &arguments, &mut memory, &settings)?;
    let mut bytes = vec![0; 4 * words];
    memory.read(at, &mut bytes).unwrap();
    let found = bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
    Ok((found.collect(), report.races))
}

/// A kernel that sums in a block by halving, with `barrier` before each step.
fn sum(barrier: &str) -> String {
    format!(
        ".reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
        .shared .align 4 .b8 part[512];
        ld.param.u64 %rd1, [to];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, part;
        shl.b32 %r3, %r1, 2;
        add.s32 %r4, %r2, %r3;
        st.shared.u32 [%r4], %r1;
        mov.u32 %r5, 64;
        again:
        {barrier}
        setp.ge.u32 %p1, %r1, %r5;
        @%p1 bra passed;
        shl.b32 %r6, %r5, 2;
        add.s32 %r6, %r4, %r6;
        ld.shared.u32 %r7, [%r4];
        ld.shared.u32 %r8, [%r6];
        add.s32 %r7, %r7, %r8;
        st.shared.u32 [%r4], %r7;
        passed:
        shr.u32 %r5, %r5, 1;
        setp.ne.s32 %p2, %r5, 0;
        @%p2 bra again;
        setp.ne.s32 %p1, %r1, 0;
        @%p1 bra done;
        ld.shared.u32 %r7, [part];
        st.global.u32 [%rd1], %r7;
        done:
        ret;"
    )
}

#[test]
fn a_missing_barrier_is_a_race_and_with_it_there_is_none() {
    for seed in 0..5 {
        let settings = Settings { seed, finds_races: true, ..Settings::default() };
        let (found, races) = kernel(&sum("bar.sync 0;"), 128, 1, settings).unwrap();
        assert_eq!((found[0], races.len()), (127 * 64, 0), "{races:?}");
        let (_, races) = kernel(&sum(""), 128, 1, settings).unwrap();
        assert!(!races.is_empty(), "seed {seed}");
    }
}

/// Two blocks; the block that finishes last reads the other block's values. Thread 0 publishes them by an atomic
/// operation.
#[test]
fn a_fence_is_about_what_came_before_it() {
    let body = |before: &str, after: &str, behind: &str| {
        format!(
            ".reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<6>;
            .shared .align 4 .u32 ticket;
            ld.param.u64 %rd1, [to];
            mov.u32 %r1, %tid.x;
            mov.u32 %r2, %ctaid.x;
            mad.lo.s32 %r3, %r2, 64, %r1;
            mul.wide.u32 %rd2, %r3, 4;
            add.s64 %rd3, %rd1, %rd2;
            st.global.u32 [%rd3+4], %r1;
            {before}
            bar.sync 0;
            setp.ne.s32 %p1, %r1, 0;
            @%p1 bra waits;
            {after}
            atom.global.add.u32 %r4, [%rd1], 1;
            {behind}
            st.shared.u32 [ticket], %r4;
            waits:
            bar.sync 0;
            ld.shared.u32 %r5, [ticket];
            setp.eq.s32 %p2, %r5, 0;
            @%p2 bra done;
            sub.s32 %r6, 1, %r2;
            mad.lo.s32 %r6, %r6, 64, %r1;
            mul.wide.u32 %rd4, %r6, 4;
            add.s64 %rd5, %rd1, %rd4;
            ld.global.u32 %r7, [%rd5+4];
            done:
            ret;"
        )
    };
    let fence = "membar.gl;";
    for seed in 0..5 {
        let races = |body: String| {
            let settings = Settings { seed, finds_races: true, ..Settings::default() };
            kernel_of_blocks(&body, (2, 64), 129, settings).unwrap().1
        };
        assert_eq!(races(body("", fence, fence)), [""; 0]);
        assert!(!races(body("", "", fence)).is_empty(), "no fence before it is told");
        assert!(!races(body("", fence, "")).is_empty(), "no fence after it was heard");
        // A fence before the barrier does not cover the writes of other threads; thread 0 needs one after the barrier.
        assert!(!races(body(fence, "", fence)).is_empty());
    }
}

#[test]
fn parameters_are_found_by_their_address_and_none_beside_them() {
    let body = |offset: u32| {
        format!(
            ".reg .b64 %rd<4>;
            mov.b64 %rd2, to;
            mov.b64 %rd3, {offset};
            add.s64 %rd2, %rd2, %rd3;
            ld.param.u64 %rd1, [%rd2+-{offset}];
            ld.param.u64 %rd1, [%rd2];
            st.global.u32 [%rd1], 7;
            ret;"
        )
    };
    let run = |offset| kernel(&body(offset), 1, 1, Settings::default());
    assert_eq!(run(0).unwrap(), (vec![7], vec![]));
    let fault = run(8).unwrap_err();
    assert!(fault.code == 700 && fault.what.contains("where no parameter is"), "{fault:?}");
}

#[test]
fn lanes_that_part_meet_again_in_any_order() {
    let body = ".reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
        ld.param.u64 %rd1, [to];
        mov.u32 %r1, %tid.x;
        and.b32 %r2, %r1, 1;
        setp.eq.s32 %p1, %r2, 0;
        @%p1 bra even;
        mul.lo.s32 %r3, %r1, 10;
        bra.uni joined;
        even:
        add.s32 %r3, %r1, 1000;
        joined:
        bar.warp.sync -1;
        shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1;
        mul.wide.u32 %rd2, %r1, 4;
        add.s64 %rd3, %rd1, %rd2;
        st.global.u32 [%rd3], %r4;
        ret;";
    let own = |lane: u32| if lane.is_multiple_of(2) { lane + 1000 } else { 10 * lane };
    let expected: Vec<u32> = (0..32).map(|lane| own(lane ^ 1)).collect();
    for seed in 0..20 {
        let settings = Settings { seed, finds_races: true, ..Settings::default() };
        assert_eq!(kernel(body, 32, 32, settings).unwrap(), (expected.clone(), vec![]));
    }
}

/// The left factor has 3 r + k + 1 in row r and column k, the right factor k + 5 c in row k and column c, and the sums
/// begin with 7.
#[test]
fn matrices_are_distributed_as_the_instruction_set_says() {
    let body = ".reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .f64 %fd<5>;
        ld.param.u64 %rd1, [to];
        mov.u32 %r1, %tid.x;
        shr.u32 %r2, %r1, 2;
        and.b32 %r3, %r1, 3;
        mad.lo.s32 %r4, %r2, 3, %r3;
        add.s32 %r4, %r4, 1;
        mad.lo.s32 %r5, %r2, 5, %r3;
        cvt.rn.f64.s32 %fd1, %r4;
        cvt.rn.f64.s32 %fd2, %r5;
        mov.f64 %fd3, 0d401C000000000000;
        mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd3, %fd4}, {%fd1}, {%fd2}, {%fd3, %fd3};
        cvt.rzi.u32.f64 %r6, %fd3;
        cvt.rzi.u32.f64 %r7, %fd4;
        mul.wide.u32 %rd2, %r1, 8;
        add.s64 %rd3, %rd1, %rd2;
        st.global.u32 [%rd3], %r6;
        st.global.u32 [%rd3+4], %r7;
        ret;";
    let sum = |row: u32, column: u32| {
        7 + (0..4).map(|k| (3 * row + k + 1) * (k + 5 * column)).sum::<u32>()
    };
    let expected: Vec<u32> = (0..64).map(|m| sum(m / 8, m % 8)).collect();
    for seed in 0..5 {
        let settings = Settings { seed, ..Settings::default() };
        assert_eq!(kernel(body, 32, 64, settings).unwrap(), (expected.clone(), vec![]));
    }
    let alone = body.replace("mma", "setp.eq.s32 %p1, %r1, 3; @%p1 ret; mma");
    let alone = format!(".reg .pred %p<2>; {alone}");
    let fault = kernel(&alone, 32, 64, Settings::default()).unwrap_err();
    assert!(fault.what.contains("lanes that have ended"), "{fault:?}");
}

#[test]
fn faults_say_what_and_where() {
    let said = |body: &str| kernel(body, 64, 1, Settings::default()).unwrap_err();
    let head = ".reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>; ld.param.u64 %rd1, [to];\n";
    let outside = said(&format!("{head} st.global.u32 [%rd1+4], 1; ret;"));
    assert_eq!(outside.code, 700);
    assert!(outside.what.contains("not allocated"), "{outside}");
    assert!(outside.what.contains("in line 6 in kernel, block 0, thread 0"), "{outside}");
    assert_eq!(said(&format!("{head} st.global.u32 [%rd1+2], 1; ret;")).code, 716);
    assert_eq!(said(&format!("{head} trap;")).code, 719);
    let stuck = format!(
        "{head} mov.u32 %r1, %tid.x; setp.eq.s32 %p1, %r1, 3; @%p1 bra never; bar.warp.sync -1; ret;
        never: bar.sync 0; ret;"
    );
    let stuck = said(&stuck);
    assert_eq!(stuck.code, 702);
    assert!(stuck.what.contains("thread 3 at the block's barrier"), "{stuck}");
}

#[test]
fn who_is_waited_for_must_come() {
    let body = |mask: &str| {
        format!(
            ".reg .pred %p<3>; .reg .b32 %r<4>;
            mov.u32 %r1, %tid.x;
            setp.ge.u32 %p1, %r1, 16;
            @%p1 bra done;
            setp.eq.s32 %p1, %r1, 3;
            vote.sync.any.pred %p2, %p1, {mask};
            bar.warp.sync {mask};
            done: ret;"
        )
    };
    for seed in 0..10 {
        let run = |mask| kernel(&body(mask), 32, 1, Settings { seed, ..Settings::default() });
        run("0xffff").unwrap();
        let ended = run("-1").unwrap_err();
        assert!([719, 702].contains(&ended.code), "{ended}");
        let missing = run("0x7fff").unwrap_err();
        assert_eq!(missing.code, 719);
        assert!(missing.what.contains("its own mask does not name"), "{missing}");
    }
}

#[test]
fn a_trial_ends_with_its_first_race_or_after_so_many_instructions() {
    let mutant = Mutant { site: (0, 7), mistake: Mistake::Absent };
    let of = |most| Settings {
        finds_races: true,
        trial: Some(Trial { mutant, most }),
        ..Settings::default()
    };
    // The barrier is the eighth instruction.
    let (_, races) = kernel(&sum("bar.sync 0;"), 128, 1, of(u64::MAX)).unwrap();
    assert!((1..10).contains(&races.len()), "{races:?}");
    let endless = ".reg .b32 %r<2>; again: add.s32 %r1, %r1, 1; bra again;";
    let fault = kernel(endless, 32, 1, of(1000)).unwrap_err();
    assert_eq!(fault.code, 702);
}
