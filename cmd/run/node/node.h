/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The process of a ring member, or of a worker or server of parameter servers.
 * It has two threads besides the library's:
 *
 *   main     a life, and the next one after it was declared dead: node.c in the
 *            ring (op by op: node_turn.c), ps_worker.c, ps_server.c
 *   poster   node_channel.c: receives orders from the supervisor, and reports
 *   the
 *            status of the process
 *
 * Only main uses the state and the work; it copies their status into `note` for
 * the poster. Only the poster applies link profiles, so they take effect while
 * main waits. node_main.c has the start and end of the process, node_begin.c
 * those of any life.
 */
#ifndef NODE_H
#define NODE_H

#include "node_events.h"
#include "run/ring_algos.h"
#include "work.h"

#include <pthread.h>

struct node {
    struct child_config config;
    struct event_queue *queue;
    int wake_fd; /* wakes the poster */
    pthread_t poster;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* orders, leave; waits by CLOCK_MONOTONIC */
    /* ---- with `lock` held ---- */
    struct desired_state desired;
    /* At most one of them is set; all are NULL while it is not joined. Main
     * creates and destroys it, the poster uses it. */
    struct gw_ring *ring;
    struct gw_ps *ps;
    struct gw_ps_server *server;
    bool leave;
    bool over;          /* the poster should end */
    uint64_t described; /* the newest order to describe its state */
    struct node_status status;

    /* ---- main's own, in a ring ---- */
    struct gw_plugin *suspicion; /* from the birth message; NULL: none */
    struct ring_algos algos;     /* likewise */
    struct work *work; /* the work of the state, or of the one to receive */
    struct work *next; /* newer work; begun when all have read it */
    void *state;
    size_t state_bytes;
    struct gw_error wrong; /* found in `apply` */
    bool stale;            /* others have begun unknown work: rejoin */
    bool stays;            /* the last member: cannot leave */
    uint64_t scored, began, began_ns; /* ids of works, and a time */
};

/* ---- node_main.c ---- */

/* One life of the process. GW_OK: it has left; else the reason why it could not
 * go on. */
typedef enum gw_err life(struct node *node, struct gw_error *why);
life ring_live, worker_live, server_live;

bool node_wants_to_leave(struct node *node);
/* Copies the error's sentence into the note. */
void node_report_error(struct node *node, const struct gw_error *why);
void node_stage(struct node *node, enum node_stage stage);
/* The library's number of the node. */
unsigned node_number(const struct child_config *config);
struct node_addresses {
    char own[ENDPOINT_MAX], controllers[RUN_CONTROLLERS_MAX][ENDPOINT_MAX];
};
void node_addresses_of(const struct child_config *config,
                       struct node_addresses *addresses);

/* node_program.c */
/* Executes the program of the order; returns only if that fails. */
enum gw_err node_become_program(const struct work_order *order,
                                struct gw_error *why);

/* node_begin.c */
/* How to begin a life. */
struct node_beginning {
    /* Called before each try; an error ends the tries. May be NULL. */
    enum gw_err (*prepare)(struct node *node, struct gw_error *why);
    enum gw_err (*join)(void *context, const struct desired_state *desired,
                        struct gw_error *why);
    void *context;
    bool waits_for_work; /* GW_EMISMATCH is temporary: others have other work */
};
/* Tries, with the newest orders each time, until it succeeds, fails
 * permanently, or the node is to leave. Returns the result of the last try. */
GW_MUST_CHECK enum gw_err node_begin(struct node *node,
                                     const struct node_beginning *how,
                                     struct gw_error *why);
/* Is a link down? */
bool desired_state_has_cut(const struct desired_state *desired);
/* Handles the result of leaving: GW_EINVAL means that the node is the last one
 * and stays, which returns GW_PENDING. */
enum gw_err node_stays(struct node *node, enum gw_err code,
                       const struct gw_error *why);

/* node_channel.c */
GW_MUST_CHECK enum gw_err node_child_channel_start(struct node *node,
                                                   struct gw_error *why);
/* With `lock` held: applies the link profiles to the member. */
void node_obey(struct node *node);
/* With `lock` held: copies the status of the ring or server into the note.
 * Without one, the last status stays. */
void node_update_status(struct node *node);
/* Ends the poster once the outbox is empty, and sends the last message: `error`
 * if it has a code, else the note. */
void node_child_channel_end(struct node *node, const struct gw_error *error);

/* node_collective.c */
/* The collective of a step, checked. GW_PENDING: it has not been done, and all
 * members repeat the step. Else as node_turn. */
GW_MUST_CHECK enum gw_err node_collective(struct node *node,
                                          const struct gw_ring_turn *turn,
                                          struct gw_error *why);

/* node_turn.c */
/* The state of the newest work, before its first step. */
GW_MUST_CHECK enum gw_err node_fresh(struct node *node, struct gw_error *why);
/* A result, as gw_ring_config.apply. */
void node_apply(void *context, const struct gw_ring_result *result);
/* One op. Returns GW_OK, the ring's error, or an error of the work. */
GW_MUST_CHECK enum gw_err node_turn(struct node *node, struct gw_error *why);
/* Copies main's status into the note. */
void node_report(struct node *node, enum node_stage stage);
/* Delays the computation by the time that is currently ordered. */
void node_be_slow(struct node *node);
/* Sleeps at most `ns`; new orders end the sleep. */
void node_nap(struct node *node, uint64_t ns);

#endif
