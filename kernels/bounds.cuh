// Bounds by an active set, as in `bounds.rs`: parameters that sit on a bound and are pushed outwards
// stay there, and a step that would leave the box is taken again with the offenders on their bounds.

// Whether parameter j sits on a bound while the gradient pushes it outwards.
__device__ __forceinline__ bool is_held(const State& s, int j) {
    const double downhill = -s.gradient[j];
    if (s.present.q[j] <= s.limits_low[j]) return downhill <= 0.0;
    if (s.present.q[j] >= s.limits_high[j]) return downhill >= 0.0;
    return false;
}

// The parameters that may move: those with an effect on the model that no bound holds.
__device__ __noinline__ unsigned moving_parameters(const State& s) {
    unsigned moving = 0;
#pragma unroll 1
    for (int j = 0; j < FREE; ++j)
        if (s.norms[j] > 0.0 && !is_held(s, j)) moving |= 1u << j;
    return moving;
}

// Those of `moving` that s.delta takes over a bound.
__device__ __noinline__ unsigned leaving_parameters(const State& s, unsigned moving) {
    unsigned leaving = 0;
#pragma unroll 1
    for (int j = 0; j < FREE; ++j) {
        const double to = s.present.q[j] + s.delta[j];
        const bool inside = (s.limits_low[j] <= to && to <= s.limits_high[j]) || isnan(s.delta[j]);
        if (contains(moving, j) && !inside) leaving |= 1u << j;
    }
    return leaving;
}

// Writes the step within radius and box to s.delta, and its damping and whether a bound cut it to
// s.lambda and s.cut. Each round sets at least one more parameter on a bound.
template <class Group>
__device__ __noinline__ void bounded_step(Group g, State& s, Scratch& w) {
    const unsigned all = unsigned(s.moving);
    const double guess = s.lambda, radius = s.radius;
    unsigned moving = all;
    double lambda = guess;
    g.sync();
    fill(g, s.delta, FREE, 0.0);
    g.sync();
#pragma unroll 1
    while (moving != 0) {
        reduced_model(g, s, moving, w);
#pragma unroll 1
        for (int j = g.rank; j < FREE; j += g.size)
            if (contains(moving, j)) w.scale[position(moving, j)] = s.scale[j];
        g.sync();
        lambda = region_step(g, count(moving), radius, guess, w);
#pragma unroll 1
        for (int j = g.rank; j < FREE; j += g.size)
            if (contains(moving, j)) s.delta[j] = w.part[position(moving, j)];
        g.sync();
        const unsigned leaving = leaving_parameters(s, moving);
        g.sync();
        if (leaving == 0) break;
#pragma unroll 1
        for (int j = g.rank; j < FREE; j += g.size) {
            const double bound = s.delta[j] < 0.0 ? s.limits_low[j] : s.limits_high[j];
            if (contains(leaving, j)) s.delta[j] = bound - s.present.q[j];
        }
        g.sync();
        moving &= ~leaving;
    }
    if (g.rank == 0) {
        s.lambda = lambda;
        s.cut = moving != all;
    }
    g.sync();
}
