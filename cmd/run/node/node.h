/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The process of a ring's member, of a worker or a server of parameter servers.
 * Two threads beside the library's:
 *
 *   main     a life, and the next one after a conviction: node.c in the ring
 *            (node_turn.c: one op after the other), ps_worker.c, ps_server.c
 *   poster   node_post.c: takes orders from the supervisor, and tells it how
 *            the process stands
 *
 * Main alone uses the state and the work; what the poster has to know of them
 * main copies into `note`. The poster alone obeys the rules of links, so they
 * hold while main waits. node_main.c has how the process begins and ends,
 * node_begin.c how any life does.
 */
#ifndef NODE_H
#define NODE_H

#include "node_events.h"
#include "work.h"

#include <pthread.h>

struct node {
    struct birth birth;
    struct outbox *outbox;
    int wake_fd; /* the poster sleeps on it */
    pthread_t poster;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* orders, leave; waits by CLOCK_MONOTONIC */
    /* ---- under `lock` ---- */
    struct orders orders;
    /* One of them at most; NULL while it is not joined. Main makes and ends it,
     * the poster uses it. */
    struct gw_ring *ring;
    struct gw_ps *ps;
    struct gw_ps_server *server;
    bool leave;
    bool over;          /* the poster is to end */
    uint64_t described; /* the newest order to tell what it knows */
    struct node_note note;

    /* ---- main's own, in a ring ---- */
    struct gw_plugin *suspicion; /* of the birth; NULL: none */
    struct work *work; /* that the state is of, or that it is to become */
    struct work *next; /* newer, and read; begun when all have read it */
    void *state;
    size_t state_bytes;
    struct gw_error wrong; /* found in `apply` */
    bool stale; /* others have begun what this member does not know: rejoin */
    bool stays; /* the last member: cannot leave */
    uint64_t scored, began, began_ns; /* ids of works, and when */
};

/* ---- node_main.c ---- */

/* What a life ends with: GW_OK, it has left; else why it could not go on. */
typedef enum gw_err life(struct node *node, struct gw_error *why);
life ring_live, worker_live, server_live;

bool node_wants_to_leave(struct node *node);
/* The sentence about trouble, into the note. */
void node_say(struct node *node, const struct gw_error *why);
void node_stage(struct node *node, enum node_stage stage);
/* As the library says it. */
unsigned node_number(const struct birth *birth);
struct node_addresses {
    char own[ENDPOINT_MAX], controllers[RUN_CONTROLLERS_MAX][ENDPOINT_MAX];
};
void node_addresses_of(const struct birth *birth,
                       struct node_addresses *addresses);
struct gw_ps_link ps_link_of(const struct gw_ring_link *link);

/* node_begin.c */
/* How to become what one lives as. */
struct node_beginning {
    /* Before each try; its error ends them. NULL: nothing is to be done. */
    enum gw_err (*prepare)(struct node *node, struct gw_error *why);
    enum gw_err (*join)(void *context, const struct orders *orders,
                        struct gw_error *why);
    void *context;
    bool waits_for_work; /* GW_EMISMATCH passes: others are at other work */
};
/* Tries, by the newest orders each time, until one succeeds, cannot succeed, or
 * the node is to leave. What the last one answered. */
GW_MUST_CHECK enum gw_err node_begin(struct node *node,
                                     const struct node_beginning *how,
                                     struct gw_error *why);
/* Is a link down? */
bool orders_cut(const struct orders *orders);
/* `code` is what asking to leave has answered: GW_EINVAL says that it is the
 * last, and stays: GW_PENDING. */
enum gw_err node_stays(struct node *node, enum gw_err code,
                       const struct gw_error *why);

/* node_post.c */
GW_MUST_CHECK enum gw_err node_post_start(struct node *node,
                                          struct gw_error *why);
/* With `lock` held: what has been joined obeys the rules of links. */
void node_obey(struct node *node);
/* With `lock` held: how the ring or server stands, into the note; without a
 * ring, what was said last stays there. */
void node_look(struct node *node);
/* Ends the poster, after what is in the outbox, and sends the last words:
 * `error` with a code, or the note alone. */
void node_post_end(struct node *node, const struct gw_error *error);

/* node_turn.c */
/* The state of the newest work, before its first step. */
GW_MUST_CHECK enum gw_err node_fresh(struct node *node, struct gw_error *why);
/* A result, as gw_ring_config.apply. */
void node_apply(void *context, const struct gw_ring_result *result);
/* One op. GW_OK; what the ring said; or that something is wrong. */
GW_MUST_CHECK enum gw_err node_turn(struct node *node, struct gw_error *why);
/* What main knows, into the note. */
void node_tell(struct node *node, enum node_stage stage);
/* Computing takes longer, by so much as is wanted now. */
void node_be_slow(struct node *node);
/* Sleeps at most `ns`; less when there are new orders. */
void node_nap(struct node *node, uint64_t ns);

#endif
