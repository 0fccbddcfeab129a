// The exponential integral E1, for models that use it. Method and coefficients are those of
// src/math/exponential_integral.rs, but in plain double instead of pairs of doubles. The function for float also
// computes in double. Requires prelude.cuh, which also defines the unit of the numbers of operations.

__constant__ const double E1_NEAR[] = {
    -4.591473721867568e-13, 1.0982322067155086e-11, -1.707175251901064e-10, 2.2722640748728464e-09,
    -2.7551510521183184e-08, 3.061878199716569e-07, -3.100195799581471e-06, 2.8344670162020714e-05,
    -0.00023148148119970122, 0.001666666666617679, -0.010416666666661807, 0.05555555555555535};
__constant__ const double E1_TOP[] = {
    230.5503738758329, 9129.37065675744, 70661.04430048795, 193835.10821969688, 238690.52791721048,
    148957.39487858073, 50259.98222261688, 9405.134726459008, 961.7224886010413, 49.64014918410069,
    1.0};
__constant__ const double E1_BOTTOM[] = {
    1023.8519339850128, 24430.15707302615, 140251.48777665026, 313150.40639359655,
    332434.7337261054, 186212.720965782, 58094.79316548847, 10275.576916691522, 1009.3626377851423,
    50.64014918410069, 1.0};

// Returns the integral of e^-t/t from x to infinity; infinite at 0, NaN for x < 0. 60 to 110 operations. Largest
// error measured on a host: 2.9 ulp.
__device__ inline double exponential_integral(double x) {
    if (x == 0.0) {
        return INFINITE;
    }
    if (x > 0.0 && x <= 1.25) {
        const double bend = fma(x, polynomial(E1_NEAR, x), -0.25);
        return fma(x * x, bend, (x - 0.5772156649015329) - log(x));
    }
    if (x > 1.25) {
        const double u = 1.0 / x;
        const double e = exp(-x);
        return e == 0.0 ? 0.0 : e / (x + polynomial(E1_TOP, u) / polynomial(E1_BOTTOM, u));
    }
    return NOT_A_NUMBER;  // negative, NaN
}

template <typename T>
__device__ inline T e1(T x) {
    return T(exponential_integral(double(x)));
}
