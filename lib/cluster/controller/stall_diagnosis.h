/* SPDX-License-Identifier: MIT
 *
 * Finds the member that stalls a ring. If one member stalls, the whole ring
 * does, and each member waits for its neighbour. The cause is at the root of
 * the waits-for graph. Each member reports its progress. From a waiting member
 * the graph is followed, peer by peer, to one of:
 *
 *     dead         a process that has ended or is silent
 *     unknown      a member that has not reported its progress
 *     not entered  a member that has yet to call the op (or an earlier one)
 *     behind       a member that is in the op, or in an earlier one, and waits
 *                  for no peer: it computes, or its thread hangs
 *     cycle        members that wait for each other, which no correct plan does
 *
 * This is a pure function of the reports. Reports may be old: if a peer has
 * already completed the op, the member that reports to wait for it is named
 * instead.
 */
#ifndef GW__CLUSTER_STALL_DIAGNOSIS_H
#define GW__CLUSTER_STALL_DIAGNOSIS_H

#include "base/bytes.h"

#include <base/machine.h>

#define GW__PHASES(X)                                                          \
    X(GW__COMPUTE, "compute") /* between ops */                                \
    X(GW__REDUCING, "reduce")                                                  \
    X(GW__GATHERING, "gather")                                                 \
    X(GW__FLUSHING, "flush")                                                   \
    X(GW__RECOVERING, "recover")

enum gw__phase {
#define X(phase, name) phase,
    GW__PHASES(X)
#undef X
        GW__PHASE_COUNT
};
const char *gw__phase_name(enum gw__phase phase);

enum { GW__WAITS_FOR_NONE = 65535 };

/* The progress report of a member. */
struct gw__progress_report {
    uint64_t stamp; /* grows with every change; 0: no report yet */
    uint64_t op;    /* the current op; in GW__COMPUTE the next one */
    uint64_t moved; /* slices moved since the op began: the sign of progress */
    enum gw__phase phase;
    unsigned waits_for; /* a node, or GW__WAITS_FOR_NONE */
};

void gw__put_progress_report(struct gw__writer *,
                             const struct gw__progress_report *);
void gw__get_progress_report(struct gw__reader *, struct gw__progress_report *);

enum gw__lag {
    GW__LAG_NONE, /* the first member does not wait */
    GW__LAG_DEAD,
    GW__LAG_UNKNOWN,
    GW__LAG_NOT_ENTERED,
    GW__LAG_BEHIND,
    GW__LAG_CYCLE,
    GW__LAGS
};

struct gw__stall_diagnosis {
    enum gw__lag lag;
    unsigned node;        /* the cause; one member of a cycle */
    unsigned waiter;      /* the member that waits for it; itself if none
                             does */
    uint64_t op;          /* the op of the waiter */
    enum gw__phase phase; /* the phase of the waiter */
    struct gw_nodes cycle;
};

/* Follows the graph from `node`; `reports` by node. */
struct gw__stall_diagnosis
gw__stall_diagnosis_find(const struct gw__progress_report *reports,
                         const struct gw_nodes *dead, unsigned node);
/* For example "op 12, reduce: node 3 has not entered it; node 2 waits for
 * it". */
void gw__stall_diagnosis_text(const struct gw__stall_diagnosis *diagnosis,
                              char out[160]);

#endif
