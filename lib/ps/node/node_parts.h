/* SPDX-License-Identifier: MIT
 *
 * A node's internals; see node.h. The session's lock guards the mailbox, which
 * is the session's state and `box`: the control thread writes, the data thread
 * copies. `fresh` has the changes, readable without the lock. All other fields
 * belong to one thread, as marked.
 */
#ifndef GW__PS_NODE_PARTS_H
#define GW__PS_NODE_PARTS_H

#include "node.h"

#include <cluster/session/session.h>

enum { GW__NODE_ANSWERS = 32, GW__NODE_PENDING_MAX = 8 };

/* The messenger address of a process. */
struct gw__whereabouts {
    struct gw__id incarnation; /* zero: unknown */
    struct gw__address address;
};

struct gw__node_answer {
    unsigned tag;
    struct gw__answer answer;
};

/* A command without an answer yet. */
struct gw__node_pending {
    /* tag in the membership state machine; 0: this entry is free */
    unsigned serial;
    unsigned tag; /* of the caller */
    uint64_t hash;
};

struct gw__mailbox {
    bool has_address; /* the messenger is open */
    struct gw__address address;
    struct gw__whereabouts known[GW__MESSENGER_NODES];
    unsigned serial;
    struct gw__node_pending pending[GW__NODE_PENDING_MAX];
    unsigned answer_count; /* in order of arrival */
    struct gw__node_answer answers[GW__NODE_ANSWERS];
};

struct gw__node {
    struct gw__node_config config;
    unsigned controllers[GW_PS_CONTROLLERS];
    const char *controller_endpoints[GW_PS_CONTROLLERS];
    struct gw__session session;

    _Atomic unsigned fresh;     /* enum gw__node_change */
    _Atomic bool has_messenger; /* the messenger exists and may be woken */
    struct gw__mailbox box;

    /* Control thread only. */
    uint64_t requested_ns;

    /* Data thread only. */
    struct gw__messenger *messenger;
    unsigned number;
    struct gw__membership_update update;
    uint64_t lease_ns;
    bool gone, parked;
    char gone_text[200], parked_text[200];
    struct gw__id reaches[GW__MESSENGER_NODES]; /* the messenger's peers */
    struct gw_nodes reached;
    /* GW_ENOMEM: the messenger had no room for a member */
    struct gw_error starved;
    struct gw__whereabouts *known; /* copy of the mailbox's addresses */
    /* of an aggregator: the workers of its host */
    struct gw_nodes behind[GW__MESSENGER_NODES];
};

/* ---- node_members.c ---- */

/* Do these two nodes exchange data? */
bool gw__node_exchanges_with(const struct gw__node *node,
                             const struct gw__ps_member *member);
/* Finds the workers for which each aggregator may forward, after an update. */
void gw__node_learn_hosts(struct gw__node *node);

/* ---- node_control.c: hooks of the session ---- */

void gw__node_on_notification(void *context,
                              const struct gw__notification *notification);
uint64_t gw__node_on_turn(void *context);
void gw__node_on_message(void *context, unsigned from,
                         struct gw__id incarnation, const void *data,
                         size_t bytes);
/* Reports changes in the mailbox. The caller has the lock. */
void gw__node_notify(struct gw__node *node, unsigned changes);

/* ---- node_addresses.c: control ---- */

/* Asks members with unknown addresses, when it is time. */
void gw__node_connect(struct gw__node *node, uint64_t now_ns);
void gw__node_connected(struct gw__node *node, unsigned from,
                        struct gw__id incarnation, const void *data,
                        size_t bytes);

#endif
