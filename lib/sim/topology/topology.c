/* SPDX-License-Identifier: MIT
 *
 * A cluster's topology: the ranks of each host, the links, and the path between
 * two ranks. Links are numbered by host (nic out, nic in, inner), then by rack
 * (uplink out, uplink in), or as described in topology_fabric.c.
 */
#include "topology_parts.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_LINKS = 3, RACK_LINKS = 2 };

void gw_topology_destroy(struct gw_topology **topology)
{
    struct gw_topology *t = *topology;
    if (!t)
        return;
    free(t->hosts);
    free(t->racks);
    free(t->host_names.place);
    free(t->rack_names.place);
    free(t->node_names.place);
    free(t->graph.nodes);
    free(t->graph.node_of_host);
    free(t->graph.edges);
    free(t->graph.via);
    free(t->listed);
    free(t->host_of);
    free(t);
    *topology = NULL;
}

enum gw_err gw_topology_load(const char *path, struct gw_topology **topology,
                             struct gw_error *why)
{
    *topology = NULL;
    char *text;
    size_t bytes;
    enum gw_err err =
        gw__text_load(path, GW__TOPOLOGY_BYTES_MAX, &text, &bytes, why);
    if (!err)
        err = gw_topology_parse(text, bytes, path, topology, why);
    free(text);
    return err;
}

/* ---- ranks on hosts ---- */

static const char *const order_names[] = {"file", "racks", "interleaved",
                                          "ring"};

const char *gw_rank_order_name(enum gw_rank_order order)
{
    assert((unsigned)order < sizeof order_names / sizeof *order_names);
    return order_names[order];
}

enum gw_rank_order gw_topology_default_order(const struct gw_topology *topology)
{
    bool is_set =
        topology->default_order != GW_ORDER_FILE || topology->listed_count > 0;
    return is_set ? topology->default_order : GW_ORDER_RACKS;
}

static void order_by_racks(struct gw_topology *t)
{
    t->ranks = 0;
    for (unsigned h = 0; h < t->host_count; h++)
        for (unsigned i = 0; i < t->hosts[h].ranks; i++)
            t->host_of[t->ranks++] = h;
}

/* The next host of the rack with room, round robin; UINT32_MAX: none. */
static uint32_t next_in_rack(const struct gw_topology *t, struct gw__rack *rack)
{
    for (unsigned tried = 0; tried < rack->count; tried++) {
        uint32_t host = rack->first + rack->turn;
        rack->turn = (rack->turn + 1) % rack->count;
        if (t->hosts[host].assigned < t->hosts[host].ranks)
            return host;
    }
    return UINT32_MAX;
}

static void order_interleaved(struct gw_topology *t)
{
    for (unsigned h = 0; h < t->host_count; h++)
        t->hosts[h].assigned = 0;
    for (unsigned r = 0; r < t->rack_count; r++)
        t->racks[r].turn = 0;
    for (t->ranks = 0; t->ranks < t->capacity;)
        for (unsigned r = 0; r < t->rack_count; r++) {
            uint32_t host = next_in_rack(t, &t->racks[r]);
            if (host == UINT32_MAX)
                continue;
            t->hosts[host].assigned++;
            t->host_of[t->ranks++] = host;
        }
}

void gw_topology_order(struct gw_topology *topology, enum gw_rank_order order)
{
    struct gw_topology *t = topology;
    if (order == GW_ORDER_FILE)
        order = gw_topology_default_order(t);
    switch (order) {
    case GW_ORDER_RACKS:
        order_by_racks(t);
        break;
    case GW_ORDER_INTERLEAVED:
        order_interleaved(t);
        break;
    case GW_ORDER_RING:
        order_by_racks(t);
        gw__ring_order(t);
        break;
    case GW_ORDER_FILE:
        memcpy(t->host_of, t->listed, t->listed_count * sizeof *t->host_of);
        t->ranks = t->listed_count;
        break;
    }
}

const char *gw_topology_name(const struct gw_topology *topology)
{
    return topology->name;
}

unsigned gw_topology_ranks(const struct gw_topology *topology)
{
    return topology->ranks;
}

unsigned gw_topology_hosts(const struct gw_topology *topology)
{
    return topology->host_count;
}

unsigned gw_topology_racks(const struct gw_topology *topology)
{
    return topology->rack_count;
}

static unsigned ranks_in(const struct gw_topology *t, unsigned r)
{
    unsigned ranks = 0;
    const struct gw__rack *rack = &t->racks[r];
    for (unsigned h = rack->first; h < rack->first + rack->count; h++)
        ranks += t->hosts[h].ranks;
    return ranks;
}

unsigned gw_topology_rack_ranks(const struct gw_topology *topology)
{
    unsigned ranks = ranks_in(topology, 0);
    for (unsigned r = 1; r < topology->rack_count; r++)
        if (ranks_in(topology, r) != ranks)
            return 0;
    return ranks;
}

const char *gw_topology_host(const struct gw_topology *topology, unsigned rank)
{
    assert(rank < topology->ranks);
    return topology->hosts[topology->host_of[rank]].name;
}

const char *gw_topology_rack(const struct gw_topology *topology, unsigned rank)
{
    assert(rank < topology->ranks);
    unsigned host = topology->host_of[rank];
    return topology->racks[topology->hosts[host].rack].name;
}

/* ---- links ---- */

/* Settings that are missing for a single link have the default's values. */
static struct gw__link_settings
with_defaults(const struct gw__link_settings *own,
              const struct gw__link_settings *usual)
{
    const struct gw__link_settings *rated =
        own->has_rate || own->under ? own : usual;
    return (struct gw__link_settings){
        .has_rate = rated->has_rate,
        .rate = rated->rate,
        .over = rated->over,
        .under = rated->under,
        .latency_ns = own->has_latency ? own->latency_ns : usual->latency_ns,
    };
}

/* The total rate of the rack's NICs, divided by the ratio; 0: no limit. */
static uint64_t share_of_nics(const struct gw_topology *t,
                              const struct gw__rack *rack, uint32_t over,
                              uint32_t under)
{
    double sum = 0, most = 0x1p62;
    for (unsigned h = rack->first; h < rack->first + rack->count; h++) {
        struct gw__link_settings nic = with_defaults(&t->hosts[h].nic, &t->nic);
        if (nic.rate == 0)
            return 0;
        sum += (double)nic.rate;
    }
    sum = sum * under / over;
    return sum < 1      ? 1
           : sum < most ? (uint64_t)llround(sum)
                        : UINT64_C(1) << 62;
}

enum gw_err gw__topology_finish(struct gw_topology *t, struct gw_error *why)
{
    for (unsigned r = 0; r < t->rack_count; r++) {
        struct gw__rack *rack = &t->racks[r];
        struct gw__link_settings uplink =
            with_defaults(&rack->uplink, &t->uplink);
        if (uplink.under)
            uplink.rate = share_of_nics(t, rack, uplink.over, uplink.under);
        else if (!uplink.has_rate)
            uplink.rate = share_of_nics(t, rack, 1, 1);
        rack->resolved = uplink;
    }
    gw__fabric_resolve(&t->fabric, &t->nic);
    if (t->fabric.kind == GW__GRAPH && gw__graph_compute_routes(t, why))
        return why->code;
    t->host_of = malloc(t->capacity * sizeof *t->host_of);
    if (!t->host_of)
        return gw_fail(why, GW_ENOMEM, "a topology of %u ranks", t->capacity);
    gw_topology_order(t, GW_ORDER_FILE);
    return GW_OK;
}

/* The number of links between the hosts. */
static unsigned links_between(const struct gw_topology *t)
{
    switch (t->fabric.kind) {
    case GW__RACKS:
        return RACK_LINKS * t->rack_count;
    case GW__GRAPH:
        return 2 * t->graph.edge_count;
    case GW__FAT_TREE:
    case GW__TORUS:
        break;
    }
    return gw__fabric_links(&t->fabric);
}

unsigned gw_topology_links(const struct gw_topology *topology)
{
    return HOST_LINKS * topology->host_count + links_between(topology);
}

void gw_topology_link(const struct gw_topology *topology, unsigned index,
                      struct gw_topology_link *link)
{
    const struct gw_topology *t = topology;
    unsigned racks_begin = HOST_LINKS * t->host_count;
    struct gw__link_settings settings;
    assert(index < gw_topology_links(t));
    if (index >= racks_begin && t->fabric.kind == GW__GRAPH) {
        gw__graph_link(t, index - racks_begin, link);
        return;
    }
    if (index >= racks_begin && t->fabric.kind != GW__RACKS) {
        gw__fabric_link(&t->fabric, index - racks_begin, link);
        return;
    }
    if (index >= racks_begin) {
        unsigned rack = (index - racks_begin) / RACK_LINKS;
        settings = t->racks[rack].resolved;
        *link = (struct gw_topology_link){
            .kind = GW_LINK_UPLINK,
            .out = (index - racks_begin) % RACK_LINKS == 0,
            .owner = rack};
    } else {
        unsigned host = index / HOST_LINKS, part = index % HOST_LINKS;
        bool inner = part == 2;
        settings = inner ? with_defaults(&t->hosts[host].inner, &t->inner)
                         : with_defaults(&t->hosts[host].nic, &t->nic);
        *link = (struct gw_topology_link){.kind = inner ? GW_LINK_INNER
                                                        : GW_LINK_NIC,
                                          .out = part == 0,
                                          .owner = host};
    }
    link->rate = settings.rate;
    link->latency_ns = settings.latency_ns;
}

void gw_topology_link_name(const struct gw_topology *topology, unsigned index,
                           char out[64])
{
    static const char *const kinds[] = {[GW_LINK_NIC] = "nic",
                                        [GW_LINK_INNER] = "inner",
                                        [GW_LINK_UPLINK] = "uplink"};
    struct gw_topology_link link;
    unsigned racks_begin = HOST_LINKS * topology->host_count;
    if (index >= racks_begin && topology->fabric.kind == GW__GRAPH) {
        gw__graph_link_name(topology, index - racks_begin, out);
        return;
    }
    if (index >= racks_begin && topology->fabric.kind != GW__RACKS) {
        gw__fabric_link_name(topology, index - racks_begin, out);
        return;
    }
    gw_topology_link(topology, index, &link);
    snprintf(out, 64, "%s %s%s",
             link.kind == GW_LINK_UPLINK ? topology->racks[link.owner].name
                                         : topology->hosts[link.owner].name,
             kinds[link.kind],
             link.kind == GW_LINK_INNER ? ""
             : link.out                 ? " out"
                                        : " in");
}

unsigned gw_topology_path(const struct gw_topology *topology, unsigned src,
                          unsigned dst, unsigned links[GW_PATH_LINKS_MAX])
{
    const struct gw_topology *t = topology;
    assert(src < t->ranks && dst < t->ranks);
    unsigned from = t->host_of[src], to = t->host_of[dst], count = 0;
    unsigned racks_begin = HOST_LINKS * t->host_count;
    unsigned from_rack = t->hosts[from].rack, to_rack = t->hosts[to].rack;
    if (from == to) {
        links[count++] = HOST_LINKS * from + 2;
        return count;
    }
    if (t->fabric.kind == GW__GRAPH) {
        count = gw__graph_path(t, from, to, links);
        for (unsigned i = 0; i < count; i++)
            links[i] += racks_begin;
        return count;
    }
    links[count++] = HOST_LINKS * from;
    if (t->fabric.kind != GW__RACKS) {
        unsigned inside = gw__fabric_path(&t->fabric, from, to, links + count);
        for (unsigned i = 0; i < inside; i++)
            links[count++] += racks_begin;
    } else if (from_rack != to_rack) {
        links[count++] = racks_begin + RACK_LINKS * from_rack;
        links[count++] = racks_begin + RACK_LINKS * to_rack + 1;
    }
    links[count++] = HOST_LINKS * to + 1;
    return count;
}

void gw_topology_path_sum(const struct gw_topology *topology, unsigned src,
                          unsigned dst, uint64_t *rate, uint64_t *latency_ns)
{
    unsigned links[GW_PATH_LINKS_MAX];
    unsigned count = gw_topology_path(topology, src, dst, links);
    *rate = *latency_ns = 0;
    for (unsigned i = 0; i < count; i++) {
        struct gw_topology_link link;
        gw_topology_link(topology, links[i], &link);
        *latency_ns += link.latency_ns;
        if (link.rate && (*rate == 0 || link.rate < *rate))
            *rate = link.rate;
    }
}
