/* SPDX-License-Identifier: MIT
 *
 * The shape of the binomial tree, and the scatter along it; see binomial.h.
 */
#include "binomial.h"

#include "shape.h"

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

void gw__binomial_scatter(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned p = args->ranks;
    for (unsigned span = gw__binomial_widest(p); span > 0; span /= 2) {
        gw_builder_step(b);
        for (unsigned child = span; child < p; child += 2 * span)
            for (unsigned i = 0; i < gw__binomial_subtree(p, child); i++)
                gw_builder_add(b, gw__from_root(args, child - span),
                               gw__from_root(args, child),
                               gw__from_root(args, child + i), GW_REPLACE);
    }
}
