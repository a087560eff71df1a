/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See ports.h.
 */
#include "ports.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static enum gw_err hold(int *fd, char raft[32], struct gw_error *why)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    const int yes = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0 ||
        setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(*fd, (struct sockaddr *)&address, size) != 0 ||
        getsockname(*fd, (struct sockaddr *)&address, &size) != 0)
        return gw_fail_errno(why, "a port for a controller");
    snprintf(raft, 32, "127.0.0.1:%u", ntohs(address.sin_port));
    return GW_OK;
}

enum gw_err ports_hold(struct ports *ports, char raft[][32], unsigned count,
                       struct gw_error *why)
{
    enum gw_err code = GW_OK;
    *ports = (struct ports){.count = 0};
    assert(count <= PORTS_MAX);
    while (ports->count < count && !code) {
        unsigned c = ports->count++;
        code = hold(&ports->fds[c], raft[c], why);
    }
    return code;
}

void ports_let_go(struct ports *ports)
{
    while (ports->count > 0) {
        int fd = ports->fds[--ports->count];
        if (fd >= 0)
            close(fd);
    }
}
