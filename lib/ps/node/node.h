/* SPDX-License-Identifier: MIT
 *
 * A process of the parameter server in the real world: what workers (client.c)
 * and servers (process.c) have in common. Two threads meet here:
 *
 *   control   the session's (cluster/session/session.h): runs the member machine, which
 *             registers, says HELLO, hears the controllers' news and brings
 *             commands to them; and exchanges addresses with the crew
 *   data      the caller's: it alone uses the post (wire/messenger/messenger.h)
 *
 * Control writes what it hears into a mailbox under a lock, and wakes the post.
 * The data thread calls gw__node_turn in each turn: that costs one load when
 * there is nothing new; else it takes what has come over and tells the post
 * who is to be reached where, and who is to be forgotten.
 *
 * Addresses. The crew are the active workers and servers of the registry. Who
 * lacks the address of a member that it may have to speak with (workers speak
 * with servers, servers with all) says WHERE to it every 20 ms; HERE is the
 * answer. Both bring the sender's own address, so one of them is enough for
 * both. An address counts for the incarnation that sent it, and only while the
 * news names that incarnation; another one is another peer (post.h).
 *
 * Files: node.c opens and closes, node_control.c is the control thread's side,
 * node_turn.c the data thread's, node_meet.c the exchange of addresses.
 */
#ifndef GW__PS_NODE_H
#define GW__PS_NODE_H

#include <cluster/messages/protocol.h>
#include <gradwire/ps.h>
#include <stdatomic.h>
#include <wire/messenger/messenger.h>

struct gw__node;

struct gw__node_config {
    unsigned node;      /* or GW_PS_ANY: the controllers choose */
    enum gw__role role; /* GW__WORKER or GW__SERVER */
    const char *endpoint;
    uint64_t token;
    unsigned controller_count;
    const unsigned *controllers;
    const char *const *controller_endpoints;
    const char *wire; /* NULL: "shm" */
    const char *interface, *key_file;
    bool insecure;
    bool copy_always; /* shm: nothing is read in place */
    unsigned join_ms; /* to become a member; 0: 10 s */
    /* Not owned; NULL: none. Once it is true gw__node_open gives up with
     * GW_EINTR. */
    const _Atomic bool *interrupt;
    /* Experiments that hold from the start: see gw__node_link. */
    const struct gw_ps_link *links; /* [GW_PS_NODES]; NULL: none */
    uint64_t pace_ns;
};

/* Everything in the config is copied. Returns when the registry counts this
 * process as active. GW_EINVAL: a config without sense; GW_ETIMEOUT: no
 * controller has answered in time; GW_ECLOSED: the node number is another
 * process's; and what the mesh and the post fail with. */
GW_MUST_CHECK enum gw_err gw__node_open(const struct gw__node_config *config,
                                        struct gw__node **node,
                                        struct gw_error *why);
/* Without a word, as if the process had died; everything that was lent has come
 * back (`back` is called from here). NULL allowed. Parcels that are still held
 * stay readable. */
void gw__node_close(struct gw__node **node);
/* Says LEAVE to the controllers and waits until they say that it has left, or
 * the deadline. The node is gone then, and still to be closed. GW_ETIMEOUT. */
GW_MUST_CHECK enum gw_err gw__node_leave(struct gw__node *node,
                                         uint64_t deadline_ns,
                                         struct gw_error *why);

/* ---- links.c: experiments; by one thread at a time, whichever ---- */

/* What comes from node `from` obeys this, control messages and data alike. */
void gw__node_link(struct gw__node *node, unsigned from,
                   const struct gw_ps_link *link);
/* Every message takes so long; 0: as fast as it goes. */
void gw__node_pace(struct gw__node *node, uint64_t ns);

/* ---- the data thread's; gw__node_wake and gw__node_command from any ---- */

unsigned gw__node_number(const struct gw__node *node);
struct gw__id gw__node_incarnation(const struct gw__node *node);
struct gw__messenger *gw__node_post(struct gw__node *node);
/* Ends a gw__messenger_wait of the data thread. */
void gw__node_wake(struct gw__node *node);

enum gw__node_change {
    GW__NODE_NEWS = 1,    /* gw__node_news is newer */
    GW__NODE_LEASE = 2,   /* gw__node_lease has changed */
    GW__NODE_GONE = 4,    /* gw__node_gone says why; nothing more will come */
    GW__NODE_ANSWER = 8,  /* gw__node_answer has some */
    GW__NODE_PARKED = 16, /* gw__node_parked has changed */
    GW__NODE_HEARD = 64,  /* the leader has answered gw__node_ask_news */
    GW__NODE_REACH = 32   /* the post reaches a node that it did not before, see
                             gw__node_reached */
};
/* Takes over what control has heard since; says what, as bits. Call it once a
 * turn, before parcels are received: then the post never brings a parcel of a
 * process that the last news did not name. */
unsigned gw__node_turn(struct gw__node *node);

/* The newest that was taken over; index 0: none yet. Until the next turn. */
const struct gw__membership_update *gw__node_news(const struct gw__node *node);
/* Servers: it may serve until then, by gw_now_ns(); 0: not. */
uint64_t gw__node_lease(const struct gw__node *node);
/* GW_OK, or GW_ECLOSED with the reason: convicted, replaced, left. */
enum gw_err gw__node_gone(const struct gw__node *node, struct gw_error *why);
/* It has heard no leader of the controllers for long; *text (may be NULL) is a
 * sentence then, until the next turn. */
bool gw__node_parked(const struct gw__node *node, const char **text);
/* Nodes, as bits, that became reachable in the last turn. */
uint64_t gw__node_reached(const struct gw__node *node);
/* Is the post able to send to this node now? */
bool gw__node_reaches(const struct gw__node *node, unsigned peer);

/* A command to the controllers; repeated until it is answered. Its answer is
 * told by its tag (below 0xffff); GW__NODE_FORGET: nobody wants it, and one
 * with the same content that waits already is enough. The number and
 * incarnation of `who` are filled in when who.node is GW__NODE_ANY.
 * GW_ENOMEM: too many wait; GW_ECLOSED. */
enum { GW__NODE_FORGET = 0xffff };
GW_MUST_CHECK enum gw_err gw__node_command(struct gw__node *node,
                                           const struct gw__command *command,
                                           unsigned tag);
/* Asks the controllers for news, which GW__NODE_HEARD ends. */
GW_MUST_CHECK enum gw_err gw__node_ask_news(struct gw__node *node);
/* The next answer that has come; false: none. */
bool gw__node_answer(struct gw__node *node, unsigned *tag,
                     struct gw__answer *answer);

#endif
