/* SPDX-License-Identifier: MIT
 *
 * The shape of the binomial tree, and the walks along it; see binomial.h.
 */
#include "binomial.h"

#include "shape.h"

#include <plan/stream.h>

unsigned gw__binomial_widest(unsigned ranks)
{
    unsigned span = 1;
    while (span < ranks)
        span *= 2;
    return span / 2;
}

unsigned gw__binomial_subtree(unsigned ranks, unsigned place)
{
    unsigned lowest_bit = place & -place;
    unsigned to_the_end = ranks - place;
    return place == 0 || lowest_bit > to_the_end ? to_the_end : lowest_bit;
}

void gw__binomial_broadcast(struct gw_builder *b,
                            const struct gw_algo_args *args, unsigned chunks)
{
    unsigned p = args->ranks;
    for (unsigned span = gw__binomial_widest(p); span > 0; span /= 2) {
        gw_builder_step(b);
        for (unsigned child = span; child < p; child += 2 * span)
            gw__builder_run(
                b, &(struct gw__run){.src = gw__from_root(args, child - span),
                                     .dst = gw__from_root(args, child),
                                     .stride = 1,
                                     .count = chunks,
                                     .action = GW_REPLACE});
    }
}

void gw__binomial_reduce(struct gw_builder *b, const struct gw_algo_args *args,
                         unsigned chunks)
{
    unsigned p = args->ranks;
    for (unsigned span = 1; span < p; span *= 2) {
        gw_builder_step(b);
        for (unsigned child = span; child < p; child += 2 * span)
            gw__builder_run(
                b, &(struct gw__run){.src = gw__from_root(args, child),
                                     .dst = gw__from_root(args, child - span),
                                     .stride = 1,
                                     .count = chunks,
                                     .action = GW_ADD});
    }
}

void gw__binomial_gather(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned p = args->ranks;
    for (unsigned span = 1; span < p; span *= 2) {
        gw_builder_step(b);
        for (unsigned child = span; child < p; child += 2 * span)
            gw__builder_around(
                b,
                &(struct gw__run){.src = gw__from_root(args, child),
                                  .dst = gw__from_root(args, child - span),
                                  .chunk = gw__from_root(args, child),
                                  .count = gw__binomial_subtree(p, child),
                                  .action = GW_REPLACE},
                p);
    }
}

void gw__binomial_scatter(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned p = args->ranks;
    for (unsigned span = gw__binomial_widest(p); span > 0; span /= 2) {
        gw_builder_step(b);
        for (unsigned child = span; child < p; child += 2 * span)
            gw__builder_around(
                b,
                &(struct gw__run){.src = gw__from_root(args, child - span),
                                  .dst = gw__from_root(args, child),
                                  .chunk = gw__from_root(args, child),
                                  .count = gw__binomial_subtree(p, child),
                                  .action = GW_REPLACE},
                p);
    }
}
