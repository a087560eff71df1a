/* SPDX-License-Identifier: MIT
 *
 * What an aggregator has gathered: letters of workers for each server, which
 * leave as one message, and letters of servers for each worker. A machine
 * without clock, socket or thread.
 *
 *     letters for a server leave   when every worker of the host has one there,
 *                                  or the oldest has waited for the window
 *     letters for a worker leave   at each flush
 *
 * Without an aggregator each letter for a server would be a message to it. W
 * workers that push in step to S servers need S messages instead of W S.
 */
#ifndef GW__PS_GATHER_H
#define GW__PS_GATHER_H

#include "ps/messages/bundle.h"

struct gw__gather {
    struct gw__bundles servers, workers;
    uint64_t window_ns;
    uint64_t crew;                        /* workers of the host, as bits */
    uint64_t from[GW__MESSENGER_NODES];   /* workers whose letters wait, */
    uint64_t due_ns[GW__MESSENGER_NODES]; /* until then, for the server */
    uint64_t letters;                     /* for servers */
};

/* Letters travel by send(context, letter), as those of bundle.h. */
void gw__gather_init(struct gw__gather *gather, uint64_t window_ns,
                     void (*send)(void *context,
                                  const struct gw__message_out *),
                     void *context);
void gw__gather_fini(struct gw__gather *gather);

/* A worker's letter for the server letter->node. False: it is too large, or
 * there is no memory. */
GW_MUST_CHECK bool gw__gather_for_server(struct gw__gather *gather,
                                         uint64_t now_ns,
                                         const struct gw__message_out *letter,
                                         const struct gw__bundle_end *worker);
/* A server's letter for the worker letter->node; likewise. */
GW_MUST_CHECK bool gw__gather_for_worker(struct gw__gather *gather,
                                         const struct gw__message_out *letter,
                                         const struct gw__bundle_end *server);
/* Sends what is to leave now. */
void gw__gather_flush(struct gw__gather *gather, uint64_t now_ns);
/* When the next window ends; UINT64_MAX: nothing waits. */
uint64_t gw__gather_due(const struct gw__gather *gather);

#endif
