/* SPDX-License-Identifier: MIT
 *
 * The common shapes of plans; see shape.h.
 */
#include "shape.h"

/* Eight segments bring a chain of a few ranks within twice its bandwidth bound;
 * a measurement finds a better number. */
enum { SEGMENTS_DEFAULT = 8 };

bool gw__any_ranks(unsigned ranks)
{
    return ranks >= 1;
}

unsigned gw__one_chunk(const struct gw_algo_args *args)
{
    (void)args;
    return 1;
}

unsigned gw__chunk_a_rank(const struct gw_algo_args *args)
{
    return args->ranks;
}

unsigned gw__chunk_a_pair(const struct gw_algo_args *args)
{
    return args->ranks * args->ranks;
}

unsigned gw__chunk_a_segment(const struct gw_algo_args *args)
{
    return args->segments ? args->segments : SEGMENTS_DEFAULT;
}

unsigned gw__from_root(const struct gw_algo_args *args, unsigned distance)
{
    return (args->root + distance) % args->ranks;
}
