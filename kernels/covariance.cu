// Entry point of what the covariance needs of a factor of [J r].
//
// `factor`: (FREE + 1)^2 numbers. `kept`: bits of the parameters that are estimated. `spectrum`: see
// spectrum_of. Launch: one block of one warp. About 50 FREE^3 flops.
extern "C" __global__ void __launch_bounds__(32) covariance(const double* factor, i64 kept, Spectrum* spectrum) {
    __shared__ double rows[FREE * FREE], r[FREE * FREE];
    spectrum_of(Warp(), factor, unsigned(kept), rows, r, *spectrum);
}
