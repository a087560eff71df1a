/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun sim: the orders in which ranks are placed on the hosts.
 */
#include "sim.h"

#include <string.h>

enum gw_rank_order sim_order(const struct gw_topology *topology,
                             const char *word)
{
    unsigned order = GW_ORDER_FILE;
    if (!word || strcmp(word, "all") == 0)
        return gw_topology_default_order(topology);
    while (strcmp(word, gw_rank_order_name((enum gw_rank_order)order)) != 0)
        order++;
    return (enum gw_rank_order)order;
}

/* With a single rack, unless it is a server with links of several kinds, all
 * orders are equal. */
static bool orders_are_one(const struct gw_topology *t)
{
    return gw_topology_hosts(t) == 1 ||
           (gw_topology_racks(t) == 1 && !gw_topology_link_word(t, 0) &&
            gw_topology_rack_ranks(t) == gw_topology_hosts(t));
}

unsigned sim_orders(const struct gw_topology *topology, const char *word,
                    bool several, enum gw_rank_order orders[SIM_ORDERS_MAX])
{
    bool all = word && strcmp(word, "all") == 0;
    unsigned count = 0;
    if (!all && (word || !several)) {
        orders[0] = sim_order(topology, word);
        return 1;
    }
    if (gw_topology_default_order(topology) == GW_ORDER_FILE)
        orders[count++] = GW_ORDER_FILE;
    orders[count++] = GW_ORDER_RACKS;
    if (!orders_are_one(topology))
        orders[count++] = GW_ORDER_INTERLEAVED;
    if (all || gw_topology_link_word(topology, 0))
        orders[count++] = GW_ORDER_RING;
    return count;
}
