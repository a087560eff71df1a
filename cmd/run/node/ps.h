/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by workers and servers of parameter servers, and the parts of a
 * worker:
 *
 *   ps_worker.c   its lives: connected, tables and plan made, item after item
 *   ps_work_item.c one work item: keys, pull, compute, push
 *   ps_evaluate.c    the finished model: scores, and a digest of all weights
 *   ps.c          shared functions
 */
#ifndef PS_H
#define PS_H

#include "node.h"
#include "settings.h"

/* ---- ps.c ---- */

/* It was declared dead: starts another incarnation. */
void ps_rejoin(struct node *node, const struct gw_error *why);

/* The ordered task, with its data read. */
GW_MUST_CHECK enum gw_err ps_task_load(const struct work_order *order,
                                       uint64_t seed, struct gw_task **task,
                                       struct gw_error *why);
/* With as many threads as `settings` request for hogwild. */
GW_MUST_CHECK enum gw_err ps_work_item_new(const struct gw_task *task,
                                           const struct settings *settings,
                                           struct gw_work_item **work_item,
                                           struct gw_error *why);
/* The number of keys that its tables can have. */
uint64_t ps_model_keys(const struct gw_task *task);
/* Equal for equal bits in all rows, wherever they come from. */
GW_MUST_CHECK enum gw_err ps_digest(const struct gw_task *task,
                                    const struct gw_fetch *fetch,
                                    uint64_t *digest, struct gw_error *why);

/* ---- a worker ---- */

struct ps_table {
    unsigned number; /* the servers' */
    unsigned width;
    float *rows, *gradients; /* of the item */
    size_t room;             /* floats each */
};

struct ps_worker {
    struct node *node;
    struct gw_ps *ps;
    struct work_order order; /* id 0: none yet */
    struct settings settings;
    struct gw_task *task;
    struct gw_work_item *work_item;
    unsigned table_count;
    struct ps_table tables[GW_TASK_TABLES_MAX];
    bool open;           /* this connection has made tables and plan */
    bool done, diverged; /* no items are left */
    bool holds;          /* an item, with these sums: */
    struct gw_ps_work work;
    struct gw_sample_sums sums;
    uint64_t began_ns;          /* its first request for an item; 0: none */
    struct gw_ps_counts before; /* of former connections */
};

/* Tables and plan: the first worker makes them. */
GW_MUST_CHECK enum gw_err ps_worker_open(struct ps_worker *worker,
                                         struct gw_error *why);
/* Executes `work`, from keys to the acknowledged push, and returns its `sums`.
 * GW_ENUMERIC: a push contained a NaN or infinity. Or the client's error. */
GW_MUST_CHECK enum gw_err ps_work_item_run(struct ps_worker *worker,
                                           struct gw_error *why);
void ps_work_item_free(struct ps_worker *worker);
/* Scores the finished model into the note. */
GW_MUST_CHECK enum gw_err ps_evaluate(struct ps_worker *worker,
                                      struct gw_error *why);

#endif
