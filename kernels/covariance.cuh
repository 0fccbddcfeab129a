// Decomposition of a factor for the covariance: the kept columns are scaled to unit length and reduced to
// triangular form; then their singular values and right singular vectors are computed. Reasons: `covariance.rs`.

struct Spectrum {
    double lengths[FREE];
    double sigma[FREE];
    double v[FREE * FREE];
    double found;
};

// Decomposes the m columns `kept` of `factor`, the FREE x FREE factor of J. Fills the first m numbers of lengths (of
// the columns) and sigma (singular values), and the first m * m of v (right singular vectors). Scratch: `rows`,
// m * FREE numbers, and `r`, m * m numbers.
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
