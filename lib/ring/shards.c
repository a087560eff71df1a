/* SPDX-License-Identifier: MIT
 *
 * Data shards as leases for one op: see gradwire/ring.h.
 *
 * There is no central assignment. The pool is part of the replicated state, and
 * a member's place in an op's ring determines its shard. In an op that began as
 * A, B, C, with the shards 7, 9, 10 the first ones that are not done,
 *
 *     place      0 (A)   1 (B)   2 (C)
 *     shard        7       9      10
 *     counts      yes      no     yes      B died, EXCLUDE
 *     then       done   goes back done
 *
 * so 9 is the first shard of the next op, whichever member has place 0 then.
 */
#include <gradwire/ring.h>

#include <string.h>

size_t gw_shards_bytes(uint32_t count)
{
    return sizeof(struct gw_shards) + ((size_t)count + 7) / 8 * 8;
}

void gw_shards_init(struct gw_shards *shards, uint32_t count)
{
    memset(shards, 0, gw_shards_bytes(count));
    shards->count = count;
}

/* The next shard at or after `at` that is not done; GW_NONE: none. */
static uint32_t next_free(const struct gw_shards *shards, uint32_t at)
{
    while (at < shards->count && shards->uses[at])
        at++;
    return at < shards->count ? at : GW_NONE;
}

uint32_t gw_shards_of(const struct gw_shards *shards, unsigned place)
{
    uint32_t shard = next_free(shards, shards->first);
    while (place-- > 0 && shard != GW_NONE)
        shard = next_free(shards, shard + 1);
    return shard;
}

static void record_use(struct gw_shards *shards, uint32_t shard)
{
    shards->done += shards->uses[shard] == 0;
    if (shards->uses[shard] < UINT8_MAX)
        shards->uses[shard]++;
}

/* The audit, from the actual counts and not from the expected ones. */
static void end_epoch(struct gw_shards *shards)
{
    for (uint32_t i = 0; i < shards->count; i++) {
        shards->lost += shards->uses[i] == 0;
        shards->doubled += shards->uses[i] > 1;
    }
    memset(shards->uses, 0, shards->count);
    shards->done = shards->first = 0;
    shards->epoch++;
}

void gw_shards_complete(struct gw_shards *shards,
                        const struct gw_ring_result *result)
{
    uint32_t leased[GW_RING_NODES];
    for (unsigned i = 0; i < result->initial_count; i++)
        leased[i] = gw_shards_of(shards, i);
    for (unsigned i = 0; i < result->initial_count; i++)
        if (leased[i] != GW_NONE &&
            gw_nodes_has(&result->contributors, result->initial_members[i]))
            record_use(shards, leased[i]);
    uint32_t first = next_free(shards, shards->first);
    shards->first = first == GW_NONE ? shards->count : first;
    if (shards->count && shards->done == shards->count)
        end_epoch(shards);
}
