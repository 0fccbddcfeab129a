// Cholesky factor of a normal matrix, and triangular solves for all factors.
//
// Matrices are n x n, column-major: element (i, j) is at j * n + i. The formulas and their bounds are
// those of `cholesky.rs`; columns are distributed among the threads of the group.

// Returns x'y, computed as on the CPU: four running sums, then the remaining terms in order.
STEP_PART Number dot(const Number* x, const Number* y, int n) {
    Number a = 0.0, b = 0.0, c = 0.0, d = 0.0;
    int i = 0;
    STEP_LOOP
    for (; i + 4 <= n; i += 4) {
        a += x[i] * y[i];
        b += x[i + 1] * y[i + 1];
        c += x[i + 2] * y[i + 2];
        d += x[i + 3] * y[i + 3];
    }
    Number total = (a + b) + (c + d);
    STEP_LOOP
    for (; i < n; ++i) total += x[i] * y[i];
    return total;
}

// Returns the sum of squares of n numbers, added in order.
__device__ __forceinline__ Number squares_in_order(const Number* x, int n) {
    Number sum = 0.0;
    STEP_LOOP
    for (int i = 0; i < n; ++i) sum += x[i] * x[i];
    return sum;
}

// Returns the largest magnitude in x; infinite if an element is infinite or NaN.
STEP_PART Number largest(const Number* x, int n) {
    Number most = 0.0;
    STEP_LOOP
    for (int i = 0; i < n; ++i) most = isfinite(x[i]) ? fmax(most, fabs(x[i])) : Number(INFINITE);
    return most;
}

// Returns the power of two that scales a finite positive number to about 1; its reciprocal is exact and normal.
__device__ __forceinline__ double power_of_two_near_reciprocal(double x) {
    i64 exponent = (__double_as_longlong(x) >> 52) & 0x7ff;
    exponent = exponent < 1 ? 1 : exponent > 2045 ? 2045 : exponent;
    return __longlong_as_double((2046 - exponent) << 52);
}

// Writes R with A = R'R and a positive diagonal to r, zeros below it. Reads only the upper triangle of a.
// Returns false if a pivot is not finite, or not above n eps times its diagonal element; r is then undefined.
//
// R is computed row by row: r_ij = (a_ij - sum_{l<i} r_li r_lj) / r_ii, with one thread for each column j.
STEP_PART bool cholesky(Group g, const Number* a, int n, Number* r) {
    const Number noise = n * EPSILON;
    bool positive = true;
    each(g, n, [&](int j) {
        STEP_LOOP
        for (int i = 0; i < n; ++i) r[j * n + i] = i <= j ? a[j * n + i] : 0.0f;
    });
    g.sync();
    STEP_LOOP
    for (int i = 0; i < n; ++i) {
        const Number* column = r + i * n;
        const Number diagonal = column[i];
        const Number pivot = diagonal - dot(column, column, i);
        positive &= pivot > noise * diagonal && isfinite(pivot);
        const Number diagonal_of_r = root(pivot);
        STEP_LOOP
        for (int j = i + 1 + g.rank; j < n; j += g.size)
            r[j * n + i] = quotient(r[j * n + i] - dot(column, r + j * n, i), diagonal_of_r);
        g.sync();
        if (g.rank == 0) r[i * n + i] = diagonal_of_r;
    }
    g.sync();
    return positive;
}

// Replaces b by x with R x = b. A zero on the diagonal yields an infinity or NaN, by the rules of IEEE 754.
STEP_PART void solve_upper(Group g, const Number* r, int n, Number* b) {
    STEP_LOOP
    for (int j = n - 1; j >= 0; --j) {
        const Number x = quotient(b[j], r[j * n + j]);
        each(g, j, [&](int i) { b[i] -= x * r[j * n + i]; });
        g.sync();
        if (g.rank == 0) b[j] = x;
    }
    g.sync();
}

// Replaces b by x with R'x = b. A zero on the diagonal yields an infinity or NaN, by the rules of IEEE 754.
STEP_PART void solve_upper_transposed(Group g, const Number* r, int n, Number* b) {
    STEP_LOOP
    for (int j = 0; j < n; ++j) {
        const Number x = quotient(b[j] - dot(r + j * n, b, j), r[j * n + j]);
        set(g, b[j], x);
    }
}

// Returns true if R is numerically nonsingular: no column lies within rounding in the span of its predecessors.
STEP_PART bool is_regular(Group g, const Number* r, int n) {
    bool singular = false;
    each(g, n, [&](int j) {
        const Number norm = root(squares_in_order(r + j * n, j + 1));
        singular |= !(fabs(r[j * n + j]) > 8 * Number(n) * EPSILON * norm);
    });
    return !g.any(singular);
}
