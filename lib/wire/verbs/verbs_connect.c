/* SPDX-License-Identifier: MIT
 *
 * Connecting the peers: the higher rank of a pair connects to the lower one,
 * which listens; verbs_event.c has the steps. All pairs connect at the same
 * time.
 */
#include "verbs.h"

#include "wire/rank_list.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

static enum gw_err read_address(struct gw__verbs *verbs, unsigned peer,
                                const struct gw__address *address,
                                struct gw_error *why)
{
    struct gw__verbs_endpoint_address *endpoint = &verbs->links[peer].address;
    if (address->bytes == sizeof *endpoint)
        memcpy(endpoint, address->blob, sizeof *endpoint);
    if (endpoint->magic != GW__VERBS_MAGIC ||
        strnlen(endpoint->host, sizeof endpoint->host) == sizeof endpoint->host)
        return gw_fail(why, GW_EMISMATCH, "rank %u did not open the verbs wire",
                       peer);
    if (endpoint->iwarp != verbs->address.iwarp)
        return gw_fail(why, GW_EMISMATCH,
                       "rank %u has %s device, but this rank %s; use the same "
                       "kind on all ranks",
                       peer, endpoint->iwarp ? "an iWARP" : "no iWARP",
                       verbs->iwarp ? "an iWARP one" : "none");
    return GW_OK;
}

static bool address_of(const struct gw__verbs_endpoint_address *endpoint,
                       struct sockaddr_storage *address)
{
    struct sockaddr_in *v4 = (void *)address;
    struct sockaddr_in6 *v6 = (void *)address;
    memset(address, 0, sizeof *address);
    if (inet_pton(AF_INET, endpoint->host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(endpoint->port);
        return true;
    }
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(endpoint->port);
    return inet_pton(AF_INET6, endpoint->host, &v6->sin6_addr) == 1;
}

static enum gw_err begin_connect(struct gw__verbs *verbs, unsigned peer,
                                 struct gw_error *why)
{
    enum { RESOLVE_MS = 2000 };
    struct gw__verbs_link *link = &verbs->links[peer];
    struct sockaddr_storage own, theirs;
    struct gw__verbs_endpoint_address mine = verbs->address;
    mine.port = 0;
    if (!address_of(&link->address, &theirs) || !address_of(&mine, &own))
        return gw_fail(why, GW_EMISMATCH, "rank %u has no address", peer);
    if (rdma_create_id(verbs->events, &link->id, link, RDMA_PS_TCP) != 0)
        return gw_fail_errno(why, "a connection to rank %u", peer);
    if (rdma_resolve_addr(link->id, (struct sockaddr *)&own,
                          (struct sockaddr *)&theirs, RESOLVE_MS) != 0)
        return gw_fail(why, GW_EUNREACH, "rank %u at %s: %s", peer,
                       link->address.host, strerror(errno));
    return GW_OK;
}

static enum gw_err join_peer(struct gw__verbs *verbs, unsigned peer,
                             const struct gw__address *address,
                             struct gw_error *why)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    enum gw_err err = read_address(verbs, peer, address, why);
    if (err)
        return err;
    /* For other hosts, only the end of the connection shows a death. */
    struct gw_error far;
    err = gw__process_watch_add(&verbs->process_watch, peer,
                                &link->address.process, &far);
    if (err && err != GW_ENOTSUP)
        return gw_fail(why, err, "%s", far.text);
    return peer < verbs->wire.rank ? begin_connect(verbs, peer, why) : GW_OK;
}

/* A rank that has ended without meeting this one, or -1. Messages that it has
 * sent arrive within a while. */
static int find_missed(const struct gw__verbs *verbs)
{
    static const uint64_t last_words_ns = 100 * 1000000U;
    uint64_t now = gw_now_ns();
    for (unsigned r = 0; r < verbs->wire.size; r++) {
        const struct gw__verbs_link *link = &verbs->links[r];
        if (r != verbs->wire.rank && !link->joined && link->ended_ns &&
            now - link->ended_ns > last_words_ns)
            return (int)r;
    }
    return -1;
}

static enum gw_err late(const struct gw__verbs *verbs, struct gw_error *why)
{
    bool joined[GW__WIRE_PEERS_MAX] = {false};
    char missing[GW__RANK_LIST_BYTES];
    for (unsigned r = 0; r < verbs->wire.size; r++)
        joined[r] = r == verbs->wire.rank || verbs->links[r].joined;
    gw__rank_list(joined, verbs->wire.size, missing);
    return gw_fail(why, GW_ETIMEOUT, "%s did not connect in time", missing);
}

static bool all_joined(const struct gw__verbs *verbs)
{
    bool all = true;
    for (unsigned r = 0; r < verbs->wire.size; r++)
        all &= r == verbs->wire.rank || verbs->links[r].joined;
    return all;
}

static enum gw_err join_all(struct gw__verbs *verbs, uint64_t deadline_ns,
                            struct gw_error *why)
{
    static const uint64_t pause_ns = 10 * 1000000U;
    assert(verbs->wire.size <= GW__WIRE_PEERS_MAX);
    for (;;) {
        gw__verbs_receive_events(verbs);
        gw__verbs_receive_ends(verbs);
        gw__verbs_progress(verbs);
        gw__verbs_nudge(verbs);
        if (all_joined(verbs))
            return GW_OK;
        int missed = find_missed(verbs);
        if (missed >= 0)
            return gw_fail(why, GW_ELOST, "rank %d ended before it connected",
                           missed);
        if (verbs->refusal.code)
            return gw_fail(why, verbs->refusal.code, "%s", verbs->refusal.text);
        if (verbs->error.code)
            return gw_fail(why, verbs->error.code, "%s", verbs->error.text);
        if (gw__wire_interrupted(&verbs->wire))
            return gw_fail(why, GW_EINTR, "interrupted while connecting");
        if (gw_now_ns() >= deadline_ns)
            return late(verbs, why);
        gw__verbs_doze(verbs, gw__wire_nap_ns(&verbs->wire, pause_ns));
    }
}

enum gw_err gw__verbs_connect(struct gw__wire *wire,
                              const struct gw__address *table,
                              uint64_t deadline_ns, struct gw_error *why)
{
    struct gw__verbs *verbs = gw__verbs_of(wire);
    enum gw_err err = GW_OK;
    for (unsigned r = 0; r < wire->size && !err; r++)
        if (r != wire->rank)
            err = join_peer(verbs, r, &table[r], why);
    struct epoll_event event = {.events = EPOLLIN,
                                .data.fd = verbs->process_watch.fd};
    if (!err && verbs->process_watch.fd >= 0 &&
        epoll_ctl(verbs->epoll_fd, EPOLL_CTL_ADD, verbs->process_watch.fd,
                  &event) != 0)
        err = gw_fail_errno(why, "listening for the end of peers");
    if (!err)
        err = join_all(verbs, deadline_ns, why);
    return err ? gw_wrap(why, err, "verbs wire") : GW_OK;
}
