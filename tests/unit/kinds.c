/* SPDX-License-Identifier: MIT
 *
 * Calls of any kind by three ranks, with integers and a known result.
 */
#include "kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Element i of the input of `rank`. */
static int32_t value(unsigned rank, unsigned round, size_t i)
{
    return (int32_t)(1 + rank * 100000 + round * 1000 + i);
}

static int32_t sum(unsigned round, size_t i)
{
    int32_t all = 0;
    for (unsigned r = 0; r < KIND_RANKS; r++)
        all += value(r, round, i);
    return all;
}

static void fill(const struct kind *k, unsigned rank, unsigned round,
                 int32_t *in, int32_t *out)
{
    bool own_block =
        k->collective == GW_ALLGATHER || k->collective == GW_GATHER;
    for (size_t i = 0; i < KIND_RANKS * k->count; i++)
        in[i] = value(rank, round, i);
    memset(out, 0xee, KIND_RANKS * k->count * sizeof *out);
    for (size_t i = 0; k->in_place && i < KIND_RANKS * k->count; i++)
        if (!own_block)
            out[i] = in[i];
        else if (i / k->count == rank)
            out[i] = in[i % k->count];
}

/* Element i of the result at `rank`; false: there is no result. */
static bool expect(const struct kind *k, unsigned rank, unsigned round,
                   size_t i, int32_t *wanted)
{
    size_t n = k->count;
    switch (k->collective) {
    case GW_ALLREDUCE:
        *wanted = sum(round, i);
        return i < n;
    case GW_REDUCE:
        *wanted = sum(round, i);
        return i < n && rank == KIND_ROOT;
    case GW_BROADCAST:
        *wanted = value(KIND_ROOT, round, i);
        return i < n;
    case GW_GATHER:
        *wanted = value((unsigned)(i / n), round, i % n);
        return i < KIND_RANKS * n && rank == KIND_ROOT;
    case GW_ALLGATHER:
        *wanted = value((unsigned)(i / n), round, i % n);
        return i < KIND_RANKS * n;
    case GW_SCATTER:
        *wanted = value(KIND_ROOT, round, rank * n + i);
        return i < n;
    case GW_REDUCE_SCATTER:
        *wanted = sum(round, rank * n + i);
        return i < n;
    case GW_ALLTOALL:
        *wanted = value((unsigned)(i / n), round, rank * n + i % n);
        return i < KIND_RANKS * n;
    default:
        return false;
    }
}

static void must(bool fact, const struct gw_comm *comm, const struct kind *k,
                 const char *what, size_t i)
{
    if (fact)
        return;
    fprintf(stderr, "rank %u: %s of %zu%s%s: %s at %zu (%s)\n",
            gw_comm_rank(comm), gw_collective_name(k->collective), k->count,
            k->in_place ? " in place " : " ", k->algo ? k->algo : "", what, i,
            gw_comm_error(comm)->text);
    abort();
}

void kind_call(struct gw_comm *comm, const struct kind *k, unsigned round,
               int32_t *in, int32_t *out)
{
    unsigned rank = gw_comm_rank(comm);
    struct gw_call call = {.collective = k->collective,
                           .in = k->in_place ? GW_IN_PLACE : in,
                           .out = out,
                           .count = k->count,
                           .type = GW_I32,
                           .op = GW_SUM,
                           .root = KIND_ROOT,
                           .algo = k->algo};
    fill(k, rank, round, in, out);
    must(gw_run(comm, &call) == GW_OK, comm, k, "failed", 0);
    for (size_t i = 0; i < KIND_RANKS * k->count; i++) {
        int32_t wanted;
        if (expect(k, rank, round, i, &wanted))
            must(out[i] == wanted, comm, k, "a wrong element", i);
        must(in[i] == value(rank, round, i), comm, k, "the input changed", i);
    }
}
