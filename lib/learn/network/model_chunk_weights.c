/* SPDX-License-Identifier: MIT
 *
 * Access of a part to weights and gradients: in the shards or, on a single
 * rank, in the caller's memory.
 */
#include "model_chunk.h"

static unsigned shard_of(const struct gw__model_chunk *chunk, unsigned i)
{
    return chunk->config.first_shard + i;
}

enum gw_err gw__weights_acquire(const struct gw__model_chunk *chunk, unsigned i,
                                const float **values, struct gw_error *why)
{
    struct gw__shards *shards = chunk->config.shards;
    if (shards)
        return gw__shards_acquire(shards, shard_of(chunk, i), values, why);
    *values = chunk->config.weights->values[i];
    return GW_OK;
}

void gw__weights_release(const struct gw__model_chunk *chunk, unsigned i)
{
    if (chunk->config.shards)
        gw__shards_release(chunk->config.shards, shard_of(chunk, i));
}

float *gw__model_chunk_gradient(const struct gw__model_chunk *chunk, unsigned i)
{
    struct gw__shards *shards = chunk->config.shards;
    return shards ? gw__shards_gradient(shards, shard_of(chunk, i))
                  : chunk->config.weights->gradients[i];
}

enum gw_err gw__model_chunk_complete(const struct gw__model_chunk *chunk,
                                     unsigned i, struct gw_error *why)
{
    struct gw__shards *shards = chunk->config.shards;
    return shards ? gw__shards_complete(shards, shard_of(chunk, i), why)
                  : GW_OK;
}

enum gw_err gw__model_chunk_poll(const struct gw__model_chunk *chunk,
                                 struct gw_error *why)
{
    struct gw__shards *shards = chunk->config.shards;
    return shards ? gw__shards_poll(shards, why) : GW_OK;
}
