/* SPDX-License-Identifier: MIT
 *
 * Random calls and their results; see stress_workload.h. Values are whole
 * numbers that every type holds exactly, and so are their reductions. Integer
 * types also get large ones, which wrap.
 */
#include "stress_workload.h"

#include "collrun/run/pattern_element.h"
#include "elements.h"

#include <stdio.h>
#include <string.h>

/* ---- drawing ---- */

static const struct gw_algo *draw_algo(unsigned ranks, struct gw_rng *rng)
{
    size_t count;
    const struct gw_algo *const *list = gw_algo_list(&count);
    const struct gw_algo *algo;
    do
        algo = list[gw_rng_below(rng, count)];
    while (!algo->valid(ranks));
    return algo;
}

static enum gw_redop draw_op(enum gw_dtype type, struct gw_rng *rng)
{
    enum gw_redop op;
    do
        op = (enum gw_redop)gw_rng_below(rng, GW_REDOP_COUNT);
    while (!gw_redop_allowed(op, type));
    return op;
}

/* Counts near the sizes at which the library changes its algorithm, for a whole
 * buffer or for a block of it. */
static size_t draw_count(const struct workload *workload, size_t slice_bytes,
                         struct gw_rng *rng)
{
    enum { INLINE = 160, EAGER = 4096, STREAM = 1 << 20, MOST = 1 << 17 };
    const size_t marks[] = {
        0,         64,    INLINE,          EAGER, EAGER,  slice_bytes,
        2 * EAGER, 20000, 3 * slice_bytes, 1000,  STREAM, 9 * slice_bytes};
    size_t mark = marks[gw_rng_below(rng, sizeof marks / sizeof *marks)];
    if (mark > 40000 && gw_rng_below(rng, 6) > 0)
        mark = gw_rng_below(rng, 12000);
    if (gw_rng_below(rng, 2))
        mark /= workload->ranks;
    size_t count = mark / gw_dtype_size(workload->call.type);
    count += gw_rng_below(rng, 4);
    count -= count > 2 ? gw_rng_below(rng, 3) : 0;
    return count < MOST / workload->ranks ? count : MOST / workload->ranks;
}

static bool may_vary(const struct gw_call *call)
{
    switch (call->collective) {
    case GW_GATHER:
    case GW_SCATTER:
    case GW_ALLGATHER:
        return true;
    case GW_ALLTOALL:
        return !call->algo || strcmp(call->algo, "linear") == 0 ||
               strcmp(call->algo, "pairwise") == 0;
    default:
        return false;
    }
}

void workload_draw(struct workload *workload, unsigned ranks,
                   size_t slice_bytes, struct gw_rng *rng)
{
    const struct gw_algo *algo = draw_algo(ranks, rng);
    *workload = (struct workload){.ranks = ranks, .salt = gw_rng_next(rng)};
    struct gw_call *call = &workload->call;
    call->collective = algo->collective;
    call->algo = gw_rng_below(rng, 5) ? algo->name : NULL;
    call->type = (enum gw_dtype)gw_rng_below(rng, GW_DTYPE_COUNT);
    if (gw_collective_reduces(call->collective))
        call->op = draw_op(call->type, rng);
    if (call->collective >= GW_SCAN && call->op == GW_AVG)
        call->op = GW_MIN;
    if (gw_collective_rooted(call->collective))
        call->root = (unsigned)gw_rng_below(rng, ranks);
    if (call->collective != GW_BARRIER)
        call->count = draw_count(workload, slice_bytes, rng);
    if (gw_rng_below(rng, 8) == 0 && ranks > 1) {
        workload->shift = 1 + (unsigned)gw_rng_below(rng, ranks - 1);
        call->collective = GW_BROADCAST;
    } else if (may_vary(call) && gw_rng_below(rng, 2)) {
        workload->v = true;
        workload->layout = (unsigned)gw_rng_below(rng, 3);
    }
}

/* ---- layout ---- */

static uint64_t mix(uint64_t a, uint64_t b, uint64_t c, uint64_t salt)
{
    uint64_t h = salt + (a + 1) * 0x9e3779b97f4a7c15U +
                 (b + 1) * 0xbf58476d1ce4e5b9U + (c + 1) * 0x94d049bb133111ebU;
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9U;
    return h ^ h >> 31;
}

/* Elements of the block from `from` to `to`, in a v-variant. Only alltoallv
 * depends on both. */
static size_t v_count(const struct workload *workload, unsigned from,
                      unsigned to)
{
    uint64_t h = mix(from, to, 0, workload->salt);
    if (h % 4 == 0)
        return 0;
    return workload->call.count ? (h >> 8) % (2 * workload->call.count) : 0;
}

static size_t block_length(const struct workload *workload, unsigned rank,
                           unsigned block, bool received)
{
    if (!workload->v)
        return workload->call.count;
    if (workload->call.collective != GW_ALLTOALL)
        return v_count(workload, block, block);
    return received ? v_count(workload, block, rank)
                    : v_count(workload, rank, block);
}

static unsigned nth(const struct workload *workload, unsigned i)
{
    return workload->layout == BACKWARDS ? workload->ranks - 1 - i : i;
}

void workload_counts(const struct workload *workload, unsigned rank,
                     bool received, size_t *counts, size_t *displs)
{
    size_t at = 0;
    for (unsigned i = 0; i < workload->ranks; i++) {
        unsigned block = nth(workload, i);
        counts[block] = block_length(workload, rank, block, received);
        displs[block] = at;
        at += counts[block] + (workload->layout == GAPS ? block % 3 : 0);
    }
}

static void add(struct segments *segments, size_t begin, size_t length,
                unsigned block)
{
    segments->list[segments->count++] = (struct segment){begin, length, block};
    if (begin + length > segments->end)
        segments->end = begin + length;
}

static void add_blocks(const struct workload *workload, unsigned rank,
                       bool received, struct segments *segments)
{
    size_t counts[WORKLOAD_RANKS_MAX], displs[WORKLOAD_RANKS_MAX];
    workload_counts(workload, rank, received, counts, displs);
    for (unsigned b = 0; b < workload->ranks; b++)
        add(segments, displs[b], counts[b], b);
}

/* The rank's own block, within a buffer of all blocks or alone. */
static void add_own(const struct workload *workload, unsigned rank,
                    bool among_all, struct segments *segments)
{
    size_t counts[WORKLOAD_RANKS_MAX], displs[WORKLOAD_RANKS_MAX];
    workload_counts(workload, rank, false, counts, displs);
    add(segments, among_all ? displs[rank] : 0, counts[rank], rank);
}

void workload_inputs(const struct workload *workload, unsigned rank,
                     bool in_place, struct segments *segments)
{
    bool root = rank == workload->call.root;
    segments->count = 0;
    segments->end = 0;
    switch (workload->call.collective) {
    case GW_BROADCAST:
        if (root || workload->shift)
            add(segments, 0, workload->call.count, 0);
        break;
    case GW_GATHER:
    case GW_ALLGATHER:
        add_own(workload, rank, in_place, segments);
        break;
    case GW_SCATTER:
        if (root)
            add_blocks(workload, rank, false, segments);
        break;
    case GW_REDUCE_SCATTER:
    case GW_ALLTOALL:
        add_blocks(workload, rank, false, segments);
        break;
    case GW_BARRIER:
        break;
    default:
        add(segments, 0, workload->call.count, 0);
    }
}

void workload_results(const struct workload *workload, unsigned rank,
                      bool in_place, struct segments *segments)
{
    bool root = rank == workload->call.root;
    segments->count = 0;
    segments->end = 0;
    switch (workload->call.collective) {
    case GW_REDUCE:
        if (root)
            add(segments, 0, workload->call.count, 0);
        break;
    case GW_GATHER:
        if (root)
            add_blocks(workload, rank, true, segments);
        break;
    case GW_ALLGATHER:
    case GW_ALLTOALL:
        add_blocks(workload, rank, true, segments);
        break;
    case GW_EXSCAN:
        if (rank > 0)
            add(segments, 0, workload->call.count, 0);
        break;
    case GW_SCATTER:
        add_own(workload, rank, in_place && root, segments);
        break;
    case GW_REDUCE_SCATTER:
        add_own(workload, rank, in_place, segments);
        break;
    case GW_BARRIER:
        break;
    default:
        add(segments, 0, workload->call.count, 0);
    }
}

bool workload_allows(const struct workload *workload, unsigned rank,
                     enum placing placing)
{
    bool root = rank == workload->call.root;
    if (placing == APART)
        return true;
    if (workload->shift || workload->call.collective == GW_BARRIER)
        return false;
    switch (workload->call.collective) {
    case GW_ALLTOALL:
        return placing == IN_PLACE && !workload->v;
    case GW_BROADCAST:
    case GW_REDUCE:
    case GW_GATHER:
    case GW_SCATTER:
        return placing == IN_PLACE || root;
    default:
        return true;
    }
}

/* ---- values ---- */

static int64_t value(const struct workload *workload, unsigned rank,
                     unsigned block, size_t i)
{
    uint64_t h = mix(rank, block, i, workload->salt);
    bool few = workload->ranks <= 16;
    if (!gw_collective_reduces(workload->call.collective))
        return (int64_t)(h % 128);
    switch (workload->call.op) {
    case GW_SUM:
        if (!element_is_float(workload->call.type))
            return (int64_t)(h & 0xffffff);
        return (int64_t)(h % (few ? 16 : 3));
    case GW_PROD:
        return h % (few ? 5 : 32) == 0 ? 2 : 1;
    case GW_AVG:
        return (int64_t)(workload->ranks * (h % (few ? 4 : 2)));
    case GW_LAND:
    case GW_LOR:
    case GW_BAND:
    case GW_BOR:
        return (int64_t)(h % 3 ? h >> 8 & 127 : 0);
    default:
        return (int64_t)(h % 128);
    }
}

/* The reduction of the first `ranks` inputs. */
static int64_t reduced(const struct workload *workload, unsigned ranks,
                       unsigned block, size_t i)
{
    int64_t sum = value(workload, 0, block, i);
    for (unsigned r = 1; r < ranks; r++)
        sum =
            reduce_whole(workload->call.op, sum, value(workload, r, block, i));
    if (workload->call.op != GW_AVG)
        return sum;
    return element_wrap(workload->call.type, sum) / (int64_t)workload->ranks;
}

static int64_t expected(const struct workload *workload, unsigned rank,
                        unsigned block, size_t i)
{
    if (workload->shift)
        return value(
            workload,
            (rank + workload->ranks - workload->shift) % workload->ranks, 0, i);
    switch (workload->call.collective) {
    case GW_BROADCAST:
        return value(workload, workload->call.root, 0, i);
    case GW_SCATTER:
        return value(workload, workload->call.root, rank, i);
    case GW_GATHER:
    case GW_ALLGATHER:
        return value(workload, block, block, i);
    case GW_ALLTOALL:
        return value(workload, block, rank, i);
    case GW_SCAN:
        return reduced(workload, rank + 1, block, i);
    case GW_EXSCAN:
        return reduced(workload, rank, block, i);
    default:
        return reduced(workload, workload->ranks, block, i);
    }
}

void workload_fill(const struct workload *workload, unsigned rank,
                   const struct segment *segment, bool result,
                   unsigned char *memory)
{
    size_t bytes = gw_dtype_size(workload->call.type);
    for (size_t i = 0; i < segment->length; i++) {
        int64_t v = result ? expected(workload, rank, segment->block, i)
                           : value(workload, rank, segment->block, i);
        uint64_t bits = element_bits(workload->call.type, v);
        memcpy(memory + (segment->begin + i) * bytes, &bits, bytes);
    }
}

void workload_describe(const struct workload *workload, char *text, size_t room)
{
    const struct gw_call *call = &workload->call;
    snprintf(text, room, "%s%s %s of %u ranks: %zu %s %s root %u",
             workload->shift ? "message" : gw_collective_name(call->collective),
             workload->v ? "v" : "", call->algo ? call->algo : "auto",
             workload->ranks, call->count, gw_dtype_name(call->type),
             gw_redop_name(call->op), call->root);
}
