/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random choices in the network of a seed. With a schedule of the user's there
 * are none: the network is calm, so that only the requested faults occur.
 */
#ifndef SIMCLUSTER_CHANCE_H
#define SIMCLUSTER_CHANCE_H

#include <gradwire/base.h>
#include <sim/sim.h>

#define MS UINT64_C(1000000)
#define US UINT64_C(1000)

struct chance {
    struct gw_rng rng;
    bool calm;
};

/* A number from `least` to `most`; when it is calm, `least`. */
static inline uint64_t chance_draw(struct chance *chance, uint64_t least,
                                   uint64_t most)
{
    return chance->calm ? least
                        : least + gw_rng_below(&chance->rng, most - least + 1);
}

/* A calm network: all begin at once, and a message takes a millisecond, as does
 * the report of a death. `unordered`: a late message is overtaken. */
void chance_calm(struct gw__sim_options *options, bool unordered);

#endif
