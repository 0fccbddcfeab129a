// Wright omega function of a real number, omega + ln omega = x, for models that use it. Method and initial values are
// those of src/math/wright_omega.rs. The overload for float computes in double. Costs are in operations as defined in
// prelude.cuh.

// Returns omega after a fourth-order step towards omega + ln omega = x. 80 operations.
__device__ inline double wright_omega_step(double x, double omega) {
    const double residual = (x - omega) - log(omega);
    const double next = 1.0 + omega;
    const double bottom = fma(next, fma(2.0 / 3.0, residual, next), -residual);
    const double change = residual / next * (1.0 + 0.5 * residual / bottom);
    return fma(omega, change, omega);
}

// Returns e^x for x < -50, otherwise the result of two steps from an initial value. For x < 1 a Newton step on
// omega e^omega = e^x follows, whose residual does not suffer from cancellation. 200 to 270 operations.
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
