// Modified Bessel functions I and K of orders 0 and 1, with and without their exponential factor, for models that
// use them. Method and coefficients as in src/math/modified_bessel.rs, but in plain double instead of pairs of
// doubles. Measured error: below 5 ulp on a host. The functions for float also compute in double. Requires
// prelude.cuh, which also defines the unit of the numbers of operations.

__constant__ const double I0_NEAR[] = {
    1.4910366816406e-34, 1.0947380743023191e-32, 9.173348823315261e-30, 2.2048419883424053e-27,
    5.8833359978311895e-25, 1.31461439205129e-22, 2.5792181225786208e-20, 4.35833512208611e-18,
    6.276089257232298e-16, 7.59405755543198e-14, 7.5940585009181e-12, 6.151187322258066e-10,
    3.936759889345886e-08, 1.9290123456724453e-06, 6.944444444445866e-05, 0.0017361111111110915,
    0.027777777777777794, 0.25, 1.0};
__constant__ const double I1_NEAR[] = {
    7.292773743719286e-36, 6.26230966142313e-34, 5.025722732048422e-31, 1.3030007299993937e-28,
    3.6735897896004757e-26, 8.765547063827738e-24, 1.842254078842262e-21, 3.352575793556747e-19,
    5.2300725683061475e-17, 6.903688929022869e-15, 7.594058476412941e-13, 6.834652582142323e-11,
    4.920949861579015e-09, 2.7557319223933314e-07, 1.1574074074075308e-05, 0.00034722222222222034,
    0.006944444444444446, 0.08333333333333333, 0.5};
__constant__ const double I0_FAR[] = {
    3.063735214620808e-11, 7.892128744252015e-12, -1.5280939993866208e-10, -1.3191665297893434e-10,
    1.773204230972841e-10, 3.4373774237701444e-10, 3.7453544332576174e-10, 7.527090528783397e-10,
    2.119273684058307e-09, 7.278930388237861e-09, 3.1711196638041605e-08, 1.7544273405096683e-07,
    1.2496312724834822e-06, 1.1814544460015137e-05, 0.00015649293199280988, 0.00321150257516798,
    0.12806572399030747};
__constant__ const double I1_FAR[] = {
    -3.190465361870913e-11, -7.233885485850055e-12, 1.6029355625713587e-10, 1.344479603187814e-10,
    -1.902176051221855e-10, -3.609505279325555e-10, -3.9559778447000275e-10, -8.091641763842062e-10,
    -2.307125801391129e-09, -8.049339282103857e-09, -3.576064815343551e-08, -2.0292376871338005e-07,
    -1.4967925564473743e-06, -1.4907658559699529e-05, -0.00021537836787527946,
    -0.005273990377436329, -0.3800721963663855};
__constant__ const double K0_NEAR[] = {
    1.6959529795789179e-09, 1.0206332465782625e-07, 4.726083054105427e-06, 0.00015856481440815922,
    0.0036168981481824675, 0.05092592592592433, 0.37500000000000006, 1.0};
__constant__ const double K1_NEAR[] = {
    3.8433270083542356e-10, 2.6131139768685558e-08, 1.3896769577863006e-06, 5.478395050070472e-05,
    0.0015162037037151589, 0.027199074074073414, 0.2777777777777778, 1.25, 1.0};
__constant__ const double K0_TOP[] = {
    -0.00866816382144478, -2.2209795015556884, -30.185626836184593, -125.92617675925399,
    -225.13823883067397, -198.80948666482604, -92.19307715784208, -22.539228556239998,
    -2.712196650946402, -0.125};
__constant__ const double K0_BOTTOM[] = {
    3.877818157349318, 90.39767995796268, 615.6866429644626, 1779.77288827362, 2554.558424985652,
    1964.850816125134, 833.538987362208, 192.2491821291788, 22.260073207571217, 1.0};
__constant__ const double K1_TOP[] = {
    0.07716377160720615, 6.778651100305927, 83.29984272190683, 340.650243978704, 612.1541587735605,
    548.9736380062017, 259.67433612820855, 64.85401959650291, 7.971999734988173, 0.375};
__constant__ const double K1_BOTTOM[] = {
    1.4310239392334139, 46.51566618252322, 384.782090892447, 1267.829154155861, 2001.1355963858846,
    1654.6190820028617, 743.0171784215304, 179.41160411983122, 21.57116595996846, 1.0};

// Returns I_nu(a) (2/a)^nu for 0 <= a < 12, corrected for the rounding of a^2/4. 80 operations.
__device__ inline double bessel_i_series(int order, double a) {
    const double half = 0.5 * a;
    const double z = half * half;
    const double z_low = fma(half, half, -z);
    const double g = order == 0 ? polynomial(I0_NEAR, z) : polynomial(I1_NEAR, z);
    const double sum = fma(z, g, 1.0);
    const double slope = 2.0 / (order + 0.5 + sqrt(fma(a, a, (order + 1.5) * (order + 1.5))));
    return fma(sum * z_low, slope, sum);
}

// Returns e^-a I_nu(a) for a >= 0, infinity and NaN. 70 to 110 operations.
__device__ inline double bessel_i_scaled(int order, double a) {
    if (a < 12.0) {
        const double series = bessel_i_series(order, a) * exp(-a);
        return order == 0 ? series : 0.5 * a * series;
    }
    const double u = 1.0 / a;
    const double t = fma(u, 24.0, -1.0);
    const double g = order == 0 ? polynomial(I0_FAR, t) : polynomial(I1_FAR, t);
    return fma(u, g, 1.0) * 0.3989422804014327 / sqrt(a);
}

// Returns K_nu(x) for 0 < x <= 1. 150 operations.
__device__ inline double bessel_k_near(int order, double x) {
    if (order == 1 && x < 1e-10) {
        return 1.0 / x;
    }
    const double log_term = 0.11593151565841245 - log(x);  // -ln(x/2) - gamma
    const double z = 0.25 * x * x;
    const double main = log_term * bessel_i_series(order, x);
    if (order == 0) {
        return fma(z, polynomial(K0_NEAR, z), main);
    }
    return fma(-0.5 * x, fma(0.5, polynomial(K1_NEAR, z), main), 1.0 / x);
}

// Returns e^x K_nu(x) for x > 1. 100 operations.
__device__ inline double bessel_k_far(int order, double x) {
    const double u = 1.0 / x;
    const double ratio = order == 0 ? polynomial(K0_TOP, u) / polynomial(K0_BOTTOM, u)
                                    : polynomial(K1_TOP, u) / polynomial(K1_BOTTOM, u);
    return fma(u, ratio, 1.0) * 1.2533141373155003 / sqrt(x);
}

// Returns K_nu(x), or e^x K_nu(x) if `scaled`; infinite at 0, NaN for x < 0. At most 190 operations.
__device__ inline double bessel_k(int order, double x, bool scaled) {
    if (x == 0.0) {
        return INFINITE;
    }
    if (!(x > 0.0)) {
        return NOT_A_NUMBER;
    }
    if (x <= 1.0) {
        const double value = bessel_k_near(order, x);
        return scaled ? value * exp(x) : value;
    }
    if (scaled) {
        return bessel_k_far(order, x);
    }
    // The exponential is applied in two halves, because it underflows before the product does.
    if (x < 800.0) {
        const double e = exp(-0.5 * x);
        return bessel_k_far(order, x) * e * e;
    }
    return 0.0;
}

// Returns I_nu(a) for a >= 0, infinity and NaN. The exponential is applied in two halves, because it overflows before
// the product does. 140 operations.
__device__ inline double bessel_i(int order, double a) {
    if (a < 12.0) {
        const double series = bessel_i_series(order, a);
        return order == 0 ? series : 0.5 * a * series;
    }
    if (a < 1400.0) {
        const double e = exp(0.5 * a);
        return bessel_i_scaled(order, a) * e * e;
    }
    return a != a ? a : INFINITE;
}

template <typename T>
__device__ inline T i0(T x) {
    return T(bessel_i(0, fabs(double(x))));
}

template <typename T>
__device__ inline T i1(T x) {
    return T(copysign(bessel_i(1, fabs(double(x))), double(x)));
}

template <typename T>
__device__ inline T i0e(T x) {
    return T(bessel_i_scaled(0, fabs(double(x))));
}

template <typename T>
__device__ inline T i1e(T x) {
    return T(copysign(bessel_i_scaled(1, fabs(double(x))), double(x)));
}

template <typename T>
__device__ inline T k0(T x) {
    return T(bessel_k(0, double(x), false));
}

template <typename T>
__device__ inline T k1(T x) {
    return T(bessel_k(1, double(x), false));
}

template <typename T>
__device__ inline T k0e(T x) {
    return T(bessel_k(0, double(x), true));
}

template <typename T>
__device__ inline T k1e(T x) {
    return T(bessel_k(1, double(x), true));
}
