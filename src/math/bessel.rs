//! Bessel functions of orders 0 and 1, of the first and second kind.
//!
//! - x < 8/5: the power series in z = x²/4 (DLMF 10.2.2, 10.8.1 and 10.8.2). Its polynomials have degrees 8 and 9
//!   (weighted Remez, `coefficients.py j0_near j1_near y0_near y1_near`; errors below 2^-56). The logarithm in Y is a
//!   pair of doubles.
//! - 8/5 <= x < 8: Taylor's series about the nearest zero ζ of either order, stored as two doubles. The slope at ζ,
//!   also stored, determines value and slope at ζ for both orders, since J0' = -J1 and J1' = J0 - J1/x (DLMF 10.6.3 and
//!   10.6.2). Bessel's equation (DLMF 10.2.1) determines all further coefficients. Near its own zeros the function
//!   keeps its relative accuracy. Beyond 8 the same series is used in a small neighbourhood of each of the first 20
//!   zeros.
//! - x >= 8: √(2/(πx)) M cos θ for J and √(2/(πx)) M sin θ for Y (DLMF 10.18.4) with the modulus M = 1 +
//!   u G(u) and the phase θ = x - (ν/2 + 1/4)π + (a + b u + u² G(u))/x, u = 1/x² (DLMF 10.18.17 and
//!   10.18.18). The two G are quotients of degree 5 over 5 and 6 over 6 (`coefficients.py modulus0 phase0
//!   ...`; errors below 2^-62 of M and 2^-50 of the phase's G). x of any size is first reduced modulo π/2 to a
//!   pair of doubles, and a + b u is a pair, too. Therefore the error of θ is about 2^-50/x⁵, and near the
//!   zeros beyond the 20th the relative error stays below 1e-10.

use super::bits::{fast_two_sum, nearest, polynomial};
use super::ln::ln_in_parts;
use super::reduce_huge::Reduced;
use super::trig::{reduce, sin_shifted_in_parts};
use crate::math::bits::{Pair, add, divide, multiply, root};

const ZEROS: usize = 20;
/// ζ as two doubles, and the slope at ζ.
type Zero = (f64, f64, f64);
/// Zeros of order 0, then zeros of order 1.
type Zeros = [[Zero; ZEROS]; 2];

/// Limit of x below which the power series is used.
const SERIES: f64 = 1.6;
/// Smallest x for which modulus and phase are used.
const FAR: f64 = 8.0;
/// Distance from a zero within which Taylor's series is more accurate, also beyond `FAR`.
const NEAR_ZERO: f64 = 1.0 / 64.0;
/// Limit of |x| below which J1(x) rounds to x/2 and Y1(x) to -2/(πx).
const LINEAR_LIMIT: f64 = 1e-10;
const FRAC_2_PI: Pair = (std::f64::consts::FRAC_2_PI, -3.935735335036497e-17);

/// 1 / ((n+2)(n+1)).
const INVERSES: [f64; 60] = {
    let mut inverses = [0.0; 60];
    let mut n = 0;
    while n < 60 {
        inverses[n] = 1.0 / ((n + 2) * (n + 1)) as f64;
        n += 1;
    }
    inverses
};

/// Returns the function at ζ + d, where ζ is a zero of the function of order `at`.
#[inline(always)]
fn about_zero(order: u32, at: u32, zero: Zero, d: Pair) -> f64 {
    let nu2 = f64::from(order); // ν² = ν here
    let d2 = d.0 * d.0;
    let r = d.0 / zero.0;
    let r2 = r * r;
    // The first two terms of Taylor's series Σ b_n, b_n = a_n dⁿ.
    let (start, (first, first_lo)) = if order == at {
        (0.0, multiply((zero.2, 0.0), d))
    } else if order == 0 {
        (zero.2, (0.0, 0.0))
    } else {
        (-zero.2, (r * zero.2, 0.0))
    };
    // With x = ζ + d in x² f'' + x f' + (x² - ν²) f = 0:
    // (n+2)(n+1) b_(n+2) = -(r (n+1)(2n+1) b_(n+1) + (r² (n² - ν²) + d²) b_n + 2 r d² b_(n-1) + r² d² b_(n-2))
    let enough = 1e-18 * (start.abs() + first.abs());
    let (mut before_last, mut last, mut current, mut next) = (0.0, 0.0, start, first);
    let mut sum = 0.0;
    for (n, inverse) in INVERSES.into_iter().enumerate() {
        let n = n as f64;
        let outer = (r2 * d2).mul_add(before_last, 2.0 * r * d2 * last);
        let inner = r2.mul_add(n * n - nu2, d2).mul_add(current, outer);
        let term = (r * ((n + 1.0) * (2.0 * n + 1.0))).mul_add(next, inner) * -inverse;
        sum += term;
        if term.abs() + next.abs() <= enough {
            break;
        }
        (before_last, last, current, next) = (last, current, next, term);
    }
    let (value, lost) = fast_two_sum(start, first);
    value + (lost + (sum + first_lo))
}

/// Returns the zero of this order nearest to x, or an adjacent zero, and the difference between x and this zero. Zero
/// number n = 1, 2, ... is near (n + ν/2 - 1/4)π, for the second kind near (n + ν/2 - 3/4)π; in the code n starts at 0.
#[inline(always)]
fn nearest_zero(order: u32, second: bool, zeros: &Zeros, x: f64) -> (Zero, Pair) {
    let first = 0.5 * f64::from(order) - if second { 0.75 } else { 0.25 } + 1.0;
    let (n, _) = nearest(x.mul_add(std::f64::consts::FRAC_1_PI, -first));
    let zero = zeros[order as usize][(n.max(0.0) as usize).min(ZEROS - 1)];
    (zero, fast_two_sum(x - zero.0, -zero.1)) // the difference is exact next to the zero
}

/// Returns 1 - z G(z) = Jν(x) (2/x)^ν for 0 <= x < 8/5.
#[inline(always)]
fn j_series(order: u32, x: f64) -> Pair {
    let z = 0.25 * x * x;
    let g = if order == 0 {
        polynomial!(z; 1.0, -0.24999999999999997, 0.02777777777777726, -0.0017361111111057195,
            6.944444441264631e-05, -1.9290122323962047e-06, 3.936735017791954e-08,
            -6.147894239721932e-10, 7.352543910542956e-12)
    } else {
        polynomial!(z; 0.5, -0.08333333333333333, 0.006944444444444397, -0.000347222222221731,
            1.157407407117702e-05, -2.7557318191991036e-07, 4.920927207005027e-09,
            -6.831653700401203e-11, 7.374216982646986e-13)
    };
    let (rise, rise_lo) = multiply((z, (0.5 * x).mul_add(0.5 * x, -z)), (g, 0.0));
    add((1.0, 0.0), (-rise, -rise_lo))
}

/// Returns Yν(x) for 0 < x < 8/5.
#[inline(always)]
fn y_near(order: u32, x: f64) -> f64 {
    const LN_2_LESS_EULER: Pair = (0.11593151565841245, 3.7780767526472776e-19);
    let (l, l_lo) = ln_in_parts(x);
    let (log, log_lo) = add(LN_2_LESS_EULER, (-l, -l_lo));
    let z = 0.25 * x * x;
    let main = multiply((-log, -log_lo), j_series(order, x));
    let sum = if order == 0 {
        let g = polynomial!(z; 1.0, -0.37499999999999994, 0.05092592592592441,
            -0.0036168981481323696, 0.0001585648147217548, -4.726079915369744e-06,
            1.0207383203760968e-07, -1.6708409264081615e-09, 2.0776300971716723e-11);
        add(main, multiply((z, 0.0), (g, 0.0)))
    } else {
        let g = polynomial!(z; 1.0, -1.25, 0.27777777777777773, -0.027199074074073758,
            0.0015162037037005417, -5.478395059910774e-05, 1.389676177244636e-06,
            -2.6133620835905352e-08, 3.7892546803071347e-10, -4.2410798628708635e-12);
        let half = multiply((0.5 * x, 0.0), add(main, (-0.5 * g, 0.0)));
        add(half, divide((-1.0, 0.0), (x, 0.0)))
    };
    multiply(FRAC_2_PI, sum).0
}

/// Returns Jν(x), or Yν(x) if `second`, for finite x >= 8.
#[inline(always)]
fn far(order: u32, second: bool, x: f64) -> f64 {
    const FRAC_PI_4: Pair = (std::f64::consts::FRAC_PI_4, 3.061616997868383e-17);
    const SQRT_2_OVER_PI: Pair = (0.7978845608028654, -4.98465440455546e-17);
    let inverse = divide((1.0, 0.0), (x, 0.0));
    let u = multiply(inverse, inverse);
    let (modulus, first_order, second_order, phase) = if order == 0 {
        let modulus = polynomial!(u.0; -0.06249999999999987, -9.129947426582293, -392.1411704426299,
            -5702.184579744655, -23516.510844221877, -10745.9838576024)
            / polynomial!(u.0; 1.0, 147.7354088252842, 6510.259951163681, 100827.98759185197,
                498830.19680579664, 526410.1969731319);
        let phase = polynomial!(u.0; -0.2095703125, -70.1522699299598, -7731.978912226985,
            -342253.881354893, -5871447.590256783, -29840935.251198247, -8353903.576680686)
            / polynomial!(u.0; 1.0, 342.55966389825045, 39459.974001957504, 1905737.1361309113,
                39282730.965263076, 311561184.5983355, 687262314.542308);
        (modulus, -0.125, (0.06510416666666667, -4.625929269271485e-18), phase)
    } else {
        let modulus = polynomial!(u.0; 0.18749999999999983, 26.59736178806298, 1101.3264611994823,
            15301.340892447772, 59818.82689326749, 26894.02044219779)
            / polynomial!(u.0; 1.0, 142.88384620298916, 6016.795170955962, 87239.57620228776,
                388348.0648227634, 335319.46019530855);
        let phase = polynomial!(u.0; 0.3708984375, 121.90020080180801, 13154.97872026742,
            568565.8668376296, 9507093.27149105, 47311365.50138215, 15874190.604750052)
            / polynomial!(u.0; 1.0, 335.05020804083347, 37525.69582888711, 1746779.4624574739,
                34231541.46114651, 252140204.31171858, 493593654.23941886);
        (modulus, 0.375, (-0.1640625, 0.0), phase)
    };
    let bend = fast_two_sum(second_order.0, u.0.mul_add(phase, second_order.1));
    let delay = multiply(inverse, add((first_order, 0.0), multiply(u, bend)));

    // Reduces x - (ν/2 + 1/4)π to n quadrants and an angle of at most π/4, then adds the rest of the phase.
    let reduced = reduce(x);
    let mut n = reduced.n.wrapping_sub(u64::from(order));
    let mut shift = (-FRAC_PI_4.0, -FRAC_PI_4.1);
    if reduced.hi < 0.0 {
        n = n.wrapping_sub(1);
        shift = FRAC_PI_4;
    }
    let mut angle = add(add((reduced.hi, reduced.lo), shift), delay);
    if angle.0.abs() > FRAC_PI_4.0 {
        let sign = 2.0f64.copysign(angle.0);
        angle = add(angle, (-sign * FRAC_PI_4.0, -sign * FRAC_PI_4.1));
        n = if sign > 0.0 { n.wrapping_add(1) } else { n.wrapping_sub(1) };
    }
    let reduced = Reduced { n, hi: angle.0, lo: angle.1 };
    let wave = sin_shifted_in_parts(reduced, if second { 0 } else { 1 });
    let size = multiply(divide(SQRT_2_OVER_PI, root((x, 0.0))), fast_two_sum(1.0, u.0 * modulus));
    multiply(size, wave).0
}

/// Returns the function for x >= 8/5.
#[inline(always)]
fn beyond(order: u32, second: bool, zeros: &Zeros, x: f64) -> f64 {
    if x < 70.0 {
        let (zero, d) = nearest_zero(order, second, zeros, x);
        if d.0.abs() < NEAR_ZERO {
            return about_zero(order, order, zero, d);
        }
        if x < FAR {
            let other = 1 - order;
            let (turn, e) = nearest_zero(other, second, zeros, x);
            return if d.0.abs() < e.0.abs() {
                about_zero(order, order, zero, d)
            } else {
                about_zero(order, other, turn, e)
            };
        }
    }
    if x < f64::INFINITY { far(order, second, x) } else { 0.0 / x }
}

/// Returns J0(x). The maximum measured error is 1.3 ulp of the larger of |J0| and √(2/(πx)) (or 1), and near the first
/// 20 zeros 1.3 ulp of |J0|.
#[inline(always)]
pub(crate) fn j0(x: f64) -> f64 {
    let a = x.abs();
    if a < SERIES { j_series(0, a).0 } else { beyond(0, false, &J_ZEROS, a) }
}

/// Returns J1(x). The maximum measured error is 1.5 ulp of the larger of |J1| and √(2/(πx)) (or x/2), and near the
/// first 20 zeros 1.5 ulp of |J1|.
#[inline(always)]
pub(crate) fn j1(x: f64) -> f64 {
    let a = x.abs();
    if a < LINEAR_LIMIT {
        return 0.5 * x;
    }
    let value = if a < SERIES {
        multiply((0.5 * a, 0.0), j_series(1, a)).0
    } else {
        beyond(1, false, &J_ZEROS, a)
    };
    if x < 0.0 { -value } else { value }
}

/// Returns Y0(x), -infinity at ±0 and NaN for x < 0. The maximum measured error is 2.5 ulp of the larger of
/// |Y0| and √(2/(πx)), and near the first 20 zeros 1.3 ulp of |Y0|.
#[inline(always)]
pub(crate) fn y0(x: f64) -> f64 {
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    let zero = Y_ZEROS[0][0];
    if (x - zero.0).abs() < 0.1 {
        return about_zero(0, 0, zero, fast_two_sum(x - zero.0, -zero.1));
    }
    if x >= SERIES {
        beyond(0, true, &Y_ZEROS, x)
    } else if x > 0.0 {
        y_near(0, x)
    } else {
        f64::NAN
    }
}

/// Returns Y1(x), -infinity at ±0 and NaN for x < 0. The maximum measured error is 2.2 ulp of the larger of
/// |Y1| and √(2/(πx)), and near the first 20 zeros 1.3 ulp of |Y1|.
#[inline(always)]
pub(crate) fn y1(x: f64) -> f64 {
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x >= SERIES {
        beyond(1, true, &Y_ZEROS, x)
    } else if x >= LINEAR_LIMIT {
        y_near(1, x)
    } else if x > 0.0 {
        -FRAC_2_PI.0 / x
    } else {
        f64::NAN
    }
}

/// Zeros of J0 and J1. Both tables are generated by `coefficients.py j0_zeros j1_zeros y0_zeros y1_zeros`.
static J_ZEROS: Zeros = [
    [
        (2.404825557695773, -1.176691651530894e-16, -0.5191474972894667),
        (5.520078110286311, 8.088597146146722e-17, 0.34026480655836816),
        (8.653727912911013, -2.92812607320779e-16, -0.27145229992838193),
        (11.791534439014281, 2.812956912778735e-16, 0.23245983136472478),
        (14.930917708487787, -7.070514505983074e-16, -0.20654643307799603),
        (18.071063967910924, -9.658048089426209e-16, 0.18772880304043943),
        (21.21163662987926, 4.947077428784068e-16, -0.17326589422922986),
        (24.352471530749302, 9.169067133951066e-16, 0.16170155068925002),
        (27.493479132040253, 1.6191941793302084e-15, -0.15218121377059454),
        (30.634606468431976, -5.390359852115135e-16, 0.1441659776863732),
        (33.77582021357357, 1.454224241250595e-15, -0.13729694340850299),
        (36.917098353664045, -9.276489358569364e-16, 0.13132462666866793),
        (40.05842576462824, -2.6782651477149736e-16, -0.12606949712727342),
        (43.19979171317673, 8.55713303876733e-16, 0.12139862477175015),
        (46.341188371661815, -9.07797413846536e-16, -0.11721119889066538),
        (49.482609897397815, 2.382582551864974e-15, 0.1134291926164298),
        (52.624051841115, -1.7558469541662502e-15, -0.10999114304627804),
        (55.76551075501998, -2.2474605782970157e-15, 0.10684788825471286),
        (58.90698392608094, 1.8824761533828545e-15, -0.10395957286936208),
        (62.048469190227166, 3.5462261037501757e-15, 0.10129349893394325),
    ],
    [
        (3.8317059702075125, -1.5269184090088067e-16, -0.402759395702553),
        (7.015586669815619, -9.414165653410389e-17, 0.30011575252613254),
        (10.173468135062722, 4.482162274768888e-16, -0.2497048770578432),
        (13.323691936314223, 2.600408064718813e-16, 0.21835940724787295),
        (16.470630050877634, -1.619019544798128e-15, -0.1964653714686572),
        (19.615858510468243, -1.004445634526616e-15, 0.18006337534431555),
        (22.760084380592772, -4.925749373614922e-16, -0.16718460047381806),
        (25.903672087618382, 4.894530726419825e-16, 0.15672498625285222),
        (29.046828534916855, -2.799892014010185e-16, -0.14801110997277755),
        (32.189679910974405, -1.5481609125503839e-15, 0.14060579818398225),
        (35.33230755008387, -3.2611649318496424e-15, -0.1342112403100007),
        (38.474766234771614, 7.193676286738655e-16, 0.12861662207206995),
        (41.61709421281445, 5.700452680227534e-16, -0.12366796076983713),
        (44.75931899765282, 2.3276041019911167e-15, 0.11924981201068947),
        (47.90146088718545, -3.46654782460118e-15, -0.11527369412016795),
        (51.04353518357151, 2.7050774005019414e-15, 0.1116704968592113),
        (54.18555364106132, 2.2014149402021727e-15, -0.10838534894368256),
        (57.32752543790101, 1.4475427878291946e-15, 0.10537405539523521),
        (60.46945784534749, -2.384395520551382e-16, -0.10260056710339717),
        (63.61135669848123, 1.7663673646888642e-15, 0.10003514681152326),
    ],
];

static Y_ZEROS: Zeros = [
    [
        (0.8935769662791675, 2.6596231539720385e-17, 0.8794208024971948),
        (3.957678419314858, -1.0764340697562706e-16, -0.40254267177502423),
        (7.086051060301773, -8.835285723085408e-17, 0.3000976149104752),
        (10.222345043496418, -7.967395050308809e-16, -0.2497012375146848),
        (13.361097473872764, -6.626109493712529e-16, 0.21835829659767134),
        (16.50092244152809, 1.0187464212445755e-15, -0.19646493789501676),
        (19.64130970088794, -1.3738085245174177e-15, 0.18006317633754418),
        (22.782028047291558, 1.5905927758681248e-15, -0.16718449805101074),
        (25.922957653180923, -2.254067267232836e-16, 0.15672492885024078),
        (29.064030252728397, 9.25191637912007e-16, -0.14801107561113566),
        (32.20520411649328, 3.240071558384457e-15, 0.14060577650750067),
        (35.34645230521432, -1.7946483769852148e-16, -0.13421122603883404),
        (38.48775665308154, -2.8605001688824427e-15, 0.12861661233697969),
        (41.62910446621381, -2.5898201559288505e-15, -0.1236679539272368),
        (44.77048660722199, 3.128883685479239e-15, 0.11924980707648117),
        (47.91189633151648, -1.872940744008161e-16, -0.11527369048247928),
        (51.05332855236236, 3.0794215881803318e-15, 0.11167049412502907),
        (54.19477936108706, -3.3243904990808156e-15, -0.10838534685331364),
        (57.33624570476628, 3.2797243736533967e-15, 0.10537405377275154),
        (60.47772516422348, -3.037651063162438e-15, -0.10260056582695608),
    ],
    [
        (2.197141326031017, -4.8259835876454966e-17, 0.5207864124022675),
        (5.429681040794135, 4.162514026670377e-16, -0.3403180455234406),
        (8.596005868331169, 2.8415838340063664e-16, 0.27145987731153354),
        (11.749154830839881, 2.9466381668409186e-17, -0.23246176601703875),
        (14.897442128336726, -6.072148995506809e-16, 0.2065471103565926),
        (18.043402276727857, -1.4499889213148965e-15, -0.1877290919149097),
        (21.188068934142212, 1.0863038864317323e-15, 0.17326603526911988),
        (24.33194257135691, 2.940063934282991e-16, -0.1617016266586241),
        (27.475294980449224, -4.0165306757179716e-16, 0.1521812578603752),
        (30.618286491641115, -1.0574311760765617e-16, -0.14416600481816505),
        (33.76101779610933, -2.8223590896878435e-15, 0.13729696091187468),
        (36.90355531614295, 1.014839093361194e-15, -0.13132463840786532),
        (40.045944640266875, 1.4745105429742688e-15, 0.1260695052608898),
        (43.18821809739321, 4.4259249833535923e-16, -0.12139863056512397),
        (46.33039925070169, -2.0415813997220564e-15, 0.11721120311639725),
        (49.4725056799241, -1.597334643729254e-15, -0.11342919576304929),
        (52.61455076717296, 2.701530035056589e-16, 0.10999114543220125),
        (55.756544879208136, -6.256406009895238e-16, -0.10684789009306134),
        (58.89849617143305, 1.6541789559067591e-15, 0.10395957430616416),
        (62.040411147670696, -2.3946152151246612e-15, -0.10129350007136315),
    ],
];
