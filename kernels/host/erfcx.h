// Host version of CUDA's erfcx, e^(x^2) erfc(x), which is not a function of the C++ standard library.

inline double erfcx(double x) {
    if (x > 12.0) {
        const double u = 0.5 / (x * x);  // sum of (-1)^n (2n-1)!! u^n
        double sum = 1.0;
        for (int n = 15; n > 0; --n) {
            sum = 1.0 - (2 * n - 1) * u * sum;
        }
        return 0.5641895835477563 / x * sum;
    }
    const double square = x * x;
    const double e = exp(square);
    const double low = fma(x, x, -square);
    return (square < 700.0 ? fma(e, low, e) : e) * erfc(x);
}

inline float erfcx(float x) { return static_cast<float>(erfcx(static_cast<double>(x))); }
