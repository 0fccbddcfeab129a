// Orthogonal updates of a triangular factor R: damping or rows of data are folded into it.
//
// The reflection of column j acts on [alpha; v]: the diagonal element and the appended part of the column.

// Returns the reflection if squares overflow or underflow, or nearly do so. Scales v in place, which does not
// change the reflection.
STEP_PART Reflection rescued_reflection(Group g, Number alpha, Number* v, int m) {
    const Number nan = NOT_A_NUMBER;
    const Reflection undefined = {nan, nan, nan, nan};
#ifdef SLIM
    // A step of NaN makes the fit leave the kernel.
    return undefined;
#endif
    Number size = largest(v, m);
    if (size == 0.0 && isfinite(alpha)) return {1, 0, 0, alpha};
    size = fmax(size, largest(&alpha, 1));
    if (size == INFINITE) return undefined;
    const Number scale = power_of_two_near_reciprocal(size);
    g.sync();
    each(g, m, [&](int l) { v[l] *= scale; });
    g.sync();
    alpha *= scale;
    Reflection scaled = reflection_of_total(alpha, alpha * alpha + dot(v, v, m));
    scaled.diagonal /= scale;
    return scaled;
}

// Range of alpha^2 + v'v in which neither the squares nor 1 / beta^2 overflow or lose digits.
constexpr Number LEAST_TOTAL = IS_STEP_IN_F32 ? 1e-36 : 1e-280, MOST_TOTAL = IS_STEP_IN_F32 ? 1e36 : 1e280;

// Returns the reflection of [alpha; v], with m numbers in v and `squares` = v'v; the identity if v is zero, or so
// small relative to alpha that v'v underflows.
__device__ __forceinline__ Reflection reflection(Group g, Number alpha, Number squares, Number* v, int m) {
    const Number total = alpha * alpha + squares;
    if (!(total > LEAST_TOTAL && total < MOST_TOTAL)) return rescued_reflection(g, alpha, v, m);
    if (squares == 0.0) return {1, 0, 0, alpha};
    return reflection_of_total(alpha, total);
}

// Replaces the k x k upper triangular r by the triangular factor of [R; rows]. `rows`: m rows, column j at
// rows + j * stride; they are overwritten. Diagonal elements of the result have either sign; elements below
// the diagonal of r are neither read nor written. m = 0 does nothing.
STEP_PART void fold_rows(Group g, Number* r, int k, Number* rows, int stride, int m) {
    if (m == 0) return;
    STEP_LOOP
    for (int j = 0; j < k; ++j) {
        Number* v = rows + j * stride;
        const Reflection h = reflection(g, r[j * k + j], dot(v, v, m), v, m);
        STEP_LOOP
        for (int i = j + 1 + g.rank; i < k; i += g.size) {
            Number* a = rows + i * stride;
            const Number product = dot(v, a, m), rho = r[i * k + j];
            const Number f = h.bring * rho + h.turn * product;
            r[i * k + j] = h.keep * rho + h.bring * product;
            STEP_LOOP
            for (int l = 0; l < m; ++l) a[l] += f * v[l];
        }
        set(g, r[j * k + j], h.diagonal);
    }
}

// Reduces the least-squares problem of a damped step to triangular form: the solution of S x = t minimises
// |R x - z|^2 + |D x|^2. d: the diagonal of D. s: n x n, receives the factor of [R; D], zeros below
// its diagonal. t: n numbers, output. `room`: n^2 + n numbers, overwritten.
STEP_PART void damped(Group g, const Number* r, int n, const Number* d, const Number* z,
                                    Number* s, Number* t, Number* room) {
    Number* lower = room;
    Number* lower_z = room + n * n;
    each(g, n, [&](int j) {
        STEP_LOOP
        for (int i = 0; i < n; ++i) {
            s[j * n + i] = i <= j ? r[j * n + i] : 0.0f;
            lower[j * n + i] = i == j ? d[j] : 0.0f;
        }
        lower_z[j] = 0.0;
        t[j] = z[j];
    });
    g.sync();
    STEP_LOOP
    for (int j = 0; j < n; ++j) {
        Number* v = lower + j * n;
        const int m = j + 1;
        const Reflection h = reflection(g, s[j * n + j], dot(v, v, m), v, m);
        // Column n is the right-hand side.
        STEP_LOOP
        for (int i = j + 1 + g.rank; i <= n; i += g.size) {
            Number* a = i < n ? lower + i * n : lower_z;
            Number& place = i < n ? s[i * n + j] : t[j];
            const Number product = dot(v, a, m), rho = place;
            const Number f = h.bring * rho + h.turn * product;
            place = h.keep * rho + h.bring * product;
            STEP_LOOP
            for (int l = 0; l < m; ++l) a[l] += f * v[l];
        }
        set(g, s[j * n + j], h.diagonal);
    }
}
