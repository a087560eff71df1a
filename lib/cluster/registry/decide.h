/* SPDX-License-Identifier: MIT
 *
 * FORWARD or EXCLUDE: what becomes of an op that a member left in the middle
 * of. It stands here, below lib/ring, because the registry applies it: the log
 * entry that completes the reports decides, on every replica alike.
 *
 *   FORWARD  of each chunk a final copy survives, all of one set: those copies
 *            are spread. What the dead gave counts, once.
 *   EXCLUDE  otherwise: the survivors that take part in the op are its
 *            contributors.
 *
 * Why it is safe that a member uses its result before the others have theirs:
 * it holds every final copy, so if it survives, its report forces FORWARD; if
 * it does not, what it made of the result is gone with it. A final copy counts
 * only if it is of the set that was decided last for its op: one that was made
 * before an EXCLUDE which its holder slept through is a partial like others.
 */
#ifndef GW__CLUSTER_DECIDE_H
#define GW__CLUSTER_DECIDE_H

#include "report.h"

enum gw__fate { GW__FORWARD, GW__EXCLUDE, GW__FATES };

struct gw__decision {
    uint64_t epoch; /* ring epoch: of the survivors' ring */
    uint64_t op;
    enum gw__fate fate;
    uint64_t contributors; /* of the result: nodes */
    /* The ring in which the op began, the dead included: those of the last
     * quiet view that take part in it, by their places (view.h). Chunk c of the op is owned by
     * member c of it, so there are origin_count chunks, and a report of any
     * other number of them counts as none. */
    unsigned origin_count;
    uint8_t origin[GW__NODES_MAX];
};

void gw__put_decision(struct gw__writer *, const struct gw__decision *);
/* Bad when a node is there twice or is none. */
void gw__get_decision(struct gw__reader *, struct gw__decision *);

struct gw__survivor {
    unsigned node;
    uint64_t from_op; /* takes part in ops from here on */
    const struct gw__report *report;
};

/* Settles fate and contributors. Comes with epoch, op and origin, and with the
 * contributors that the last decision about this op named; 0: there was none.
 */
void gw__decide(const struct gw__survivor *survivors, unsigned count,
                struct gw__decision *decision);

#endif
