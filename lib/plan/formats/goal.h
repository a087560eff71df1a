/* SPDX-License-Identifier: MIT
 *
 * The operations of a GOAL file, between its reader (goal.c) and its check
 * (goal_check.c).
 */
#ifndef GW__FORMATS_GOAL_H
#define GW__FORMATS_GOAL_H

#include "recall.h"

#define GW__GOAL_NONE UINT32_MAX

enum { GW__GOAL_RANKS_MAX = 4096, GW__GOAL_OPS_MAX = 1 << 18 };
enum gw__goal_kind { GW__GOAL_SEND, GW__GOAL_RECV, GW__GOAL_CALC };

struct gw__goal_op {
    enum gw__goal_kind kind;
    unsigned line;
    uint32_t rank, peer;
    uint64_t size, tag;
    uint32_t peer_op;  /* received: its send */
    uint32_t requires; /* the first of `edges`, or none */
    uint32_t note;     /* of `notes`, or none */
    uint32_t slot;     /* of its label in the table, or none */
    char label[32];
};

struct gw__goal_edge {
    uint32_t on, next;
};

struct gw__goal {
    const char *name;
    unsigned ranks;
    int rank;            /* whose operations are read; -1: none */
    uint32_t rank_begin; /* its first operation */
    uint32_t entered;    /* operations before this have entered the table */
    struct gw__goal_op *ops;
    size_t count, room;
    struct gw__goal_edge *edges;
    size_t edge_count, edge_room;
    uint32_t *labels; /* a hash table of this rank's operations */
    const char *header;
    size_t header_length;
    struct gw__note *notes;
    size_t note_count, note_room;
    uint32_t pending_note; /* of the next operation */
    struct gw_error *why;
};

/* "NAME:LINE: REASON DETAIL"; GW_EDATA. */
enum gw_err gw__goal_refuse(const struct gw__goal *goal, unsigned line,
                            const char *reason, const char *detail);

GW_MUST_CHECK enum gw_err gw__goal_begin(struct gw__goal *goal);
void gw__goal_end(struct gw__goal *goal);
/* The operation of this rank with a label, or none. */
uint32_t gw__goal_find(struct gw__goal *goal, const char *label);
/* A rank is over, and with it its labels. */
void gw__goal_forget(struct gw__goal *goal);
GW_MUST_CHECK enum gw_err gw__goal_require(struct gw__goal *goal, uint32_t op,
                                           uint32_t on);
/* Matches sends and receives, and looks for cycles. */
GW_MUST_CHECK enum gw_err gw__goal_check(struct gw__goal *goal);

#endif
