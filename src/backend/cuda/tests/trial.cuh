// The outputs of a model at all points, FREE + 1 numbers each: the least that uses everything generated.
// Any grid of one-dimensional blocks.

extern "C" __global__ void TRIAL(Data data, const double* params, double* outputs) {
    real u[UNIFORMS];
    model_uniforms(params, u);
    const i64 stride = i64(gridDim.x) * blockDim.x;
    for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < data.points; i += stride) {
        real x[VARIABLES];
        real out[FREE + 1];
        load_x(data, i, x);
        model_point(u, x, out);
        for (int j = 0; j <= FREE; ++j) {
            outputs[i * (FREE + 1) + j] = out[j];
        }
    }
}
