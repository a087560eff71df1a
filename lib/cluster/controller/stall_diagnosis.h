/* SPDX-License-Identifier: MIT
 *
 * Who holds everybody up. When one member stands still the whole ring does, and
 * each waits for its neighbour; the one to name is at the root of the
 * waits-for graph. Each member says where it stands; from one that waits the
 * graph is followed, peer by peer, to
 *
 *     dead         a process that has ended or fallen silent
 *     unknown      one that has not said anything
 *     not entered  one that has yet to call the op (or an earlier one)
 *     behind       one that is in the op, or in an earlier one, and waits for
 *                  nobody: it computes, or its thread hangs
 *     cycle        nobody: they wait for each other, which no right plan does
 *
 * A pure function of what is known; what is known may be old, so a peer that
 * has already left the op behind blames the one that says it waits for it.
 */
#ifndef GW__CLUSTER_LAGGARD_H
#define GW__CLUSTER_LAGGARD_H

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

enum { GW__WAITS_FOR_NOBODY = 255 };

/* Where a member stands. */
struct gw__standing {
    uint64_t stamp; /* grows with every change; 0: has not said anything */
    uint64_t op;    /* that it is in; in GW__COMPUTE the one it enters next */
    uint64_t moved; /* slices moved since it began: the sign of progress */
    enum gw__phase phase;
    unsigned waits_for; /* a node, or GW__WAITS_FOR_NOBODY */
};

void gw__put_standing(struct gw__writer *, const struct gw__standing *);
void gw__get_standing(struct gw__reader *, struct gw__standing *);

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
    unsigned node;        /* the laggard; of a cycle one of it */
    unsigned waiter;      /* who waits for it; itself when nobody does */
    uint64_t op;          /* that the waiter is in */
    enum gw__phase phase; /* that the waiter is in */
    uint64_t cycle;       /* nodes as bits */
};

/* Follows the graph from `node`; `standings` by node, `dead` nodes as bits. */
struct gw__stall_diagnosis
gw__stall_diagnosis_find(const struct gw__standing *standings, uint64_t dead,
                         unsigned node);
/* "op 12, reduce: node 3 has not entered it; node 2 waits for it" */
void gw__stall_diagnosis_text(const struct gw__stall_diagnosis *laggard,
                              char out[160]);

#endif
