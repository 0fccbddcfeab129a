// Singular values and right singular vectors by one-sided Jacobi rotations: pairs of columns of A are rotated until
// all columns are orthogonal, A V = U Sigma. The order of the pairs and the tests are those of `jacobi_svd.rs`,
// which explains them. Every thread computes all dot products; rows are distributed among the threads.

// Returns x'y / (|x| |y|) for given norms.
__device__ __noinline__ double cosine(const double* x, double x_norm, const double* y, double y_norm, int n) {
    if (x_norm * y_norm > SAFE) return dot(x, y, n) / (x_norm * y_norm);
    const double x_scale = power_of_two_near_reciprocal(x_norm);
    const double y_scale = power_of_two_near_reciprocal(y_norm);
    double product = 0.0;
#pragma unroll 1
    for (int i = 0; i < n; ++i) product += (x[i] * x_scale) * (y[i] * y_scale);
    return product / ((x_norm * x_scale) * (y_norm * y_scale));
}

// Returns |x|. Sets x to zero if it is too short for its rotations to be representable; all threads see the zeros
// after a barrier.
__device__ __noinline__ double norm_or_clear(Group g, double* x, int n) {
    const double squares = dot(x, x, n);
    if (squares > SAFE) return sqrt(squares);
    const double size = largest(x, n);
    if (size < 1e-290) {
        g.sync();
        fill(g, x, n, 0.0);
        return 0.0;
    }
    const double scale = power_of_two_near_reciprocal(size);
    double sum = 0.0;
#pragma unroll 1
    for (int i = 0; i < n; ++i) sum += (x[i] * scale) * (x[i] * scale);
    return sqrt(sum) / scale;
}

// Replaces x by c x - s y and y by s x + c y.
__device__ __forceinline__ void rotate(Group g, double* x, double* y, int n, double c, double s) {
    each(g, n, [&](int i) {
        const double p = x[i], q = y[i];
        x[i] = c * p - s * q;
        y[i] = s * p + c * q;
    });
}

// Swaps column p with the longest of the columns from p on, in a, norms and v.
__device__ __noinline__ void bring_longest(Group g, int p, double* a, int n, double* norms, double* v) {
    int longest = p;
#pragma unroll 1
    for (int q = p + 1; q < n; ++q)
        if (norms[q] > norms[longest]) longest = q;
    g.sync();
    if (longest == p) return;
    each(g, n, [&](int i) {
        const double x = a[p * n + i], y = v[p * n + i];
        a[p * n + i] = a[longest * n + i];
        v[p * n + i] = v[longest * n + i];
        a[longest * n + i] = x;
        v[longest * n + i] = y;
    });
    if (g.rank == 0) {
        const double norm = norms[p];
        norms[p] = norms[longest];
        norms[longest] = norm;
    }
    g.sync();
}

// Makes columns p and q orthogonal. Returns true if they were not.
__device__ __noinline__ bool rotate_pair(Group g, int p, int q, double* a, int n, double* norms, double* v,
                                         double tolerance) {
    const double x_norm = norms[p], y_norm = norms[q];
    if (x_norm == 0.0 || y_norm == 0.0) return false;
    double *x = a + p * n, *y = a + q * n;
    const double cosine_of_pair = cosine(x, x_norm, y, y_norm, n);
    if (fabs(cosine_of_pair) <= tolerance) return false;
    const double zeta = (x_norm / y_norm - y_norm / x_norm) / (2.0 * cosine_of_pair);
    // For |zeta| > 1e8 the next term of the expansion is below eps, and zeta^2 could overflow.
    const double tangent = fabs(zeta) > 1e8
        ? -0.5 / zeta
        : -copysign(1.0, zeta) / (fabs(zeta) + sqrt(1.0 + zeta * zeta));
    const double c = 1.0 / sqrt(1.0 + tangent * tangent), s = c * tangent;
    g.sync();
    rotate(g, x, y, n, c, s);
    rotate(g, v + p * n, v + q * n, n, c, s);
    g.sync();
    const double x_new = norm_or_clear(g, x, n), y_new = norm_or_clear(g, y, n);
    if (g.rank == 0) {
        norms[p] = x_new;
        norms[q] = y_new;
    }
    g.sync();
    return true;
}

// a: n x n, overwritten. sigma: n singular values, descending. v: n x n, right singular vectors.
// Returns false if an element of a is not finite (sigma and v are then NaN), or if the columns were not orthogonal
// after MAX_SWEEPS (sigma and v then have their last values). A barrier must follow.
__device__ __noinline__ bool jacobi_svd(Group g, double* a, int n, double* sigma, double* v) {
    const double size = largest(a, n * n);
    g.sync();
    if (size == INFINITE) {
        fill(g, sigma, n, NOT_A_NUMBER);
        fill(g, v, n * n, NOT_A_NUMBER);
        return false;
    }
    const double scale = size > 0.0 ? power_of_two_near_reciprocal(size) : 1.0;
    each(g, n * n, [&](int i) {
        v[i] = i % (n + 1) == 0 ? 1.0 : 0.0;
        a[i] *= scale;
    });
    g.sync();
#pragma unroll 1
    for (int j = 0; j < n; ++j) {
        const double norm = norm_or_clear(g, a + j * n, n);
        if (g.rank == 0) sigma[j] = norm;
    }
    g.sync();
    const double tolerance = EPSILON * fmax(sqrt(double(n)), 4.0);
    bool converged = false;
#pragma unroll 1
    for (int sweep = 0; sweep < MAX_SWEEPS && !converged; ++sweep) {
        converged = true;
#pragma unroll 1
        for (int p = 0; p < n; ++p) {
            bring_longest(g, p, a, n, sigma, v);
#pragma unroll 1
            for (int q = p + 1; q < n; ++q)
                if (rotate_pair(g, p, q, a, n, sigma, v, tolerance)) converged = false;
        }
    }
#pragma unroll 1
    for (int p = 0; p < n; ++p) {
        bring_longest(g, p, a, n, sigma, v);
        if (g.rank == 0) sigma[p] /= scale;
    }
    return converged;
}
