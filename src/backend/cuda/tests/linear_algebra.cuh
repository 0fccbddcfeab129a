// One piece of linear algebra, chosen at run time, by the unit's Group.
extern "C" __global__ void __launch_bounds__(32)
    piece(i64 chosen, i64 size, i64 rows, double* a, double* b, double* c, double* d) {
    const Group g = Group();
    const int n = int(size), m = int(rows);
    if (chosen == 0) set(g, c[0], cholesky(g, a, n, b) ? 1.0 : 0.0);
    if (chosen == 1) solve_upper(g, a, n, b);
    if (chosen == 2) solve_upper_transposed(g, a, n, b);
    if (chosen == 3) set(g, c[0], is_regular(g, a, n) ? 1.0 : 0.0);
    if (chosen == 4) damped(g, a, n, b, b + n, c, c + n * n, d);
    if (chosen == 5) fold_rows(g, a, n, b, m, m);
    if (chosen == 6) set(g, d[0], jacobi_svd(g, a, n, b, c) ? 1.0 : 0.0);
}
