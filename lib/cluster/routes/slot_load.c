/* SPDX-License-Identifier: MIT
 *
 * Measures the rates of slots and decides when to move slots.
 */
#include "slot_load.h"

#include "route_parts.h"

#include <math.h>

void gw__slot_load_record(struct gw__slot_load *load, unsigned slot,
                          unsigned primary, uint64_t keys, uint64_t bytes,
                          uint64_t now_ns)
{
    struct gw__slot_rate *rate = &load->rate[slot];
    bool goes_on = rate->recorded_ns > 0 && rate->primary == primary &&
                   keys >= rate->keys_before && bytes >= rate->bytes_before &&
                   now_ns > rate->recorded_ns;
    if (goes_on) {
        double seconds = (double)(now_ns - rate->recorded_ns) / 1e9;
        rate->keys = (double)(keys - rate->keys_before) / seconds;
        rate->bytes = (double)(bytes - rate->bytes_before) / seconds;
    }
    rate->keys_before = keys;
    rate->bytes_before = bytes;
    rate->primary = primary;
    rate->recorded_ns = now_ns;
}

double gw__slot_load_of(const struct gw__slot_load *load,
                        const struct gw__routes *routes, unsigned node)
{
    double sum = 0;
    for (unsigned i = 0; i < routes->slot_count; i++)
        if (routes->slots[i].primary == node)
            sum += load->rate[i].bytes;
    return sum;
}

static double sum_of(const struct gw__slot_load *load,
                     const struct gw__routes *routes)
{
    double sum = 0;
    for (unsigned i = 0; i < routes->slot_count; i++)
        sum += load->rate[i].bytes;
    return sum;
}

double gw__slot_load_uneven(const struct gw__slot_load *load,
                            const struct gw__routes *routes,
                            const struct gw_nodes *servers)
{
    double most = 0, sum = 0, of[GW__ROUTE_NODES] = {0};
    for (unsigned i = 0; i < routes->slot_count; i++) {
        unsigned node = routes->slots[i].primary;
        sum += load->rate[i].bytes;
        if (!gw__has_node(servers, node))
            continue;
        of[node] += load->rate[i].bytes;
        most = of[node] > most ? of[node] : most;
    }
    return sum > 0 ? most * gw__nodes_count(*servers) / sum : (double)NAN;
}

/* All slots have their replicas, and no change is pending. */
static bool is_at_rest(const struct gw__routes *routes,
                       const struct gw_nodes *servers)
{
    unsigned count = gw__nodes_count(*servers);
    unsigned wanted = routes->replicas < count ? routes->replicas : count;
    for (unsigned i = 0; i < routes->slot_count; i++)
        if (!gw__route_is_idle(&routes->slots[i]) ||
            gw__route_count(&routes->slots[i], servers) < wanted)
            return false;
    return routes->slot_count > 0 && count > 0;
}

/* After a change of servers advice is due even without a gain: the earlier
 * advice names servers that are gone, and lacks new ones. */
bool gw__slot_load_end_window(struct gw__slot_load *load,
                              const struct gw__routes *routes,
                              const struct gw_nodes *servers,
                              struct gw__advice *advice)
{
    double bytes[GW_PS_SLOTS_MAX];
    bool uneven =
        gw__slot_load_uneven(load, routes, servers) >= GW__LOAD_UNEVEN;
    bool changed = load->advised && load->servers_changed;
    load->servers_changed |= !gw__nodes_equal(*servers, load->servers) &&
                             !gw__nodes_is_empty(load->servers);
    load->servers = *servers;
    load->rested = is_at_rest(routes, servers) ? load->rested + 1 : 0;
    load->uneven = uneven ? load->uneven + 1 : 0;
    if (load->rested < GW__LOAD_WINDOWS ||
        sum_of(load, routes) < GW__LOAD_LEAST ||
        (load->uneven < GW__LOAD_WINDOWS && !changed))
        return false;
    for (unsigned i = 0; i < routes->slot_count; i++)
        bytes[i] = load->rate[i].bytes;
    double gain = gw__slot_balance(routes, bytes, servers, advice);
    if (gain < GW__LOAD_GAIN && !changed)
        return false;
    load->uneven = load->rested = 0;
    load->servers_changed = false;
    load->advised = true;
    return true;
}
