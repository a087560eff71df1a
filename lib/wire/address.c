/* SPDX-License-Identifier: MIT
 *
 * Chooses the address of this host that other hosts can reach. The kernel knows
 * it: a datagram socket connected to the rendezvous (nothing is sent) is bound
 * to the local address of that route. On the rendezvous host itself this may be
 * a loopback address, which is useless to other hosts. Then the host's only
 * non-loopback address is used; if there are several, the user must choose.
 */
#include "address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- one address ---- */

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

static bool is_of_link(const struct sockaddr *address)
{
    struct sockaddr_in6 six;
    if (address->sa_family != AF_INET6)
        return false;
    memcpy(&six, address, sizeof six);
    return IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr);
}

static void write_number(const struct sockaddr *address,
                         char number[GW__HOST_MAX])
{
    socklen_t bytes = address->sa_family == AF_INET
                          ? sizeof(struct sockaddr_in)
                          : sizeof(struct sockaddr_in6);
    if (getnameinfo(address, bytes, number, GW__HOST_MAX, NULL, 0,
                    NI_NUMERICHOST) != 0)
        number[0] = 0;
}

/* ---- the addresses of this host ---- */

static bool is_candidate(const struct ifaddrs *at, int family)
{
    const struct sockaddr *address = at->ifa_addr;
    if (!address || !(at->ifa_flags & IFF_UP) || is_of_link(address))
        return false;
    return family == AF_UNSPEC
               ? address->sa_family == AF_INET || address->sa_family == AF_INET6
               : address->sa_family == family;
}

/* Returns the number of addresses that other hosts can reach. `first` is the
 * first of them; `all` lists them as text: "eth0 10.0.0.1, eth1 10.1.0.1". */
static unsigned list_own(int family, char first[GW__HOST_MAX],
                         char all[GW__HOST_MAX])
{
    struct ifaddrs *list = NULL;
    unsigned count = 0;
    size_t used = 0;
    snprintf(all, GW__HOST_MAX, "none");
    if (getifaddrs(&list) != 0)
        return 0;
    for (const struct ifaddrs *at = list; at; at = at->ifa_next) {
        char number[GW__HOST_MAX];
        if (!is_candidate(at, family) || is_loopback(at->ifa_addr))
            continue;
        write_number(at->ifa_addr, number);
        if (count++ == 0)
            snprintf(first, GW__HOST_MAX, "%s", number);
        int n = snprintf(all + used, GW__HOST_MAX - used, "%s%s %.60s",
                         used ? ", " : "", at->ifa_name, number);
        if (n > 0 && used + (size_t)n < GW__HOST_MAX)
            used += (size_t)n;
    }
    freeifaddrs(list);
    return count;
}

enum gw_err gw__address_only(const char *name, int family,
                             char number[GW__HOST_MAX], struct gw_error *why)
{
    char all[GW__HOST_MAX];
    unsigned count = list_own(family, number, all);
    if (count == 1)
        return GW_OK;
    if (count == 0)
        return gw_fail(why, GW_EUNREACH,
                       "%.80s is this host, which has only a loopback address",
                       name);
    return gw_fail(why, GW_EUNREACH,
                   "%.80s is this host, which has several addresses; choose "
                   "one with --interface or GW_INTERFACE: %.200s",
                   name, all);
}

/* ---- the route to a host ---- */

/* "tcp://[::1]:80" -> "::1" and "80". */
static bool split(const char *endpoint, char host[GW__HOST_MAX], char port[16])
{
    return sscanf(endpoint, "tcp://[%200[^]]]:%15[0-9*]", host, port) == 2 ||
           sscanf(endpoint, "tcp://%200[^:]:%15[0-9*]", host, port) == 2;
}

/* The port does not matter: a datagram socket is only connected to it. */
static enum gw_err look_up(const char *host, struct addrinfo **list,
                           struct gw_error *why)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    int failed = getaddrinfo(host, "9", &hints, list);
    return failed ? gw_fail(why, GW_EUNREACH, "%.80s: %s", host,
                            gai_strerror(failed))
                  : GW_OK;
}

static enum gw_err route_to(const char *host, const struct addrinfo *to,
                            char number[GW__HOST_MAX], struct gw_error *why)
{
    struct sockaddr_storage own = {.ss_family = AF_UNSPEC};
    socklen_t bytes = sizeof own;
    int fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool known = fd >= 0 && connect(fd, to->ai_addr, to->ai_addrlen) == 0 &&
                 getsockname(fd, (struct sockaddr *)&own, &bytes) == 0;
    if (fd >= 0)
        close(fd);
    if (!known) {
        char any[GW__HOST_MAX], all[GW__HOST_MAX];
        list_own(to->ai_family, any, all);
        return gw_fail(
            why, GW_EUNREACH,
            "no interface leads to %.80s; the interfaces are: %.200s", host,
            all);
    }
    if (is_loopback((const struct sockaddr *)&own))
        return gw__address_only(host, to->ai_family, number, why);
    write_number((const struct sockaddr *)&own, number);
    return GW_OK;
}

enum gw_err gw__address_towards(const char *endpoint, char number[GW__HOST_MAX],
                                struct gw_error *why)
{
    char host[GW__HOST_MAX], port[16];
    struct addrinfo *list = NULL;
    if (!split(endpoint, host, port))
        return gw_fail(
            why, GW_EINVAL,
            "the rendezvous between hosts must be tcp://HOST:PORT, not %.80s",
            endpoint);
    enum gw_err err = look_up(host, &list, why);
    if (err)
        return err;
    err = route_to(host, list, number, why);
    freeaddrinfo(list);
    return err;
}

/* ---- names and numbers given by the user ---- */

static bool is_number(const char *host)
{
    return strspn(host, "0123456789.") == strlen(host) || strchr(host, ':');
}

/* Prefers an address of the requested family. For any family this is IPv4,
 * which the controllers' log needs. */
static const struct addrinfo *prefer(const struct addrinfo *list, int family)
{
    family = family == AF_UNSPEC ? AF_INET : family;
    for (const struct addrinfo *at = list; at; at = at->ai_next)
        if (at->ai_family == family)
            return at;
    return list;
}

static enum gw_err numeric_address(const char *host, int family,
                                   char number[GW__HOST_MAX],
                                   struct gw_error *why)
{
    struct addrinfo *list = NULL;
    enum gw_err err = look_up(host, &list, why);
    if (err)
        return err;
    const struct addrinfo *at = prefer(list, family);
    bool meant = is_number(host) || strcmp(host, "localhost") == 0;
    if (is_loopback(at->ai_addr) && !meant)
        err = gw__address_only(host, at->ai_family, number, why);
    else
        write_number(at->ai_addr, number);
    freeaddrinfo(list);
    return err;
}

static enum gw_err join_address(const char *number, const char *port, char *out,
                                size_t room, struct gw_error *why)
{
    bool six = strchr(number, ':') != NULL;
    int length = snprintf(out, room, six ? "tcp://[%s]:%s" : "tcp://%s:%s",
                          number, port);
    return length >= 0 && (size_t)length < room
               ? GW_OK
               : gw_fail(why, GW_EINVAL, "%.80s is too long", number);
}

static enum gw_err copy_address(const char *text, char *out, size_t room,
                                struct gw_error *why)
{
    int length = snprintf(out, room, "%s", text);
    return length >= 0 && (size_t)length < room
               ? GW_OK
               : gw_fail(why, GW_EINVAL, "%.80s is too long", text);
}

enum gw_err gw__address_number(const char *endpoint, char *out, size_t room,
                               struct gw_error *why)
{
    char host[GW__HOST_MAX], port[16], number[GW__HOST_MAX];
    if (!split(endpoint, host, port) || is_number(host))
        return copy_address(endpoint, out, room, why);
    enum gw_err err = numeric_address(host, AF_UNSPEC, number, why);
    return err ? err : join_address(number, port, out, room, why);
}

bool gw__address_same_host(const char *a, const char *b)
{
    char hosts[2][GW__HOST_MAX], port[16];
    bool tcp = split(a, hosts[0], port);
    if (tcp != split(b, hosts[1], port))
        return false;
    return !tcp || strcmp(hosts[0], hosts[1]) == 0;
}

bool gw__address_is_local(const char *endpoint)
{
    char host[GW__HOST_MAX], port[16];
    return split(endpoint, host, port) &&
           (strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
            strcmp(host, "localhost") == 0);
}

/* ---- addresses of this host ---- */

/* The IP version of the route to an endpoint; AF_UNSPEC if it is not known. */
static int family_of(const char *towards)
{
    char host[GW__HOST_MAX], port[16];
    struct gw_error never;
    struct addrinfo *list = NULL;
    if (!towards || !split(towards, host, port) || look_up(host, &list, &never))
        return AF_UNSPEC;
    int family = list->ai_family;
    freeaddrinfo(list);
    return family;
}

/* The first address of the interface. */
static bool find_interface(const char *name, int family,
                           char number[GW__HOST_MAX])
{
    struct ifaddrs *list = NULL;
    bool found = false;
    if (getifaddrs(&list) != 0)
        return false;
    for (const struct ifaddrs *at = list; at && !found; at = at->ifa_next) {
        found = is_candidate(at, family) && strcmp(at->ifa_name, name) == 0;
        if (found)
            write_number(at->ifa_addr, number);
    }
    freeifaddrs(list);
    return found;
}

/* Can a socket be bound there? The kernel knows. */
static bool is_own(const char *number)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM,
                                   .ai_flags = AI_NUMERICHOST};
    struct addrinfo *at = NULL;
    if (getaddrinfo(number, "0", &hints, &at) != 0)
        return false;
    int fd = socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool own = fd >= 0 && bind(fd, at->ai_addr, at->ai_addrlen) == 0;
    if (fd >= 0)
        close(fd);
    freeaddrinfo(at);
    return own;
}

enum gw_err gw__address_own(const char *wanted, const char *towards,
                            char number[GW__HOST_MAX], struct gw_error *why)
{
    char host[GW__HOST_MAX], any[GW__HOST_MAX], all[GW__HOST_MAX];
    struct gw_error unknown;
    int family = family_of(towards);
    if (sscanf(wanted, "[%200[^]]]", host) != 1)
        snprintf(host, sizeof host, "%.200s", wanted);
    snprintf(number, GW__HOST_MAX, "%s", host);
    if (strcmp(host, "*") == 0 || find_interface(host, family, number) ||
        find_interface(host, AF_UNSPEC, number) ||
        (!numeric_address(host, family, number, &unknown) && is_own(number)))
        return GW_OK;
    snprintf(number, GW__HOST_MAX, "%s", host);
    list_own(AF_UNSPEC, any, all);
    return gw_fail(
        why, GW_EUNREACH,
        "%.80s is not an interface or address of this host; use one of %.200s",
        wanted, all);
}

enum gw_err gw__address_listen(const char *endpoint, const char *towards,
                               char *out, size_t room, struct gw_error *why)
{
    char host[GW__HOST_MAX], port[16], number[GW__HOST_MAX];
    if (!split(endpoint, host, port))
        return copy_address(endpoint, out, room, why);
    enum gw_err err = gw__address_own(host, towards, number, why);
    return err ? err : join_address(number, port, out, room, why);
}
