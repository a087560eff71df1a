/* SPDX-License-Identifier: MIT
 *
 * A node: the parts that workers (client.c) and servers (process.c) of the
 * parameter server share as processes. Two threads are involved:
 *
 *   control   the session's thread (cluster/session/session.h): runs the
 *             membership state machine, which registers, sends HELLO, receives
 *             membership updates and delivers commands to the controllers; and
 *             exchanges addresses with other members
 *   data      the caller's thread: the only one that uses the messenger
 *             (wire/messenger/messenger.h)
 *
 * The control thread writes all changes into a mailbox under a lock and wakes
 * the messenger. The data thread calls gw__node_turn once per turn. Without
 * changes this costs one load. Otherwise it copies the changes and updates the
 * messenger's peers.
 *
 * Addresses. The peers are the active workers and servers of the registry.
 * Workers need the addresses of servers; servers need all addresses. A node
 * that lacks an address sends WHERE to that member every 20 ms; HERE is the
 * answer. Both contain the sender's own address, so one of them is enough for
 * both nodes. An address is valid for the incarnation that sent it, and only
 * while the membership update has that incarnation. Another incarnation is
 * another peer (messenger.h).
 *
 * An aggregator (ps/aggregate/aggregator.h) exchanges messages with all servers
 * and with the workers of its host: those whose endpoint is on the same host.
 *
 * Files: node.c opens and closes, node_control.c has the control thread's side,
 * node_turn.c the data thread's, node_addresses.c the exchange of addresses,
 * node_members.c the rules of which members exchange messages.
 */
#ifndef GW__PS_NODE_H
#define GW__PS_NODE_H

#include <cluster/messages/protocol.h>
#include <gradwire/ps.h>
#include <stdatomic.h>
#include <wire/messenger/messenger.h>

struct gw__node;

struct gw__node_config {
    unsigned node;      /* or GW_PS_ANY: the controllers choose a number */
    enum gw__role role; /* GW__WORKER, GW__SERVER or GW__AGGREGATOR */
    const char *endpoint;
    struct gw__security security;
    unsigned controller_count;
    const unsigned *controllers;
    const char *const *controller_endpoints;
    const char *wire; /* NULL: "shm" */
    const char *interface;
    bool copy_always; /* shm: receivers never read in place */
    unsigned join_ms; /* time limit for joining; 0: 10 s */
    /* Not owned; NULL: none. As soon as it is true, gw__node_open fails with
     * GW_EINTR. */
    const _Atomic bool *interrupt;
    /* Link profiles from the start. */
    const struct gw_link_profile *links; /* [GW_PS_NODES]; NULL: none */
    uint64_t pace_ns;
};

/* Copies the whole config. Returns when the registry counts this process as
 * active. GW_EINVAL: an invalid config. GW_ETIMEOUT: no controller has answered
 * in time. GW_ECLOSED: another process has the node number. Errors of the
 * control channel and the messenger are passed on. */
GW_MUST_CHECK enum gw_err gw__node_open(const struct gw__node_config *config,
                                        struct gw__node **node,
                                        struct gw_error *why);
/* Closes without a message, as if the process had died. All lent memory is
 * returned (`back` is called from here). NULL is allowed. Received messages
 * that are still referenced stay readable. */
void gw__node_close(struct gw__node **node);
/* Sends LEAVE to the controllers and waits until they confirm it, or until the
 * deadline. Afterwards the node must still be closed. GW_ETIMEOUT. */
GW_MUST_CHECK enum gw_err gw__node_leave(struct gw__node *node,
                                         uint64_t deadline_ns,
                                         struct gw_error *why);

/* ---- data thread only, except gw__node_wake, gw__node_command ---- */

unsigned gw__node_number(const struct gw__node *node);
struct gw__id gw__node_incarnation(const struct gw__node *node);
struct gw__messenger *gw__node_messenger(struct gw__node *node);
/* Ends the data thread's gw__messenger_wait. */
void gw__node_wake(struct gw__node *node);

enum gw__node_change {
    GW__NODE_UPDATE = 1,  /* gw__node_update has a newer update */
    GW__NODE_LEASE = 2,   /* gw__node_lease has changed */
    GW__NODE_GONE = 4,    /* the node has ended; gw__node_gone has the reason */
    GW__NODE_ANSWER = 8,  /* gw__node_answer has an answer */
    GW__NODE_PARKED = 16, /* gw__node_parked has changed */
    GW__NODE_UPDATE_DONE =
        64,             /* the leader has answered gw__node_request_update */
    GW__NODE_REACH = 32 /* a node has become reachable, see gw__node_reached */
};
/* Copies the changes from the control thread and returns them as bits. Call it
 * once per turn, before messages are received. Then the messenger never
 * delivers a message from a process that the newest membership update does not
 * contain. */
unsigned gw__node_turn(struct gw__node *node);

/* The newest membership update; index 0: none yet. Valid until the next
 * turn. */
const struct gw__membership_update *
gw__node_update(const struct gw__node *node);
/* Servers: end of the lease, in gw_now_ns() time; 0: no lease. */
uint64_t gw__node_lease(const struct gw__node *node);
/* GW_OK, or GW_ECLOSED with the reason: declared dead, replaced, left. */
enum gw_err gw__node_gone(const struct gw__node *node, struct gw_error *why);
/* True: no leader of the controllers has answered for long. *text (may be NULL)
 * describes this, until the next turn. */
bool gw__node_parked(const struct gw__node *node, const char **text);
/* Nodes that became reachable in the last turn. */
struct gw_nodes gw__node_reached(const struct gw__node *node);
/* Can the messenger send to this node now? */
bool gw__node_reaches(const struct gw__node *node, unsigned peer);

/* Its configuration. The strings live as long as the node. */
const struct gw__node_config *gw__node_config(const struct gw__node *node);
/* Finds a member in the newest update by number; NULL: none. */
const struct gw__ps_member *gw__node_member(const struct gw__node *node,
                                            unsigned peer);
/* May the sender of `envelope` forward this message? An aggregator may, between
 * the workers of its host and servers. */
bool gw__node_trusts(const struct gw__node *node,
                     const struct gw__message_in *envelope,
                     const struct gw__message_in *forwarded);

/* Sends a command to the controllers, repeatedly until it is answered. The
 * answer is returned with its tag, below GW__NODE_FORGET. With GW__NODE_FORGET
 * there is no answer, and the command is dropped if an equal one is waiting. If
 * who.node is GW__NODE_ANY, the node's own number and incarnation are filled
 * in. GW_ENOMEM: too many commands wait; GW_ECLOSED. */
enum { GW__NODE_FORGET = 0xffff };
GW_MUST_CHECK enum gw_err gw__node_command(struct gw__node *node,
                                           const struct gw__command *command,
                                           unsigned tag);
/* Asks the controllers for an update; GW__NODE_UPDATE_DONE reports the end. */
GW_MUST_CHECK enum gw_err gw__node_request_update(struct gw__node *node);
/* Takes the next answer. False: none. */
bool gw__node_answer(struct gw__node *node, unsigned *tag,
                     struct gw__answer *answer);

#endif
