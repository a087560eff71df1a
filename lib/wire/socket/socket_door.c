/* SPDX-License-Identifier: MIT
 *
 * Listening for the connections of higher ranks, and calling the lower ones.
 */
#include "socket_wire.h"

#include "wire/interface.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

union any_address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    struct sockaddr_un local;
};

static socklen_t local_address(const struct gw__socket_address *own,
                               union any_address *address)
{
    address->local.sun_family = AF_UNIX;
    int length = snprintf(address->local.sun_path + 1,
                          sizeof address->local.sun_path - 1,
                          "gradwire-%016llx", (unsigned long long)own->name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)length);
}

/* Returns its length; 0: the host is not a number. */
static socklen_t to_sockaddr(const struct gw__socket_address *own,
                             union any_address *address)
{
    memset(address, 0, sizeof *address);
    if (own->transport == GW__SOCKET_IPC)
        return local_address(own, address);
    address->four.sin_port = htons(own->port);
    if (inet_pton(AF_INET, own->host, &address->four.sin_addr) == 1) {
        address->four.sin_family = AF_INET;
        return sizeof address->four;
    }
    address->six.sin6_port = htons(own->port);
    address->six.sin6_family = AF_INET6;
    return inet_pton(AF_INET6, own->host, &address->six.sin6_addr) == 1
               ? sizeof address->six
               : 0;
}

static void set_option(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value, sizeof value);
}

/* Only across a network do hosts fail without a word. The kernel of a peer that
 * computes answers the probes, so no thread is needed here or there. */
static void probe_host(int fd)
{
    enum { IDLE_S = 1, EACH_S = 1, PROBES = 3 };
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, EACH_S);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
}

/* A Unix socket buffers a fixed amount of unread data, 208 KiB by default, and
 * wakes its writer when three quarters of it are free. TCP sizes its buffers
 * itself, up to several megabytes. Over a network it needs them. Inside a host
 * less is faster, for the reader finds the data in the cache: an all-reduce of
 * 4 MiB with 4 ranks takes 5.6 ms instead of 7.0. */
void gw__socket_prepare(int fd, const struct gw__socket_address *at)
{
    enum { LOCAL_BYTES = 512 << 10 };
    bool tcp = at->transport == GW__SOCKET_TCP;
    bool local = !tcp || gw__is_loopback(at->host);
    if (tcp)
        set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (local)
        set_option(fd, SOL_SOCKET, SO_SNDBUF, LOCAL_BYTES);
    else
        probe_host(fd);
}

int gw__socket_dial(const struct gw__socket_address *to)
{
    union any_address address;
    socklen_t bytes = to_sockaddr(to, &address);
    int fd = bytes ? socket(address.any.sa_family,
                            SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)
                   : -1;
    if (fd < 0)
        return -1;
    gw__socket_prepare(fd, to);
    if (connect(fd, &address.any, bytes) == 0 || errno == EINPROGRESS)
        return fd;
    close(fd);
    return -1;
}

bool gw__socket_greeting_read(int fd, unsigned char *greeting,
                              unsigned *received)
{
    while (*received < GW__SOCKET_GREETING_BYTES) {
        ssize_t came =
            recv(fd, greeting + *received,
                 GW__SOCKET_GREETING_BYTES - *received, MSG_DONTWAIT);
        if (came > 0)
            *received += (unsigned)came;
        else
            return came < 0 && (errno == EAGAIN || errno == EINTR);
    }
    return true;
}

/* ---- the door ---- */

enum gw_err gw__socket_bind(struct gw__socket_address *own, int *fd,
                            struct gw_error *why)
{
    union any_address address;
    socklen_t bytes = to_sockaddr(own, &address);
    const char *host = own->host[0] ? own->host : "a local name";
    if (!bytes)
        return gw_fail(why, GW_EUNREACH, "%s is not an address", host);
    *fd = socket(address.any.sa_family,
                 SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return gw_fail_errno(why, "a socket to listen");
    if (bind(*fd, &address.any, bytes) != 0 || listen(*fd, SOMAXCONN) != 0 ||
        getsockname(*fd, &address.any, &bytes) != 0)
        return gw_fail(why, GW_EUNREACH, "binding %s: %s", host,
                       strerror(errno));
    if (own->transport == GW__SOCKET_TCP) /* at the same offset as sin6_port */
        own->port = ntohs(address.four.sin_port);
    return GW_OK;
}

enum gw_err gw__socket_door_open(struct gw__socket_door *door,
                                 struct gw__socket_address *own,
                                 struct gw_error *why)
{
    struct gw__socket_address local = *own;
    enum gw_err err = gw__socket_bind(own, &door->fd, why);
    local.transport = GW__SOCKET_IPC;
    if (!err && own->transport == GW__SOCKET_TCP)
        err = gw__socket_bind(&local, &door->local_fd, why);
    return err;
}

static void show_out(struct gw__socket_door *door, unsigned guest)
{
    close(door->guests[guest].fd);
    door->guests[guest] = door->guests[--door->count];
}

void gw__socket_door_close(struct gw__socket_door *door)
{
    while (door->count > 0)
        show_out(door, door->count - 1);
    if (door->fd >= 0)
        close(door->fd);
    if (door->local_fd >= 0)
        close(door->local_fd);
    door->fd = door->local_fd = -1;
}

/* Room for one more guest. False: all places have guests that may still
 * greet. */
static bool free_guest_slot(struct gw__socket_door *door)
{
    static const uint64_t patience_ns = 1000000000U;
    uint64_t now_ns = gw_now_ns();
    for (unsigned i = door->count; i-- > 0 && door->count == GW__SOCKET_GUESTS;)
        if (now_ns - door->guests[i].came_ns > patience_ns)
            show_out(door, i);
    return door->count < GW__SOCKET_GUESTS;
}

static void accept_guests(struct gw__socket_door *door, int at,
                          const struct gw__socket_address *own)
{
    while (free_guest_slot(door)) {
        int fd = accept4(at, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        gw__socket_prepare(fd, own);
        door->guests[door->count++] =
            (struct gw__socket_guest){.fd = fd, .came_ns = gw_now_ns()};
    }
}

int gw__socket_door_admit(struct gw__socket *s, uint32_t *rank, uint32_t *lane)
{
    struct gw__socket_door *door = &s->door;
    struct gw__socket_address local = s->address;
    local.transport = GW__SOCKET_IPC;
    if (door->fd < 0)
        return -1;
    accept_guests(door, door->fd, &s->address);
    if (door->local_fd >= 0)
        accept_guests(door, door->local_fd, &local);
    for (unsigned i = door->count; i-- > 0;) {
        struct gw__socket_guest *guest = &door->guests[i];
        bool open = gw__socket_greeting_read(guest->fd, guest->greeting,
                                             &guest->received);
        if (open && guest->received < sizeof guest->greeting)
            continue;
        int fd = guest->fd;
        bool known = guest->received == sizeof guest->greeting &&
                     gw__socket_is_greeting(&s->address, s->seal,
                                            guest->greeting, rank, lane);
        door->guests[i] = door->guests[--door->count];
        if (known)
            return fd;
        close(fd);
    }
    return -1;
}
