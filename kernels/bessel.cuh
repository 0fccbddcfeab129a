// Bessel functions of order 0 and 1 for models that have them: CUDA's own in double, also in float, where those
// for float lose digits with the size of x.

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
