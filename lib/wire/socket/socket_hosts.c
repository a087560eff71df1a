/* SPDX-License-Identifier: MIT
 *
 * Which ranks are on one host. All ranks have the same table of addresses, so
 * all find the same.
 */
#include "socket_wire.h"

#include <string.h>

static uint64_t network_of(const struct gw__address *address)
{
    struct gw__socket_address read;
    memcpy(&read, address->blob, sizeof read);
    return read.network;
}

static bool is_one_host(const uint64_t *networks, unsigned size)
{
    for (unsigned r = 1; r < size; r++)
        if (networks[r] != networks[0])
            return false;
    return networks[0] != 0;
}

/* 0: the hosts differ in size or have one rank, or their ranks do not follow
 * one another. */
static unsigned ranks_per_host(const uint64_t *networks, unsigned size)
{
    unsigned each = 1;
    while (each < size && networks[each] == networks[0])
        each++;
    if (size % each || each == size || each == 1)
        return 0;
    for (unsigned r = 0; r < size; r++) {
        unsigned first = r / each * each;
        if (networks[r] == 0 || networks[r] != networks[first])
            return 0;
        for (unsigned other = 0; other < first; other += each)
            if (networks[other] == networks[first])
                return 0;
    }
    return each;
}

void gw__socket_find_hosts(struct gw__socket *s,
                           const struct gw__address *table)
{
    uint64_t networks[GW__WIRE_PEERS_MAX] = {0};
    unsigned size = s->wire.size;
    if (s->address.transport != GW__SOCKET_TCP)
        return;
    for (unsigned r = 0; r < size; r++)
        networks[r] = network_of(&table[r]);
    if (is_one_host(networks, size))
        return;
    for (unsigned r = 0; r < size; r++)
        if (networks[r] && networks[r] == networks[s->wire.rank])
            s->links[r].address.transport = GW__SOCKET_IPC;
    s->wire.host_ranks = ranks_per_host(networks, size);
}
