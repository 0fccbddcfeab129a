// Tests of convergence, as in `convergence.rs`: tests of the present point, and of the steps from and to it.

// Returns the cost, limited to s.bulk: the cost of all points if each residual equalled the scale of the loss,
// 1/2 points scale^2. s.bulk is infinite without a loss and under redescending losses.
__device__ __forceinline__ Number bulk_of_cost(const State& s) { return fmin(cost_of(s.present), s.bulk); }

__device__ __forceinline__ Number residual_of(const State& s) { return root(2 * bulk_of_cost(s)); }

// Returns the standard deviation of the residuals.
STEP_PART Number deviation_of(const State& s) {
    const i64 points = s.points_counted > 1 ? s.points_counted : 1;
    return quotient(residual_of(s), root(Number(points)));
}

// Returns the reference for a change of q[j]: |q[j]| or, if larger, the standard error that q[j] would have
// as the only parameter.
__device__ __forceinline__ Number size_of(const State& s, int j, Number deviation) {
    return fmax(fabs(s.present.q[j]), quotient(deviation, s.norms[j]));
}

// ROUNDING of the arithmetic of the model: that of f32 is 2^29 times that of f64.
constexpr Number MODEL_ROUNDING = ROUGH ? 536870912.0 * ROUNDING : ROUNDING;

// Returns the uncertainty of the cost that follows from rounding of the model's values.
STEP_PART Number noise_of(const State& s) {
    const Number residual = residual_of(s);
    Number terms = 0.0;
    STEP_LOOP
    for (int j = 0; j < FREE; ++j) terms = fmax(terms, s.norms[j] * fabs(s.present.q[j]));
    const Number values = residual * fmax(root(s.square) + residual, terms);
    return MODEL_ROUNDING * fmax(values, cost_of(s.present));
}

// Returns true if the cost is only rounding error.
__device__ __forceinline__ bool is_exact(const State& s) { return 2 * cost_of(s.present) <= s.rounding; }

// Returns the reason to end at the present point, independent of the next step, or NONE.
STEP_PART Reason finished(const State& s) {
    if (is_exact(s)) return EXACT_FIT;
    const Number residual = residual_of(s);
    bool without_effect = true;
    Number largest_cosine = 0.0;
    STEP_LOOP
    for (int j = 0; j < FREE; ++j) {
        if (s.norms[j] != 0.0) without_effect = false;
        if (contains(unsigned(s.moving), j))
            largest_cosine = fmax(largest_cosine, quotient(fabs(s.gradient[j]), s.norms[j] * residual));
    }
    if (without_effect) return s.iterations == s.earlier ? ZERO_GRADIENT_AT_START : DEGENERATE;
    return largest_cosine <= s.gtol || s.moving == 0 ? GRADIENT : NONE;
}

// Computes the Gauss-Newton step of a rank-deficient problem, in the columns that the previous columns do not
// span; the other parameters do not move. w.r and w.z contain the problem of the moving parameters; on return
// |w.z|^2 / 2 is the predicted decrease of the cost. Returns false if there is no such step.
STEP_PART bool basic_step(Group g, State& s, Scratch& w) {
    const unsigned moving = unsigned(s.moving);
    const int m = count(moving);
    unsigned basis = 0;
    STEP_LOOP
    for (int j = 0; j < FREE; ++j) {
        if (!contains(moving, j)) continue;
        const int i = position(moving, j);
        if (fabs(w.r[i * m + i]) > 8 * Number(m) * EPSILON * s.norms[j]) basis |= 1u << j;
    }
    const int k = count(basis);
    fill(g, s.delta, FREE, 0.0);
    g.sync();
    restrict_model(g, s, basis, w);
    if (!is_regular(g, w.r, k)) return false;
    gauss_newton(g, w.r, w.z, k, w.part);
    fill(g, w.z + k, m - k, 0.0);
    // No barrier: each lane scatters to elements that it has filled itself.
    fill(g, w.step, FREE, 0.0);
    scatter(g, w.part, basis, w.step);
    return true;
}

// Predicted effect of a Gauss-Newton step: the decrease of the cost, and the largest change of a parameter relative to
// its size.
struct Prospect {
    Number fall, change;
};

// Returns the effect of `step`, all parameters, which solves the problem of the moving parameters with the m numbers z
// on its right-hand side.
STEP_PART Prospect prospect_of(const State& s, Number deviation, const Number* step, const Number* z, int m) {
    Number change = 0.0;
    STEP_LOOP
    for (int j = 0; j < FREE; ++j)
        if (contains(unsigned(s.moving), j)) change = fmax(change, quotient(fabs(step[j]), size_of(s, j, deviation)));
    return {0.5f * squares_in_order(z, m), change};
}

// Writes the Gauss-Newton step of the moving parameters to w.step, and its predicted effect to s.fall and s.change.
STEP_PART void look_ahead(Group g, State& s, Scratch& w) {
    const unsigned moving = unsigned(s.moving);
    const int m = count(moving);
    if (moving != ALL) {
        fill(g, s.delta, FREE, 0.0);
        g.sync();
    }
    reduced_model(g, s, moving, w);
    bool exists = true;
    if (is_regular(g, w.r, m)) {
        gauss_newton(g, w.r, w.z, m, w.part);
        fill(g, w.step, FREE, 0.0);
        scatter(g, w.part, moving, w.step);
    } else {
        exists = basic_step(g, s, w);
    }
    const Prospect none = {Number(INFINITE), Number(INFINITE)};
    const Prospect ahead = exists ? prospect_of(s, deviation_of(s), w.step, w.z, m) : none;
    if (g.rank == 0) {
        s.fall = ahead.fall;
        s.change = ahead.change;
    }
    g.sync();
}

// Returns the termination if a full step would change the cost or the parameters by no more than the tolerances, or
// NONE.
STEP_PART Reason full_step_is_small(const State& s, Number noise) {
    if (s.ftol > 0.0 && s.fall <= fmax(s.ftol * bulk_of_cost(s), noise)) return COST;
    return s.change <= s.xtol ? STEP : NONE;
}

// Returns true if the full steps expected after the present one have a total length of at most CALM_REST
// sqrt(tolerance). They are extrapolated as a geometric series from the previous and the present step; the previous
// step must be a full step that changed the cost as predicted. `square`: squared length of the present step.
STEP_PART bool steps_shrink(const State& s, Number square, Number tolerance) {
    const Number rate = quotient(square, fabs(s.along));
    const Number rest = quotient(rate, 1 - rate);
    const bool is_calm = s.full && fabs(s.ratio - 1) <= CALM_RATIO && s.bend <= CALM_BEND;
    return is_calm && rate <= CALM_RATE && square * (rest * rest) <= CALM_REST * CALM_REST * tolerance;
}

// Returns true if the standard deviation of a point, sqrt(variance), is small relative to the signal, and no column
// is nearly spanned by its predecessors.
STEP_PART bool stands_out(const State& s, Number variance) {
    Number least = 1.0;
    STEP_LOOP
    for (int j = 0; j < FREE; ++j)
        if (s.norms[j] > 0.0) least = fmin(least, fabs(quotient(s.r[j * FREE + j], s.norms[j])));
    return variance <= CALM_NOISE * CALM_NOISE * (least * least) * s.signal;
}

// Returns the variance of a weighted residual.
__device__ __forceinline__ Number variance_of(const State& s) {
    const i64 freedom = s.points_counted > FREE ? s.points_counted - FREE : 1;
    const Number known = s.row_error * s.row_error;
    return known > 0.0 ? known : quotient(2 * bulk_of_cost(s), Number(freedom));
}

// Returns true if the full step may be the last: it is short relative to the standard errors, and the previous step
// shows that steps shrink.
STEP_PART bool is_within_errors(const State& s) {
    if (s.etol == 0.0 || s.iterations == s.earlier) return false;
    const Number variance = variance_of(s);
    const Number square = 2 * s.fall, tolerance = s.etol * s.etol * variance;
    return square <= tolerance && stands_out(s, variance) && steps_shrink(s, square, tolerance);
}

// Returns true if the full step of a refinement in f32 and all steps after it are short relative to the standard errors.
// The steps after it are extrapolated from the step before: that of the refinement, or the step that led to it.
__device__ __forceinline__ bool rest_is_within_errors(const State& s) {
    const Number square = 2 * s.fall, tolerance = s.etol * s.etol * variance_of(s);
    if (square > tolerance) return false;
    if (s.refinements == 0) return steps_shrink(s, square, tolerance);
    const Number rate = quotient(s.change, s.refined_change), rest = quotient(rate, 1 - rate);
    return rate < 1.0 && square * (rest * rest) <= tolerance;
}

// Returns true if the cost after a full step is known without an evaluation. In f32, rounding hides the effect of a step
// within the standard errors.
__device__ __forceinline__ bool is_known_beyond(const State& s, Number noise) {
    if constexpr (ROUGH) return rest_is_within_errors(s);
    return s.fall <= LAST_FALL * bulk_of_cost(s) && noise <= LAST_NOISE * bulk_of_cost(s);
}

// Returns true if the full step is the last of the refinement. `known`: is_known_beyond. The next change is estimated as
// change^2 / (change before), as under linear convergence with a constant rate.
__device__ __forceinline__ bool is_settled(const State& s, bool known) {
    const bool still = s.change <= LAST_DIGITS && s.fall <= LAST_DIGITS * bulk_of_cost(s);
    const bool swift = s.change * s.change <= LAST_CHANGE * s.refined_change;
    return still || ((ROUGH || swift) && known);
}

// Returns the termination if the last step changed cost or parameters by no more than the tolerances, or NONE.
STEP_PART Reason step_was_small(const State& s, Number deviation) {
    // s.actual is added because the cost is that of the new point.
    const Number tolerance = s.ftol * (bulk_of_cost(s) + s.actual);
    if (s.actual <= tolerance && s.predicted <= tolerance && s.ratio <= 2.0) return COST;
    bool within = true;
    STEP_LOOP
    for (int j = 0; j < FREE; ++j)
        if (contains(unsigned(s.moving), j)) within &= fabs(s.delta[j]) <= s.xtol * size_of(s, j, deviation);
    return within ? STEP : NONE;
}

// Returns DEGENERATE instead of a minimum at which a parameter that the model uses has no effect.
STEP_PART Reason unless_degenerate(const State& s, Reason reason) {
    const bool minimum = reason == GRADIENT || reason == COST || reason == STEP;
    bool lost = false;
    STEP_LOOP
    for (int j = 0; j < FREE; ++j) lost |= s.norms[j] == 0.0 && !contains(unsigned(s.unused), j);
    return minimum && lost ? DEGENERATE : reason;
}

// Returns the termination if a limit ends the fit here, or NONE.
__device__ __forceinline__ Reason interrupted(const State& s) {
    return s.evaluations >= s.limit ? MAX_EVALUATIONS : NONE;
}
