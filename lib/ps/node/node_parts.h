/* SPDX-License-Identifier: MIT
 *
 * A node from inside; see node.h. The session's lock guards the mailbox, which is
 * what the session has heard and `box`: control writes, the data thread takes.
 * `fresh` says that there is something to take, without the lock. What is above
 * and below the mailbox is one thread's.
 */
#ifndef GW__PS_NODE_PARTS_H
#define GW__PS_NODE_PARTS_H

#include "node.h"

#include <cluster/session/session.h>

enum { GW__NODE_ANSWERS = 32, GW__NODE_ASKED = 8 };

/* Where a process is to be reached by the post. */
struct gw__whereabouts {
    struct gw__id incarnation; /* none: not known */
    struct gw__address address;
};

struct gw__node_answer {
    unsigned tag;
    struct gw__answer answer;
};

/* A command that is not answered yet. */
struct gw__node_asked {
    unsigned serial; /* the member machine's tag; 0: this entry is free */
    unsigned tag;    /* the caller's */
    uint64_t hash;
};

struct gw__mailbox {
    bool has_address; /* the post is open */
    struct gw__address address;
    struct gw__whereabouts known[GW__MESSENGER_NODES];
    unsigned serial;
    struct gw__node_asked asked[GW__NODE_ASKED];
    unsigned answer_count; /* oldest first */
    struct gw__node_answer answers[GW__NODE_ANSWERS];
};

struct gw__node {
    struct gw__node_config config;
    struct gw__session session;

    _Atomic unsigned fresh; /* enum gw__node_change */
    _Atomic bool has_post;  /* it may be woken */
    struct gw__mailbox box;

    /* The control thread's. */
    uint64_t asked_ns;

    /* The data thread's. */
    struct gw__messenger *post;
    unsigned number;
    struct gw__membership_update news;
    uint64_t lease_ns;
    bool gone, parked;
    char gone_text[200], parked_text[200];
    struct gw__id reaches[GW__MESSENGER_NODES]; /* whom the post knows */
    uint64_t reached;
    struct gw_error starved; /* GW_ENOMEM: a member found no room in the post */
    struct gw__whereabouts *known; /* a copy of the mailbox's */
};

/* Has this process to do with that one? Workers have with servers, servers with
 * all, nobody with himself. */
static inline bool gw__node_deals_with(const struct gw__node *node,
                                       const struct gw__crew_member *member)
{
    return member->node != node->number &&
           (node->config.role == GW__SERVER || member->role == GW__SERVER);
}

/* ---- node_control.c: hooks of the session ---- */

void gw__node_on_told(void *context, const struct gw__told *told);
void gw__node_on_turn(void *context);
void gw__node_on_message(void *context, unsigned from,
                         struct gw__id incarnation, const void *data,
                         size_t bytes);
/* Something is in the mailbox; with the lock. */
void gw__node_tell(struct gw__node *node, unsigned changes);

/* ---- node_meet.c: control ---- */

/* Asks those whose address is missing, when it is time. */
void gw__node_meet(struct gw__node *node, uint64_t now_ns);
void gw__node_met(struct gw__node *node, unsigned from,
                  struct gw__id incarnation, const void *data, size_t bytes);

#endif
