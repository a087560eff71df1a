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

#include <base/machine.h>

/* A ring of up to 256 members has a chunk per member; other plans may have any
 * number of chunks (ring/plans/chosen_plans.h). */
enum {
    GW__REPORT_OPS_MAX = 2,
    GW__REPORT_CHUNKS_MAX = 256,
    GW__HOLDINGS_BYTES_MAX = 240,
    GW__REPORT_BYTES_MAX =
        9 + GW__REPORT_OPS_MAX * (10 + GW__HOLDINGS_BYTES_MAX)
};
_Static_assert(GW__HOLDINGS_BYTES_MAX >= 3 + GW_NODES_MAX / 8,
               "final copies of any set must fit");

/* The best partial sum of a chunk. An empty set means none: there is only the
 * sender's own input, or not even that yet. */
struct gw__held_chunk {
    struct gw_nodes set;
    bool final;
};

/* The initial members of an op by their places, which are the order in which
 * its chunks are added. */
struct gw__places {
    unsigned count;
    const unsigned *nodes; /* [place] */
};

/* The holdings of all chunks of one op, packed. The value of chunk c at a
 * member contains the places from c + 1 on up to its own, so the sets of many
 * chunks in a row differ only in their first place. Such a row is one segment,
 * and a death splits a segment: the size grows with the deaths, not with the
 * chunks. The sets of other plans are packed as well as they can be. */
struct gw__holdings {
    uint16_t chunks; /* 0: none are known */
    uint16_t places;
    uint16_t bytes;   /* of `data` */
    uint32_t members; /* hash of the places */
    uint8_t data[GW__HOLDINGS_BYTES_MAX];
};

struct gw__report {
    uint64_t
        low_watermark; /* all ops below are complete everywhere, as the sender
                       knows */
    unsigned op_count;
    struct gw__holdings ops[GW__REPORT_OPS_MAX]; /* of op floor + i */
};

/* Packs the holdings of `chunks` chunks, whose sets contain only nodes of
 * `places`. Holdings that do not fit are packed as none: a partial sum that is
 * not reported is computed again. The holdings of a complete op, which are final
 * copies of one set, always fit. */
void gw__holdings_pack(struct gw__holdings *holdings,
                       const struct gw__places *places,
                       const struct gw__held_chunk *held, unsigned chunks);
/* Are these the holdings of an op with these members, in so many chunks? */
bool gw__holdings_match(const struct gw__holdings *holdings,
                        const struct gw__places *places, unsigned chunks);
/* The holdings of one chunk. They match `places`, as in the next function. */
struct gw__held_chunk gw__holdings_of(const struct gw__holdings *holdings,
                                      const struct gw__places *places,
                                      unsigned chunk);
/* The sets of all chunks, to sets[chunk]. */
void gw__holdings_unpack(const struct gw__holdings *holdings,
                         const struct gw__places *places,
                         struct gw_nodes *sets);

/* The holdings of an op in the report; NULL if the sender has not begun it, or
 * knows that all members have completed it. */
const struct gw__holdings *gw__report_of(const struct gw__report *report,
                                         uint64_t op);

void gw__put_holdings(struct gw__writer *, const struct gw__holdings *);
/* Bad if the segments are not those of all chunks, and for a final copy without
 * contributors. */
void gw__get_holdings(struct gw__reader *, struct gw__holdings *);
void gw__put_report(struct gw__writer *, const struct gw__report *);
/* Bad if there are more ops or chunks than there is room for. */
void gw__get_report(struct gw__reader *, struct gw__report *);

#endif
