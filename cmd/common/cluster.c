/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The value of --topo (cluster.h): a word becomes the text of a topology.
 */
#include "cluster.h"

#include <stdio.h>
#include <string.h>

static enum gw_err one_rack(unsigned hosts, struct gw_topology **topology,
                            struct gw_error *why)
{
    char text[128];
    if (hosts > GW_HOSTS_MAX)
        return gw_fail(why, GW_EINVAL, "one rack has at most %d hosts, not %u",
                       GW_HOSTS_MAX, hosts);
    snprintf(text, sizeof text,
             "topology rack\nnic rate=1G latency=5us\nrack r: h[0-%u]\n",
             hosts - 1);
    return gw_topology_parse(text, strlen(text), "rack", topology, why);
}

static bool is_fabric(const char *word)
{
    return strncmp(word, "torus:", 6) == 0 ||
           strncmp(word, "fat-tree:", 9) == 0;
}

static enum gw_err read_fabric(const char *word, struct gw_topology **topology,
                               struct gw_error *why)
{
    char text[256];
    int kind = (int)strcspn(word, ":");
    snprintf(text, sizeof text,
             "topology %.*s\nnic rate=1G latency=5us\n%.*s %.150s\n", kind,
             word, kind, word, word + kind + 1);
    for (char *at = text; (at = strchr(at, ',')); at++)
        *at = ' ';
    return gw_topology_parse(text, strlen(text), word, topology, why);
}

enum gw_err cluster_get(const char *word, unsigned ranks,
                        struct gw_topology **topology, struct gw_error *why)
{
    if (!word)
        return one_rack(ranks, topology, why);
    return is_fabric(word) ? read_fabric(word, topology, why)
                           : gw_topology_load(word, topology, why);
}
