// Faddeeva function w(z) = e^(-z^2) erfc(-iz), z = x + iy, and its derivative, as real and imaginary parts, for
// models that use them. Method of src/math/faddeeva.rs: the trapezoidal rule with pole corrections for |z| < 10,
// otherwise the asymptotic series. Both are evaluated at |x| and |y|; symmetries yield the other quadrants.
//
// Costs are in operations; a division, an exponential or a sine counts as 20. With T = float the functions compute in
// double, because terms of different signs partly cancel.

struct FaddeevaValues {
    double re, im, slope_re, slope_im;
};

// Values e^(b^2 - a^2), cos(2ab) and sin(2ab). Cosine and sine are NaN if 2ab exceeds 2^30, because too few digits of
// the angle are left. 120 operations.
struct FaddeevaExponential {
    double size, cosine, sine;
};

__device__ inline FaddeevaExponential faddeeva_exponential(double a, double b) {
    // (b - a)(b + a) = square + low; `low` contains the rounding errors of both factors and of the product.
    const double difference = b - a;
    const double back = difference - b;
    const double difference_low = (b - (difference - back)) + (-a - back);
    const double sum = b + a;
    const double there = sum - b;
    const double sum_low = (b - (sum - there)) + (a - there);
    const double square = difference * sum;
    const double low =
        fma(difference, sum_low, fma(difference_low, sum, fma(difference, sum, -square)));
    FaddeevaExponential e;
    e.size = exp(square);
    if (fabs(square) < 800.0) {
        e.size = fma(e.size, low, e.size);
    }
    e.cosine = 1.0;
    e.sine = 0.0;
    if (a != 0.0 && b != 0.0) {
        const double angle = 2.0 * a * b;
        if (angle <= 1073741824.0) {
            const double angle_low = fma(2.0 * a, b, -angle);
            const double c = cos(angle);
            const double s = sin(angle);
            e.cosine = fma(-angle_low, s, c);
            e.sine = fma(angle_low, c, s);
        } else {
            e.cosine = NOT_A_NUMBER;
            e.sine = NOT_A_NUMBER;
        }
    }
    return e;
}

// Trapezoidal rule with h = sqrt(pi/12): squares t^2 of the nodes and weights (2h/pi) e^(-t^2), half of that at
// t = 0. First row: t = (k + 1/2)h. Second row: t = kh.
constexpr int FADDEEVA_NODES = 13;
__constant__ const double FADDEEVA_SQUARE[2][FADDEEVA_NODES] = {
    {40.9061543436171, 34.62296903643751, 28.863382504856226, 23.627394748873236, 18.915005768488548,
     14.726215563702155, 11.061024134514064, 7.9194314809242705, 5.301437602932776, 3.2070425005395804,
     1.636246173744684, 0.5890486225480862, 0.06544984694978737},
    {37.69911184307752, 31.677725923697082, 26.179938779914945, 21.205750411731103, 16.755160819145566,
     12.828170002158322, 9.42477796076938, 6.544984694978736, 4.188790204786391, 2.356194490192345,
     1.0471975511965979, 0.26179938779914946, 0.0}};
__constant__ const double FADDEEVA_WEIGHT[2][FADDEEVA_NODES] = {
    {5.591744625227979e-19, 2.9943325866350354e-16, 9.498536269129225e-14, 1.7849139143299767e-11,
     1.9869265173884656e-09, 1.3102382619123278e-07, 5.118264087700047e-06, 0.0001184401760668592,
     0.001623601108607448, 0.013184497283710203, 0.06342372596268704, 0.1807356685638489,
     0.30509839916005094},
    {1.381491414254464e-17, 5.693808656908772e-15, 1.390149435273149e-12, 2.0105924521441884e-10,
     1.722624220227915e-08, 8.743010328483478e-07, 2.628665799613643e-05, 0.0004681809075069735,
     0.004939647571913581, 0.03087323729106693, 0.1143068661759066, 0.250706969245996,
     0.16286750396763996}};

// Returns w and w' for a, b >= 0 and |z| < 10; `e` is faddeeva_exponential(a, b). 450 operations.
__device__ inline FaddeevaValues faddeeva_near(double a, double b, FaddeevaExponential e) {
    const double n = rint(a * 1.9544100476116797);
    const double fraction = fma(n, 6.14356957595527e-18, fma(-n, 0.5116633539732443, a));
    const double turn = fraction * 12.279920495357862;
    double c = cos(turn);
    double s = sin(turn);
    const int whole = c < 0.0;
    const double product = a * b;
    const double crossed = 4.0 * product * product;
    const double difference = (a - b) * (a + b);
    const double square = fma(a, a, b * b);
    double re = 0.0;
    double im = 0.0;
    for (int k = 0; k < FADDEEVA_NODES; ++k) {
        const double t2 = FADDEEVA_SQUARE[whole][k];
        const double p = difference - t2;
        const double q = FADDEEVA_WEIGHT[whole][k] / fma(p, p, crossed);
        re = fma(q, square + t2, re);
        im = fma(q, square - t2, im);
    }
    FaddeevaValues w;
    w.re = b * re;
    w.im = a * im;
    if (b < 6.139960247678931) {
        const double inverse = exp(-12.279920495357862 * b);
        c = fabs(c);
        s = whole ? -s : s;
        const double down = fma(inverse, inverse, fma(2.0 * inverse, c, 1.0));
        const double size = 2.0 * e.size * inverse / down;
        const double along = inverse + c;
        w.re = fma(b, re, size * fma(e.cosine, along, e.sine * s));
        w.im = fma(a, im, size * fma(e.cosine, s, -(e.sine * along)));
    }
    w.slope_re = -2.0 * fma(a, w.re, -(b * w.im));
    w.slope_im = fma(-2.0, fma(a, w.im, b * w.re), 1.1283791670955126);
    return w;
}

// Coefficients (2n-1)!!/2^n of the asymptotic series, from n = 12 to 0.
constexpr int FADDEEVA_TERMS = 13;
__constant__ const double FADDEEVA_SERIES[FADDEEVA_TERMS] = {
    77205601.37329102, 6713530.554199219, 639383.8623046875, 67303.564453125, 7918.06640625,
    1055.7421875,      162.421875,        29.53125,          6.5625,          1.875,
    0.75,              0.5,               1.0};

// Returns w and w' for a, b >= 0 and |z| >= 10; `size` is e^(b^2 - a^2). 150 operations.
__device__ inline FaddeevaValues faddeeva_far(double a, double b, double size) {
    const double large = 3.273390607896142e150;                                  // 2^500
    const double scale = a > large || b > large ? 2.409919865102884e-181 : 1.0;  // 2^-600
    const double x = a * scale > large ? large : a * scale;
    const double y = b * scale > large ? large : b * scale;
    const double inverse = 1.0 / fma(x, x, y * y);
    double p = x * inverse * scale;  // 1/z = p - iq, 1/z^2 = u + iv
    double q = y * inverse * scale;
    double u = (p - q) * (p + q);
    double v = -2.0 * p * q;
    double re = FADDEEVA_SERIES[1];
    double im = 0.0;
    double slope_re = FADDEEVA_SERIES[0];
    double slope_im = 0.0;
    for (int k = 2; k < FADDEEVA_TERMS; ++k) {
        const double next = fma(re, u, fma(-im, v, FADDEEVA_SERIES[k]));
        im = fma(re, v, im * u);
        re = next;
        const double slope_next = fma(slope_re, u, fma(-slope_im, v, FADDEEVA_SERIES[k - 1]));
        slope_im = fma(slope_re, v, slope_im * u);
        slope_re = slope_next;
    }
    const double inverse_sqrt_pi = 0.5641895835477563;
    const double beside = b < 1e-10 ? size : 0.0;
    p *= inverse_sqrt_pi;
    q *= inverse_sqrt_pi;
    u *= 2.0 * inverse_sqrt_pi;
    v *= 2.0 * inverse_sqrt_pi;
    FaddeevaValues w;
    w.re = fma(q, re, -(p * im)) + beside;
    w.im = fma(p, re, q * im);
    w.slope_re = fma(u, slope_im, v * slope_re) + (beside == 0.0 ? 0.0 : -2.0 * a * beside);
    w.slope_im = fma(v, slope_im, -(u * slope_re));
    return w;
}

// Returns e t; 0 if one factor is 0, even if the other one is not finite.
__device__ __forceinline__ double faddeeva_times(double e, double t) {
    return e == 0.0 || t == 0.0 ? 0.0 : e * t;
}

// Returns w and w' for any z; 20 operations more in the lower half plane than in the upper one.
__device__ inline FaddeevaValues faddeeva(double x, double y) {
    FaddeevaValues w = {NOT_A_NUMBER, NOT_A_NUMBER, NOT_A_NUMBER, NOT_A_NUMBER};
    if (x != x || y != y) {
        return w;
    }
    const double a = fabs(x);
    const double b = fabs(y);
    const FaddeevaExponential e = faddeeva_exponential(a, b);
    const bool is_near = a < 10.0 && b < 10.0 && fma(a, a, b * b) < 100.0;
    w = is_near ? faddeeva_near(a, b, e) : faddeeva_far(a, b, e.size);
    if (y < 0.0) {
        const double straight = faddeeva_times(e.size, e.cosine);
        const double cross = faddeeva_times(e.size, e.sine);
        w.re = fma(2.0, straight, -w.re);
        w.im = fma(2.0, cross, w.im);
        w.slope_re =
            fma(-4.0, faddeeva_times(a, straight) + faddeeva_times(b, cross), -w.slope_re);
        w.slope_im =
            fma(-4.0, faddeeva_times(a, cross) - faddeeva_times(b, straight), w.slope_im);
    }
    w.im = copysign(1.0, x) * w.im;
    w.slope_re = copysign(1.0, x) * w.slope_re;
    return w;
}

// Real and imaginary parts of w and w', one per function: 700 operations if |z| < 10, otherwise 300.
template <typename T>
__device__ inline T faddeeva_re(T x, T y) {
    return T(faddeeva(double(x), double(y)).re);
}
template <typename T>
__device__ inline T faddeeva_im(T x, T y) {
    return T(faddeeva(double(x), double(y)).im);
}
template <typename T>
__device__ inline T faddeeva_slope_re(T x, T y) {
    return T(faddeeva(double(x), double(y)).slope_re);
}
template <typename T>
__device__ inline T faddeeva_slope_im(T x, T y) {
    return T(faddeeva(double(x), double(y)).slope_im);
}
