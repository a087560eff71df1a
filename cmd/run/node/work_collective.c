/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Self-checking collectives. Element j of a node's table is a hash of the node
 * and of j, and its input in step s is the table from j = s mod PERIOD on. So
 * every element of a result is known from the members of the ring in which it
 * was done: it is one element of one member, or the sum of that element of
 * several. An element from another node, place, block or step is noticed, and
 * the inputs are written only once.
 *
 *                      result of rank r, element i of block b
 *     allgather, gather     element i of rank b
 *     alltoall              element i of block r of rank b
 *     broadcast             element i of the root
 *     scatter               element i of block r of the root
 *     allreduce, reduce     the sum of element i of all ranks
 *     scan, exscan          the same, of the ranks up to r, or below r
 *     reduce_scatter        the sum of element i of block r of all ranks
 *
 * Sums wrap. They are exact in any order, so a plan may add as it likes.
 */
#include "work.h"

#include <base/mix.h>

#include <inttypes.h>
#include <stdio.h>

enum {
    PERIOD = 1021, /* a prime, which no number of chunks divides */
    MEMORY_MAX = 1 << 30,
    EXPLANATION_MAX = 64
};

bool work_is_whole(const struct work *work)
{
    return work->order.kind == WORK_OPS && work->order.whole;
}

/* ---- sizes ---- */

/* The input has a block per rank. */
static bool sends_blocks(enum gw_collective collective)
{
    return collective == GW_SCATTER || collective == GW_REDUCE_SCATTER ||
           collective == GW_ALLTOALL;
}

/* The result has a block per rank. */
static bool gathers_blocks(enum gw_collective collective)
{
    return collective == GW_GATHER || collective == GW_ALLGATHER ||
           collective == GW_ALLTOALL;
}

/* Elements of a vector, or of a block. It is the same for any number of members,
 * since these may change during an op. */
static size_t elements_of(const struct work_order *order)
{
    size_t count = order->bytes / sizeof(uint64_t);
    bool blocks =
        sends_blocks(order->collective) || gathers_blocks(order->collective);
    if (order->collective == GW_BARRIER)
        return 0;
    if (blocks && order->members > 1)
        count /= order->members;
    return count ? count : 1;
}

/* Elements of the input without the offset, with room for all joiners. */
static size_t input_room(const struct work_order *order)
{
    size_t blocks =
        sends_blocks(order->collective) ? run_ring_most(order->members) : 1;
    return blocks * elements_of(order);
}

static size_t result_room(const struct work_order *order)
{
    size_t blocks =
        gathers_blocks(order->collective) ? run_ring_most(order->members) : 1;
    return blocks * elements_of(order);
}

enum gw_err work_collective_check(const struct work_order *order,
                                  struct gw_error *why)
{
    const size_t most = MEMORY_MAX / sizeof(uint64_t);
    unsigned members = run_ring_most(order->members);
    if (input_room(order) <= most && result_room(order) <= most)
        return GW_OK;
    return gw_fail(why, GW_EINVAL,
                   "ops: with %u members at first, the size of %s must be at "
                   "most %" PRIu64 " bytes, not %" PRIu64
                   "; members have room for blocks of %u",
                   order->members, gw_collective_name(order->collective),
                   (uint64_t)MEMORY_MAX / members * order->members,
                   order->bytes, members);
}

enum gw_err work_collective_load(struct work *work, struct gw_error *why)
{
    const struct work_order *order = &work->order;
    work->type = GW_U64;
    work->count = elements_of(order);
    work->mine = gw_alloc((input_room(order) + PERIOD) * sizeof(uint64_t), why);
    if (work->mine)
        work->result =
            gw_alloc((result_room(order) + 1) * sizeof(uint64_t), why);
    return work->result ? GW_OK : GW_ENOMEM;
}

/* ---- the call ---- */

static uint64_t element(unsigned node, size_t j)
{
    return gw__mix_words(node + 1, j, 0);
}

static size_t offset_of(const void *state)
{
    const struct work_head *head = state;
    return head->step % PERIOD;
}

static void fill_table(struct work *work, unsigned node)
{
    uint64_t *table = work->mine;
    if (work->filled_for == node + 1)
        return;
    for (size_t j = 0; j < input_room(&work->order) + PERIOD; j++)
        table[j] = element(node, j);
    work->filled_for = node + 1;
}

void work_collective_call(struct work *work, const void *state, unsigned node,
                          struct gw_call *call)
{
    fill_table(work, node);
    *call = (struct gw_call){.collective = work->order.collective,
                             .in = (uint64_t *)work->mine + offset_of(state),
                             .out = work->result,
                             .count = work->count,
                             .type = work->type,
                             .op = GW_SUM};
}

/* ---- the result ---- */

/* A result to check. */
struct expectation {
    enum gw_collective collective;
    const unsigned *nodes; /* by rank */
    unsigned ranks, rank, root;
    size_t count; /* of a block */
    size_t offset;
};

/* An element: the sum of element `index` of the inputs of ranks `first` to
 * `end` - 1. */
struct terms {
    unsigned first, end;
    size_t index;
};

static unsigned rank_of(const struct expectation *e, unsigned node)
{
    unsigned rank = 0;
    while (rank < e->ranks && e->nodes[rank] != node)
        rank++;
    return rank;
}

/* Elements of the result. */
static size_t length_of(const struct expectation *e)
{
    bool to_root = e->collective == GW_REDUCE || e->collective == GW_GATHER;
    if ((to_root && e->rank != e->root) ||
        (e->collective == GW_EXSCAN && e->rank == 0))
        return 0;
    return gathers_blocks(e->collective) ? e->count * e->ranks : e->count;
}

static struct terms terms_of(const struct expectation *e, size_t k)
{
    struct terms terms = {0, e->ranks, k};
    if (gathers_blocks(e->collective)) {
        terms.first = (unsigned)(k / e->count);
        terms.end = terms.first + 1;
        terms.index = k % e->count;
    }
    if (sends_blocks(e->collective))
        terms.index += e->rank * e->count;
    if (e->collective == GW_BROADCAST || e->collective == GW_SCATTER) {
        terms.first = e->root;
        terms.end = e->root + 1;
    }
    if (e->collective == GW_SCAN)
        terms.end = e->rank + 1;
    if (e->collective == GW_EXSCAN)
        terms.end = e->rank;
    return terms;
}

static uint64_t expected(const struct expectation *e, size_t k)
{
    const struct terms terms = terms_of(e, k);
    uint64_t sum = 0;
    for (unsigned rank = terms.first; rank < terms.end; rank++)
        sum += element(e->nodes[rank], terms.index + e->offset);
    return sum;
}

/* Counts a contribution that is missing or doubled in element k. True: it is
 * `node`'s. */
static bool find_contributor(struct work *work, const struct expectation *e,
                             size_t k, unsigned *node)
{
    const struct terms terms = terms_of(e, k);
    const uint64_t excess = work->result[k] - expected(e, k);
    for (unsigned rank = terms.first; rank < terms.end; rank++) {
        uint64_t one = element(e->nodes[rank], terms.index + e->offset);
        *node = e->nodes[rank];
        work->sums_doubled += excess == one;
        work->sums_lost += excess == 0 - one;
        if (excess == one || excess == 0 - one)
            return true;
    }
    return false;
}

static void explain(struct work *work, const struct expectation *e, size_t k,
                    char text[EXPLANATION_MAX])
{
    const struct terms terms = terms_of(e, k);
    const uint64_t doubled = work->sums_doubled;
    unsigned node;
    if (find_contributor(work, e, k, &node))
        snprintf(text, EXPLANATION_MAX, "in which node %u %s", node,
                 work->sums_doubled > doubled ? "counts twice" : "is missing");
    else if (terms.end == terms.first + 1)
        snprintf(text, EXPLANATION_MAX, "which must be that of node %u",
                 e->nodes[terms.first]);
    else
        snprintf(text, EXPLANATION_MAX, "which is not the sum of %u nodes",
                 terms.end - terms.first);
}

static enum gw_err blame(struct work *work, const struct expectation *e,
                         uint64_t op, size_t first, uint64_t wrong,
                         struct gw_error *why)
{
    char text[EXPLANATION_MAX];
    explain(work, e, first, text);
    return gw_fail(why, GW_EWRONG,
                   "op %" PRIu64 ", %s among %u members: %" PRIu64
                   " of %zu elements are wrong at node %u; the first is %zu, "
                   "%s",
                   op, gw_collective_name(e->collective), e->ranks, wrong,
                   length_of(e), e->nodes[e->rank], first, text);
}

static enum gw_err compare_result(struct work *work,
                                  const struct expectation *e, uint64_t op,
                                  struct gw_error *why)
{
    size_t length = length_of(e), first = length;
    uint64_t wrong = 0;
    for (size_t k = length; k-- > 0;)
        if (work->result[k] != expected(e, k)) {
            wrong++;
            first = k;
        }
    work->wrong += wrong;
    return wrong > 0 ? blame(work, e, op, first, wrong, why) : GW_OK;
}

enum gw_err work_collective_evaluate(struct work *work, const void *state,
                                     unsigned node, unsigned root,
                                     const struct gw_ring_result *result,
                                     struct gw_error *why)
{
    struct expectation e = {.collective = work->order.collective,
                            .nodes = result->initial_members,
                            .ranks = result->initial_count,
                            .count = work->count,
                            .offset = offset_of(state)};
    e.rank = rank_of(&e, node);
    e.root = rank_of(&e, root);
    if (e.rank == e.ranks ||
        (gw_collective_rooted(e.collective) && e.root == e.ranks))
        return gw_fail(why, GW_EWRONG,
                       "op %" PRIu64 ": node %u or the root, node %u, is not "
                       "in the ring in which it was done",
                       result->op, node, root);
    work->check[0] =
        gw__mix_bytes(0, work->result, length_of(&e) * sizeof(uint64_t));
    return compare_result(work, &e, result->op, why);
}
