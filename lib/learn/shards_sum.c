/* SPDX-License-Identifier: MIT
 *
 * Collectives that send no more than they must. An all-reduce of few elements
 * is fastest in few rounds, in which each rank sends all of it again and again
 * (recursive doubling); beside a backward pass it is the bytes that count, and
 * they are to be 2(p-1)/p of the buffer on every rank. So of the algorithms
 * that the communicator could choose, only those are taken whose price is that.
 *
 * Plans cut large buffers at lines of 64 bytes (gw_plan_extent), so that the
 * parts of two ranks may differ by a line. Where they would, the elements
 * behind the last p whole lines go in a second, small call beside the first.
 */
#include "learn/shards_parts.h"

#include "coll/comm.h"

enum { LINE_FLOATS = 64 / sizeof(float), CANDIDATES_MAX = 64 };

/* What a rank must send, in bytes, times the ranks. */
static uint64_t least_times_ranks(enum gw_collective collective, uint64_t ranks,
                                  size_t count)
{
    uint64_t bytes = count * sizeof(float);
    return collective == GW_ALLREDUCE ? 2 * (ranks - 1) * bytes
                                      : ranks * (ranks - 1) * bytes;
}

static bool is_thrifty(const struct gw_comm *comm, const struct gw_algo *algo,
                       size_t count)
{
    struct gw_algo_args args = {.ranks = comm->size};
    struct gw_plan *plan;
    struct gw_price price;
    if (gw_plan_make(algo->collective, algo->name, &args, &plan, NULL))
        return false;
    enum gw_err err = gw_plan_price(plan, count, sizeof(float),
                                    &comm->costs.model, &price, NULL);
    gw_plan_destroy(&plan);
    return !err && price.rank_bytes_max * comm->size <=
                       least_times_ranks(algo->collective, comm->size, count);
}

const char *gw__thrifty_algo(const struct gw_comm *comm,
                             enum gw_collective collective, size_t count)
{
    struct gw_candidate found[CANDIDATES_MAX];
    size_t n = gw__choose(comm, collective, count, sizeof(float), found,
                          CANDIDATES_MAX);
    for (size_t i = 0; i < n && i < CANDIDATES_MAX; i++)
        if (is_thrifty(comm, found[i].algo, count))
            return found[i].algo->name;
    return "ring";
}

void gw__sum_init(struct gw__sum *sum, struct gw_comm *comm, size_t count,
                  const char *algo)
{
    *sum = (struct gw__sum){.comm = comm, .counts = {count, 0}};
    if (!comm)
        return;
    const struct gw_algo *ring = gw_algo_find(GW_ALLREDUCE, "ring");
    size_t rest = count % ((size_t)LINE_FLOATS * comm->size);
    if (rest < count && !is_thrifty(comm, ring, count)) {
        sum->counts[0] = count - rest;
        sum->counts[1] = rest;
    }
    for (int i = 0; i < 2; i++)
        sum->algos[i] =
            algo ? algo : gw__thrifty_algo(comm, GW_ALLREDUCE, sum->counts[i]);
}

enum gw_err gw__sum_start(struct gw__sum *sum, float *floats)
{
    enum gw_err err = GW_OK;
    for (int i = 0; !err && sum->comm && i < 2; i++) {
        struct gw_call call = {.collective = GW_ALLREDUCE,
                               .in = GW_IN_PLACE,
                               .out = floats,
                               .count = sum->counts[i],
                               .type = GW_F32,
                               .op = GW_SUM,
                               .algo = sum->algos[i]};
        floats += sum->counts[i];
        if (call.count)
            err = gw_start(sum->comm, &call, &sum->requests[i]);
    }
    return err;
}

enum gw_err gw__sum_end(struct gw__sum *sum, bool wait)
{
    for (int i = 0; i < 2; i++) {
        enum gw_err err =
            wait ? gw_wait(&sum->requests[i]) : gw_test(&sum->requests[i]);
        if (err)
            return err;
    }
    return GW_OK;
}
