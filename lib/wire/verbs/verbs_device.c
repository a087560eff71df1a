/* SPDX-License-Identifier: MIT
 *
 * Selects device, port and GID. The connection manager finds all three by an IP
 * address: the RDMA port is that of the network interface with this address,
 * and among its GIDs the one that stands for the address is used (RoCE v2 where
 * the system prefers that). So a wire binds to an address. The user may name
 * the address, the network interface or the RDMA device; the default is the
 * first address that leads to an active port.
 */
#include "verbs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

enum { DEVICES_BYTES = 200 };

struct search {
    struct gw__verbs *verbs;
    const char *wanted;          /* NULL: any */
    char devices[DEVICES_BYTES]; /* "rxe0 port 1 (10.77.0.1 on eth0), ..." */
};

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)address;
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    }
    const struct sockaddr_in6 *v6 = (const void *)address;
    return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* Link-local addresses do not identify a peer without the link. */
static bool is_usable(const struct sockaddr *address)
{
    if (!address)
        return false;
    if (address->sa_family == AF_INET)
        return true;
    const struct sockaddr_in6 *v6 = (const void *)address;
    return address->sa_family == AF_INET6 &&
           !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
}

static void spell(const struct sockaddr *address, char text[48])
{
    const struct sockaddr_in *v4 = (const void *)address;
    const struct sockaddr_in6 *v6 = (const void *)address;
    const void *bytes = address->sa_family == AF_INET
                            ? (const void *)&v4->sin_addr
                            : (const void *)&v6->sin6_addr;
    text[0] = 0;
    inet_ntop(address->sa_family, bytes, text, 48);
}

static bool is_active(struct rdma_cm_id *id)
{
    struct ibv_port_attr port;
    return ibv_query_port(id->verbs, id->port_num, &port) == 0 &&
           port.state == IBV_PORT_ACTIVE;
}

static void list_device(struct search *search, struct rdma_cm_id *id,
                        const char *interface, const char *host, bool active)
{
    size_t length = strlen(search->devices);
    snprintf(search->devices + length, sizeof search->devices - length,
             "%s%s port %u (%s on %s%s)", length ? ", " : "",
             ibv_get_device_name(id->verbs->device), id->port_num, host,
             interface, active ? "" : ", not active");
}

/* True: the listener is bound to it. */
static bool try(struct search *search, const struct ifaddrs *at)
{
    struct gw__verbs *verbs = search->verbs;
    struct sockaddr_storage own = {.ss_family = at->ifa_addr->sa_family};
    const char *wanted = search->wanted;
    char host[48];
    struct rdma_cm_id *id;
    memcpy(&own, at->ifa_addr,
           own.ss_family == AF_INET ? sizeof(struct sockaddr_in)
                                    : sizeof(struct sockaddr_in6));
    spell(at->ifa_addr, host);
    if (rdma_create_id(verbs->events, &id, NULL, RDMA_PS_TCP) != 0)
        return false;
    if (rdma_bind_addr(id, (struct sockaddr *)&own) == 0 && id->verbs) {
        const char *device = ibv_get_device_name(id->verbs->device);
        bool active = is_active(id);
        bool named = wanted && (strcmp(wanted, host) == 0 ||
                                strcmp(wanted, at->ifa_name) == 0 ||
                                strcmp(wanted, device) == 0);
        list_device(search, id, at->ifa_name, host, active);
        if (active && (named || (!wanted && !is_loopback(at->ifa_addr)))) {
            verbs->listener = id;
            verbs->device = id->verbs;
            snprintf(verbs->address.host, sizeof verbs->address.host, "%s",
                     host);
            return true;
        }
    }
    rdma_destroy_id(id);
    return false;
}

static enum gw_err not_found(const struct search *search, struct gw_error *why)
{
    if (search->devices[0] && search->wanted)
        return gw_fail(why, GW_EUNREACH,
                       "\"%.60s\" is not an active RDMA port; use one of %s",
                       search->wanted, search->devices);
    if (search->devices[0])
        return gw_fail(why, GW_ENOTSUP, "no RDMA port is active: %s",
                       search->devices);
    return gw_fail(why, GW_ENOTSUP,
                   "the RDMA devices of this host have no IP address; the "
                   "connection manager needs one");
}

static bool any_device(void)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    if (list)
        ibv_free_device_list(list);
    return count > 0;
}

/* IPv4 before IPv6. */
static bool find_interface(struct search *search, const struct ifaddrs *all)
{
    static const int families[] = {AF_INET, AF_INET6};
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (const struct ifaddrs *at = all; at; at = at->ifa_next)
            if (is_usable(at->ifa_addr) && (at->ifa_flags & IFF_UP) &&
                at->ifa_addr->sa_family == families[f] && try(search, at))
                return true;
    return false;
}

enum gw_err gw__verbs_bind(struct gw__verbs *verbs, const char *interface,
                           struct gw_error *why)
{
    struct search search = {.verbs = verbs, .wanted = interface};
    struct ifaddrs *all;
    if (!any_device())
        return gw_fail(why, GW_ENOTSUP,
                       "this host has no RDMA device (see ibv_devices)");
    verbs->events = rdma_create_event_channel();
    if (!verbs->events)
        return gw_fail(
            why, GW_ENOTSUP,
            "no connection manager: %s (load the kernel module rdma_ucm)",
            strerror(errno));
    if (getifaddrs(&all) != 0)
        return gw_fail_errno(why, "getifaddrs");
    bool found = find_interface(&search, all);
    freeifaddrs(all);
    return found ? GW_OK : not_found(&search, why);
}
