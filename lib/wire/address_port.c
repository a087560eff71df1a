/* SPDX-License-Identifier: MIT
 *
 * Endpoints to listen at with any port. A free port is chosen before the socket
 * is made, since a process sends its endpoint to others first. See address.h.
 */
#include "address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A port of this host that is free now. */
static enum gw_err free_port(const char *host, unsigned *port,
                             struct gw_error *why)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    char text[NI_MAXSERV];
    *port = 0;
    if (getaddrinfo(host, "0", &hints, &found) != 0)
        return gw_fail(why, GW_EINVAL, "%s is not a numeric host", host);
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0 &&
        getsockname(fd, (struct sockaddr *)&bound, &size) == 0 &&
        getnameinfo((struct sockaddr *)&bound, size, NULL, 0, text, sizeof text,
                    NI_NUMERICSERV) == 0)
        *port = (unsigned)strtoul(text, NULL, 10);
    freeaddrinfo(found);
    enum gw_err err =
        *port ? GW_OK : gw_fail_errno(why, "a free port of %s", host);
    if (fd >= 0)
        close(fd);
    return err;
}

enum gw_err gw__address_bindable(const char *wanted, char *endpoint,
                                 size_t room, struct gw_error *why)
{
    char host[GW__HOST_MAX];
    static const char tcp[] = "tcp://", any[] = ":*";
    size_t head = sizeof tcp - 1;
    memset(endpoint, 0, room);
    enum gw_err err = gw__address_listen(wanted, NULL, endpoint, room, why);
    size_t length = strlen(endpoint);
    if (err || strncmp(endpoint, tcp, head) != 0 || length < head + 2 ||
        strcmp(endpoint + length - 2, any) != 0)
        return err;
    unsigned port;
    size_t host_length = length - head - 2;
    const char *first = endpoint + head;
    if (host_length > 2 && first[0] == '[') { /* [::1] */
        first++;
        host_length -= 2;
    }
    if (host_length >= sizeof host)
        return gw_fail(why, GW_EINVAL, "%s: the host's name is too long",
                       wanted);
    memcpy(host, first, host_length);
    host[host_length] = 0;
    err = free_port(host, &port, why);
    if (!err)
        snprintf(endpoint + length - 1, room - length + 1, "%u", port);
    return err;
}
