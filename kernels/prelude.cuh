// Beginning of every translation unit: those functions of models that do not exist in CUDA, or that CUDA defines
// differently from `Scalar`.
//
// Requires numbers.cuh. Includes no files, so that NVRTC needs none.
// Functions are overloaded for double and float, pass numbers by value, use no shared memory and
// may be called by any thread. Costs are in operations of that type; a division or a logarithm
// counts as 20.

// Returns the smaller number; NaN if either is NaN (fmin drops a NaN); b if both are equal. 3 operations.
template <typename T>
__device__ __forceinline__ T minimum(T a, T b) {
    return a < b || a != a ? a : b;
}

// Returns the larger number; NaN if either is NaN; b if both are equal. 3 operations.
template <typename T>
__device__ __forceinline__ T maximum(T a, T b) {
    return a > b || a != a ? a : b;
}

// Returns 1 with the sign of x, also for zeros; NaN for NaN. 2 operations.
template <typename T>
__device__ __forceinline__ T signum(T x) {
    return x != x ? x : copysign(T(1), x);
}

// Returns x to the power y. A square is a product, which is rounded correctly. About 150 operations (pow), or 1.
template <typename T>
__device__ __forceinline__ T power(T x, T y) {
    return y == T(2) ? x * x : pow(x, y);
}

// Returns c[0] t^(N-1) + ... + c[N-1]. 2 N operations.
template <int N, typename T>
__device__ __forceinline__ T polynomial(const double (&c)[N], T t) {
    T sum = T(c[0]);
#pragma unroll
    for (int i = 1; i < N; ++i) sum = sum * t + T(c[i]);
    return sum;
}

__constant__ const double DIGAMMA_TAIL[] = {
    0.06367567188841604,   -0.020700529973054816, 0.007571734391558332, -0.004166645186570482,
    0.003968253913288774,  -0.008333333333280431, 0.08333333333333333};
__constant__ const double DIGAMMA_NEAR[] = {
    0.00012117310858438019, -0.00017833328107915613, 9.329550310889988e-05, -0.00014465651785959817,
    0.0003258804328035476,  -0.00048603455218437113, 0.000690282276899667,  -0.0010364320458174823,
    0.0015635033648922897,  -0.002345499829502925,   0.0035180887100832612, -0.005279936636971803,
    0.007927023327015456,   -0.011908220153058894,   0.017907248235593514,  -0.026975796657632285,
    0.04076083394339082,    -0.06192213327554247,    0.09498872445284977,   -0.14840492305388028,
    0.24054248424078722,    -0.4236274212814606,     0.9510558760318328};

// Returns psi(x) for x > 0, NaN and infinity. On [1, 2) it is (x - x0) D(x - 3/2). The zero x0 is stored as two
// numbers, for relative accuracy near it. Other x below 8 are reduced by psi(x + 1) = psi(x) + 1/x; from 8 on the
// asymptotic series is used (polynomials: src/math/digamma.rs). 60 to 180 operations.
template <typename T>
__device__ T digamma_positive(T x) {
    if (x >= T(8)) {
        const T inverse = T(1) / x;
        const T u = inverse * inverse;
        const T tail = polynomial(DIGAMMA_TAIL, u);
        return log(x) - (T(0.5) * inverse + u * tail);
    }
    T sum = T(0);
    T v = x - T(1);  // the remainder is psi(1 + v) + sum, 0 <= v < 1
    if (x < T(1)) {
        sum = T(-1) / x;
        v = x;
    }
    while (v >= T(1)) {
        sum += T(1) / v;
        v -= T(1);
    }
    const T d = polynomial(DIGAMMA_NEAR, v - T(0.5));
    constexpr double zero = 0.46163214496836236;  // x0 - 1, rounded; high + low is more accurate
    constexpr T high = T(zero);
    constexpr T low = T((zero - double(high)) - 1.5522348162858677e-17);
    return ((v - high) - low) * d + sum;
}

// Returns psi(x) = Gamma'(x)/Gamma(x): by reflection for x < 0, -/+ infinity at +/-0, NaN at the other poles.
// At most 300 operations. Measured error: 3.3e-16 (f32: 1.3e-7), relative to the value for x > 0, and to the
// larger of the value and 1 for x < 0.
template <typename T>
__device__ T digamma(T x) {
    if (!(x < T(0))) {
        return x == T(0) ? T(-1) / x : digamma_positive(x);
    }
    const T a = -x;
    const T fraction = a - rint(a);  // distance from the nearest integer; 0 at a pole
    if (!(fraction != T(0)) || a == T(INFINITE)) {
        return T(NOT_A_NUMBER);
    }
    const T angle = T(3.141592653589793) * fraction;
    const T cotangent = T(3.141592653589793) * (cos(angle) / sin(angle));
    return a < T(1e-17) ? T(1) / a : digamma_positive(T(1) + a) + cotangent;
}

// B_2k / (2k)! for k = 1 to 13 (Bernoulli numbers).
constexpr int EULER_MACLAURIN_TERMS = 13;
__constant__ const double EULER_MACLAURIN[EULER_MACLAURIN_TERMS] = {
    0.08333333333333333,    -0.001388888888888889,   3.306878306878307e-05,   -8.267195767195768e-07,
    2.08767569878681e-08,   -5.284190138687493e-10,  1.3382536530684679e-11,  -3.3896802963225827e-13,
    8.586062056277845e-15,  -2.174868698558062e-16,  5.5090028283602295e-18,  -1.3954464685812522e-19,
    3.534707039629467e-21};

// Returns z to the power s >= 1 by repeated squaring, 2 operations for each binary digit of s.
__device__ inline double whole_power(double z, unsigned s) {
    double result = s & 1 ? z : 1.0;
    for (s >>= 1; s > 0; s >>= 1) {
        z *= z;
        result *= s & 1 ? z : 1.0;
    }
    return result;
}

// Returns x^s zeta(s, x) with Hurwitz's zeta function, for x > 0 and s >= 2: a sum of the first terms and the
// Euler-Maclaurin formula for the remainder (src/math/polygamma.rs). At most s + 10 divisions and powers.
__device__ inline double relative_zeta(unsigned s, double x) {
    double sum = 0.0;
    double b = x;
    for (int i = 1; b < s + 10.0; ++i) {
        const double term = whole_power(x / b, s);
        sum += term;
        if (term * (1.0 + b / (s - 1.0)) < 1e-18 * sum) {
            return sum;  // the terms behind this one add up to less
        }
        b = x + i;
    }
    double tail = 0.0;
    double factor = s / b;
    double next = s;
    for (int k = 0; k < EULER_MACLAURIN_TERMS; ++k) {
        tail += EULER_MACLAURIN[k] * factor;
        factor *= ((next + 1.0) / b) * ((next + 2.0) / b);
        next += 2.0;
    }
    return sum + whole_power(x / b, s) * (b / (s - 1.0) + (0.5 + tail));
}

// Returns n! zeta(n + 1, x) for x > 0. Costs a relative_zeta and a power.
__device__ inline double polygamma_magnitude(unsigned n, double x) {
    const double s = n + 1.0;
    const double zeta = relative_zeta(n + 1, x);
    if (n > 170) {  // n! overflows
        return exp(lgamma(s) - s * log(x)) * zeta;
    }
    double factorial = 1.0;
    for (unsigned k = 2; k <= n; ++k) {
        factorial *= k;
    }
    const double first = pow(x, -s);
    if (first >= 1e-290 && first < 1e290) {
        return first * zeta * factorial;
    }
    const double root = pow(x, -0.5 * s);  // x^-s may be out of range although the result is not
    return root * zeta * factorial * root;
}

// Returns the derivative of order n >= 1 of psi. Poles: infinity for odd n; NaN for even n, but -/+ infinity at
// +/-0. Costs one polygamma_magnitude for x > 0, otherwise three.
__device__ inline double polygamma(unsigned n, double x) {
    const bool odd = n & 1;
    if (x != x || x == -INFINITE) {
        return NOT_A_NUMBER;
    }
    if (x == INFINITE) {
        return odd ? 0.0 : -0.0;
    }
    if (x > 0.0) {
        return odd ? polygamma_magnitude(n, x) : -polygamma_magnitude(n, x);
    }
    if (x == 0.0) {
        return odd ? INFINITE : -1.0 / x;
    }
    // The sum of 1/(x + i)^(n+1) over i >= 0. `right`: the terms with x + i > 0. The other terms have the magnitudes
    // 1/below^(n+1), 1/(below + 1)^(n+1), ..., 1/a^(n+1): `left` less `beyond`.
    const double a = -x;
    const double below = a - floor(a);
    if (below == 0.0) {
        return odd ? INFINITE : NOT_A_NUMBER;
    }
    const double right = polygamma_magnitude(n, 1.0 - below);
    const double left = polygamma_magnitude(n, below);
    const double beyond = polygamma_magnitude(n, 1.0 + a);
    return odd ? right + (left - beyond) : (left - right) - beyond;
}

// Computed in double: the powers exceed the range of float long before the result does.
__device__ inline float polygamma(unsigned n, float x) {
    return float(polygamma(n, double(x)));
}
