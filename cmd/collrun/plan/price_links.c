/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun price --topo: the bytes of a plan on each link of a topology. The
 * busiest link is busy for so long however the plan is run, so that no run is
 * faster; the bound of the topology is the least such time of all plans.
 */
#include "plan_source.h"
#include "price.h"

#include <math.h>
#include <stdlib.h>

/* Adds the bytes of a transfer to all links of its path. */
static void add_transfer(const struct gw_topology *topology,
                         const struct gw_transfer *transfer, uint64_t bytes,
                         uint64_t *link_bytes)
{
    unsigned links[GW_PATH_LINKS_MAX];
    unsigned count =
        gw_topology_path(topology, transfer->src, transfer->dst, links);
    for (unsigned i = 0; i < count; i++)
        link_bytes[links[i]] += bytes;
}

static double busiest_us(const struct gw_topology *topology,
                         const uint64_t *link_bytes)
{
    double most = 0;
    for (unsigned i = 0; i < gw_topology_links(topology); i++) {
        struct gw_topology_link link;
        gw_topology_link(topology, i, &link);
        double us =
            link.rate ? 1e6 * (double)link_bytes[i] / (double)link.rate : 0;
        most = us > most ? us : most;
    }
    return most;
}

/* The least time of the busiest link over all plans; NaN: unknown. */
static double least_us(const struct gw_topology *topology,
                       const struct gw_plan *plan,
                       const struct price_question *question)
{
    struct gw_error ignored;
    struct gw_optimum optimum;
    if (gw_optimum_find(topology, plan->collective, plan->ranks, plan->root,
                        &optimum, &ignored))
        return (double)NAN;
    uint64_t bytes = plan_bytes(plan->collective, plan->ranks, question->count,
                                question->elem_bytes);
    return 1e6 * (double)bytes * (double)optimum.numerator /
           (double)optimum.denominator;
}

enum gw_err price_links(const struct gw_topology *topology,
                        const struct gw_plan *plan,
                        const struct price_question *question, double *link_us,
                        double *optimum_us, struct gw_error *why)
{
    if (plan->ranks > gw_topology_ranks(topology))
        return gw_fail(why, GW_EINVAL,
                       "the plan has %u ranks, but topology %s has %u",
                       plan->ranks, gw_topology_name(topology),
                       gw_topology_ranks(topology));
    uint64_t *bytes = calloc(gw_topology_links(topology), sizeof *bytes);
    if (!bytes)
        return gw_fail(why, GW_ENOMEM, "links of a topology");
    for (size_t i = 0; i < plan->transfer_count; i++) {
        size_t offset, length;
        const struct gw_transfer *transfer = &plan->transfers[i];
        gw_plan_extent(plan, transfer->chunk, question->count,
                       question->elem_bytes, &offset, &length);
        add_transfer(topology, transfer, length * question->elem_bytes, bytes);
    }
    *link_us = busiest_us(topology, bytes);
    *optimum_us = least_us(topology, plan, question);
    free(bytes);
    return GW_OK;
}
