/* SPDX-License-Identifier: MIT
 *
 * A rank's state between steps: initialisation, size, and a copy from which
 * another process of the same rank can continue.
 */
#include "shards_parts.h"

#include <assert.h>
#include <string.h>

void gw__shards_set(struct gw__shards *shards, unsigned i, const float *values)
{
    assert(i < shards->operator_count);
    if (shards->held_of[i] == GW_NONE)
        return;
    struct gw__held *held = &shards->held[shards->held_of[i]];
    size_t begin = shards->gathers ? held->own : 0;
    size_t length = shards->gathers ? held->block : held->whole;
    if (begin >= held->count)
        return;
    if (length > held->count - begin)
        length = held->count - begin;
    memcpy(held->values, values + begin, length * sizeof *values);
}

void gw__shards_memory(struct gw__shards *shards, bool reset,
                       uint64_t *parameter_bytes, uint64_t *gradient_bytes,
                       uint64_t *optimiser_bytes, uint64_t *gathered_bytes)
{
    *parameter_bytes = shards->value_count * sizeof(float);
    *gradient_bytes = shards->value_count * sizeof(float);
    *optimiser_bytes = shards->state_count * sizeof(float);
    *gathered_bytes = shards->gathered.most_bytes;
    if (reset)
        shards->gathered.most_bytes = shards->gathered.held_bytes;
}

uint64_t gw__shards_summand_bytes(struct gw__shards *shards, bool reset)
{
    uint64_t most = shards->summands.most_bytes;
    if (reset)
        shards->summands.most_bytes = shards->summands.held_bytes;
    return most;
}

/* The state is the number of steps, the parameters as stored, and the
 * optimiser's arrays, one after the other. */
size_t gw__shards_state_bytes(const struct gw__shards *shards)
{
    return sizeof shards->steps +
           (shards->value_count + shards->state_count) * sizeof(float);
}

void gw__shards_save(const struct gw__shards *shards, void *state)
{
    unsigned char *to = state;
    memcpy(to, &shards->steps, sizeof shards->steps);
    to += sizeof shards->steps;
    memcpy(to, shards->values, shards->value_count * sizeof(float));
    to += shards->value_count * sizeof(float);
    memcpy(to, shards->states, shards->state_count * sizeof(float));
}

void gw__shards_restore(struct gw__shards *shards, const void *state)
{
    const unsigned char *from = state;
    memcpy(&shards->steps, from, sizeof shards->steps);
    from += sizeof shards->steps;
    memcpy(shards->values, from, shards->value_count * sizeof(float));
    from += shards->value_count * sizeof(float);
    memcpy(shards->states, from, shards->state_count * sizeof(float));
    shards->diverged = false;
}
