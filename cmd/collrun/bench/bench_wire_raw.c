/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The raw socket for comparison with a wire in `collrun bench wire`: a program
 * that only writes and reads.
 */
#include "bench_wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static enum gw_err failed(const char *what, struct gw_error *why)
{
    return gw_fail_errno(why, "raw socket: %s", what);
}

/* Joins ends[0] to a listener; the far end is ends[1]. */
static enum gw_err connect_ends(int listener, int ends[2], struct gw_error *why)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (bind(listener, (const void *)&address, length) || listen(listener, 1) ||
        getsockname(listener, (void *)&address, &length))
        return failed("listen", why);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (ends[0] < 0 || connect(ends[0], (const void *)&address, length))
        return failed("connect", why);
    ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    return ends[1] < 0 ? failed("accept", why) : GW_OK;
}

static enum gw_err tcp_pair(int ends[2], struct gw_error *why)
{
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0)
        return failed("socket", why);
    enum gw_err err = connect_ends(listener, ends, why);
    close(listener);
    for (int i = 0; i < 2 && !err; i++)
        if (setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one))
            err = failed("TCP_NODELAY", why);
    return err;
}

enum gw_err bench_wire_raw_pair(const char *wire, int ends[2],
                                struct gw_error *why)
{
    ends[0] = ends[1] = -1;
    if (strcmp(wire, "tcp") == 0 || strcmp(wire, "zmq") == 0)
        return tcp_pair(ends, why);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return failed("socketpair", why);
    return GW_OK;
}

enum gw_err bench_wire_raw_send(int socket, const void *data, size_t bytes,
                                struct gw_error *why)
{
    const char *from = data;
    while (bytes > 0) {
        ssize_t done = send(socket, from, bytes, MSG_NOSIGNAL);
        if (done < 0 && errno != EINTR)
            return failed("send", why);
        if (done > 0) {
            from += done;
            bytes -= (size_t)done;
        }
    }
    return GW_OK;
}

enum gw_err bench_wire_raw_receive(int socket, void *data, size_t bytes,
                                   struct gw_error *why)
{
    char *to = data;
    while (bytes > 0) {
        ssize_t done = recv(socket, to, bytes, MSG_WAITALL);
        if (done == 0)
            return gw_fail(why, GW_ELOST,
                           "raw socket: the peer closed the connection");
        if (done < 0 && errno != EINTR)
            return failed("receive", why);
        if (done > 0) {
            to += done;
            bytes -= (size_t)done;
        }
    }
    return GW_OK;
}
