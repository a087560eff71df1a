/* SPDX-License-Identifier: MIT
 *
 * The functions of sum.c that model.c calls. They add up the gradient of the
 * trunk, which all tasks share, and that of the head, which belongs to one task,
 * over the ranks that must have equal copies.
 */
#ifndef TASKS_H
#define TASKS_H

#include <gradwire/gradwire.h>

struct sums {
    struct gw_comm *all;  /* every rank */
    struct gw_comm *mine; /* for you to create if you need one; NULL: none */
};

/* Called once, by all ranks; this one works on `task`. */
enum gw_err sums_begin(struct sums *sums, int task, struct gw_error *why);
/* Called in each step, by all ranks: `trunk` and `head` are this rank's
 * gradients, and must become sums. Use `ring` below, so that the bytes can be
 * counted. */
enum gw_err sums_step(struct sums *sums, float *trunk, size_t trunk_floats,
                      float *head, size_t head_floats);

/* Adds `values` up over the ranks of `comm`, in place, by a ring. */
static inline enum gw_err ring(struct gw_comm *comm, float *values,
                               size_t count)
{
    const struct gw_call call = {.collective = GW_ALLREDUCE,
                                 .in = GW_IN_PLACE,
                                 .out = values,
                                 .count = count,
                                 .type = GW_F32,
                                 .op = GW_SUM,
                                 .algo = "ring"};
    return gw_run(comm, &call);
}

#endif
