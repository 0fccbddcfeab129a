//! w(z) and its derivative compared with `tests/data/faddeeva.csv`, recorded by `tests/record/faddeeva.py`,
//! and with published values.

use super::{super as math, same};

const TABLE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/faddeeva.csv"));

/// Name of a part of w or w', and the function that computes this part.
type Part = (&'static str, fn(f64, f64) -> f64);

const PARTS: [Part; 4] = [
    ("re", math::faddeeva_re),
    ("im", math::faddeeva_im),
    ("slope re", math::faddeeva_slope_re),
    ("slope im", math::faddeeva_slope_im),
];

/// Tests the largest error of each part. For Re w and Im w above the axis, the error is relative to the part itself,
/// otherwise to the modulus.
#[test]
fn agrees_with_recorded_digits() {
    let mut worst = [[(0.0, 0.0, 0.0); 4]; 2];
    let mut rows = 0;
    for line in TABLE.lines() {
        let numbers: Vec<f64> = line
            .split(',')
            .map(|hex| f64::from_bits(u64::from_str_radix(hex, 16).expect("hexadecimal bits")))
            .collect();
        let &[x, y, ref expected @ ..] = numbers.as_slice() else { panic!("no row: {line}") };
        let below = y < 0.0;
        for (k, (_, f)) in PARTS.iter().enumerate() {
            let found = f(x, y);
            let pair = &expected[k / 2 * 2..][..2];
            let unit = if k < 2 && !below { expected[k].abs() } else { pair[0].hypot(pair[1]) };
            // For subnormals, an error of one or two last bits (1e-323) is allowed.
            let error = if same(found, expected[k]) || found == expected[k] {
                0.0
            } else {
                ((found - expected[k]).abs() - 1e-323).max(0.0) / unit
            };
            let entry = &mut worst[usize::from(below)][k];
            if error.is_nan() || error > entry.0 {
                *entry = (error, x, y);
            }
        }
        rows += 1;
    }
    for (place, worst) in ["above", "below"].iter().zip(worst) {
        for ((name, _), (error, x, y)) in PARTS.iter().zip(worst) {
            println!("{place} {name}: {error:.1e} at {x:e}, {y:e}");
        }
    }
    assert!(rows > 1500, "the table is incomplete");
    assert!(worst[0][..2].iter().all(|w| w.0 < 1e-13), "{worst:?}");
    assert!(worst[0][2..].iter().all(|w| w.0 < 1e-12), "{worst:?}");
    assert!(worst[1].iter().all(|w| w.0 < 1e-12), "{worst:?}");
}

/// Tests that Re w' keeps its relative accuracy near the axis and near the centre, where it is small: the flank of a
/// narrow line depends on it.
#[test]
fn the_slope_keeps_digits_that_the_modulus_hides() {
    for line in TABLE.lines() {
        let numbers: Vec<f64> = line
            .split(',')
            .map(|hex| f64::from_bits(u64::from_str_radix(hex, 16).expect("hexadecimal bits")))
            .collect();
        let (x, y, expected) = (numbers[0], numbers[1], numbers[4]);
        let found = math::faddeeva_slope_re(x, y);
        let error = ((found - expected).abs() - 1e-323).max(0.0) / expected.abs();
        assert!(y < 0.0 || expected == 0.0 || error < 1e-10, "{x:e}, {y:e}: {found:e}, {error:e}");
    }
}

/// Compares with published values: the test values of `wofz` in SciPy 1.17.1, computed with WolframAlpha, and the six
/// decimals of Abramowitz and Stegun, table 7.9.
#[test]
#[rustfmt::skip] // tables of cases
#[allow(clippy::excessive_precision, reason = "digits as they were published")]
fn agrees_with_published_values() {
    for (x, y, re, im) in [
        (624.2, -0.26123, -3.78270245518980507452677445620103e-7, 0.000903861276433172057331093754199934),
        (-0.4, 3.0, 0.176490622700481684729749534973023, -0.0214655053946845761678871989399150),
        (0.6, 2.0, 0.241025071577269214613353902300711, 0.0608757966342808974589545973524096),
        (-1.0, 1.0, 0.304744205256912592457138841069595, -0.208218938202831627287437347254715),
        (-1.0, -9.0, 7.31713106897237809686559522960056e34, 8.32187349971440277718684835332041e34),
        (-1.0, 9.0, 0.0615698507236323685519612934241429, -0.00676005783716575013073036218018565),
        (-0.0000000234545, 1.1234, 0.396079300769987491896131917018759, -5.59315225911664492054618622252980e-9),
        (-3.0, 5.1, 0.0821719922673944794329506991799041, -0.0470129108764360989101836614311811),
        (-53.0, 30.1, 0.00457246000350281640952328010227885, -0.00804900791411691821818731763401840),
        (0.0, 0.12345, 0.874634285960805266609278211256536, 0.0),
        (11.0, 1.0, 0.00468190164965444174367477874864366, 0.0510735563901306197993676329845149),
        (-22.0, -2.0, -0.00231931752001876209021253858349095, -0.0254600547397315560049020576635002),
        (9.0, -28.0, 9.11463368405637174660562096516414e304, 3.97101807145263333769664875189354e305),
        (21.0, -33.0, -4.49272078577155989761655410111437e281, -2.80195912134230774944447003571687e281),
        (1e5, 1e5, 2.82094791780930513267857751632595e-6, 2.82094791766825773679163844459025e-6),
        (1e14, 1e14, 2.82094791773878143474039725787438e-15, 2.82094791773878143474039725773333e-15),
    ] {
        let (u, v) = (math::faddeeva_re(x, y), math::faddeeva_im(x, y));
        assert!((u - re).abs() <= 1e-13 * re.abs(), "Re w({x} + {y}i) = {u:e}, not {re:e}");
        assert!((v - im).abs() <= 1e-13 * im.abs(), "Im w({x} + {y}i) = {v:e}, not {im:e}");
    }
    for (x, y, re, im) in [
        (0.0, 0.0, 1.0, 0.0),
        (1.0, 0.0, 0.367879, 0.607158),
        (0.0, 1.0, 0.427584, 0.0),
        (1.0, 1.0, 0.304744, 0.208219),
        (2.0, 1.0, 0.140240, 0.222213),
    ] {
        let (u, v) = (math::faddeeva_re(x, y), math::faddeeva_im(x, y));
        assert!((u - re).abs() <= 5e-7 && (v - im).abs() <= 5e-7, "w({x} + {y}i) = {u} + {v}i");
    }
}

#[test]
#[rustfmt::skip] // tables of cases
fn borders() {
    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;
    for (x, y, re, im) in [
        (0.0, 0.0, 1.0, 0.0), (-0.0, 0.0, 1.0, -0.0), (0.0, -0.0, 1.0, 0.0), (5e-324, 0.0, 1.0, 5e-324),
        (INF, 0.0, 0.0, 0.0), (-INF, 0.0, 0.0, -0.0), (0.0, INF, 0.0, 0.0), (INF, INF, 0.0, 0.0),
        (INF, 1.0, 0.0, 0.0), (-INF, 1.0, 0.0, -0.0), (1.0, INF, 0.0, 0.0), (0.0, -INF, INF, 0.0),
        (0.0, -27.0, INF, 0.0), (f64::MAX, 0.0, 0.0, 0.564_189_583_547_756_3 / f64::MAX),
        (NAN, 0.0, NAN, NAN), (0.0, NAN, NAN, NAN), (NAN, INF, NAN, NAN), (INF, NAN, NAN, NAN),
        (1e5, -1e5, NAN, NAN),
    ] {
        let (u, v) = (math::faddeeva_re(x, y), math::faddeeva_im(x, y));
        assert!(same(u, re) && same(v, im), "w({x:e} + {y:e}i) = {u:e} + {v:e}i");
    }
    // On the real axis the real part is the exponential, until it underflows.
    for x in [0.3, 2.7, 9.99, 10.01, 20.5, 26.6] {
        let (u, e) = (math::faddeeva_re(x, 0.0), math::exp(-x * x));
        assert!((u - e).abs() <= 2e-13 * e, "{x}: {u:e}, {e:e}");
        assert!((math::faddeeva_slope_re(x, 0.0) + 2.0 * x * u).abs() <= 1e-15 * x * u, "{x}");
    }
    // Far below the axis, where the exponential is 0, w is -w(-z) without a NaN from the angle.
    assert_eq!(math::faddeeva_re(1e9, -1e3), -math::faddeeva_re(1e9, 1e3));
}

#[test]
fn the_scaled_erfc_is_w_on_the_imaginary_axis() {
    for i in -2600..6000 {
        let x = 0.01 * f64::from(i);
        let (found, expected) = (math::erfcx(x), math::faddeeva_re(0.0, x));
        assert!((found - expected).abs() <= 3e-15 * expected, "{x}: {found:e}, {expected:e}");
    }
}
