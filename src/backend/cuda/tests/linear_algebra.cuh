// One piece of linear algebra, chosen at run time.
template <class Group>
__device__ void run(Group g, i64 piece, int n, int m, double* a, double* b, double* c, double* d) {
    if (piece == 0) set(g, c[0], cholesky(g, a, n, b) ? 1.0 : 0.0);
    if (piece == 1) solve_upper(g, a, n, b);
    if (piece == 2) solve_upper_transposed(g, a, n, b);
    if (piece == 3) set(g, c[0], is_regular(g, a, n) ? 1.0 : 0.0);
    if (piece == 4) damped(g, a, n, b, b + n, c, c + n * n, d);
    if (piece == 5) fold_rows(g, a, n, b, m, m);
    if (piece == 6) set(g, d[0], jacobi_svd(g, a, n, b, c) ? 1.0 : 0.0);
}

extern "C" __global__ void __launch_bounds__(32)
    warp(i64 piece, i64 n, i64 m, double* a, double* b, double* c, double* d) {
    run(Warp(), piece, n, m, a, b, c, d);
}

extern "C" __global__ void __launch_bounds__(1)
    solo(i64 piece, i64 n, i64 m, double* a, double* b, double* c, double* d) {
    run(Solo(), piece, n, m, a, b, c, d);
}
