/* SPDX-License-Identifier: MIT
 *
 * The client of the registry. It finds the leader, repeats a request under the
 * same number until it is answered, and has one pending request followed by a
 * queue. It is part of a machine (its owner passes on messages and one timer),
 * so it is pure.
 *
 *     idle --submit--> asking --answer--> idle (or the next of the queue)
 *                      |  ^ silence or redirect: the next controller
 *                      +--+
 *
 * A request is sent to the last known leader. After each silence of
 * GW__CLIENT_REPEAT_NS the next controller gets it; one that does not lead
 * redirects the client to the leader it knows. The client never gives up. To
 * abandon a request, start again (gw__client_init) with another id. An answer
 * GW_PENDING ("admit later") ends the request like any other.
 */
#ifndef GW__CLUSTER_CLIENT_H
#define GW__CLUSTER_CLIENT_H

#include "cluster/messages/protocol.h"

enum {
    GW__CLIENT_QUEUE = 16,
    GW__CLIENT_CONTROLLERS = 7,
    GW__CLIENT_REPEAT_NS = 40000000
};

struct gw__client_config {
    struct gw__id id; /* random, chosen by the owner */
    unsigned controller_count;
    uint16_t controllers[GW__CLIENT_CONTROLLERS]; /* nodes */
};

struct gw__client_state {
    struct gw__client_config config;
    uint64_t sequence; /* of the pending request */
    uint64_t sent_ns, requested_ns;
    unsigned at;     /* the controller asked now: index in controllers */
    unsigned turn;   /* the controller asked last after a silence */
    bool redirected; /* since it was last sent on time */
    unsigned count;  /* in the queue; the first one is pending */
    unsigned tags[GW__CLIENT_QUEUE];
    struct gw__command queue[GW__CLIENT_QUEUE];
};

void gw__client_init(struct gw__client_state *client,
                     const struct gw__client_config *config);
/* Fills in client id and sequence. `tag` is returned with the answer.
 * GW_ENOMEM: the queue is full. A command replaces one in the queue with the
 * same tag, unless that one is pending. */
enum gw_err gw__client_submit(struct gw__client_state *client,
                              const struct gw__command *command, unsigned tag,
                              uint64_t now_ns, const struct gw__actions *act);
/* Handles ANSWER and REDIRECT, tag byte included. True: a request has ended,
 * with *tag and *answer. */
bool gw__client_message(struct gw__client_state *client, unsigned from,
                        const void *data, size_t bytes, uint64_t now_ns,
                        const struct gw__actions *act, unsigned *tag,
                        struct gw__answer *answer);
/* Must be called at gw__client_due or earlier. */
void gw__client_tick(struct gw__client_state *client, uint64_t now_ns,
                     const struct gw__actions *act);
uint64_t gw__client_due(const struct gw__client_state *client); /* 0: never */
/* Is a command with this tag queued or pending? */
bool gw__client_has(const struct gw__client_state *client, unsigned tag);
/* How long the pending request has had no answer; 0: no request. */
uint64_t gw__client_waiting(const struct gw__client_state *client,
                            uint64_t now_ns);

#endif
