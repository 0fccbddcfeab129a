//! Tests that blocks, lanes and scalar functions return the same bits, for any length, any neighbouring elements and
//! any instruction set of the loop.

use super::super::lane::for_each_method;
use super::super::{block, lane};
use super::{super as math, Random, same};

const LENGTHS: [usize; 8] = [0, 1, 7, 8, 9, 31, 255, 1024];

/// Returns ordinary arguments, mixed with huge, special and subnormal ones.
fn arguments(random: &mut Random, length: usize) -> Vec<f64> {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        0.5,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        5e-324,
        -1e-310,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        1e22,
        -1e300,
        2_147_483_648.0,
        709.9,
        -745.1,
        -2.5,
        -170.3,
        3.0,
    ];
    (0..length)
        .map(|_| match random.bits() % 8 {
            0 => special[(random.bits() % special.len() as u64) as usize],
            1 => f64::from_bits(random.bits()),
            2 => random.uniform(-1e3, 1e3),
            _ => random.uniform(-4.0, 4.0),
        })
        .collect()
}

type Unary = unsafe fn(&[f64], &mut [f64]);
type Binary = unsafe fn(&[f64], &[f64], &mut [f64]);

/// Compiles each block function for the default target and, if this processor supports them, for the
/// instruction sets of the crate's loops.
macro_rules! clones {
    ($($file:ident::$name:ident $arguments:tt $(= $fast:ident, $slow:ident where $rare:ident)?;)*) => {
        mod baseline { $(clones!(@one [] $name $arguments);)* }
        #[cfg(target_arch = "x86_64")]
        mod avx2 { $(clones!(@one [#[target_feature(enable = "avx2,fma")]] $name $arguments);)* }
        #[cfg(target_arch = "x86_64")]
        mod avx512 { $(clones!(@one [#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]] $name $arguments);)* }

        $(
            #[test]
            fn $name() {
                #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "it has one instruction set"))]
                let mut forms: Vec<(&str, clones!(@kind $arguments))> = vec![("baseline", baseline::$name)];
                #[cfg(target_arch = "x86_64")]
                {
                    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                        forms.push(("avx2", avx2::$name));
                        if ["avx512f", "avx512dq", "avx512vl", "avx512bw"].iter().all(|f| has(f)) {
                            forms.push(("avx512", avx512::$name));
                        }
                    }
                }
                if forms.len() < 3 {
                    println!("only {} instruction sets here", forms.len());
                }
                clones!(@check forms $name $arguments);
            }
        )*
    };
    (@kind ($x:ident)) => { Unary };
    (@kind ($x:ident, $y:ident)) => { Binary };
    (@one [$($feature:tt)*] $name:ident ($x:ident)) => {
        #[inline(never)]
        $($feature)*
        pub(super) fn $name(a: &[f64], out: &mut [f64]) {
            super::block::$name(a, out);
        }
    };
    (@one [$($feature:tt)*] $name:ident ($x:ident, $y:ident)) => {
        #[inline(never)]
        $($feature)*
        pub(super) fn $name(a: &[f64], b: &[f64], out: &mut [f64]) {
            super::block::$name(a, b, out);
        }
    };
    (@check $forms:ident $name:ident ($x:ident)) => {
        let mut random = Random(11);
        for length in LENGTHS {
            let a = arguments(&mut random, length);
            for (form, f) in &$forms {
                let mut out = vec![f64::NAN; length];
                // SAFETY: a form is listed only if this processor has its features.
                unsafe { f(&a, &mut out) };
                for (&x, &got) in a.iter().zip(&out) {
                    expect(form, got, lane::$name(x), math::$name(x), (x, 0.0));
                }
            }
        }
    };
    (@check $forms:ident $name:ident ($x:ident, $y:ident)) => {
        let mut random = Random(12);
        for length in LENGTHS {
            let (a, b) = (arguments(&mut random, length), arguments(&mut random, length));
            for (form, f) in &$forms {
                let mut out = vec![f64::NAN; length];
                // SAFETY: a form is listed only if this processor has its features.
                unsafe { f(&a, &b, &mut out) };
                for i in 0..length {
                    expect(form, out[i], lane::$name(a[i], b[i]), math::$name(a[i], b[i]), (a[i], b[i]));
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
fn has(feature: &str) -> bool {
    match feature {
        "avx512f" => is_x86_feature_detected!("avx512f"),
        "avx512dq" => is_x86_feature_detected!("avx512dq"),
        "avx512vl" => is_x86_feature_detected!("avx512vl"),
        _ => is_x86_feature_detected!("avx512bw"),
    }
}

fn expect(form: &str, block: f64, lane: f64, scalar: f64, at: (f64, f64)) {
    assert!(same(block, lane), "{form} block {block:e}, lane {lane:e} at {at:?}");
    assert!(same(scalar, lane), "scalar {scalar:e}, lane {lane:e} at {at:?}");
}

for_each_method!(clones);

#[test]
fn polygamma_block_is_a_loop_of_lanes() {
    let a = [0.3, 7.0, -1.5, f64::NAN, 1e9];
    let mut out = [0.0; 5];
    block::polygamma(1, &a, &mut out);
    for (x, got) in a.into_iter().zip(out) {
        assert!(same(got, lane::polygamma(1, x)));
    }
}
