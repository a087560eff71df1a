/* SPDX-License-Identifier: MIT
 *
 * Lower bounds that no algorithm can beat, in the alpha-beta-gamma model with
 * one port: a rank sends one message and receives one at a time (Chan,
 * Heimlich, Purkayastha, van de Geijn, "Collective communication: theory,
 * practice, and experience", 2007).
 *
 *     rounds        ceil(log2 p): informed ranks at most double per round
 *     n             bytes of the buffer; of all ranks' blocks together for
 *                   gather, scatter, all-gather, reduce-scatter, all-to-all
 *     bytes         broadcast, reduce, scans  n
 *                   all-reduce         2 (p-1)/p n
 *                   the others         (p-1)/p n
 *     bytes reduced reduce, reduce-scatter, all-reduce  (p-1)/p n
 *                   scan, exclusive scan of 3 ranks or more  n
 *
 * Each term is a bound of its own; an algorithm need not reach all at once.
 *
 * A custom plan has the same terms, from its own conditions.
 */
#include "index.h"

#include <stdlib.h>

static unsigned ceil_log2(unsigned p)
{
    unsigned rounds = 0;
    while (1ULL << rounds < p)
        rounds++;
    return rounds;
}

double gw_bound_us(enum gw_collective collective, unsigned ranks, size_t count,
                   size_t elem_bytes, const struct gw_cost_model *model)
{
    if (ranks <= 1 || collective == GW_CUSTOM)
        return 0;
    double p = ranks, one = (double)count * (double)elem_bytes;
    double sent = 0, reduced = 0;
    switch (collective) {
    case GW_BROADCAST:
        sent = one;
        break;
    case GW_REDUCE:
        sent = one;
        reduced = (p - 1) / p * one;
        break;
    case GW_ALLREDUCE:
        sent = 2 * (p - 1) / p * one;
        reduced = (p - 1) / p * one;
        break;
    case GW_SCAN:
        sent = reduced = one;
        break;
    case GW_EXSCAN:
        sent = one;
        reduced = ranks > 2 ? one : 0;
        break;
    case GW_REDUCE_SCATTER:
        sent = reduced = (p - 1) * one;
        break;
    case GW_GATHER:
    case GW_SCATTER:
    case GW_ALLGATHER:
    case GW_ALLTOALL:
        sent = (p - 1) * one;
        break;
    default:
        break;
    }
    return gw_cost_model_us(model, ceil_log2(ranks), sent, reduced);
}

/* ---- custom ---- */

/* The ranks that a chunk concerns. */
struct concern {
    unsigned owners, wanting, either;
};

static struct concern count_concern(const struct gw_plan *plan, unsigned chunk)
{
    struct concern c = {0};
    for (unsigned rank = 0; rank < plan->ranks; rank++) {
        bool has = gw_plan_holds(plan, rank, chunk);
        bool wants = gw_plan_wants(plan, rank, chunk);
        c.owners += has;
        c.wanting += wants;
        c.either += has || wants;
    }
    return c;
}

/* Must the rank send a chunk that it has, or receive one that it wants? */
static bool must_move(const struct gw_plan *plan, unsigned rank, unsigned chunk,
                      const struct concern *c, bool sends)
{
    bool has = gw_plan_holds(plan, rank, chunk);
    bool wants = gw_plan_wants(plan, rank, chunk);
    return sends ? has && c->wanting > wants : wants && c->owners > has;
}

/* The bytes that the rank must send or receive, whichever are more. */
static double rank_bytes(const struct gw_plan *plan,
                         const struct concern *concerns, size_t count,
                         size_t elem_bytes, unsigned rank)
{
    double bytes[2] = {0, 0};
    for (unsigned chunk = 0; chunk < plan->chunks; chunk++) {
        size_t offset, length;
        gw_plan_extent(plan, chunk, count, elem_bytes, &offset, &length);
        for (int sends = 0; sends < 2; sends++)
            if (must_move(plan, rank, chunk, &concerns[chunk], sends))
                bytes[sends] += (double)(length * elem_bytes);
    }
    return bytes[0] > bytes[1] ? bytes[0] : bytes[1];
}

static unsigned chunk_rounds(const struct concern *c)
{
    bool moves = c->owners && c->wanting && c->either > 1;
    return moves ? ceil_log2(c->owners > 1 ? c->owners : c->either) : 0;
}

double gw__custom_bound_us(const struct gw_plan *plan, size_t count,
                           size_t elem_bytes, const struct gw_cost_model *model)
{
    double sent = 0;
    unsigned rounds = 0;
    struct concern *concerns = calloc(plan->chunks, sizeof *concerns);
    if (!concerns)
        return 0; /* a bound, too */
    for (unsigned chunk = 0; chunk < plan->chunks; chunk++) {
        concerns[chunk] = count_concern(plan, chunk);
        unsigned needed = chunk_rounds(&concerns[chunk]);
        rounds = needed > rounds ? needed : rounds;
    }
    for (unsigned rank = 0; rank < plan->ranks; rank++) {
        double bytes = rank_bytes(plan, concerns, count, elem_bytes, rank);
        sent = bytes > sent ? bytes : sent;
    }
    free(concerns);
    return gw_cost_model_us(model, rounds, sent, 0);
}
