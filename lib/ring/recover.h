/* SPDX-License-Identifier: MIT
 *
 * The recovery plan: how survivors complete an op from what they hold, once a
 * decision has said whose data its result is to contain (the target; see
 * cluster/decide.h). It is a plan like others, verified and run like others;
 * only it begins with what is there (plan/start.h).
 *
 * Each chunk goes once around the ring of the survivors:
 *
 *   a copy of the target's set is there   it is spread: each member without one
 *                                         gets it from its left
 *   a partial that lacks the excluded     the largest is kept; from its holder
 *                                         on each member adds its input, or
 *                                         passes the value on if it is in it
 *                                         already; at the last addition the
 *                                         value is final and is spread
 *   none                                  the same from the bare input of the
 *                                         first survivor in the chunk's order
 *
 * With FORWARD the first is true of every chunk: only the rest of the
 * all-gather is left. With EXCLUDE a chunk keeps the work that does not contain
 * the dead: also where a later partial already did, the one from before it is
 * still at the neighbour that sent it. Everybody whose partial is not used
 * begins with its input again, which has stayed as it was.
 *
 * Order: a clean ring adds chunk c in the order of the ring from the member
 * after its owner on. A partial holds the beginning of that order, and a
 * recovery goes on where it ends, skipping the dead. So the result has the same
 * bits as that of a clean run of the survivors (`gw__recovery_make` without
 * holdings is one).
 *
 * Cost: at most 2(p-1) steps among p survivors, all transfers between
 * neighbours; never more than a clean run.
 */
#ifndef GW__RING_RECOVER_H
#define GW__RING_RECOVER_H

#include <cluster/registry/report.h>
#include <plan/start.h>

struct gw__recovery_case {
    unsigned ranks;        /* survivors that take part in the op */
    const unsigned *nodes; /* [rank]: the new ring */
    /* [rank]: what it reported; NULL or an entry of NULL: it has only its
     * input, or has yet to begin. */
    const struct gw__holdings *const *held;
    unsigned chunks;
    uint64_t target; /* nodes as bits */
    /* The ring in which the op began, dead members included, by their places:
     * chunk c is owned by its member c % origin_count. */
    unsigned origin_count;
    const unsigned *origin;
};

struct gw__recovery {
    struct gw_plan *plan; /* an all-reduce; without steps when all is there */
    uint64_t *sets;       /* [rank * chunks + chunk]: what it begins with: the
                             own node alone means the input */
    struct gw__start start;
    /* Each chunk is one of these, the first that is true of it. */
    unsigned chunks_spread; /* a complete copy survived */
    unsigned chunks_redone; /* some survivor's partial contained the excluded
                               and is thrown away; its beginning may be kept */
    unsigned chunks_kept;   /* a partial of two or more goes on */
    unsigned chunks_fresh;  /* nothing but the inputs */
    unsigned sums_kept;     /* additions that need not be done again */
};

/* GW_EINVAL for a case that makes no sense: reports of different numbers of
 * chunks ("ranks called different things" is GW_EMISMATCH), a target that holds
 * somebody's data which is in no partial and no survivor's input. GW_ENOMEM. */
GW_MUST_CHECK enum gw_err gw__recovery_make(const struct gw__recovery_case *,
                                            struct gw__recovery *recovery,
                                            struct gw_error *why);
void gw__recovery_fini(struct gw__recovery *recovery);
/* As gw_plan_verify: each contributor of the target exactly once, everywhere.
 */
GW_MUST_CHECK enum gw_err
gw__recovery_verify(const struct gw__recovery *recovery, unsigned link_chunks,
                    struct gw_verdict *verdict, struct gw_error *why);

#endif
