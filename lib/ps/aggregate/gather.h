/* SPDX-License-Identifier: MIT
 *
 * Gathering in an aggregator: messages of workers, by server, and messages of
 * servers, by worker. Each group is sent as one envelope. It is a state machine
 * without clock, socket or thread.
 *
 *     messages for a server are sent   when every worker of the host has one
 *                                      there, or the window of the oldest ends
 *     messages for a worker are sent   at each flush
 *
 * Without an aggregator each message for a server would be sent separately. W
 * workers that push in step to S servers need S messages instead of W S.
 */
#ifndef GW__PS_GATHER_H
#define GW__PS_GATHER_H

#include "ps/messages/bundle.h"

struct gw__gather {
    struct gw__bundles servers, workers;
    uint64_t window_ns;
    struct gw_nodes ps_members; /* workers of the host */
    /* workers with waiting messages, for each server */
    struct gw_nodes from[GW__MESSENGER_NODES];
    /* end of the window, for each server */
    uint64_t due_ns[GW__MESSENGER_NODES];
    uint64_t forwarded; /* messages for servers */
};

/* Envelopes are sent by send(context, letter), like bundles (bundle.h). */
void gw__gather_init(struct gw__gather *gather, uint64_t window_ns,
                     void (*send)(void *context,
                                  const struct gw__message_out *),
                     void *context);
void gw__gather_fini(struct gw__gather *gather);

/* Adds a worker's message for the server letter->node. False: it is too large,
 * or out of memory. */
GW_MUST_CHECK bool gw__gather_for_server(struct gw__gather *gather,
                                         uint64_t now_ns,
                                         const struct gw__message_out *message,
                                         const struct gw__bundle_end *worker);
/* Adds a server's message for the worker letter->node. False: as above. */
GW_MUST_CHECK bool gw__gather_for_worker(struct gw__gather *gather,
                                         const struct gw__message_out *message,
                                         const struct gw__bundle_end *server);
/* Sends all envelopes that are due. */
void gw__gather_flush(struct gw__gather *gather, uint64_t now_ns);
/* The end of the next window; UINT64_MAX: no messages wait. */
uint64_t gw__gather_due(const struct gw__gather *gather);

#endif
