// Bounds by an active set, as in `bounds.rs`. Parameters on a bound stay there while the gradient pushes them
// outwards. A step that would leave the box is recomputed with the violating parameters set on their bounds.
// Parameters that the linear model then pushes inwards are released again.

// Returns true if parameter j is on a bound and the gradient pushes it outwards.
__device__ __forceinline__ bool is_held(const State& s, int j) {
    const Number downhill = -s.gradient[j];
    if (s.present.q[j] <= s.lower[j]) return downhill <= 0.0;
    if (s.present.q[j] >= s.upper[j]) return downhill >= 0.0;
    return false;
}

// Returns the parameters that may move: they have an effect on the model, and no bound holds them.
STEP_PART unsigned moving_parameters(const State& s) {
    unsigned moving = 0;
    STEP_LOOP
    for (int j = 0; j < FREE; ++j)
        if (s.norms[j] > 0.0 && !is_held(s, j)) moving |= 1u << j;
    return moving;
}

// Returns the parameters of `moving` that s.delta moves past a bound.
STEP_PART unsigned leaving_parameters(const State& s, unsigned moving) {
    unsigned leaving = 0;
    STEP_LOOP
    for (int j = 0; j < FREE; ++j) {
        const Number to = s.present.q[j] + s.delta[j];
        const bool inside = (s.lower[j] <= to && to <= s.upper[j]) || isnan(s.delta[j]);
        if (contains(moving, j) && !inside) leaving |= 1u << j;
    }
    return leaving;
}

// Returns the parameters that s.delta decreases.
STEP_PART unsigned falling_parameters(const State& s) {
    unsigned falling = 0;
    STEP_LOOP
    for (int j = 0; j < FREE; ++j)
        if (s.delta[j] < 0.0) falling |= 1u << j;
    return falling;
}

// Returns the bit of the candidate that the linear model at s.delta pushes most strongly inwards, or 0. Each
// candidate is set on a bound. `lowered`: the parameters on their lower bounds.
STEP_PART unsigned pushed_inwards(Group g, const State& s, unsigned candidates, unsigned lowered,
                                                Scratch& w) {
    if (candidates == 0) return 0;
    // The residual of the model, R d + z, then its cosines with the columns, positive if the cost rises outwards.
    model_rows(g, s, w.t);
    each(g, FREE, [&](int i) { w.t[i] += s.z[i]; });
    g.sync();
    const Number size = sqrt(squares_in_order(w.t, FREE));
    each(g, FREE, [&](int j) {
        Number slope = 0.0;
        STEP_LOOP
        for (int i = 0; i <= j; ++i) slope += s.r[j * FREE + i] * w.t[i];
        w.part[j] = (contains(lowered, j) ? -slope : slope) / (s.norms[j] * size);
    });
    g.sync();
    unsigned strongest = 0;
    Number push = RELEASE;
    STEP_LOOP
    for (int j = 0; j < FREE; ++j) {
        if (!contains(candidates, j) || !(w.part[j] > push)) continue;
        push = w.part[j];
        strongest = 1u << j;
    }
    return strongest;
}

// Writes the step within the radius and the bounds to s.delta and its damping to s.lambda; sets s.cut to true if
// a bound cut the step. A round sets all parameters that cross a bound on that bound. If none crosses a bound, the
// round releases one parameter that an earlier round set on a bound, each at most once; the loop ends if there is
// none to release.
STEP_PART void bounded_step(Group g, State& s, Scratch& w) {
    const unsigned all = unsigned(s.moving);
    const Number guess = s.lambda, radius = s.radius;
    unsigned moving = all, lowered = 0, released = 0;
    Number lambda = guess;
    fill(g, s.delta, FREE, 0.0);
    g.sync();
#pragma unroll 1
    while (true) {
        unsigned leaving = 0;
        if (moving != 0) {
            reduced_model(g, s, moving, w);
            gather(g, s.scale, moving, w.scale);
            lambda = region_step(g, count(moving), radius, guess, w);
            scatter(g, w.part, moving, s.delta);
            leaving = leaving_parameters(s, moving);
        }
        if (leaving == 0) {
            const unsigned inwards = pushed_inwards(g, s, all & ~moving & ~released, lowered, w);
            if (inwards == 0) break;
            released |= inwards;
            moving |= inwards;
            continue;
        }
        lowered = (lowered & ~leaving) | (falling_parameters(s) & leaving);
        g.sync();
        each(g, FREE, [&](int j) {
            const Number bound = contains(lowered, j) ? s.lower[j] : s.upper[j];
            if (contains(leaving, j)) s.delta[j] = bound - s.present.q[j];
        });
        g.sync();
        moving &= ~leaving;
    }
    if (g.rank == 0) {
        s.lambda = lambda;
        s.cut = moving != all;
    }
    g.sync();
}
