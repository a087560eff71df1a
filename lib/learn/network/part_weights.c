/* SPDX-License-Identifier: MIT
 *
 * Access of a part to weights and gradients: in the shards or, on a single
 * rank, in the caller's memory.
 */
#include "part.h"

static unsigned shard_of(const struct gw__part *part, unsigned i)
{
    return part->config.first_shard + i;
}

enum gw_err gw__part_use(const struct gw__part *part, unsigned i,
                         const float **values, struct gw_error *why)
{
    struct gw__shards *shards = part->config.shards;
    if (shards)
        return gw__shards_use(shards, shard_of(part, i), values, why);
    *values = part->config.weights->values[i];
    return GW_OK;
}

void gw__part_drop(const struct gw__part *part, unsigned i)
{
    if (part->config.shards)
        gw__shards_drop(part->config.shards, shard_of(part, i));
}

float *gw__part_gradient(const struct gw__part *part, unsigned i)
{
    struct gw__shards *shards = part->config.shards;
    return shards ? gw__shards_gradient(shards, shard_of(part, i))
                  : part->config.weights->gradients[i];
}

enum gw_err gw__part_complete(const struct gw__part *part, unsigned i,
                              struct gw_error *why)
{
    struct gw__shards *shards = part->config.shards;
    return shards ? gw__shards_complete(shards, shard_of(part, i), why) : GW_OK;
}

enum gw_err gw__part_poll(const struct gw__part *part, struct gw_error *why)
{
    struct gw__shards *shards = part->config.shards;
    return shards ? gw__shards_poll(shards, why) : GW_OK;
}
