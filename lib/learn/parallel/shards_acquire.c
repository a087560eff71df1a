/* SPDX-License-Identifier: MIT
 *
 * The parameters of one operator during their use, and the memory of its
 * gradient. If a rank has its block only, both are borrowed. The parameters are
 * gathered by the first user and returned by the last one. A gradient is summed
 * whole, from the first micro-batch to the last, and returned after its
 * reduce-scatter.
 */
#include "shards_parts.h"

#include <assert.h>
#include <string.h>

/* NULL: the operator has no parameters. */
static struct gw__held *held_of(struct gw__shards *shards, unsigned i)
{
    assert(i < shards->operator_count);
    uint32_t at = shards->held_of[i];
    return at == GW_NONE ? NULL : &shards->held[at];
}

static enum gw_err gather_parameters(struct gw__shards *shards,
                                     struct gw__held *held,
                                     struct gw_error *why)
{
    held->gathered = gw__shard_pool_acquire(&shards->gathered,
                                            held->whole * sizeof(float), why);
    if (!held->gathered)
        return why ? why->code : GW_ENOMEM;
    struct gw_call call = {.collective = GW_ALLGATHER,
                           .in = held->values,
                           .out = held->gathered,
                           .count = held->block,
                           .type = GW_F32,
                           .algo = held->gather_algo};
    uint64_t since_ns = gw_now_ns();
    enum gw_err err = gw_run(shards->group, &call);
    gw__shards_gathered(shards, since_ns);
    return err ? gw__shards_failed(shards->group, "gathering parameters", err,
                                   why)
               : GW_OK;
}

enum gw_err gw__shards_acquire(struct gw__shards *shards, unsigned i,
                               const float **values, struct gw_error *why)
{
    struct gw__held *held = held_of(shards, i);
    *values = NULL;
    if (!held)
        return GW_OK;
    if (shards->gathers && held->users == 0) {
        enum gw_err err = gather_parameters(shards, held, why);
        if (err)
            return err;
    }
    held->users++;
    *values = shards->gathers ? held->gathered : held->values;
    return GW_OK;
}

void gw__shards_release(struct gw__shards *shards, unsigned i)
{
    struct gw__held *held = held_of(shards, i);
    if (!held)
        return;
    assert(held->users > 0);
    if (--held->users == 0 && shards->gathers) {
        gw__shard_pool_release(&shards->gathered, held->gathered);
        held->gathered = NULL;
    }
}

float *gw__held_whole_gradient(struct gw__shards *shards, struct gw__held *held,
                               struct gw_error *why)
{
    size_t bytes = held->whole * sizeof(float);
    if (!shards->gathers)
        return held->gradient;
    if (!held->summands) {
        held->summands = gw__shard_pool_acquire(&shards->summands, bytes, why);
        if (held->summands)
            memset(held->summands, 0, bytes);
    }
    return held->summands;
}

float *gw__shards_gradient(struct gw__shards *shards, unsigned i)
{
    struct gw__held *held = held_of(shards, i);
    return held ? gw__held_whole_gradient(shards, held, NULL) : NULL;
}

enum gw_err gw__shards_complete(struct gw__shards *shards, unsigned i,
                                struct gw_error *why)
{
    const struct gw__held *held = held_of(shards, i);
    return held && shards->config.overlap
               ? gw_reducer_ready(shards->reducer, shards->held_of[i], why)
               : GW_OK;
}
