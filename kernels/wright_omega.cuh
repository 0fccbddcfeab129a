// Wright omega function of a real number, omega + ln omega = x, for models that use it. Method and initial values as
// in src/math/wright_omega.rs. The float overload computes in double. Costs as in prelude.cuh.

// A step of fourth order towards omega + ln omega = x. 80 operations.
__device__ inline double wright_omega_step(double x, double omega) {
    const double residual = (x - omega) - log(omega);
    const double next = 1.0 + omega;
    const double bottom = fma(next, fma(2.0 / 3.0, residual, next), -residual);
    const double change = residual / next * (1.0 + 0.5 * residual / bottom);
    return fma(omega, change, omega);
}

// Returns e^x below -50, else two steps from an initial value. Below 1 a Newton step on omega e^omega = e^x follows,
// because its residual does not suffer from cancellation. 200 to 270 operations.
__device__ inline double wright_omega(double x) {
    if (x < -50.0) {
        return exp(x);
    }
    if (x < 1.0) {
        const double e = exp(x);
        const double top = e * fma(e, fma(e, 17.0 / 60.0, 19.0 / 10.0), 1.0);
        const double bottom = fma(e, fma(e, 101.0 / 60.0, 29.0 / 10.0), 1.0);
        const double omega = wright_omega_step(x, wright_omega_step(x, top / bottom));
        const double ratio = e * exp(-omega) / omega;
        return fma(omega, (ratio - 1.0) / (1.0 + omega), omega);
    }
    if (!(x < INFINITE)) {
        return x;  // infinity, NaN
    }
    const double start = fma(-log(x), x / (x + 1.0), x);
    return wright_omega_step(x, wright_omega_step(x, start));
}

__device__ inline float wright_omega(float x) {
    return float(wright_omega(double(x)));
}
