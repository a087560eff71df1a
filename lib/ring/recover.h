/* SPDX-License-Identifier: MIT
 *
 * The recovery plan: how survivors complete an op from their partial results,
 * once a decision has set the contributors of its result (the target; see
 * cluster/registry/decide.h). It is verified and run like other plans, but
 * starts from the existing values (plan/start.h).
 *
 * Each chunk goes once around the ring of the survivors:
 *
 *   there is a final copy                 it is spread: each member without one
 *                                         gets it from its left
 *   there is a partial without            the largest is kept; from its holder
 *   excluded nodes                        on each member adds its input, or
 *                                         passes the value on if it contains
 *                                         that already; after the last addition
 *                                         the value is final and is spread
 *   neither                               the same from the bare input of the
 *                                         first survivor in the chunk's order
 *
 * With FORWARD the first case is true of every chunk: only the rest of the
 * all-gather remains. With EXCLUDE a chunk keeps the partials without the dead:
 * even where a later partial contained them, the one before it is still at the
 * neighbour that sent it. A member whose partial is not used starts with its
 * input again, which is unchanged.
 *
 * Order: a clean run adds chunk c in the order of the ring, starting after its
 * owner. A partial contains the beginning of that order, and a recovery
 * continues where it ends, skipping the dead. So the result has the same bits
 * as that of a clean run of the survivors (`gw__recovery_make` without partial
 * results is one).
 *
 * Cost: at most 2(p-1) steps among p survivors, all transfers between
 * neighbours; never more than a clean run.
 *
 * Large rings use trees instead, in clean runs, too: see plans/recover_tree.c.
 */
#ifndef GW__RING_RECOVER_H
#define GW__RING_RECOVER_H

#include <cluster/registry/report.h>
#include <plan/start.h>

struct gw__recovery_case {
    unsigned ranks;        /* survivors that take part in the op */
    const unsigned *nodes; /* [rank]: the new ring */
    /* [rank]: from its report. NULL or a NULL entry: it has only its input, or
     * has yet to begin. */
    const struct gw__holdings *const *held;
    unsigned chunks;
    struct gw_nodes target;
    /* The initial members of the op, dead ones included, by their places:
     * member c % origin_count owns chunk c. */
    unsigned initial_count;
    const unsigned *initial_members;
    bool trees; /* instead of a ring (chosen_plans.h) */
    /* Of an undisturbed op: this plan instead of the built-in one
     * (chosen_plans.h); NULL: the built-in one. */
    const struct gw_plan *chosen;
};

struct gw__recovery {
    struct gw_plan *plan; /* an all-reduce; no steps if all copies are final */
    /* [rank * chunks + chunk]: the set with which it starts. Only the own node:
     * the input. */
    struct gw_nodes *sets;
    struct gw__start start;
    /* Each chunk is in one of these groups, the first that applies. */
    unsigned chunks_spread; /* a final copy survived */
    /* A survivor's partial contained an excluded node and is dropped; the
     * beginning of it may be kept. */
    unsigned chunks_redone;
    unsigned chunks_kept;  /* a partial of two or more nodes continues */
    unsigned chunks_fresh; /* only the inputs */
    unsigned sums_kept;    /* additions that are not repeated */
};

/* GW_EINVAL: an inconsistent case, such as a target with a node whose data are
 * in no partial and no survivor's input. GW_EMISMATCH: reports with different
 * numbers of chunks. GW_ENOMEM. */
GW_MUST_CHECK enum gw_err gw__recovery_make(const struct gw__recovery_case *,
                                            struct gw__recovery *recovery,
                                            struct gw_error *why);
void gw__recovery_fini(struct gw__recovery *recovery);
/* As gw_plan_verify: each contributor of the target exactly once, on every
 * rank. */
GW_MUST_CHECK enum gw_err
gw__recovery_verify(const struct gw__recovery *recovery, unsigned link_chunks,
                    struct gw_verdict *verdict, struct gw_error *why);

#endif
