/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Connects the ranks of an engine to rank 0's supervisor: each rank writes its
 * frames to a socket. The address and a token of 128 random bits travel over
 * the communicator, which is encrypted when it has a key. A caller without the
 * token is disconnected. Within a host the socket is abstract, and the kernel
 * confirms that both ends belong to one user.
 */
#include "launch_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The first message of a caller. */
struct hello {
    uint64_t token[2];
    uint32_t rank;
    int32_t pid;
    char host[48];
};
_Static_assert(sizeof(struct hello) == FAR_HELLO_BYTES, "a caller's");

union address {
    struct sockaddr any;
    struct sockaddr_un un;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

/* Converts the address for the kernel and returns its length; 0: invalid. */
static socklen_t spell(const struct far_address *address, union address *out)
{
    memset(out, 0, sizeof *out);
    if (!address->host[0]) {
        size_t length = strnlen(address->name, sizeof address->name - 1);
        out->un.sun_family = AF_UNIX;
        memcpy(out->un.sun_path + 1, address->name, length);
        return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    }
    if (inet_pton(AF_INET, address->host, &out->in.sin_addr) == 1) {
        out->in.sin_family = AF_INET;
        out->in.sin_port = htons(address->port);
        return sizeof out->in;
    }
    if (inet_pton(AF_INET6, address->host, &out->in6.sin6_addr) != 1)
        return 0;
    out->in6.sin6_family = AF_INET6;
    out->in6.sin6_port = htons(address->port);
    return sizeof out->in6;
}

static enum gw_err learn_port(int fd, struct far_address *address,
                              struct gw_error *why)
{
    union address own = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t bytes = sizeof own;
    if (!address->host[0])
        return GW_OK;
    if (getsockname(fd, &own.any, &bytes) != 0)
        return gw_fail_errno(why, "a socket at %s", address->host);
    address->port = ntohs(own.any.sa_family == AF_INET ? own.in.sin_port
                                                       : own.in6.sin6_port);
    return GW_OK;
}

enum gw_err far_listen(const char *interface, struct far_address *address,
                       int *fd, struct gw_error *why)
{
    union address to;
    *address = (struct far_address){.port = 0};
    if (interface)
        snprintf(address->host, sizeof address->host, "%s", interface);
    if (getrandom(address->token, sizeof address->token, 0) !=
        sizeof address->token)
        return gw_fail_errno(why, "getrandom");
    snprintf(
        address->name, sizeof address->name, "gradwire-reports-%016llx",
        (unsigned long long)gw_hash(address->token, sizeof address->token, 0));
    socklen_t bytes = spell(address, &to);
    if (bytes == 0)
        return gw_fail(why, GW_EINVAL,
                       "\"%.60s\" is not an address; name the interface by "
                       "its address",
                       interface);
    *fd =
        socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0 || bind(*fd, &to.any, bytes) != 0 ||
        listen(*fd, SOMAXCONN) != 0)
        return gw_fail_errno(why, "a socket for the ranks' reports");
    return learn_port(*fd, address, why);
}

enum gw_err far_connect(const struct far_address *address, unsigned rank,
                        int *fd, struct gw_error *why)
{
    union address to;
    struct hello hello = {.rank = rank, .pid = (int32_t)getpid()};
    memcpy(hello.token, address->token, sizeof hello.token);
    if (gethostname(hello.host, sizeof hello.host - 1) != 0 || !hello.host[0])
        snprintf(hello.host, sizeof hello.host, "?");
    socklen_t bytes = spell(address, &to);
    *fd = bytes ? socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (*fd < 0 || connect(*fd, &to.any, bytes) != 0 ||
        send(*fd, &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello) {
        gw_fail_errno(why, "cannot connect to the supervisor of rank 0");
        if (*fd >= 0)
            close(*fd);
        return why->code;
    }
    return GW_OK;
}

static bool is_same_user(int fd)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
           peer.uid == geteuid();
}

/* ---- callers ---- */

/* Removes a caller. `hang_up`: also closes its socket. */
static void leave(struct far_callers *all, unsigned index, bool hang_up)
{
    if (hang_up)
        close(all->callers[index].fd);
    all->count--;
    memmove(&all->callers[index], &all->callers[index + 1],
            (all->count - index) * sizeof all->callers[0]);
}

void far_leave(struct far_callers *all)
{
    while (all->count > 0)
        leave(all, 0, true);
}

static void let_in(int listen_fd, bool same_host, struct far_callers *all)
{
    int fd;
    while ((fd = accept4(listen_fd, NULL, NULL,
                         SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        if (same_host && !is_same_user(fd)) {
            close(fd);
            continue;
        }
        if (all->count == FAR_CALLERS_MAX)
            leave(all, 0, true);
        all->callers[all->count++] = (struct far_caller){.fd = fd};
    }
}

/* GW_PENDING: the hello is not complete yet. */
static enum gw_err receive_hello(struct far_caller *caller,
                                 const struct far_address *address,
                                 struct hello *hello)
{
    ssize_t got = recv(caller->fd, caller->hello + caller->received,
                       sizeof caller->hello - caller->received, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return GW_PENDING;
    if (got <= 0)
        return GW_ECLOSED;
    caller->received += (unsigned)got;
    if (caller->received < sizeof caller->hello)
        return GW_PENDING;
    memcpy(hello, caller->hello, sizeof *hello);
    return memcmp(hello->token, address->token, sizeof hello->token) == 0
               ? GW_OK
               : GW_EUNREACH;
}

static void record_hello(struct hello *hello, unsigned *rank,
                         struct ending *ending)
{
    *rank = hello->rank;
    ending->pid = hello->pid;
    hello->host[sizeof hello->host - 1] = 0;
    snprintf(ending->host, sizeof ending->host, "%s",
             hello->host[0] ? hello->host : "?");
}

bool far_accept(int listen_fd, const struct far_address *address,
                struct far_callers *all, int *fd, unsigned *rank,
                struct ending *ending)
{
    struct hello hello;
    let_in(listen_fd, !address->host[0], all);
    for (unsigned i = 0; i < all->count;) {
        enum gw_err err = receive_hello(&all->callers[i], address, &hello);
        if (err == GW_OK) {
            *fd = all->callers[i].fd;
            leave(all, i, false);
            record_hello(&hello, rank, ending);
            return true;
        }
        if (err == GW_PENDING)
            i++;
        else
            leave(all, i, true);
    }
    return false;
}
