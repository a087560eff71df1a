/* SPDX-License-Identifier: MIT
 *
 * The report of a survivor when the ring has lost a member. The survivor has
 * frozen, and the report lists its holdings of each op that may still be open.
 *
 * Contributors are nodes, not ranks: ranks change with the epoch, but a set
 * must mean the same before and after. Within an op a node is one process: a
 * process that comes back under the same number is admitted only to a later op.
 *
 * An op is open from the moment a member begins it until it is below the floor,
 * the first op that some member may not have completed. The ops of a report are
 * floor, floor + 1, ... without a gap, so a communicator has at most
 * GW__REPORT_OPS_MAX open ops at a time.
 */
#ifndef GW__CLUSTER_REPORT_H
#define GW__CLUSTER_REPORT_H

#include "base/bytes.h"

#include <base/machine.h>

enum { GW__REPORT_OPS_MAX = 2, GW__REPORT_CHUNKS_MAX = 128 };

/* The best partial sum of each chunk of one op. A set of 0 means none: there is
 * only the sender's own input, or not even that yet. */
struct gw__holdings {
    /* The initial members of the op, as its sender began it: of another number
     * than the op's, it began the op in an outdated view. */
    unsigned members;
    unsigned chunks;
    uint64_t sets[GW__REPORT_CHUNKS_MAX];
    uint64_t finals[GW__REPORT_CHUNKS_MAX / 64]; /* bit c: chunk c is final */
};

struct gw__report {
    uint64_t
        low_watermark; /* all ops below are complete everywhere, as the sender
                       knows */
    unsigned op_count;
    struct gw__holdings ops[GW__REPORT_OPS_MAX]; /* of op floor + i */
};

/* The holdings of an op in the report; NULL if the sender has not begun it, or
 * knows that all members have completed it. */
const struct gw__holdings *gw__report_of(const struct gw__report *report,
                                         uint64_t op);
bool gw__holdings_final(const struct gw__holdings *holdings, unsigned chunk);

void gw__put_report(struct gw__writer *, const struct gw__report *);
/* Invalid for more ops or chunks than there is room for, and for a final copy
 * without contributors. */
void gw__get_report(struct gw__reader *, struct gw__report *);

#endif
