/* SPDX-License-Identifier: MIT
 *
 * Before a member can speak it needs a place to listen, which its peers are
 * told, and a number.
 *
 * A number from the controllers (GW_RING_ANY): messages carry their sender's
 * number, so the first request goes out under one that is drawn; the answer
 * brings the real one, under which the process then starts anew, as the same
 * incarnation. Who drew a number that is taken is not answered, and draws
 * again. It may have got a number and never have heard of it; the first members
 * are admitted as they come, so it may then have been silent, and be convicted
 * by now: after some tries it comes as another incarnation.
 */
#include "ring_parts.h"

#include "wire/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* ---- a place ---- */

/* A port of this host that is free just now. */
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
        return gw_fail(why, GW_EINVAL, "%s is no numeric host", host);
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

enum gw_err gw__ring_place(const char *wanted, char endpoint[GW__ENDPOINT_MAX],
                           struct gw_error *why)
{
    char host[GW__ENDPOINT_MAX];
    static const char tcp[] = "tcp://", any[] = ":*";
    size_t head = sizeof tcp - 1;
    memset(endpoint, 0, GW__ENDPOINT_MAX);
    enum gw_err err =
        gw__address_listen(wanted, NULL, endpoint, GW__ENDPOINT_MAX, why);
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
    memcpy(host, first, host_length);
    host[host_length] = 0;
    err = free_port(host, &port, why);
    if (!err)
        snprintf(endpoint + length - 1, GW__ENDPOINT_MAX - length + 1, "%u",
                 port);
    return err;
}

/* ---- a number ---- */

static const uint64_t answer_ns = 400000000;

enum { TRIES_A_LIFE = 3 };

static bool is_controller(const struct gw_ring *ring, unsigned node)
{
    for (unsigned i = 0; i < ring->config.controller_count; i++)
        if (ring->config.controllers[i] == node)
            return true;
    return false;
}

static unsigned draw(const struct gw_ring *ring)
{
    uint8_t drawn = 0;
    do
        if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn)
            drawn++;
    while (is_controller(ring, drawn % GW_RING_NODES));
    return drawn % GW_RING_NODES;
}

/* Waits for an answer; true: *node is ours. */
static bool await_number(struct gw_ring *ring, unsigned *node)
{
    uint64_t until_ns = gw_now_ns() + answer_ns;
    gw__ring_lock(ring);
    while (!ring->registered && gw_now_ns() < until_ns &&
           !atomic_load(&ring->interrupted))
        gw__ring_nap(ring);
    bool registered = ring->registered;
    *node = ring->node;
    ring->registered = false;
    gw__ring_unlock(ring);
    return registered;
}

enum gw_err gw__ring_find_number(struct gw_ring *ring, gw__ring_starter *start,
                                 uint64_t deadline_ns, unsigned *node,
                                 struct gw_error *why)
{
    for (unsigned tries = 1;; tries++) {
        if (tries % TRIES_A_LIFE == 0 &&
            !gw__ring_next_life(ring->config.process, &ring->incarnation))
            return gw_fail_errno(why, "getrandom");
        enum gw_err err = start(ring, GW__NODE_ANY, draw(ring), why);
        if (err)
            return err;
        bool found = await_number(ring, node);
        gw__ring_stop(ring);
        gw__ring_lock(ring); /* of the number that was drawn it knew all */
        ring->registered = ring->gone = false;
        memset(ring->known_endpoints, 0, sizeof ring->known_endpoints);
        memset(&ring->known, 0, sizeof ring->known);
        err = gw__ring_alive(ring, why);
        gw__ring_unlock(ring);
        if (found || err)
            return err;
        if (deadline_ns && gw_now_ns() >= deadline_ns)
            return gw_fail(why, GW_ETIMEOUT,
                           "no controller has given this process a number");
    }
}
