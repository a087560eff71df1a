/* SPDX-License-Identifier: MIT
 *
 * The aggregator of a host: a member of the crew that stands between the workers
 * of one host and all servers. Workers give it their small letters for servers
 * in one message; it gathers those of all workers (gather.h) and sends them to
 * each server as one message, an envelope (ps/messages/bundle.h) in which each
 * letter has its true sender. Answers come back the same way. It sums nothing
 * and keeps nothing, so what counts once does so as before: servers know a push
 * by its worker, incarnation and sequence number, and a worker repeats what is
 * not answered. What an aggregator loses when it dies is repeated, to the server
 * itself.
 *
 *     worker --.                      .--> server     large letters, and those
 *     worker --+--> aggregator  ------+--> server     that are repeated, go
 *     worker --'                      '--> server     from worker to server
 *
 * It is a thread of the worker with the lowest number on its host (see
 * client_aggregate.c), with a node and a post of its own: a worker computes
 * while others wait. When that process dies the next one starts another.
 *
 * Receivers hold each letter against the news (gw__node_trusts); an aggregator
 * speaks for nobody but the workers of its host. What does not fit is dropped
 * and counted.
 */
#ifndef GW__PS_AGGREGATOR_H
#define GW__PS_AGGREGATOR_H

#include "ps/node/node.h"

struct gw__aggregator;

/* Starts the thread, which joins the crew. `like` is the worker's; its strings
 * must last as long as the aggregator. `number` may be GW_PS_ANY. */
GW_MUST_CHECK enum gw_err
gw__aggregator_start(const struct gw__node_config *like, unsigned number,
                     uint64_t window_ns, struct gw__aggregator **aggregator,
                     struct gw_error *why);
/* It could not join, or is a member no more: to be stopped. */
bool gw__aggregator_ended(const struct gw__aggregator *aggregator);
/* Sends what waits and leaves, if `politely`; else as if it had died. NULL
 * allowed. */
void gw__aggregator_stop(struct gw__aggregator **aggregator, bool politely);

struct gw__aggregator_counts {
    uint64_t letters;  /* of workers, for servers */
    uint64_t messages; /* that carried them */
    uint64_t refused;  /* messages and letters */
};
void gw__aggregator_get_counts(const struct gw__aggregator *aggregator,
                               struct gw__aggregator_counts *counts);

#endif
