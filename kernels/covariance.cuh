// What the covariance needs of a factor: the kept columns, scaled to unit length, made triangular, and
// their singular values and right singular vectors. `covariance.rs` says why it goes this way.

struct Spectrum {
    double lengths[FREE];
    double sigma[FREE];
    double v[FREE * FREE];
    double found;
};

// factor: of J, FREE x FREE. kept: the m columns wanted. Fills the first m numbers of
// lengths and sigma and the first m * m of v.
__device__ void spectrum_of(Group g, const double* factor, unsigned kept, double* rows, double* r, Spectrum& out) {
    const int m = count(kept);
    each(g, FREE, [&](int j) {
        if (!contains(kept, j)) return;
        const int c = position(kept, j);
        double* column = rows + c * FREE;
#pragma unroll 1
        for (int i = 0; i < FREE; ++i) column[i] = i <= j ? factor[j * FREE + i] : 0.0;
        const double length = sqrt(squares_in_order(column, FREE));
        out.lengths[c] = length > 0.0 ? length : 1.0;
#pragma unroll 1
        for (int i = 0; length > 0.0 && i < FREE; ++i) column[i] /= length;
    });
    fill(g, r, m * m, 0.0);
    g.sync();
    fold_rows(g, r, m, rows, FREE, FREE);
    const bool found = jacobi_svd(g, r, m, out.sigma, out.v);
    if (g.rank == 0) out.found = found ? 1.0 : 0.0;
    g.sync();
}
