// Everything that a fit on the device keeps between evaluations, and its scratch within a step.
//
// The members of State are 8 bytes each, so that its layout is that of `state_layout.rs`. The host
// fills in what a fit is (from `limit` on) and the first trial; the device writes the rest.

// What a fit waits for.
enum Request : i64 {
    CONTINUE,  // nothing: only while a step is being worked out
    EVALUATE,  // the sums at the trial's parameters
    FACTOR,    // the triangular factor of [J r] at the present parameters
    HOST,      // the sums at the start are not finite or not safe: the host looks for the reason
    DONE,      // nothing any more
};

// Why a fit ends, in the order of `Termination` in `state_layout.rs`.
enum Reason : i64 {
    NONE,
    GRADIENT,
    COST,
    STEP,
    EXACT_FIT,
    NO_PROGRESS,
    MAX_EVALUATIONS,
    TIME_LIMIT,
    STOPPED,
    MODEL_NON_FINITE,
    ZERO_GRADIENT_AT_START,
    DEGENERATE,
};

// Where the algorithm goes on; `solver.cuh` says what each phase does.
enum Phase : i64 { BEGIN, FIRST_REGION, LOOK, PROPOSE, JUDGE, ACCEPTED, REFINE, REFINED, WEIGH, SETTLE, SETTLED, STOP };

enum Scaling : i64 { MONOTONE, PRESENT };

// Differences that Anderson's mixing keeps.
constexpr int DEPTH = 4;

struct Place {
    double params[PARAMS];  // all parameters, free and fixed
    double q[FREE];         // the free ones in units of their columns
    double sums[SUMS];      // the normal summary there
};

struct State {
    // Read by the host after launches.
    i64 request;
    i64 phase;
    i64 termination;
    i64 evaluations;
    i64 factorisations;
    i64 iterations;  // accepted steps
    i64 reported;    // of them, those that `step` to `present.params` speak of
    double cost;     // at the present point
    double step;     // scaled length of the last accepted step, relative to the parameters
    double damping;  // lambda that it was taken with
    Place present;
    Place trial;
    Place best;  // of the refinement

    // The linear model at the present point: 1/2 |R d + z|^2.
    double r[FREE * FREE];
    double z[FREE];
    double norms[FREE];
    double gradient[FREE];
    i64 moving;  // set of bits: the parameters that may move

    // The trust region.
    double scale[FREE];  // the diagonal of D
    double radius;
    double lambda;
    double delta[FREE];
    double limits_low[FREE];  // bounds in units of the columns
    double limits_high[FREE];
    double effects[FREE];  // |J_j| |q_j| at the start

    // The Gauss-Newton step at the present point.
    double fall;    // of the cost that it promises; infinite if there is none
    double change;  // the largest of a parameter, relative to its size

    // The step being tried, or just accepted.
    i64 shortenings;
    double length;  // of D delta
    i64 cut;        // whether a bound cut it
    i64 full;       // whether it says what a full step would do
    double actual;
    double predicted;
    double ratio;
    i64 small;  // the reason to end that the accepted step is, or NONE

    // The refinement.
    i64 reason;  // why the fit ends after it
    i64 refinements;
    i64 moving_before;
    i64 at_best;
    double best_change;
    double refined_change;  // at the point before; 0 at the first
    double ceiling;
    i64 held;  // points of Anderson's mixing
    double points[FREE * (DEPTH + 1)];
    double steps[FREE * (DEPTH + 1)];

    // Given by the host.
    i64 limit;      // evaluations at most
    i64 earlier;    // accepted steps before this run
    i64 stopped;    // STOPPED or TIME_LIMIT if the host ends the fit, or NONE
    i64 rescaled;   // whether the host has set the columns for this start
    i64 scaling;
    i64 points_counted;
    double ftol;
    double xtol;
    double gtol;
    double initial_radius;
    double rounding;  // a sum of squares that is nothing
    double square;    // sum of squares of the weighted response
    double bulk;      // the largest cost that is not outliers' alone
    double floor;     // of the robust correction while iterating
    double columns[FREE];
    double lower[FREE];
    double upper[FREE];
    i64 free[FREE];
    i64 unused[FREE];
};

// Numbers that the users of `room` need: a restricted model, and Anderson's least squares.
constexpr int ROOM_OF_MODEL = (FREE + 1) * (2 * FREE + 1);
constexpr int ROOM_OF_MIXING = (FREE + DEPTH + 1) * (DEPTH + 1) + DEPTH * (DEPTH + 1);
constexpr int ROOM = ROOM_OF_MODEL > ROOM_OF_MIXING ? ROOM_OF_MODEL : ROOM_OF_MIXING;

struct Scratch {
    double r[FREE * FREE];  // a factor of the parameters that move
    double room[ROOM];
    double z[FREE];
    double scale[FREE];
    double part[FREE];
    double step[FREE];  // the Gauss-Newton step of all parameters
    double t[FREE];
    double damping[FREE];
};

constexpr unsigned ALL = FREE == 32 ? 0xffffffffu : (1u << FREE) - 1u;

__device__ __forceinline__ bool contains(unsigned members, int j) { return members >> j & 1u; }

// How many members come before j: its place among them.
__device__ __forceinline__ int position(unsigned members, int j) { return __popc(members & ((1u << j) - 1u)); }

__device__ __forceinline__ int count(unsigned members) { return __popc(members); }

// Writes the values of the members, one after the other, to `to`.
template <class Group>
__device__ __noinline__ void gather(Group g, const double* values, unsigned members, double* to) {
#pragma unroll 1
    for (int j = g.rank; j < FREE; j += g.size)
        if (contains(members, j)) to[position(members, j)] = values[j];
    g.sync();
}

// Writes values that stand one after the other to the places of the members.
template <class Group>
__device__ __noinline__ void scatter(Group g, const double* values, unsigned members, double* to) {
#pragma unroll 1
    for (int j = g.rank; j < FREE; j += g.size)
        if (contains(members, j)) to[j] = values[position(members, j)];
    g.sync();
}
