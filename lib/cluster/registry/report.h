/* SPDX-License-Identifier: MIT
 *
 * What a survivor says when the ring has lost a member: it
 * has frozen, and this is what it holds of each op that may still be open.
 *
 * Contributors are nodes, not ranks: ranks change with the epoch, and a set
 * must mean the same before and after. Within an op a node is one process: who
 * comes back under its number is admitted at a later op only.
 *
 * An op is open from the moment a member begins it until it lies below the
 * floor, the first op that some member may not have completed. The ops of a
 * report are floor, floor + 1, ... without a gap, so a communicator lets at
 * most GW__REPORT_OPS_MAX of its ops be open at a time.
 */
#ifndef GW__CLUSTER_REPORT_H
#define GW__CLUSTER_REPORT_H

#include "base/bytes.h"

#include <base/machine.h>

enum { GW__REPORT_OPS_MAX = 2, GW__REPORT_CHUNKS_MAX = 128 };

/* Of one op: of each chunk the best partial. A set of 0 is none: there is only
 * the sender's own input, or not even that yet. */
struct gw__holdings {
    unsigned chunks;
    uint64_t sets[GW__REPORT_CHUNKS_MAX];
    uint64_t finals[GW__REPORT_CHUNKS_MAX / 64]; /* bit c: chunk c is final */
};

struct gw__report {
    uint64_t floor; /* all members have completed the ops below, it knows */
    unsigned op_count;
    struct gw__holdings ops[GW__REPORT_OPS_MAX]; /* of op floor + i */
};

/* What the report says of an op; NULL when the sender has not begun it, or
 * knows that everybody has completed it. */
const struct gw__holdings *gw__report_of(const struct gw__report *report,
                                         uint64_t op);
bool gw__holdings_final(const struct gw__holdings *holdings, unsigned chunk);

void gw__put_report(struct gw__writer *, const struct gw__report *);
/* Bad for more ops or chunks than there is room for, and for a final copy
 * without contributors. */
void gw__get_report(struct gw__reader *, struct gw__report *);

#endif
