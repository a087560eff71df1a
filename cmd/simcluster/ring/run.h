/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An op at a member, as the data path (path.c) executes its plan. A value is a
 * count per node and a sum of hashes.
 */
#ifndef SIMCLUSTER_RING_RUN_H
#define SIMCLUSTER_RING_RUN_H

#include <base/mix.h>
#include <cluster/registry/report.h>

/* Of a member, as sender or as receiver. A recovery has at most two of each
 * chunk in a ring, and fewer in the trees of few chunks. */
enum { TRANSFERS_MOST = 2 * GW__REPORT_CHUNKS_MAX };

/* How often each node is in the value: 0 to 3, which means three or more; as
 * two bits, in two sets. */
struct amount {
    struct gw_nodes low, high;
    uint64_t sum; /* of a number per node, which depends on op and chunk */
};

static inline unsigned times_in(const struct amount *amount, unsigned node)
{
    return gw__nodes_has(&amount->low, node) +
           2U * gw__nodes_has(&amount->high, node);
}

/* The number of a node in its input. */
static inline uint64_t value_number(unsigned node, uint64_t op, unsigned chunk)
{
    return gw__mix_words(4, op << 16 | node, chunk);
}

/* ---- an op that is executed ---- */

/* A transfer of this node, as sender or as receiver. */
struct sending {
    uint16_t to; /* a node */
    uint16_t chunk, step, turn;
    uint16_t received; /* transfers of the chunk that must come before it */
    uint16_t next;     /* of the same chunk, as in struct chain */
    bool captured;
    struct gw_nodes set; /* at the time of sending */
    struct amount value;
    uint64_t again_ns;
};

struct receiving {
    uint16_t from;
    uint16_t chunk, step, turn;
    uint16_t received, sent; /* transfers of the chunk that come before it */
    uint16_t next;           /* as in struct sending */
    bool adds, applied;
};

/* The first and the last transfer of a chunk: an index plus 1, or 0: none. */
struct chain {
    uint16_t first, last;
};

struct run {
    bool used;
    uint64_t op, ring_epoch;
    unsigned chunks;
    unsigned send_count, receive_count;
    /* Only these chunks, end exclusive, may have sends that are ready. */
    unsigned ready_first, ready_end;
    unsigned unacked_count;
    uint64_t due_ns; /* of the next repetition; UINT64_MAX: none */
    struct sending sends[TRANSFERS_MOST];
    struct receiving receives[TRANSFERS_MOST];
    uint16_t unacked[TRANSFERS_MOST]; /* sent and not acknowledged yet */
    /* [chunk] */
    struct amount values[GW__REPORT_CHUNKS_MAX];
    /* the transfers received and sent so far */
    uint16_t received[GW__REPORT_CHUNKS_MAX], sent[GW__REPORT_CHUNKS_MAX];
    struct chain send_chains[GW__REPORT_CHUNKS_MAX];
    struct chain receive_chains[GW__REPORT_CHUNKS_MAX];
};

#endif
