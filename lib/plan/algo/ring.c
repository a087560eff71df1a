/* SPDX-License-Identifier: MIT
 *
 * The rounds of rings; see ring.h.
 */
#include "ring.h"

#include <plan/stream.h>

bool gw__ring_pairs_up(unsigned ranks)
{
    return ranks == 1 || (ranks > 0 && ranks % 2 == 0);
}

struct gw__ring gw__ring_of(unsigned ranks)
{
    return (struct gw__ring){
        .stride = 1, .members = ranks, .width = 1, .parts = ranks};
}

/* Each member j passes block j - lag on to its right. lag < members. */
static void pass(struct gw_builder *b, const struct gw__ring *ring,
                 unsigned lag, enum gw_action action)
{
    unsigned m = ring->members;
    for (unsigned j = 0; j < m && !gw__builder_failed(b); j++) {
        unsigned src = ring->first + j * ring->stride;
        unsigned dst = ring->first + (j + 1) % m * ring->stride;
        for (unsigned part = (j + m - lag) % m; part < ring->parts; part += m)
            gw__builder_run(
                b, &(struct gw__run){.src = src,
                                     .dst = dst,
                                     .chunk = ring->chunk + part * ring->width,
                                     .stride = 1,
                                     .count = ring->width,
                                     .action = action});
    }
}

void gw__ring_reduce(struct gw_builder *b, const struct gw__ring *ring,
                     unsigned round)
{
    if (round + 1 < ring->members)
        pass(b, ring, round + 1, GW_ADD);
}

void gw__ring_gather(struct gw_builder *b, const struct gw__ring *ring,
                     unsigned round)
{
    if (round + 1 < ring->members)
        pass(b, ring, round, GW_REPLACE);
}
