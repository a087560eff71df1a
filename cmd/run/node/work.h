/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The work of a ring's members, as a replicated state: flat memory, equal on
 * all members after equal ops, which only work_apply changes. The next op
 * follows from the state alone (work_next). So all members do the same, and a
 * newcomer, which receives the state, continues in step.
 *
 *     tick    no work: a small op, so that joins and views go on, by which the
 *             members also agree when to begin new work
 *     step    of the work: an all-reduce of gradients, or of self-checking
 *             numbers; or another collective, and an all-reduce of the hashes
 *             of its results, which is what changes the state
 *     check   now and then: are all states equal?
 *
 *     WORK_TRAIN: head | parameters | velocity | shards       work_train.c
 *     WORK_OPS:   head                                        work_ops.c,
 *                                                             work_collective.c
 *
 * Data shards are batches of rows: place i of an op trains on the i-th batch
 * that is not done in this data epoch (gradwire/ring.h), and the step divides
 * by the rows that counted. So a death changes the distribution of rows over
 * steps, and nothing else.
 *
 * Nothing here waits or communicates; node.c does.
 */
#ifndef WORK_H
#define WORK_H

#include "child_channel.h"

#include <learn/data/row_source.h>

enum { WORK_CHECK_STEPS = 64 };

/* The tags of ops. */
enum work_next { WORK_TICK = 1, WORK_STEP, WORK_CHECK };

/* The beginning of the state. */
struct work_head {
    uint64_t id; /* of the work */
    uint32_t done;
    uint32_t diverged; /* the loss is NaN or too large; sets `done`, too */
    uint64_t step;     /* steps that are complete */
    uint64_t checked;  /* the step after which states were last compared */
    uint64_t unequal;  /* comparisons that found a difference */
    double loss;       /* mean of the newest step's rows */
    double epoch_loss, epoch_right, epoch_rows; /* of this data epoch so far */
    uint64_t until;   /* the stop rule has ended it; sets `done`, too */
    uint64_t results; /* the hash of all results of collectives */
};

struct work {
    struct work_order order;
    size_t state_bytes;
    /* WORK_TRAIN */
    struct gw__row_source train;
    struct gw_dataset *test;
    uint64_t data_bytes;    /* of rows, read on demand for training */
    struct gw_model *model; /* its shape; parameters are in the state */
    struct gw_order rows;
    unsigned shuffled; /* the data epoch of `rows` */
    struct gw_sums sums;
    /* This member's contribution to a step, and its length. */
    void *mine;
    size_t count;
    enum gw_dtype type;
    uint64_t check[2];
    /* WORK_OPS: errors found here, by contributor, and wrong elements */
    uint64_t sums_lost, sums_doubled, wrong;
    /* of a collective: its result, and the node that `mine` is of */
    uint64_t *result;
    unsigned filled_for;
};

/* Reads the data and makes room. GW_EDATA, GW_EINVAL: invalid data. */
GW_MUST_CHECK enum gw_err work_load(const struct work_order *order,
                                    uint64_t seed, struct work **work,
                                    struct gw_error *why);
void work_destroy(struct work **work);
/* Writes the state before the first step into state_bytes of memory. */
void work_begin(const struct work *work, void *state);

enum work_next work_next(const void *state);
/* The contribution of `node` at `place` to the next op (not a tick). GW_EDATA:
 * its rows cannot be read any more. */
GW_MUST_CHECK enum gw_err work_contribute(struct work *work, const void *state,
                                          unsigned node, unsigned place,
                                          struct gw_ring_call *call,
                                          struct gw_error *why);
/* Applies the result of an op (not of a tick) to the state. */
void work_apply(struct work *work, void *state,
                const struct gw_ring_result *result);
/* GW_EWRONG: the result of a step of ops differs from its contributions. */
GW_MUST_CHECK enum gw_err work_evaluate(struct work *work,
                                        const struct gw_ring_result *result,
                                        struct gw_error *why);
/* Scores the finished model; takes a while. */
void work_score(struct work *work, const void *state, struct score *score);
/* The data epoch, and what its audit found. */
void work_audit(const struct work *work, const void *state,
                struct node_status *status);

/* ---- work_train.c, work_ops.c: the two kinds ---- */

GW_MUST_CHECK enum gw_err work_train_load(struct work *work, uint64_t seed,
                                          struct gw_error *why);
void work_train_begin(const struct work *work, void *state);
GW_MUST_CHECK enum gw_err work_train_contribute(struct work *work,
                                                const void *state,
                                                unsigned place,
                                                struct gw_error *why);
void work_train_apply(struct work *work, void *state,
                      const struct gw_ring_result *result);
const struct gw_shards *work_train_shards(const struct work *work,
                                          const void *state);

GW_MUST_CHECK enum gw_err work_ops_load(struct work *work,
                                        struct gw_error *why);
void work_ops_contribute(struct work *work, unsigned node);

/* ---- work_collective.c: a step of ops that run whole (run/ring_algos.h) ---- */

bool work_is_whole(const struct work *work);
/* GW_EINVAL: too large for the largest number of members. */
GW_MUST_CHECK enum gw_err work_collective_check(const struct work_order *order,
                                                struct gw_error *why);
GW_MUST_CHECK enum gw_err work_collective_load(struct work *work,
                                               struct gw_error *why);
/* The call of this step. Its root is place 0. */
void work_collective_call(struct work *work, const void *state, unsigned node,
                          struct gw_call *call);
/* Compares all of the result: GW_EWRONG. `root`: the node of the call's root.
 * The hash of the result becomes the contribution of work_contribute. */
GW_MUST_CHECK enum gw_err
work_collective_evaluate(struct work *work, const void *state, unsigned node,
                         unsigned root, const struct gw_ring_result *result,
                         struct gw_error *why);

#endif
