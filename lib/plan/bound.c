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
 */
#include <gradwire/plan.h>

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
    if (ranks <= 1)
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
