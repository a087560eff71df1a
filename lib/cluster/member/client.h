/* SPDX-License-Identifier: MIT
 *
 * The asking end of the registry: finds the leader, repeats a request under the
 * same number until it is answered, has one under way and a queue behind it.
 * Part of a machine (its owner passes on messages and one timer), so pure.
 *
 *     idle --submit--> asking --answer--> idle (or the next of the queue)
 *                      |  ^ silence or redirect: the next controller
 *                      +--+
 *
 * A request is sent to the leader that was last heard of. After each silence of
 * GW__CLIENT_REPEAT_NS another controller gets it, one after the other; one
 * that does not lead sends the client to the leader it knows. It never gives
 * up: who wants to begins anew (gw__client_init), under another id then. An
 * answer GW_PENDING ("admit later") ends the request as any other.
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
    struct gw__id id; /* drawn at random by the owner */
    unsigned controller_count;
    uint8_t controllers[GW__CLIENT_CONTROLLERS]; /* nodes */
};

struct gw__client_state {
    struct gw__client_config config;
    uint64_t sequence; /* of the request under way */
    uint64_t sent_ns, asked_ns;
    unsigned at;     /* whom it asks now: index in controllers */
    unsigned turn;   /* whom it asked last after a silence */
    bool redirected; /* since it was sent last when it was due */
    unsigned count;  /* in the queue; the first is under way */
    unsigned tags[GW__CLIENT_QUEUE];
    struct gw__command queue[GW__CLIENT_QUEUE];
};

void gw__client_init(struct gw__client_state *client,
                     const struct gw__client_config *config);
/* Client id and sequence are filled in. `tag` comes back with the answer.
 * GW_ENOMEM: the queue is full. A command with a tag that is already in the
 * queue, not under way, replaces that one. */
enum gw_err gw__client_submit(struct gw__client_state *client,
                              const struct gw__command *command, unsigned tag,
                              uint64_t now_ns, const struct gw__actions *act);
/* ANSWER and REDIRECT, tag byte included. True: *answer and *tag are of a
 * request that has ended now. */
bool gw__client_message(struct gw__client_state *client, unsigned from,
                        const void *data, size_t bytes, uint64_t now_ns,
                        const struct gw__actions *act, unsigned *tag,
                        struct gw__answer *answer);
/* To be called now and then, at the latest at gw__client_due. */
void gw__client_tick(struct gw__client_state *client, uint64_t now_ns,
                     const struct gw__actions *act);
uint64_t gw__client_due(const struct gw__client_state *client); /* 0: never */
/* Is a command with this tag queued or under way? */
bool gw__client_has(const struct gw__client_state *client, unsigned tag);
/* How long the request under way has been without an answer; 0: none is. */
uint64_t gw__client_waiting(const struct gw__client_state *client,
                            uint64_t now_ns);

#endif
