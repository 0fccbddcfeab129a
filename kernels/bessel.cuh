// Bessel functions of orders 0 and 1, for models that use them: CUDA's functions for double, also for float arguments,
// because CUDA's functions for float lose digits as x grows.

template <typename T>
__device__ inline T bessel_j0(T x) {
    return T(j0(double(x)));
}

template <typename T>
__device__ inline T bessel_j1(T x) {
    return T(j1(double(x)));
}

template <typename T>
__device__ inline T bessel_y0(T x) {
    return T(y0(double(x)));
}

template <typename T>
__device__ inline T bessel_y1(T x) {
    return T(y1(double(x)));
}
