// Usual fits of a batch, each by a team of four lanes. All lanes of a team take the same step in their registers and
// share the passes over the points. The teams of a warp meet at each pass.

constexpr int TEAM = 4;
typedef Lanes<TEAM> Team;
// Resident blocks of a multiprocessor: 168 registers per thread, or 255 for 6 to 8 parameters. In f32 128, or 168.
constexpr int SLIM_BLOCKS = (FREE > 5 ? 2 : 3) + (IS_STEP_IN_F32 ? 1 : 0);

// Range of the sums of a fit's data whose products neither overflow nor vanish. In f32, y'y bounds the squares of lengths
// of residuals. That of a step of a tenth of etol at a noise of 1 %, 1e-11 y'y, is above LEAST_TOTAL. That of |q| |J_j|
// is finite up to |q| |J_j| = 100 |y|.
constexpr double LEAST_SUM = IS_STEP_IN_F32 ? 1e-25 : 1e-180, MOST_SUM = IS_STEP_IN_F32 ? 1e34 : 1e180;

// Number of points that a lane evaluates together. In f64 registers hold only one.
constexpr int ABREAST = ROUGH ? 2 : 1;

// Sums of a pass in addition to those of the normal equations: the INFLUENCES sums of a robust loss, then three sums
// over the data with y and w = 1 / sigma: (w y)^2, w^2 y and w^2. Counts have w = 1.
constexpr int INFLUENCE_SUMS = WEIGHS ? INFLUENCES : 0;
constexpr int PASS_SUMS = SUMMED + INFLUENCE_SUMS + 3;

// A fit of a team. A team without a fit takes part in passes with 0 points.
struct SlimFit {
    i64 fit;
    int points;
    // True if the fit has ended and only the influence of its points is missing for the errors.
    bool awaits_influence;
    double darkest;  // for counts: lower limit of the expectation in the weight of a point
    Number highest;  // the cost that a trial of the refinement may not exceed
};

// Appends the fit to the list of fits for `make_fits`: left[0] is their number.
__device__ __forceinline__ void leave(Team team, i64 fit, unsigned* left) {
    if (team.rank == 0) left[1 + atomicAdd(left, 1u)] = unsigned(fit);
}

__device__ __forceinline__ Box box_of(const Batch& batch, i64 fit) {
    if (batch.own_lower == nullptr) return {batch.lower, batch.upper};
    return {batch.own_lower + fit * PARAMS, batch.own_upper + fit * PARAMS};
}

// Returns true if the columns that all fits share are finite. All lanes of the warp call it.
__device__ __forceinline__ bool shared_columns_are_finite(const Batch& batch) {
    bool finite = true;
    if constexpr (!OWN_COLUMNS)
        for (i64 i = threadIdx.x & 31u; i < batch.data.points; i += 32) finite &= columns_are_finite(batch.data, i);
    return !__any_sync(ALL_LANES, !finite);
}

// Returns true if f32 distinguishes the abscissae of the points from `first` on. All `lanes` call it.
template <int N>
__device__ __forceinline__ bool columns_are_apart(Lanes<N> lanes, const Batch& batch, i64 first) {
    Extent extent = empty_extent();
#pragma unroll 1
    for (i64 i = lanes.rank; i < batch.data.points; i += N) {
        real x[VARIABLES];
        load_x(batch.data, first + i, x);
        extend(extent, x);
    }
    return are_apart(lanes, extent);
}

// Writes the start of the fit to the trial. Returns false if the fit must leave.
__device__ __forceinline__ bool take_slim_start(const Batch& batch, i64 fit, State& s) {
    const double* start = batch.starts + fit * batch.start_stride;
    bool usable = true;
#pragma unroll
    for (int k = 0; k < PARAMS; ++k)
        usable &= isfinite(start[k]) && batch.lower[k] <= start[k] && start[k] <= batch.upper[k];
#pragma unroll
    for (int j = 0; j < FREE; ++j) s.trial.q[j] = start[free_at(j)];
    return usable && is_inside(box_of(batch, fit), s.trial.q);
}

// Gives the team its next fit, if there is one. Fits that need no step on the device are skipped or leave at once.
__device__ __forceinline__ void take_next_fit(Team team, const Batch& batch, unsigned long long* next, unsigned* left,
                                              bool finite, SlimFit& now, State& s) {
    now.points = 0;
#pragma unroll 1
    while (true) {
        now.fit = i64(team.first(team.rank == 0 ? atomicAdd(next, 1ull) : 0ull));
        if (now.fit >= batch.fits) return;
        unsigned before[2] = {0, 0};
        bool usable = finite;
        if (batch.continued) {
            const unsigned* counts = batch.out.counts + now.fit * COUNTS;
            const i64 reason = reason_in(counts);
            if (reason == NONE || reason == BAD_DATA) continue;
            if (batch.keep && is_converged(reason)) continue;
            usable &= reason != MAX_EVALUATIONS;
            before[0] = counts[2];
            before[1] = counts[3];
        }
        s.iterations = s.earlier = before[0];
        s.evaluations = before[1];
        if (usable && take_slim_start(batch, now.fit, s)) break;
        leave(team, now.fit, left);
    }
    now.points = int(batch.data.points);
    now.awaits_influence = false;
    now.darkest = darkest_of(1.0, 1.0);
    s.phase = BEGIN;
}

// Prevents the compiler from computing a number again at each point. f32: the conversion of a parameter.
__device__ __forceinline__ void keep_in_register(double&) {}
__device__ __forceinline__ void keep_in_register(float& value) {
#ifdef __CUDA_ARCH__
    asm volatile("" : "+f"(value));
#endif
}

// Computes the sums at the trial, the same in all lanes of the team.
__device__ __forceinline__ void slim_pass(Team team, const Batch& batch, const SlimFit& now, const State& s,
                                          Term* sums) {
    const double* start = batch.starts + now.fit * batch.start_stride;
    double params[PARAMS];
#pragma unroll
    for (int k = 0; k < PARAMS; ++k) params[k] = is_free(k) || now.points == 0 ? 0.0 : start[k];
#pragma unroll
    for (int j = 0; j < FREE; ++j) params[free_at(j)] = s.trial.q[j];
    Common common;
    model_uniforms(params, common.u);
#pragma unroll
    for (int m = 0; m < UNIFORMS; ++m) keep_in_register(common.u[m]);
    Data data = batch.data;
    if constexpr (LOSS == POISSON) data.loss_scale = now.darkest;
    const double floor = now.awaits_influence ? 0.0 : batch.floor;
    const i64 first = now.fit * batch.data.points;
    const Span span = {now.fit, first, batch.data.points, true, now.darkest};
#pragma unroll
    for (int m = 0; m < PASS_SUMS; ++m) sums[m] = 0;
    i64 at = first + team.rank;
#pragma unroll ABREAST
    for (int i = team.rank; i < now.points; i += TEAM, at += TEAM) {
        Point point;
        load_x(data, OWN_COLUMNS ? at : i64(i), point.x);
        point.y = (Term)load_y(data, at);
        point.weight = weight_at(batch, span, i);
        Term row[K], cost, influence[INFLUENCES];
        weighted_row(point, data, common, floor, row, cost, influence);
        add_row(row, sums);
        if constexpr (LOSS != LINEAR) sums[PRODUCTS] += cost;
        if constexpr (WEIGHS)
#pragma unroll
            for (int m = 0; m < INFLUENCES; ++m) sums[SUMMED + m] += influence[m];
        Term* look = sums + SUMMED + INFLUENCE_SUMS;
        const Term response = point.y * point.weight;
        look[0] = fma(response, response, look[0]);
        look[1] = fma(point.weight, response, look[1]);
        if constexpr (WEIGHTS == EACH) look[2] = fma(point.weight, point.weight, look[2]);
        // NaN makes the fit leave.
        const bool usable = (WEIGHTS != EACH || point.weight > 0) && (LOSS != POISSON || point.y >= 0)
            && (!OWN_COLUMNS || columns_are_finite(data, at));
        if (!usable) look[0] = Term(NOT_A_NUMBER);
    }
#pragma unroll
    for (int m = 0; m < PASS_SUMS; ++m)
#pragma unroll
        for (int other = TEAM / 2; other > 0; other /= 2) sums[m] += __shfl_xor_sync(ALL_LANES, sums[m], other);
}

// Keeps what the first pass found about the data. Returns false if the fit must leave.
__device__ __forceinline__ bool take_look(const Batch& batch, const Term* look, SlimFit& now, State& s) {
    const double points = double(now.points);
    // Counts have weight 1.
    const double squares = look[0], mean = look[1];
    const double weights = WEIGHTS == EACH ? look[2] : points * batch.data.constant_weight * batch.data.constant_weight;
    const double scatter = LOSS == POISSON ? squares * points / mean - mean : squares - mean * mean / weights;
    s.square = LOSS == POISSON ? mean : squares;
    s.rounding = rounding_of(s.square);
    s.signal = scatter > s.rounding ? scatter : INFINITE;
    const auto ordinary = [](double sum) { return LEAST_SUM <= sum && sum <= MOST_SUM; };
    return ordinary(squares) && ordinary(s.square) && ordinary(weights);
}

// Writes the parameters of a fit that has ended.
__device__ __forceinline__ void write_params(Team team, const Batch& batch, const SlimFit& now, const State& s) {
    const double* start = batch.starts + now.fit * batch.start_stride;
    double* params = batch.out.params + now.fit * PARAMS;
    // All lanes must have read the start and the counts before, which are in the memory of the results if the launch
    // continues another.
    team.sync();
#pragma unroll
    for (int k = 0; k < PARAMS; ++k)
        if (!is_free(k) && team.rank == k % TEAM) params[k] = start[k];
#pragma unroll
    for (int j = 0; j < FREE; ++j)
        if (team.rank == j % TEAM) params[free_at(j)] = s.present.q[j];
}

// Computes the errors and writes the results of a fit that has ended. Returns false, without results, if its factor is
// not well-conditioned or the errors are not finite.
__device__ __forceinline__ bool write_slim_results(Team team, const Batch& batch, const SlimFit& now, const State& s,
                                                   Scratch& w, const Number* influence) {
    const Group g;
    const Results& out = batch.out;
    bool well = is_well_conditioned(s.r, FREE);
#pragma unroll
    for (int j = 0; j < FREE; ++j) {
        const Number pivot = quotient(s.r[j * FREE + j], s.norms[j]);
        well &= pivot * pivot > WELL_CONDITIONED;
    }
    const Number error = row_error(batch, s, influence, FREE);
    if (!well || !isfinite(error)) return false;
    invert(g, s.r, FREE, w.room);
    write_params(team, batch, now, s);
    double* errors = out.errors + now.fit * PARAMS;
#pragma unroll
    for (int k = 0; k < PARAMS; ++k)
        if (!is_free(k) && team.rank == k % TEAM) errors[k] = 0.0;
#pragma unroll
    for (int j = 0; j < FREE; ++j)
        if (team.rank == j % TEAM) errors[free_at(j)] = root(rows_product(w.room, FREE, j, j)) * error;
    if (out.covariances != nullptr) {
        double* covariance = out.covariances + now.fit * PARAMS * PARAMS;
#pragma unroll 1
        for (int e = team.rank; e < PARAMS * PARAMS; e += TEAM) covariance[e] = 0.0;
        team.sync();
#pragma unroll
        for (int i = 0; i < FREE; ++i)
#pragma unroll
            for (int j = 0; j <= i; ++j) {
                const double value = double(rows_product(w.room, FREE, i, j)) * error * error;
                if (team.rank == 0) covariance[free_at(i) * PARAMS + free_at(j)] = value;
                if (team.rank == 0) covariance[free_at(j) * PARAMS + free_at(i)] = value;
            }
    }
    if (team.rank == 0) write_end(batch, now.fit, s, s.termination, FREE, 0, 0, influence);
    return true;
}

// Returns true if f64 would not change the result of a fit that has ended in f32. `apart`: true if f32 distinguishes the
// abscissae that all fits share.
__device__ __forceinline__ bool is_final_in_f32(Team team, const Batch& batch, const SlimFit& now, const State& s,
                                                bool apart) {
    if (!batch.keep || !ends_within_errors(s) || !rounding_is_harmless(s)) return false;
    return OWN_COLUMNS ? columns_are_apart(team, batch, now.fit * batch.data.points) : apart;
}

// Returns true if f64 would write the same standard errors, and all parameters are far from their bounds, compared with
// the written errors.
__device__ __forceinline__ bool confirms_slim_errors(Team team, const Batch& batch, i64 fit, const State& s,
                                                     const Number* influence) {
    const Box box = box_of(batch, fit);
    const double* errors = batch.out.errors + fit * PARAMS;
    const Number of_row = row_error(batch, s, influence, FREE);
    team.sync();
    bool clear = true;
#pragma unroll
    for (int j = 0; j < FREE; ++j) {
        const int k = free_at(j);
        clear &= is_clear(s.present.q[j], box.lower[k], box.upper[k], errors[k]) && is_error_of_f64(s, j, errors[k], of_row);
    }
    return clear;
}

// Passes the parameters of a fit that has ended in f32 to the stage in f64.
__device__ __forceinline__ void hand_to_f64(Team team, const Batch& batch, const SlimFit& now, const State& s) {
    write_params(team, batch, now, s);
    if (team.rank == 0) {
        unsigned* counts = batch.out.counts + now.fit * COUNTS;
        counts[0] = NO_PROGRESS;
        counts[2] = unsigned(s.iterations);
        counts[3] = unsigned(s.evaluations);
    }
}

// Prepares the pass at the last point whose sums determine the errors of a fit with a robust loss: normal equations
// without `floor`, and the influence of the points.
__device__ __forceinline__ void request_influence(SlimFit& now, State& s) {
    now.awaits_influence = true;
    copy(Group(), s.present.q, s.trial.q, FREE);
}

// Replaces the factor by that of the sums without `floor`. Returns false if it loses too many digits.
__device__ __forceinline__ bool set_final_factor(State& s, Scratch& w) {
    const Group g;
    copy(g, s.trial.sums, s.present.sums, PRODUCTS);
    return is_ordinary_trial(g, s) && set_normal(g, s, w);
}

// Runs the fits of `batch` and writes their results, except those of unusual fits: these are appended to `left`, and
// their results are not changed. `next`: number of fits that teams have taken, initially 0. left[0]: number of fits that
// have left, initially 0; their numbers follow, in any order.
//
// All fits have the same number of points, without a mask. Launch: SLIM_THREADS threads, any number of blocks; results
// depend on neither. Memory traffic as that of `make_fits`, without the scan.
extern "C" __global__ void __launch_bounds__(SLIM_THREADS, SLIM_BLOCKS) slim_fits(
    const Batch batch, unsigned long long* next, unsigned* left) {
    const Team team;
    const bool finite = shared_columns_are_finite(batch);
    const bool apart = !ROUGH || OWN_COLUMNS || columns_are_apart(Lanes<32>(), batch, 0);
    State s = {};
    Scratch w;
    Mixing mixing;
    SlimFit now = {};
    s.moving = ALL;
    s.scaling = MONOTONE;
    s.cut = 0;
    set_rules(batch, batch.data.points, s);
    bool needs_fit = true;
    while (true) {
        if (needs_fit) take_next_fit(team, batch, next, left, finite, now, s);
        needs_fit = false;
        if (!__any_sync(ALL_LANES, now.points > 0)) return;
        Term sums[PASS_SUMS];
        slim_pass(team, batch, now, s, sums);
        if (now.points == 0) continue;
#pragma unroll
        for (int m = 0; m < SUMMED; ++m) s.trial.sums[m] = sums[m];
        if constexpr (LOSS == LINEAR) s.trial.sums[PRODUCTS] = 0.5f * sums[PRODUCTS - 1];
        Next then = LEAVES;
        if (now.awaits_influence) {
            then = set_final_factor(s, w) ? ENDED : LEAVES;
        } else if (s.phase != BEGIN || (take_look(batch, sums + SUMMED + INFLUENCE_SUMS, now, s) && !is_far_from_start(batch, s))) {
            const double darkest = LOSS == POISSON ? darkest_of(s.square, double(now.points)) : now.darkest;
            // Few counts lower the limit of their expectations; the first pass is then repeated.
            if (darkest != now.darkest) {
                now.darkest = darkest;
                continue;
            }
            then = take_step(box_of(batch, now.fit), s, mixing, w, now.highest);
        }
        needs_fit = then != PASS;
        bool is_final = true;
        if (then == ENDED && !now.awaits_influence) {
            is_final = !ROUGH || is_final_in_f32(team, batch, now, s, apart);
            if (WEIGHS && is_final) {
                request_influence(now, s);
                needs_fit = false;
                continue;
            }
        }
        if (then == ENDED && is_final) {
            Number influence[INFLUENCES] = {};
#pragma unroll
            for (int m = 0; WEIGHS && m < INFLUENCES; ++m) influence[m] = sums[SUMMED + m];
            if (!write_slim_results(team, batch, now, s, w, influence))
                then = LEAVES;
            else if (ROUGH)
                is_final = confirms_slim_errors(team, batch, now.fit, s, influence);
        }
        if (then == ENDED && !is_final) hand_to_f64(team, batch, now, s);
        if (then == LEAVES) leave(team, now.fit, left);
    }
}
