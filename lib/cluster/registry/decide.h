/* SPDX-License-Identifier: MIT
 *
 * FORWARD or EXCLUDE: the fate of an op that a member left before its end. It
 * is here, below lib/ring, because the registry applies it: the log entry that
 * completes the reports decides, on every replica alike.
 *
 *   FORWARD  of each chunk a final copy survives, all with the same set: those
 *            copies are distributed. The dead members' data counts, once.
 *   EXCLUDE  otherwise: the survivors that take part in the op are its
 *            contributors.
 *
 * A member may use its result before the others have theirs, for this reason:
 * it holds every final copy, so if it survives, its report forces FORWARD. If
 * it does not survive, its use of the result is lost with it. A final copy
 * counts only if its set is the one that was decided last for its op. One from
 * before an EXCLUDE that its holder missed is a partial sum like others.
 */
#ifndef GW__CLUSTER_DECIDE_H
#define GW__CLUSTER_DECIDE_H

#include "report.h"

enum gw__fate { GW__FORWARD, GW__EXCLUDE, GW__FATES };

struct gw__decision {
    uint64_t epoch; /* ring epoch: of the survivors' ring */
    uint64_t op;
    enum gw__fate fate;
    struct gw_nodes contributors; /* of the result */
    /* The initial members of the op, including the dead: the members of the
     * last quiet view that take part in it, by their places (view.h). Their
     * number determines that of the chunks (ring/plans/chosen_plans.h). A report
     * of an op with other initial members counts as none. */
    unsigned initial_count;
    uint16_t initial_members[GW__NODES_MAX];
};

void gw__put_decision(struct gw__writer *, const struct gw__decision *);
/* Invalid if a node is repeated or does not exist. */
void gw__get_decision(struct gw__reader *, struct gw__decision *);

struct gw__survivor {
    unsigned node;
    uint64_t from_op; /* takes part in ops from this one on */
    const struct gw__report *report;
};

/* Sets fate and contributors. The caller sets epoch, op and origin, and the
 * contributors of the last decision about this op; empty: none. */
void gw__decide(const struct gw__survivor *survivors, unsigned count,
                struct gw__decision *decision);

#endif
