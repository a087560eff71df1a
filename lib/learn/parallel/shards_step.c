/* SPDX-License-Identifier: MIT
 *
 * The end of a step. Buckets are processed in the order in which they were
 * sent. While later ones are still under way, the optimiser updates the
 * parameters of earlier ones; with zero1 their blocks are all-gathered.
 */
#include "shards_parts.h"

#include <assert.h>
#include <string.h>

static void count_waiting(struct gw__shards *shards, uint64_t since_ns)
{
    shards->waited_ns += gw_now_ns() - since_ns;
}

static enum gw_err start_gather(struct gw__shards *shards,
                                struct gw__held *held, struct gw_error *why)
{
    if (!shards->group || shards->gathers)
        return GW_OK;
    struct gw_call call = {.collective = GW_ALLGATHER,
                           .in = GW_IN_PLACE,
                           .out = held->values,
                           .count = held->block,
                           .type = GW_F32,
                           .algo = held->gather_algo};
    enum gw_err err = gw_start(shards->group, &call, &held->request);
    return err ? gw__shards_failed(shards->group, "gathering parameters", err,
                                   why)
               : GW_OK;
}

/* Updates this rank's block and resets the gradient. A parameter that is not
 * finite must not stop the step here, since the other ranks would wait. */
static enum gw_err update_own_block(struct gw__shards *shards,
                                    struct gw__held *held, struct gw_error *why)
{
    size_t own = shards->gathers ? 0 : held->own;
    size_t gradients = shards->gathers ? held->block : held->whole;
    assert(held->users == 0);
    bool finite = gw__optimiser_step(&shards->optimiser, shards->steps,
                                     held->values + own, held->gradient + own,
                                     held->state, held->block);
    shards->diverged = shards->diverged || !finite;
    memset(held->gradient, 0, gradients * sizeof *held->gradient);
    return start_gather(shards, held, why);
}

static enum gw_err finish_bucket(struct gw__shards *shards, unsigned b,
                                 struct gw_error *why)
{
    const struct gw__reducer_bucket *bucket = &shards->reducer->buckets[b];
    uint64_t since_ns = gw_now_ns();
    enum gw_err err = gw__reducer_arrive(shards->reducer, b + 1, true, why);
    count_waiting(shards, since_ns);
    for (unsigned i = bucket->begin; !err && i < bucket->end; i++)
        err = update_own_block(shards, &shards->held[i], why);
    return err;
}

static enum gw_err await_gathers(struct gw__shards *shards,
                                 struct gw_error *why)
{
    if (!shards->group || shards->gathers)
        return GW_OK;
    enum gw_err err = GW_OK;
    uint64_t since_ns = gw_now_ns();
    for (unsigned i = 0; !err && i < shards->held_count; i++)
        err = gw_wait(&shards->held[i].request);
    count_waiting(shards, since_ns);
    shards->end_ns = gw_now_ns();
    return err ? gw__shards_failed(shards->group, "gathering parameters", err,
                                   why)
               : GW_OK;
}

/* While buckets are under way, this time is already counted. */
void gw__shards_gathered(struct gw__shards *shards, uint64_t since_ns)
{
    count_waiting(shards, since_ns);
    if (shards->begin_ns == 0)
        shards->gathered_ns += gw_now_ns() - since_ns;
}

static void compute_times(struct gw__shards *shards)
{
    uint64_t comm_ns = shards->gathered_ns;
    if (shards->begin_ns != 0)
        comm_ns += shards->end_ns - shards->begin_ns;
    shards->comm_us = (double)comm_ns / 1e3;
    shards->exposed_us = comm_ns ? (double)shards->waited_ns / 1e3 : 0;
    shards->begin_ns = shards->gathered_ns = shards->waited_ns = 0;
}

enum gw_err gw__shards_step(struct gw__shards *shards, struct gw_error *why)
{
    shards->steps++;
    enum gw_err err = gw__shard_buckets_begin_all(shards, why);
    for (unsigned b = 0; !err && b < gw_reducer_buckets(shards->reducer); b++)
        err = finish_bucket(shards, b, why);
    if (!err)
        err = await_gathers(shards, why);
    if (err)
        return err;
    compute_times(shards);
    gw__shard_pool_trim(&shards->summands);
    gw__shard_buckets_reset(shards);
    return GW_OK;
}

bool gw__shards_diverged(const struct gw__shards *shards)
{
    return shards->diverged;
}

void gw__shards_times(const struct gw__shards *shards, double *comm_us,
                      double *exposed_us)
{
    *comm_us = shards->comm_us;
    *exposed_us = shards->exposed_us;
}

void gw__shards_times_reset(struct gw__shards *shards)
{
    shards->gathered_ns = shards->waited_ns = 0;
}
