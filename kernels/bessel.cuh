// Bessel functions of order 0 and 1 for models that have them: CUDA's own in double, also in float, where those
// for float lose digits with the size of x.

__device__ inline double bessel_j0(double x) { return j0(x); }
__device__ inline double bessel_j1(double x) { return j1(x); }
__device__ inline double bessel_y0(double x) { return y0(x); }
__device__ inline double bessel_y1(double x) { return y1(x); }
__device__ inline float bessel_j0(float x) { return float(j0(double(x))); }
__device__ inline float bessel_j1(float x) { return float(j1(double(x))); }
__device__ inline float bessel_y0(float x) { return float(y0(double(x))); }
__device__ inline float bessel_y1(float x) { return float(y1(double(x))); }
