/* SPDX-License-Identifier: MIT
 *
 * Events of the connection manager. The higher rank of a pair connects:
 *
 *   higher                             lower
 *   resolve address, then route        listen
 *   connect            -- greeting --> request: accept
 *   established: greet <-- greeting --
 *                      -- HELLO ---->  joined
 *   joined             <---- HELLO --
 *
 * Each greeting carries the token from the receiver's address, so only a member
 * can have sent it, and the zone that its receiver may write. The HELLO is the
 * first message on the queue pair. iWARP requires the connecting side to send
 * first, and the HELLO shows the other end that all is ready.
 *
 * Linux' software iWARP (siw) accepts a connection before it listens for data
 * on it, and notices data that came in between only when more data come. So a
 * rank that has sent HELLO and received none nudges its peer by empty writes,
 * again and again.
 */
#include "verbs.h"

#include <errno.h>
#include <string.h>

enum { RESOLVE_MS = 2000 };

static struct gw__verbs_greeting greeting_for(const struct gw__verbs *verbs,
                                              unsigned peer)
{
    const struct gw__verbs_link *link = &verbs->links[peer];
    struct gw__verbs_greeting greeting = {
        .magic = GW__VERBS_MAGIC,
        .from = (uint16_t)verbs->wire.rank,
        .to = (uint16_t)peer,
        .zone = (uintptr_t)link->zone,
        .rkey = link->zone_mr->rkey,
        .zone_grains = (uint32_t)(verbs->zone_bytes / GW__VERBS_GRAIN)};
    memcpy(greeting.token, link->address.token, sizeof greeting.token);
    return greeting;
}

static struct rdma_conn_param
param_of(const struct gw__verbs_greeting *greeting)
{
    return (struct rdma_conn_param){.private_data = greeting,
                                    .private_data_len = sizeof *greeting,
                                    .responder_resources = 1,
                                    .initiator_depth = 1,
                                    .retry_count = 6,
                                    .rnr_retry_count = 6};
}

/* Seven tries (an eighth would mean no limit to rdma_rxe), each of 4.096 us *
 * 2^16 = 268 ms, or more where the device adds a delay of its own: a peer that
 * does not acknowledge for a few seconds is lost. Older kernels choose the time
 * themselves. */
static void set_patience(struct rdma_cm_id *id)
{
    uint8_t exponent = 16;
    (void)rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
                          &exponent, sizeof exponent);
}

static void fail(struct gw__verbs *verbs, unsigned peer, const char *what,
                 int number)
{
    if (!verbs->refusal.code)
        gw_fail(&verbs->refusal, GW_EUNREACH, "rank %u at %s: %s%s%s", peer,
                verbs->links[peer].address.host, what, number ? ": " : "",
                number ? strerror(number) : "");
}

/* False: it is a stranger's. */
static bool read_greeting(const struct gw__verbs *verbs,
                          const struct rdma_cm_event *event,
                          struct gw__verbs_greeting *received)
{
    const struct rdma_conn_param *param = &event->param.conn;
    if (!param->private_data || param->private_data_len < sizeof *received)
        return false;
    memcpy(received, param->private_data, sizeof *received);
    return received->magic == GW__VERBS_MAGIC &&
           received->to == verbs->wire.rank &&
           received->from < verbs->wire.size &&
           received->from != verbs->wire.rank &&
           memcmp(received->token, verbs->address.token,
                  sizeof received->token) == 0;
}

static bool accept_greeting(struct gw__verbs *verbs,
                            const struct gw__verbs_greeting *received)
{
    struct gw__verbs_link *link = &verbs->links[received->from];
    link->remote_zone = received->zone;
    link->remote_key = received->rkey;
    return (uint64_t)received->zone_grains * GW__VERBS_GRAIN ==
           verbs->zone_bytes;
}

/* ---- the higher rank ---- */

static void resolve_route(struct gw__verbs *verbs, unsigned peer)
{
    if (rdma_resolve_route(verbs->links[peer].id, RESOLVE_MS) != 0)
        fail(verbs, peer, "its route", errno);
}

static void request_connection(struct gw__verbs *verbs, unsigned peer)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    struct gw__verbs_greeting greeting = greeting_for(verbs, peer);
    struct rdma_conn_param param = param_of(&greeting);
    set_patience(link->id);
    if (gw__verbs_make_queue(verbs, peer, &verbs->refusal))
        return;
    if (rdma_connect(link->id, &param) != 0)
        fail(verbs, peer, "connecting", errno);
}

static void greet(struct gw__verbs *verbs, unsigned peer,
                  const struct rdma_cm_event *event)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    struct gw__verbs_greeting received;
    struct gw__control_message hello = {.kind = GW__HELLO};
    if (peer > verbs->wire.rank)
        return; /* it will send HELLO */
    if (!read_greeting(verbs, event, &received) || received.from != peer)
        gw_fail(&verbs->refusal, GW_EMISMATCH,
                "another process answered in place of rank %u", peer);
    else if (!accept_greeting(verbs, &received))
        gw_fail(&verbs->refusal, GW_EMISMATCH,
                "rank %u uses another slice size", peer);
    else if (!gw__verbs_notify(verbs, peer, &hello))
        fail(verbs, peer, "its queue pair", errno);
    else
        link->greeted = true;
}

void gw__verbs_nudge(struct gw__verbs *verbs)
{
    for (unsigned r = 0; verbs->iwarp && r < verbs->wire.rank; r++) {
        struct gw__verbs_link *link = &verbs->links[r];
        if (link->greeted && !link->joined && !link->nudging)
            link->nudging = gw__verbs_post_nudge(verbs, r) == 0;
    }
}

/* ---- the lower rank ---- */

/* Rejects strangers; the peer may still connect. */
static void consider(struct gw__verbs *verbs, const struct rdma_cm_event *event)
{
    struct gw__verbs_greeting received;
    struct rdma_cm_id *id = event->id;
    if (!read_greeting(verbs, event, &received) ||
        received.from < verbs->wire.rank || verbs->links[received.from].id) {
        rdma_reject(id, NULL, 0);
        rdma_destroy_id(id);
        return;
    }
    unsigned peer = received.from;
    struct gw__verbs_link *link = &verbs->links[peer];
    id->context = link;
    link->id = id;
    if (!accept_greeting(verbs, &received)) {
        gw_fail(&verbs->refusal, GW_EMISMATCH,
                "rank %u uses another slice size", peer);
        return;
    }
    struct gw__verbs_greeting greeting = greeting_for(verbs, peer);
    struct rdma_conn_param param = param_of(&greeting);
    set_patience(id);
    if (gw__verbs_make_queue(verbs, peer, &verbs->refusal))
        return;
    if (rdma_accept(id, &param) != 0)
        fail(verbs, peer, "accepting", errno);
}

/* ---- both ---- */

void gw__verbs_receive_hello(struct gw__verbs *verbs, unsigned peer)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    struct gw__control_message hello = {.kind = GW__HELLO};
    if (link->joined || (peer < verbs->wire.rank && !link->greeted))
        gw__verbs_lose(verbs, peer, "an unexpected HELLO");
    else if (peer > verbs->wire.rank && !gw__verbs_notify(verbs, peer, &hello))
        fail(verbs, peer, "its queue pair", errno);
    else
        link->joined = true;
}

/* Slices that came before the end are in the completion queue: take them first.
 */
static void end_link(struct gw__verbs *verbs, unsigned peer)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    gw__verbs_progress(verbs);
    link->disconnected = true;
    if (link->id && link->id->qp)
        rdma_disconnect(link->id);
    if (!link->joined)
        fail(verbs, peer, "it hung up", 0);
    else if (link->state == GW__VERBS_UP && !verbs->over)
        gw__verbs_lose(verbs, peer, "its connection ended");
}

static unsigned peer_of(const struct gw__verbs *verbs,
                        const struct rdma_cm_event *event)
{
    const struct gw__verbs_link *link = event->id->context;
    return (unsigned)(link - verbs->links);
}

static void act(struct gw__verbs *verbs, const struct rdma_cm_event *event)
{
    if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
        consider(verbs, event);
        return;
    }
    if (event->id == verbs->listener) {
        if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
            gw_fail(&verbs->refusal, GW_EUNREACH,
                    "the RDMA device was removed");
        return;
    }
    if (!event->id->context)
        return; /* a stranger's */
    unsigned peer = peer_of(verbs, event);
    switch (event->event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
        resolve_route(verbs, peer);
        break;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
        request_connection(verbs, peer);
        break;
    case RDMA_CM_EVENT_ESTABLISHED:
        greet(verbs, peer, event);
        break;
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
        fail(verbs, peer, rdma_event_str(event->event),
             event->status < 0 ? -event->status : 0);
        break;
    case RDMA_CM_EVENT_DISCONNECTED:
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
        end_link(verbs, peer);
        break;
    default:
        break;
    }
}

/* An id must not be destroyed while an event of it is not acknowledged. So the
 * event is copied, with the private data of the connection, and acknowledged
 * first. */
void gw__verbs_receive_events(struct gw__verbs *verbs)
{
    enum { MOST = 1024 };
    struct rdma_cm_event *event;
    for (int i = 0; i < MOST && rdma_get_cm_event(verbs->events, &event) == 0;
         i++) {
        struct rdma_cm_event copy = *event;
        unsigned char received[sizeof(struct gw__verbs_greeting)];
        if (copy.param.conn.private_data &&
            copy.param.conn.private_data_len >= sizeof received)
            copy.param.conn.private_data =
                memcpy(received, copy.param.conn.private_data, sizeof received);
        else
            copy.param.conn.private_data = NULL;
        rdma_ack_cm_event(event);
        act(verbs, &copy);
    }
}
