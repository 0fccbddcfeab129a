// The loop of `src/solver/state_machine.rs`: Levenberg-Marquardt in More's trust-region form, as a state machine.
//
// Each phase returns the next phase. If a phase needs an evaluation or a factorisation of the points, it sets
// s.request and the loop ends. The next call of `advance` continues.

// Phases of the algorithm.
enum Phase : i64 { BEGIN, FIRST_REGION, LOOK, PROPOSE, JUDGE, ACCEPTED, REFINE, REFINED, WEIGH, SETTLE, SETTLED };

// Sets the request and returns the next phase. A phase needs no barrier after its last writes: `advance` has one
// before the next phase.
STEP_PART Phase wait_for(Group g, State& s, Request request, Phase then) {
    // All threads must have read the previous request.
    g.sync();
    if (g.rank == 0) s.request = i64(request);
    return then;
}

STEP_PART Phase end(Group g, State& s, Reason reason) {
    const i64 why = unless_degenerate(s, reason);
    if (g.rank == 0) s.termination = why;
    return wait_for(g, s, DONE, Phase(s.phase));
}

STEP_PART void copy_point(Group g, const Place& from, Place& to) {
    g.sync();
    copy(g, from.params, to.params, PARAMS);
    copy(g, from.q, to.q, FREE);
    copy(g, from.sums, to.sums, SUMS);
    g.sync();
}

// Completes the linear model at the present point, after its R and z (see linear_model.cuh) are computed: updates
// the scale and the set of moving parameters.
STEP_PART void relinearised(Group g, State& s) {
    each(g, FREE, [&](int j) {
        s.scale[j] = s.scaling == MONOTONE ? fmax(s.scale[j], s.norms[j]) : s.norms[j];
    });
    if (g.rank == 0) s.moving = i64(moving_parameters(s));
}

// Computes the linear model at the present point, or requests its factor.
STEP_PART Phase linearise(Group g, State& s, Scratch& w, Phase then) {
    if (!set_normal(g, s, w)) return wait_for(g, s, FACTOR, then);
    relinearised(g, s);
    return then;
}

// Returns true if a value is within rounding of a finite bound.
__device__ __forceinline__ bool is_beside(Number value, Number bound) {
    return fabs(value - bound) < 2 * EPSILON * fabs(bound);
}

// Sets the trial to the present point plus the step. Returns true if a parameter changed. Each lane reads the elements
// of the step that it has written; therefore no barrier is needed before.
STEP_PART bool move_trial(Group g, State& s) {
    bool moved = false;
    each(g, FREE, [&](int j) {
        const Number q = s.present.q[j], d = s.delta[j];
        Number param = clamp(q + d, s.lower[j], s.upper[j]);
        // A step onto a bound ends exactly on it. A parameter that rounding leaves just inside its bound does
        // not count as held by the bound, but the bound cuts its next step to almost nothing.
        const bool at_low = d == s.lower[j] - q || is_beside(param, s.lower[j]);
        const bool at_high = d == s.upper[j] - q || is_beside(param, s.upper[j]);
        param = at_low ? s.lower[j] : at_high ? s.upper[j] : param;
        s.trial.params[s.free[j]] = param;
        s.trial.q[j] = param;
        moved |= s.trial.q[j] != s.present.q[j];
    });
    g.sync();
    return g.any(moved);
}

// Requests the sums at the trial. If the trial itself is not finite, sets its cost to NaN instead.
STEP_PART Phase evaluate_trial(Group g, State& s, Phase then) {
    if (all_finite(g, s.trial.params, PARAMS)) return wait_for(g, s, EVALUATE, then);
    if (g.rank == 0) s.trial.sums[SUMS - 1] = NOT_A_NUMBER;
    return then;
}

// The sums at the start are available. Makes the start the present point, unless the host must handle it.
STEP_PART Phase begin(Group g, State& s, Scratch& w) {
    bool safe = true;
    STEP_LOOP
    for (int j = 0; j < FREE; ++j) {
        const Number square = product(s.trial.sums, j, j);
        safe &= 1e-200 <= square && square <= 1e200;
    }
    if (!all_finite(g, s.trial.sums, SUMS) || !(safe || s.without_effect)) return wait_for(g, s, HOST, BEGIN);
    each(g, FREE, [&](int j) {
        s.trial.q[j] = s.trial.params[s.free[j]];
        s.scale[j] = 0.0;
    });
    copy_point(g, s.trial, s.present);
    return linearise(g, s, w, FIRST_REGION);
}

// Sets the first radius, a multiple of the scaled length of the parameters. This length is taken as at least 1e-6
// of the norm of the residuals, because the cost does not resolve shorter steps. If all parameters are 0, the norm
// of the residuals replaces the length; both have the same unit.
STEP_PART Phase first_region(Group g, State& s) {
    copy(g, s.norms, s.scale, FREE);
    g.sync();
    const Number length = scaled_norm(s.present.q, s.scale, FREE), residual = root(2 * cost_of(s.present));
    const Number size = length > 0.0 ? fmax(length, Number(1e-6) * residual) : residual;
    if (g.rank == 0) {
        s.radius = s.initial_radius * size;
        s.lambda = 0.0;
        s.small = NONE;
    }
    return LOOK;
}

// Moves to the trial, the end of a full step, without evaluating it. The calling phase ends afterwards.
STEP_PART void go_unseen(Group g, State& s) {
    const Number cost = fmax(cost_of(s.present) - s.fall, Number(0));
    g.sync();
    copy(g, s.trial.params, s.present.params, PARAMS);
    copy(g, s.trial.q, s.present.q, FREE);
    if (g.rank == 0) s.present.sums[SUMS - 1] = cost;
}

// Takes the full step in w.step without an evaluation, unless a bound is in its way. Returns true if it was taken.
STEP_PART bool take_full_step(Group g, State& s, Scratch& w) {
    copy(g, w.step, s.delta, FREE);
    move_trial(g, s);
    bool goes = all_finite(g, s.trial.params, PARAMS);
    STEP_LOOP
    for (int j = 0; j < FREE; ++j) goes &= s.trial.q[j] == s.present.q[j] + s.delta[j];
    if (goes) go_unseen(g, s);
    return goes;
}

// Tests whether the fit ends at the present point.
STEP_PART Phase look(Group g, State& s, Scratch& w) {
    Reason reason = finished(s);
    if (reason != NONE) return end(g, s, reason);
    look_ahead(g, s, w);
    if (is_within_errors(s) && take_full_step(g, s, w)) return end(g, s, STEP);
    reason = s.small != NONE ? Reason(s.small) : full_step_is_small(s, noise_of(s));
    if (reason == NONE) {
        reason = interrupted(s);
        if (reason != NONE) return end(g, s, reason);
        if (g.rank == 0) s.shortenings = 0;
        return PROPOSE;
    }
    const Number ceiling = cost_of(s.present) + noise_of(s);
    copy_point(g, s.present, s.best);
    if (g.rank == 0) {
        s.reason = reason;
        s.refinements = 0;
        s.mixing.held = 0;
        s.at_best = 1;
        s.refined_change = 0.0;
        s.best_change = s.change;
        s.ceiling = ceiling;
    }
    return REFINE;
}

// Returns the product of the step with the gradient at the present point.
__device__ __forceinline__ Number slope_along_step(const State& s) {
    Number slope = 0.0;
    STEP_LOOP
    for (int j = 0; j < FREE; ++j) slope += s.gradient[j] * s.delta[j];
    return slope;
}

// Proposes a step for the present radius. The first step of the run also determines the size of the region.
STEP_PART Phase propose(Group g, State& s, Scratch& w) {
    bounded_step(g, s, w);
    const Number length = scaled_norm(s.delta, s.scale, FREE);
    const bool first = s.iterations == s.earlier && s.shortenings == 0 && !s.cut;
    const Number radius = first ? fmin(s.radius, length) : s.radius;
    const Number slope = slope_along_step(s);
    g.sync();
    if (g.rank == 0) {
        s.length = length;
        s.radius = radius;
        s.slope = slope;
    }
    if (move_trial(g, s)) return evaluate_trial(g, s, JUDGE);
    if (s.cut && radius > EPSILON * scaled_norm(s.present.q, s.scale, FREE)) {
        // Bounds reduce this step to 0; a shorter step follows the gradient.
        if (g.rank == 0) s.radius = 0.25f * radius;
        return PROPOSE;
    }
    return end(g, s, s.shortenings == 0 ? NO_PROGRESS : MODEL_NON_FINITE);
}

// Sets the next radius and damping by More's rules. A good step that is short only because a bound cut it does not
// reduce the radius.
STEP_PART void resize(Group g, State& s, Number actual, Number ratio) {
    Number radius = s.radius, lambda = s.lambda;
    const Number least = s.cut ? radius : 0.0f;
    if (ratio <= 0.25) {
        // The minimum of the parabola through both costs and the slope at the present point.
        const Number parabola = actual >= 0.0 ? 0.5f : quotient(0.5f * s.slope, s.slope + actual);
        const bool far = cost_of(s.trial) >= 100 * cost_of(s.present);
        const Number factor = far || isnan(parabola) ? Number(0.1) : clamp(parabola, 0.1, 0.5);
        radius = factor * fmin(radius, quotient(s.length, Number(0.1)));
        lambda = quotient(lambda, factor);
    } else if (fabs(ratio - 1) <= FAITHFUL) {
        radius = fmax(least, BOLD * s.length);
        lambda = 0.0;
    } else if (lambda == 0.0 || ratio >= 0.75) {
        radius = fmax(least, 2 * s.length);
        lambda *= 0.5f;
    }
    g.sync();
    if (g.rank == 0) {
        s.radius = radius;
        s.lambda = lambda;
    }
    g.sync();
}

// Returns the largest factor by which the trial changes the length of a column; 1 if etol is 0.
STEP_PART Number bend_of(const State& s) {
    Number largest = 1.0;
    if (s.etol == 0.0) return largest;
    STEP_LOOP
    for (int j = 0; j < FREE; ++j) {
        const Number after = root(product(s.trial.sums, j, j)), before = s.norms[j];
        largest = fmax(largest, fmax(quotient(after, before), quotient(before, after)));
    }
    return largest;
}

// The sums at the trial are available. Accepts the step, or tries a shorter one.
STEP_PART Phase judge(Group g, State& s, Scratch& w) {
    if (all_finite(g, s.trial.sums, SUMS)) {
        const Number predicted = -predicted_change(g, s, w);
        const Number actual = cost_of(s.present) - cost_of(s.trial);
        const Number ratio = predicted > 0.0 ? quotient(actual, predicted) : 0.0f;
        // If a bound has cut the step, its size does not predict the next steps, in which other parameters move.
        const bool full = !s.cut && (s.lambda == 0.0 || s.fall == INFINITE);
        resize(g, s, actual, ratio);
        if (ratio >= ACCEPT) {
            const Number bend = bend_of(s);
            copy_point(g, s.trial, s.present);
            if (g.rank == 0) {
                s.bend = bend;
                s.iterations += 1;
                s.actual = actual;
                s.predicted = predicted;
                s.ratio = ratio;
                s.full = full;
            }
            return linearise(g, s, w, ACCEPTED);
        }
        if (s.radius <= EPSILON * scaled_norm(s.present.q, s.scale, FREE)) return end(g, s, NO_PROGRESS);
    } else {
        if (g.rank == 0) {
            s.radius = 0.25f * fmin(s.length, s.radius);
            s.lambda *= 4;
            s.shortenings += 1;
        }
        g.sync();
        if (s.shortenings > MAX_SHORTENINGS) return end(g, s, MODEL_NON_FINITE);
    }
    const Reason reason = interrupted(s);
    return reason != NONE ? end(g, s, reason) : PROPOSE;
}

// Tests whether the accepted step was small, after the linear model is computed.
STEP_PART Phase accepted(Group g, State& s) {
    const i64 small = s.full ? step_was_small(s, deviation_of(s)) : NONE;
    const Number along = s.etol == 0.0 ? 0.0f : slope_along_step(s);
    if (g.rank == 0) {
        s.small = small;
        s.along = along;
    }
    return LOOK;
}

// Takes the last step from the best point without an evaluation, if its effect is known to be negligible.
STEP_PART void take_last_step(Group g, State& s, bool moved) {
    if (!moved || !is_known_beyond(s, noise_of(s)) || !s.at_best || !all_finite(g, s.trial.params, PARAMS)) return;
    go_unseen(g, s);
}

// Refines a point where the tolerances are met: full steps with Anderson mixing continue until the parameters'
// last digits stop changing.
STEP_PART Phase refine(Group g, State& s, Scratch& w) {
    const bool settled = is_settled(s, is_known_beyond(s, noise_of(s)));
    // If the refinement in f32 does not end within the standard errors, f64 continues.
    if (ROUGH && g.rank == 0) s.reason = settled ? STEP : NO_PROGRESS;
    const bool enough = s.refinements >= MAX_REFINEMENTS || s.change == INFINITE;
    if ((enough && !settled) || interrupted(s) != NONE) return SETTLE;
    g.sync();
    copy(g, w.step, s.delta, FREE);
    if (g.rank == 0) {
        s.refined_change = s.change;
        s.moving_before = s.moving;
        s.refinements += 1;
    }
    mix(g, s.present.q, s.scale, s.delta, s.mixing, w.room);
    const bool moved = move_trial(g, s);
    if (settled) {
        take_last_step(g, s, moved);
        return SETTLE;
    }
    return moved ? evaluate_trial(g, s, REFINED) : SETTLE;
}

STEP_PART Phase refined(Group g, State& s, Scratch& w) {
    const Number highest = cost_of(s.present) + LAST_DIGITS * bulk_of_cost(s) + noise_of(s);
    if (!all_finite(g, s.trial.sums, SUMS) || !(cost_of(s.trial) <= highest)) return SETTLE;
    copy_point(g, s.trial, s.present);
    return linearise(g, s, w, WEIGH);
}

// Keeps the refined point if it is the best so far. Ends the refinement if a bound becomes active or steps grow.
STEP_PART Phase weigh(Group g, State& s, Scratch& w) {
    look_ahead(g, s, w);
    const bool at_best = s.change < s.best_change && cost_of(s.present) <= s.ceiling;
    const bool ends = count(unsigned(s.moving)) != count(unsigned(s.moving_before))
        || s.change > 2 * s.best_change;
    if (g.rank == 0) s.at_best = i64(at_best);
    if (ends) return SETTLE;
    if (at_best) {
        copy_point(g, s.present, s.best);
        if (g.rank == 0) s.best_change = s.change;
    }
    return REFINE;
}

// Ends the refinement at its best point.
STEP_PART Phase settle(Group g, State& s, Scratch& w) {
    if (s.at_best) return SETTLED;
    copy_point(g, s.best, s.present);
    return linearise(g, s, w, SETTLED);
}

STEP_PART Phase settled(Group g, State& s) {
    return end(g, s, is_exact(s) ? EXACT_FIT : Reason(s.reason));
}

// Continues from s.phase until a phase needs the points or the fit has ended. The caller must place a barrier between
// the last read of s.request by any thread and this call.
STEP_PART void advance(Group g, State& s, Scratch& w) {
    if (g.rank == 0) s.request = CONTINUE;
    g.sync();
#pragma unroll 1
    while (s.request == CONTINUE) {
        Phase next = SETTLED;
        switch (s.phase) {
            case BEGIN: next = begin(g, s, w); break;
            case FIRST_REGION: next = first_region(g, s); break;
            case LOOK: next = look(g, s, w); break;
            case PROPOSE: next = propose(g, s, w); break;
            case JUDGE: next = judge(g, s, w); break;
            case ACCEPTED: next = accepted(g, s); break;
            case REFINE: next = refine(g, s, w); break;
            case REFINED: next = refined(g, s, w); break;
            case WEIGH: next = weigh(g, s, w); break;
            case SETTLE: next = settle(g, s, w); break;
            case SETTLED: next = settled(g, s); break;
        }
        set(g, s.phase, i64(next));
    }
}

// Counts the evaluation at the trial after its sums are written. The caller then calls `advance`.
__device__ void evaluated(Group g, State& s) {
    g.sync();
    if (g.rank == 0) s.evaluations += 1;
}

// Stores the (FREE + 1) x (FREE + 1) factor at the present point. The caller then calls `advance`.
STEP_PART void factored(Group g, State& s, const Number* factor) {
    set_factor(g, s, factor);
    relinearised(g, s);
}
