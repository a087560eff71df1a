/* SPDX-License-Identifier: MIT
 *
 * Fat trees and tori: the links between the hosts and the paths through them. A
 * path depends only on its two ends, so that runs are reproducible.
 *
 * A fat tree of k-port switches (Leiserson 1985; Al-Fares, Loukissas, Vahdat,
 * SIGCOMM 2008), m = k/2: an edge switch has m hosts and m uplinks. With two
 * levels, k edge switches are connected by m spines. With three, a pod is m
 * edge and m upper switches, and k pods are connected by m * m cores. A path
 * goes up as far as necessary, on each level by the port that the destination's
 * number determines (d-mod-k: Zahavi et al., J. Parallel Distrib. Comput. 72,
 * 2012). Then shifts of all hosts share no link.
 *
 *     links of edge e, port i       2 (e m + i), and + 1 for `in`
 *     of pod P, upper a, core j     2 hosts + 2 ((P m + a) m + j)
 *
 * On a torus the hosts are the switches, connected to their neighbours in each
 * dimension, with wrap-around. A path takes the dimensions in order, in each
 * one the shorter direction (Dally, Seitz 1987). If both are equally long, even
 * positions go forward and odd ones back.
 *
 *     links of host h, dimension d  2 (h dimensions + d), and + 1 for back
 */
#include "topology_parts.h"

#include <math.h>
#include <stdio.h>

static unsigned half(const struct gw__fabric *f)
{
    return f->k / 2;
}

unsigned gw__fabric_hosts(const struct gw__fabric *f)
{
    if (f->kind == GW__TORUS)
        return f->size[0] * f->size[1] * f->size[2];
    return f->levels == 2 ? f->k * half(f) : f->k * half(f) * half(f);
}

unsigned gw__fabric_rack_hosts(const struct gw__fabric *f)
{
    return f->kind == GW__TORUS ? f->size[0] : half(f);
}

unsigned gw__fabric_links(const struct gw__fabric *f)
{
    unsigned hosts = gw__fabric_hosts(f);
    return f->kind == GW__TORUS ? 2 * f->dimensions * hosts
                                : 2 * (f->levels - 1) * hosts;
}

void gw__fabric_link(const struct gw__fabric *f, unsigned index,
                     struct gw_topology_link *link)
{
    unsigned hosts = gw__fabric_hosts(f);
    bool torus = f->kind == GW__TORUS, uplink = !torus && index < 2 * hosts;
    *link = (struct gw_topology_link){
        .kind = uplink ? GW_LINK_UPLINK : GW_LINK_TRUNK,
        .out = torus || index % 2 == 0,
        .owner = torus    ? index / (2 * f->dimensions)
                 : uplink ? index / 2 / half(f)
                          : (index - 2 * hosts) / 2 / half(f) / half(f),
        .rate = f->resolved.rate,
        .latency_ns = f->resolved.latency_ns,
    };
}

void gw__fabric_link_name(const struct gw_topology *t, unsigned index,
                          char out[64])
{
    static const char axes[] = "xyz";
    const struct gw__fabric *f = &t->fabric;
    unsigned hosts = gw__fabric_hosts(f), m = half(f);
    const char *direction = index % 2 ? "in" : "out";
    if (f->kind == GW__TORUS)
        snprintf(out, 64, "%s %c%c", t->hosts[index / (2 * f->dimensions)].name,
                 index % 2 ? '-' : '+', axes[index / 2 % f->dimensions]);
    else if (index < 2 * hosts)
        snprintf(out, 64, "%s uplink %u %s", t->racks[index / 2 / m].name,
                 index / 2 % m, direction);
    else
        snprintf(out, 64, "pod %u upper %u core %u %s",
                 (index - 2 * hosts) / 2 / m / m,
                 (index - 2 * hosts) / 2 / m % m, index / 2 % m, direction);
}

static unsigned fat_tree_path(const struct gw__fabric *f, unsigned from,
                              unsigned to, unsigned *links)
{
    unsigned m = half(f), count = 0, hosts = gw__fabric_hosts(f);
    unsigned from_edge = from / m, to_edge = to / m;
    unsigned port = to % m, core = to_edge % m;
    if (from_edge == to_edge)
        return 0;
    links[count++] = 2 * (from_edge * m + port);
    if (f->levels == 3 && from_edge / m != to_edge / m) {
        links[count++] = 2 * (hosts + (from_edge / m * m + port) * m + core);
        links[count++] = 2 * (hosts + (to_edge / m * m + port) * m + core) + 1;
    }
    links[count++] = 2 * (to_edge * m + port) + 1;
    return count;
}

static unsigned torus_path(const struct gw__fabric *f, unsigned from,
                           unsigned to, unsigned *links)
{
    unsigned count = 0, stride = 1, at = from;
    for (unsigned d = 0; d < f->dimensions; d++) {
        unsigned size = f->size[d], place = at / stride % size;
        unsigned ahead = (to / stride % size + size - place) % size;
        bool back = 2 * ahead > size || (2 * ahead == size && place % 2 == 1);
        for (unsigned left = back ? size - ahead : ahead; left > 0; left--) {
            unsigned next = (place + (back ? size - 1 : 1)) % size;
            links[count++] = 2 * (at * f->dimensions + d) + back;
            at = at - place * stride + next * stride;
            place = next;
        }
        stride *= size;
    }
    return count;
}

unsigned gw__fabric_path(const struct gw__fabric *f, unsigned from, unsigned to,
                         unsigned *links)
{
    return f->kind == GW__TORUS ? torus_path(f, from, to, links)
                                : fat_tree_path(f, from, to, links);
}

void gw__fabric_resolve(struct gw__fabric *f,
                        const struct gw__link_settings *nic)
{
    struct gw__link_settings link = f->link;
    if (link.under || !link.has_rate) {
        double over = link.under ? link.over : 1;
        double under = link.under ? link.under : 1;
        double rate = (double)nic->rate * under / over;
        link.rate = nic->rate == 0 ? 0 : rate < 1 ? 1 : (uint64_t)llround(rate);
    }
    f->resolved = link;
}
