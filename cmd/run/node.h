/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A member's process. Two threads beside the library's:
 *
 *   main     node.c: a life in the ring, and the next one after a conviction;
 *            node_turn.c: one op after the other, as the state wants
 *   poster   node_post.c: takes orders from the supervisor, and tells it how
 *            the member stands
 *
 * Main alone uses the state and the work; what the poster has to know of them
 * main copies into `note`. The poster alone obeys the rules of links, so they
 * hold while main waits.
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
    struct gw_ring *ring; /* NULL while it is not joined; main makes and ends
                             it, the poster uses it */
    bool leave;
    bool over; /* the poster is to end */
    struct node_note note;

    /* ---- main's own ---- */
    struct work *work; /* that the state is of, or that it is to become */
    struct work *next; /* newer, and read; begun when all have read it */
    void *state;
    size_t state_bytes;
    struct gw_error wrong; /* found in `apply` */
    bool stale; /* others have begun what this member does not know: rejoin */
    bool stays; /* the last member: cannot leave */
    uint64_t scored, began, began_ns; /* ids of works, and when */
};

/* node_post.c */
GW_MUST_CHECK enum gw_err node_post_start(struct node *node,
                                          struct gw_error *why);
/* With `lock` held: how the ring stands, into the note; without a ring, what
 * was said last stays there. */
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
/* Sleeps at most `ns`; less when there are new orders. */
void node_nap(struct node *node, uint64_t ns);

#endif
