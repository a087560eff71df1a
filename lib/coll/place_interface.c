/* SPDX-License-Identifier: MIT
 *
 * Which address of this host the others are to be told. The kernel knows: a
 * datagram socket that is connected to the rendezvous (nothing is sent) has the
 * address from which one goes there. On the host of the rendezvous itself that
 * may be a loopback address (Debian's /etc/hosts gives the host's own name
 * 127.0.1.1), which is of no use to others: then it is the one address that is
 * not, and if there are several, somebody has to say which.
 */
#include "coll/place.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, address, sizeof four);
        return ntohl(four.sin_addr.s_addr) >> 24 == 127;
    }
    struct sockaddr_in6 six;
    memcpy(&six, address, sizeof six);
    return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
}

static bool is_usable(const struct ifaddrs *at, int family)
{
    if (!at->ifa_addr || at->ifa_addr->sa_family != family ||
        !(at->ifa_flags & IFF_UP) || is_loopback(at->ifa_addr))
        return false;
    if (family == AF_INET)
        return true;
    struct sockaddr_in6 six;
    memcpy(&six, at->ifa_addr, sizeof six);
    return !IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr);
}

static void write_address(const struct sockaddr *address, socklen_t bytes,
                          char text[GW_PLACE_TEXT_BYTES])
{
    if (getnameinfo(address, bytes, text, GW_PLACE_TEXT_BYTES, NULL, 0,
                    NI_NUMERICHOST) != 0)
        text[0] = 0;
}

static socklen_t bytes_of(int family)
{
    return family == AF_INET ? sizeof(struct sockaddr_in)
                             : sizeof(struct sockaddr_in6);
}

/* The one address of the family that others can reach; else how many there are,
 * and all of them, "eth0 10.0.0.1, eth1 10.1.0.1". */
static unsigned only_address(int family, char address[GW_PLACE_TEXT_BYTES],
                             char all[GW_PLACE_TEXT_BYTES])
{
    struct ifaddrs *list = NULL;
    unsigned count = 0;
    size_t used = 0;
    all[0] = 0;
    if (getifaddrs(&list) != 0)
        return 0;
    for (const struct ifaddrs *at = list; at; at = at->ifa_next) {
        char text[GW_PLACE_TEXT_BYTES];
        if (!is_usable(at, family))
            continue;
        write_address(at->ifa_addr, bytes_of(family), text);
        if (count++ == 0)
            snprintf(address, GW_PLACE_TEXT_BYTES, "%s", text);
        int n = snprintf(all + used, GW_PLACE_TEXT_BYTES - used, "%s%s %.60s",
                         used ? ", " : "", at->ifa_name, text);
        if (n > 0 && used + (size_t)n < GW_PLACE_TEXT_BYTES)
            used += (size_t)n;
    }
    freeifaddrs(list);
    return count;
}

static enum gw_err from_loopback(const char *host, int family,
                                 char address[GW_PLACE_TEXT_BYTES],
                                 struct gw_error *why)
{
    char all[GW_PLACE_TEXT_BYTES];
    unsigned count = only_address(family, address, all);
    if (count == 1)
        return GW_OK;
    if (count == 0)
        return gw_fail(why, GW_EUNREACH,
                       "%.80s is this host, which has no address but loopback",
                       host);
    return gw_fail(why, GW_EUNREACH,
                   "%.80s is this host; by which address do the others reach "
                   "it? Say with GW_INTERFACE: %.200s",
                   host, all);
}

enum gw_err gw__place_own_address(char address[GW_PLACE_TEXT_BYTES],
                                  struct gw_error *why)
{
    return from_loopback("rank 0", AF_INET, address, why);
}

static enum gw_err route_to(const char *host, const struct addrinfo *to,
                            char address[GW_PLACE_TEXT_BYTES],
                            struct gw_error *why)
{
    struct sockaddr_storage own = {.ss_family = AF_UNSPEC};
    socklen_t bytes = sizeof own;
    int fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool known = fd >= 0 && connect(fd, to->ai_addr, to->ai_addrlen) == 0 &&
                 getsockname(fd, (struct sockaddr *)&own, &bytes) == 0;
    if (fd >= 0)
        close(fd);
    if (!known) {
        char any[GW_PLACE_TEXT_BYTES], all[GW_PLACE_TEXT_BYTES];
        only_address(to->ai_family, any, all);
        return gw_fail(why, GW_EUNREACH,
                       "no interface leads to %.80s; there are: %.200s", host,
                       all[0] ? all : "none");
    }
    if (is_loopback((const struct sockaddr *)&own))
        return from_loopback(host, to->ai_family, address, why);
    write_address((const struct sockaddr *)&own, bytes, address);
    return GW_OK;
}

enum gw_err gw__place_interface(const char *endpoint,
                                char address[GW_PLACE_TEXT_BYTES],
                                struct gw_error *why)
{
    char host[GW_PLACE_TEXT_BYTES], port[16];
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *list = NULL;
    if (sscanf(endpoint, "tcp://[%200[^]]]:%15[0-9]", host, port) != 2 &&
        sscanf(endpoint, "tcp://%200[^:]:%15[0-9]", host, port) != 2)
        return gw_fail(why, GW_EINVAL,
                       "between hosts one meets at tcp://HOST:PORT, not %.80s",
                       endpoint);
    int failed = getaddrinfo(host, port, &hints, &list);
    if (failed)
        return gw_fail(why, GW_EUNREACH, "%.80s: %s", host,
                       gai_strerror(failed));
    enum gw_err err = route_to(host, list, address, why);
    freeaddrinfo(list);
    return err;
}
