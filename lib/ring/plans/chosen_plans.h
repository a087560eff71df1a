/* SPDX-License-Identifier: MIT
 *
 * The plans of undisturbed ops, where the configuration names algorithms
 * instead of the built-in ones: imported schedules, plan files, algorithms of
 * the library. The first algorithm that has a plan for the number of members is
 * used. For any other number a built-in plan is used: in all-reduces of the
 * ring, and in every recovery, the ring's own (recover.h); in gw_ring_run the
 * choice of the library.
 *
 * The plan of a number of members is a function of that number and of the
 * configuration, which is the same for all members. So they need not agree on
 * it, and the number of an op's chunks follows from that of its initial
 * members.
 *
 * Requirements, beyond those of gw_plan_verify:
 *   - the same order of additions on all ranks (addition_order.h), since all
 *     members must have the same bits; of an all-reduce without scratch
 *
 * and for gw_ring_allreduce, which recovers chunk by chunk:
 *   - no scratch, since the contributor sets are per chunk, and a report
 *     has one holding of each
 *   - no more chunks than a report has room for
 *
 * gw_ring_run needs neither: it repeats an op as a whole.
 *
 * The built-in plan of an op that began with up to GW__RING_PLAN_MOST members
 * is a ring with a chunk per member. Beyond that its 2(p-1) steps take longer
 * than they save, and its p^2 chunks more memory: the plan is trees of
 * GW__TREE_CHUNKS chunks (recover_tree.c).
 */
#ifndef GW__RING_CHOSEN_PLANS_H
#define GW__RING_CHOSEN_PLANS_H

#include <base/machine.h>
#include <gradwire/plan.h>

enum { GW__RING_PLAN_MOST = 64, GW__TREE_CHUNKS = 16 };

struct gw__chosen_plans {
    unsigned ring_most; /* instead of GW__RING_PLAN_MOST, for tests; or 0 */
    const struct gw_algo *const *algos; /* not owned */
    unsigned algo_count;                /* 0: always the built-in plan */
    enum gw_collective collective;
    bool whole; /* for gw_ring_run, else for gw_ring_allreduce */
    struct gw_plan *plans[GW__NODES_MAX + 1]; /* by ranks; NULL: built-in */
    bool searched[GW__NODES_MAX + 1];
};

/* For gw_ring_allreduce. */
void gw__chosen_plans_init(struct gw__chosen_plans *chosen,
                           const struct gw_algo *const *algos,
                           unsigned algo_count);
/* For gw_ring_run of this collective. */
void gw__whole_plans_init(struct gw__chosen_plans *chosen,
                          enum gw_collective collective,
                          const struct gw_algo *const *algos,
                          unsigned algo_count);
void gw__chosen_plans_fini(struct gw__chosen_plans *chosen);
/* The plan for so many members, which belongs to `chosen`. NULL: the built-in
 * one. `chosen` may be NULL. */
const struct gw_plan *gw__chosen_plan(struct gw__chosen_plans *chosen,
                                      unsigned members);
/* Is the built-in plan of an op that begins with so many members trees? */
bool gw__chosen_trees(const struct gw__chosen_plans *chosen, unsigned members);
/* The number of chunks of an op that begins with so many members. */
unsigned gw__chosen_chunks(struct gw__chosen_plans *chosen, unsigned members);
/* The `chunk` of GW_EV_EPOCH (gradwire/event.h). */
uint32_t gw__chosen_event_chunk(struct gw__chosen_plans *chosen,
                                unsigned members);

/* Makes and checks one algorithm's plan. GW_EINVAL: another collective, or
 * another number of ranks. GW_EPLAN: it is wrong. GW_ENOTSUP: it does not meet
 * the requirements above. */
GW_MUST_CHECK enum gw_err gw__chosen_plan_make(const struct gw_algo *algo,
                                               unsigned members,
                                               struct gw_plan **plan,
                                               struct gw_error *why);
/* The same for gw_ring_run of this collective. */
GW_MUST_CHECK enum gw_err gw__whole_plan_make(enum gw_collective collective,
                                              const struct gw_algo *algo,
                                              unsigned members,
                                              struct gw_plan **plan,
                                              struct gw_error *why);
/* GW_ENOTSUP: its chunks cannot be recovered one by one; only gw_ring_run can
 * use the plan. */
GW_MUST_CHECK enum gw_err
gw__plan_has_chunk_recovery(const struct gw_plan *plan, struct gw_error *why);

#endif
