// Passes over the points of one fit of a batch by a group of lanes. They compute the sums of the normal equations, or
// the triangular factor of the rows. The order of additions depends only on the number of lanes.

// Returns the number of rows of a tile, 8 to 32: as many as fit into the scratch memory of a step.
__device__ constexpr int tile_rows() {
    const int room = int(sizeof(Scratch) / sizeof(double)) - K * K;
    int rows = 32;
    while (rows > 8 && K * (rows + 1) + rows > room) rows -= 8;
    return rows;
}
constexpr int TILE = tile_rows();
// Odd, so that the elements of one row in different columns are in different banks.
constexpr int PITCH = TILE + 1;

// Weighted rows: column j of row i at rows[j * PITCH + i], and the costs of the points.
struct Tile {
    double rows[K * PITCH];
    double costs[TILE];
};

// Memory of a pass over the points.
struct Pass {
    Tile tile;
    double factor[K * K];
};

// Memory of a group for one fit. A step keeps no data in its scratch memory for the next step; therefore passes
// between steps may use the same memory.
struct Bench {
    State state;
    union {
        Scratch scratch;
        Pass pass;
    };
    double influence[INFLUENCES];
    Common common;
};
static_assert(sizeof(Bench) == BENCH_BYTES, "the host reckons with this size");

// Number of groups of a block.
constexpr int GROUPS = BATCH_THREADS / Group::size;
// Number of resident threads of a multiprocessor: each needs 128 registers, or 168 for the sums of 6 to 8 parameters.
constexpr int RESIDENT_THREADS = FREE > 5 && FREE <= 8 ? 384 : 512;

// Computes the values of the model that depend only on the parameters `params`, which all lanes must see.
__device__ __forceinline__ void prepare_lanes(Group g, const double* params, Common& common) {
    if (g.rank == 0) model_uniforms(params, common.u);
    g.sync();
}

// Computes the row, the cost and the influence (terms of the INFLUENCES sums of a loss) of point i. Returns false, with
// zeros, if i is past the last point or the point is not used.
__device__ __forceinline__ bool row_at(const Batch& batch, const Span& span, i64 i, const Common& common, double floor,
                                       Term* row, Term& cost, Term* influence) {
    for (int m = 0; m < INFLUENCES; ++m) influence[m] = 0;
    if (i < span.points && (span.whole || is_masked_in(batch, span, i))) {
        const Point point = point_at(batch, span, i);
        if (span.whole || is_usable(batch, span, i, point)) {
            if constexpr (LOSS == POISSON) {
                Data data = batch.data;
                data.loss_scale = span.darkest;
                weighted_row(point, data, common, floor, row, cost, influence);
            } else {
                weighted_row(point, batch.data, common, floor, row, cost, influence);
            }
            return true;
        }
    }
    cost = 0;
#pragma unroll
    for (int j = 0; j < K; ++j) row[j] = 0;
    return false;
}

// Adds the contributions of the points first, first + g.size, ... before `end` to `sums`.
template <typename S>
__device__ __forceinline__ void add_points(Group g, const Batch& batch, const Span& span, i64 first, i64 end,
                                           double floor, const Common& common, S* sums) {
    // Local copies, which the loop need not reload after barriers.
    const Batch here = batch;
    const Span within = span;
#pragma unroll 1
    for (i64 i = first; i < end; i += g.size) {
        Term row[K], cost, influence[INFLUENCES];
        if (!row_at(here, within, i, common, floor, row, cost, influence)) continue;
        add_row(row, sums);
        if constexpr (LOSS != LINEAR) sums[PRODUCTS] += cost;
    }
}

// Number of points of a lane whose terms are added in f32 before their sum is added to a total in f64.
constexpr int RUN = 64;

// Computes the sums for few parameters: every lane keeps the sums of its points in registers.
__device__ __forceinline__ void sum_by_lanes(Group g, const Batch& batch, const Span& span, double floor,
                                             const Common& common, double* out) {
    double sums[SUMS];
#pragma unroll
    for (int m = 0; m < SUMS; ++m) sums[m] = 0.0;
    if constexpr (!ROUGH) {
        add_points(g, batch, span, g.rank, span.points, floor, common, sums);
    } else {
#pragma unroll 1
        for (i64 first = g.rank; first < span.points; first += RUN * g.size) {
            const i64 end = first + RUN * g.size;
            Term run[SUMS];
#pragma unroll
            for (int m = 0; m < SUMS; ++m) run[m] = 0;
            add_points(g, batch, span, first, end < span.points ? end : span.points, floor, common, run);
#pragma unroll
            for (int m = 0; m < SUMS; ++m) sums[m] += run[m];
        }
    }
    Share share = {0, SUMMED};
    halve<SUMMED, Group::size / 2>(g.rank, sums, share, [g](double sum, int other) { return g.from(sum, other); });
#pragma unroll
    for (int m = 0; m < (SUMMED + Group::size - 1) / Group::size; ++m)
        if (m < share.count) out[share.first + m] = sums[m];
}

// Writes the rows of the points from `first` on to the tile, and zeros past the last point. No lane may still read the
// tile. Adds the influence of the calling lane's points to `sums`.
__device__ __forceinline__ void fill_tile(Group g, const Batch& batch, const Span& span, i64 first, double floor,
                                          const Common& common, Tile& tile, double* sums) {
    each(g, TILE, [&](int i) {
        Term row[K], cost, influence[INFLUENCES];
        row_at(batch, span, first + i, common, floor, row, cost, influence);
#pragma unroll
        for (int j = 0; j < K; ++j) tile.rows[j * PITCH + i] = row[j];
        tile.costs[i] = LOSS == LINEAR ? 0.0 : cost;
        if constexpr (WEIGHS)
            for (int m = 0; m < INFLUENCES; ++m) sums[m] += influence[m];
    });
    g.sync();
}

// Computes the sums if they do not fit into registers: rows pass through the tile, and every lane adds up its share
// of the products.
__device__ __forceinline__ void sum_by_tiles(Group g, const Batch& batch, const Span& span, double floor,
                                             Bench& bench, double* out) {
    fill(g, out, SUMS, 0.0);
    double influence[INFLUENCES] = {};
#pragma unroll 1
    for (i64 first = 0; first < span.points; first += TILE) {
        g.sync();
        fill_tile(g, batch, span, first, floor, bench.common, bench.pass.tile, influence);
        const double* rows = bench.pass.tile.rows;
        each(g, SUMMED, [&](int m) {
            const GroupPair at = group_pair(m < PRODUCTS ? m : 0);
            double total = out[m];
#pragma unroll 4
            for (int i = 0; i < TILE; ++i)
                total = m < PRODUCTS ? fma(rows[at.left * PITCH + i], rows[at.right * PITCH + i], total)
                                     : total + bench.pass.tile.costs[i];
            out[m] = total;
        });
    }
}

// Computes the sums over the points of a fit at `params`, PARAMS numbers that all lanes see, and writes them to `out`,
// SUMS numbers. If LOSS is LINEAR, all lanes may read `out` after a barrier; otherwise no barrier is necessary.
__device__ __noinline__ void sum_fit(Group g, const Batch& batch, const Span& span, const double* params,
                                     double floor, Bench& bench, double* out) {
    prepare_lanes(g, params, bench.common);
    if constexpr (FREE <= 8)
        sum_by_lanes(g, batch, span, floor, bench.common, out);
    else
        sum_by_tiles(g, batch, span, floor, bench, out);
    g.sync();
    if (LOSS == LINEAR && g.rank == 0) out[PRODUCTS] = 0.5 * out[PRODUCTS - 1];
}

// Computes the triangular factor of the rows of a fit at `params`, which all lanes see, in bench.pass.factor. Writes
// the sums of the influence to bench.influence, which all lanes may read after a barrier.
__device__ __noinline__ void factor_fit(Group g, const Batch& batch, const Span& span, const double* params,
                                        Bench& bench) {
    prepare_lanes(g, params, bench.common);
    fill(g, bench.pass.factor, K * K, 0.0);
    double sums[INFLUENCES] = {};
#pragma unroll 1
    for (i64 first = 0; first < span.points; first += TILE) {
        fill_tile(g, batch, span, first, 0.0, bench.common, bench.pass.tile, sums);
        fold_rows(g, bench.pass.factor, K, bench.pass.tile.rows, PITCH, TILE);
    }
    if constexpr (WEIGHS) {
        Share share = {0, INFLUENCES};
        halve<INFLUENCES, Group::size / 2>(g.rank, sums, share, [g](double sum, int other) { return g.from(sum, other); });
#pragma unroll
        for (int m = 0; m < (INFLUENCES + Group::size - 1) / Group::size; ++m)
            if (m < share.count) bench.influence[share.first + m] = sums[m];
    }
}
