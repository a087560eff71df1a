/* SPDX-License-Identifier: MIT
 *
 * The aggregator of a host: a member between the workers of one host and all
 * servers. Workers send it their small messages for servers in one message. It
 * gathers those of all workers (gather.h) and sends them to each server as one
 * message, an envelope (ps/messages/bundle.h), in which each message has its
 * true sender. Replies take the same way back.
 *
 * An aggregator does not sum and has no persistent state, so exactly-once
 * pushes need no change. Servers identify a push by its worker, incarnation and
 * sequence number, and a worker repeats unanswered messages, directly to the
 * server. So messages that a dying aggregator loses are repeated, too.
 *
 *     worker --.                      .--> server     large messages and
 *     worker --+--> aggregator  ------+--> server     repetitions go directly
 *     worker --'                      '--> server     from worker to server
 *
 * The aggregator is a thread in the worker with the lowest number on its host
 * (see client_aggregate.c), with its own node and messenger, since a worker
 * computes while others wait. If that process dies, the next one starts
 * another.
 *
 * Receivers check each message against the membership update (gw__node_trusts):
 * an aggregator may forward only for the workers of its host. Other messages
 * are dropped and counted.
 */
#ifndef GW__PS_AGGREGATOR_H
#define GW__PS_AGGREGATOR_H

#include "ps/node/node.h"

struct gw__aggregator;

/* Starts the thread, which becomes a member. `like` is the worker's config; its
 * strings must live as long as the aggregator. `number` may be GW_PS_ANY. */
GW_MUST_CHECK enum gw_err
gw__aggregator_start(const struct gw__node_config *like, unsigned number,
                     uint64_t window_ns, struct gw__aggregator **aggregator,
                     struct gw_error *why);
/* True if it could not join or is not a member any more; it must be stopped. */
bool gw__aggregator_ended(const struct gw__aggregator *aggregator);
/* `politely`: sends waiting messages and leaves; otherwise it ends as if it had
 * died. NULL is allowed. */
void gw__aggregator_stop(struct gw__aggregator **aggregator, bool politely);

struct gw__aggregator_counts {
    uint64_t forwarded; /* messages from workers to servers */
    uint64_t messages;  /* envelopes for them */
    uint64_t refused;   /* envelopes, and messages in them */
};
void gw__aggregator_get_counts(const struct gw__aggregator *aggregator,
                               struct gw__aggregator_counts *counts);

#endif
