// The step of a usual fit between two passes, in the registers of one lane. It has the phases of solver.cuh and their
// decisions, but in one sequence: lanes with fits in different phases take their steps together, and each part occurs
// once in the code. In f64, a step of these functions has the bits of the general one.
//
// A fit leaves the kernel if an event occurs that is unusual: a value that is not finite, a bound, a matrix that is
// nearly singular, or an end without convergence. It then begins again in `make_fits`.

// The action that follows a step: a pass at the trial, the results, or the list for `make_fits`.
enum Next : int { PASS, ENDED, LEAVES };

// Range of the squared lengths of the columns of J.
constexpr Number LEAST_SQUARE = IS_STEP_IN_F32 ? 1e-30 : 1e-200, MOST_SQUARE = IS_STEP_IN_F32 ? 1e36 : 1e200;

// Bounds of the parameters, PARAMS numbers each.
struct Box {
    const double *lower, *upper;
};

// Returns true if all free parameters are finite, inside their bounds, and not within rounding of a bound.
STEP_PART bool is_inside(const Box& box, const Number* q) {
    bool inside = true;
    STEP_LOOP
    for (int j = 0; j < FREE; ++j) {
        const Number low = Number(box.lower[free_at(j)]), high = Number(box.upper[free_at(j)]);
        inside &= low < q[j] && q[j] < high && !is_beside(q[j], low) && !is_beside(q[j], high);
    }
    return inside;
}

// Sets the trial to the present point plus the step. Returns true if a parameter changed.
STEP_PART bool move(State& s) {
    bool moved = false;
    STEP_LOOP
    for (int j = 0; j < FREE; ++j) {
        s.trial.q[j] = s.present.q[j] + s.delta[j];
        moved |= s.trial.q[j] != s.present.q[j];
    }
    return moved;
}

// Moves to the trial, the end of a full step, without evaluating it.
STEP_PART void move_unseen(Group g, State& s) {
    copy(g, s.trial.q, s.present.q, FREE);
    s.present.sums[SUMS - 1] = fmax(cost_of(s.present) - s.fall, Number(0));
}

// Returns true if the sums at the trial are finite and the linear model there needs no units of columns.
STEP_PART bool is_ordinary_trial(Group g, const State& s) {
    bool ordinary = all_finite(g, s.trial.sums, SUMS);
    STEP_LOOP
    for (int j = 0; j < FREE; ++j) {
        const Number square = product(s.trial.sums, j, j);
        ordinary &= LEAST_SQUARE <= square && square <= MOST_SQUARE;
    }
    // In f32, twice the cost must be finite, too.
    if constexpr (IS_STEP_IN_F32) ordinary &= cost_of(s.trial) <= MOST_SQUARE;
    return ordinary;
}

// Decides as `judge` whether the trial becomes the present point, and sets the next radius.
STEP_PART bool accepts(Group g, State& s, Scratch& w) {
    const Number predicted = -predicted_change(g, s, w);
    const Number actual = cost_of(s.present) - cost_of(s.trial);
    const Number ratio = predicted > 0.0 ? quotient(actual, predicted) : 0.0f;
    s.full = s.lambda == 0.0;
    s.actual = actual;
    s.predicted = predicted;
    s.ratio = ratio;
    resize(g, s, actual, ratio);
    return ratio >= ACCEPT;
}

// Makes the trial the present point and computes its linear model. Returns false if the fit must leave.
STEP_PART bool advance_to_trial(Group g, State& s, Scratch& w) {
    const bool ordinary = is_ordinary_trial(g, s);
    copy(g, s.trial.q, s.present.q, FREE);
    copy(g, s.trial.sums, s.present.sums, SUMS);
    const bool regular = set_normal(g, s, w);
    STEP_LOOP
    for (int j = 0; j < FREE; ++j) s.scale[j] = fmax(s.phase == BEGIN ? 0.0f : s.scale[j], s.norms[j]);
    return ordinary && regular;
}

// Begins the refinement at the present point.
STEP_PART void begin_refinement(Group g, State& s, Mixing& mixing, Reason reason, Number noise) {
    copy(g, s.present.q, s.best.q, FREE);
    s.reason = reason;
    s.refinements = 0;
    s.at_best = 1;
    s.refined_change = 0.0;
    s.best_change = s.change;
    s.ceiling = cost_of(s.present) + noise;
    mixing.held = 0;
}

// Keeps the refined point if it is the best so far. Returns false if the refinement ends because steps grow.
STEP_PART bool still_improves(Group g, State& s) {
    s.at_best = s.change < s.best_change && cost_of(s.present) <= s.ceiling;
    if (s.change > 2 * s.best_change) return false;
    if (s.at_best) {
        copy(g, s.present.q, s.best.q, FREE);
        s.best_change = s.change;
    }
    return true;
}

// Sets s.delta to a step within the present radius; w.part contains the Gauss-Newton step.
STEP_PART void propose_step(Group g, State& s, Scratch& w) {
    copy(g, s.r, w.r, FREE * FREE);
    copy(g, s.z, w.z, FREE);
    copy(g, s.scale, w.scale, FREE);
    s.lambda = shortened_step(g, FREE, s.radius, s.lambda, true, w);
    copy(g, w.part, s.delta, FREE);
    s.length = scaled_norm(s.delta, s.scale, FREE);
    if (s.iterations == s.earlier) s.radius = fmin(s.radius, s.length);
    s.slope = slope_along_step(s);
}

// Sets s.delta to the mixed full step; w.part contains the Gauss-Newton step.
STEP_PART void refine_step(Group g, State& s, Mixing& mixing, const Scratch& w) {
    s.refined_change = s.change;
    s.refinements += 1;
    copy(g, w.part, s.delta, FREE);
    Number room[ROOM];
    mix(g, s.present.q, s.scale, s.delta, mixing, room);
}

// Takes the step after a pass at the trial. s.phase is BEGIN, JUDGE, REFINED or, on the return to the best point of the
// refinement, SETTLE. `highest`: the cost that a trial of the refinement may not exceed.
__device__ __forceinline__ Next take_step(const Box& box, State& s, Mixing& mixing, Scratch& w, Number& highest) {
    const Group g;
    const bool begins = s.phase == BEGIN, judges = s.phase == JUDGE, refines_on = s.phase == REFINED;
    const bool returns = s.phase == SETTLE;
    if (!returns) s.evaluations += 1;

    bool accepted_trial = true, leaves = false;
    if (judges) {
        s.bend = bend_of(s);
        accepted_trial = accepts(g, s, w);
        leaves = !accepted_trial && s.radius <= EPSILON * scaled_norm(s.present.q, s.scale, FREE);
    } else if (refines_on) {
        accepted_trial = cost_of(s.trial) <= highest;
    }
    if (accepted_trial) leaves = !advance_to_trial(g, s, w);
    if (begins) first_region(g, s);
    // If the trial was rejected, these values are the same as before.
    leaves |= !is_regular(g, s.r, FREE) || !all_finite(g, s.trial.sums, SUMS);
    gauss_newton(g, s.r, s.z, FREE, w.part);
    const Number deviation = deviation_of(s), noise = noise_of(s);
    const Prospect ahead = prospect_of(s, deviation, w.part, s.z, FREE);
    s.fall = ahead.fall;
    s.change = ahead.change;
    const Reason small = step_was_small(s, deviation), reason = full_step_is_small(s, noise);
    const Reason finish = finished(s);
    const bool limited = interrupted(s) != NONE;

    bool refines = false, settles = returns, ends = false;
    if (refines_on) {
        refines = accepted_trial && still_improves(g, s);
        settles = !refines;
    } else if (!returns && accepted_trial) {
        if (judges) s.iterations += 1;
        s.small = judges && s.full ? small : NONE;
        s.along = slope_along_step(s);
        ends = finish != NONE;
        s.termination = finish;
        if (!ends && is_within_errors(s)) {
            copy(g, w.part, s.delta, FREE);
            move(s);
            leaves |= !is_inside(box, s.trial.q);
            move_unseen(g, s);
            s.termination = STEP;
            ends = true;
        }
        refines = !ends && (s.small != NONE || reason != NONE);
        if (refines) begin_refinement(g, s, mixing, s.small != NONE ? Reason(s.small) : reason, noise);
    }
    if (refines) {
        const bool known = is_known_beyond(s, noise), settled = is_settled(s, known);
        if constexpr (ROUGH) s.reason = settled ? STEP : NO_PROGRESS;
        settles = (s.refinements >= MAX_REFINEMENTS && !settled) || limited;
        if (!settles) {
            refine_step(g, s, mixing, w);
            const bool moved = move(s);
            leaves |= !is_inside(box, s.trial.q);
            if (settled && moved && known && s.at_best) move_unseen(g, s);
            settles = settled || !moved;
        }
        highest = cost_of(s.present) + LAST_DIGITS * bulk_of_cost(s) + noise;
        s.phase = REFINED;
    } else if (!settles && !ends) {
        propose_step(g, s, w);
        leaves |= !move(s) || !is_inside(box, s.trial.q) || limited;
        s.phase = JUDGE;
    }
    if (settles && !returns && !s.at_best) {
        copy(g, s.best.q, s.trial.q, FREE);
        s.phase = SETTLE;
        settles = false;
    }
    if (settles) s.termination = is_exact(s) ? EXACT_FIT : Reason(s.reason);
    return leaves ? LEAVES : settles || ends ? ENDED : PASS;
}
