/* SPDX-License-Identifier: MIT
 *
 * The interfaces between the parts of the verifier:
 *   check_shape.c     faults visible without execution: shape, ports, tokens
 *   check_dataflow.c  symbolic execution with contributor sets
 *   verdict.c         describes the fault in one sentence
 *   history.c         and the history of the chunk that shows it
 *   versions.c        the write that each transfer reads, for the game of waits
 *   check_deadlock.c  plays the game of waits
 *   cycle.c           prints the cycle of a deadlock
 */
#ifndef GW__PLAN_VERIFY_H
#define GW__PLAN_VERIFY_H

#include "index.h"
#include "sets.h"

/* The fault that comes first in the plan. */
struct gw__finding {
    enum gw_fault fault;
    uint32_t step;     /* counted from 0; plan->steps: at the end */
    uint32_t transfer; /* the one at fault; none at the end */
    uint32_t other;    /* GW_FAULT_CONFLICT: the conflicting transfer */
    unsigned rank;     /* at the end: the rank with the wrong set;
                          GW_FAULT_PORTS: with too many peers */
    unsigned chunk;
    bool
        receives; /* GW_FAULT_PORTS: receives from too many peers; else sends to
                   too many */
};

/* Keeps in *found the fault that comes first in the plan. */
void gw__finding_keep_first(struct gw__finding *found,
                            const struct gw__finding *another);

GW_MUST_CHECK enum gw_err gw__check_shape(const struct gw__index *index,
                                          struct gw__finding *found,
                                          struct gw_error *why);
GW_MUST_CHECK enum gw_err gw__check_dataflow(const struct gw__index *index,
                                             struct gw__finding *found,
                                             struct gw_error *why);

/* Fills *verdict from a finding of any kind but GW_FAULT_DEADLOCK. */
GW_MUST_CHECK enum gw_err
gw__verdict_describe(const struct gw__index *index,
                     const struct gw__finding *finding,
                     struct gw_verdict *verdict, struct gw_error *why);

/* Each step's writes into one row of a chunk make a new version of it. So each
 * transfer reads one version and takes part in writing one. The versions of a
 * row have consecutive numbers; the first is its initial value. */
struct gw__versions {
    uint32_t count;
    bool *first;     /* of each version: not written by the plan; also true of
                        the one past the last */
    uint32_t *read;  /* of each transfer: the version it sends */
    uint32_t *write; /* of each transfer: the version it helps to make */
    struct gw__buckets readers; /* transfers by the version they read */
    struct gw__buckets writers; /* transfers by the version they write */
};

GW_MUST_CHECK enum gw_err gw__versions_init(struct gw__versions *versions,
                                            const struct gw__index *index,
                                            struct gw_error *why);
void gw__versions_fini(struct gw__versions *versions);

/* Progress of a link; its items are its transfers' slices, in plan order,
 * counted from the beginning of the plan. */
struct gw__link_progress {
    uint32_t pushed;
    uint32_t popped;
};

/* The game of waits: the progress of each link and version. */
struct gw__deadlock_state {
    const struct gw__index *index;
    const struct gw__versions *versions;
    const struct gw__buckets *by_link;
    unsigned slices; /* per chunk */
    unsigned room;   /* capacity of a link, in slices */
    struct gw__link_progress *links;
    uint8_t *applied; /* of each version: slices that have been written */
    uint32_t *heads;  /* of each version: the number of its links whose head is
                         its next slice */
    uint32_t *unsent; /* version * slices + slice: readers yet to push it */
    uint32_t *todo;   /* links, then versions, that may move */
    bool *queued;
    uint32_t todo_count;
};

/* The transfer of a link's item, counted from the beginning, or UINT32_MAX. */
uint32_t gw__link_item(const struct gw__deadlock_state *state, uint32_t link,
                       uint32_t item);
/* The transfer that a link would push next, or UINT32_MAX. */
uint32_t gw__link_front(const struct gw__deadlock_state *state, uint32_t link);
/* The transfer whose slice is at the head of the link, or UINT32_MAX. */
uint32_t gw__link_head(const struct gw__deadlock_state *state, uint32_t link);

/* Plays with `slices` (at most GW__SLICES_MAX) per chunk and `room` slices per
 * link. GW_OK, GW_ENOMEM, or GW_EPLAN with *verdict filled. */
enum { GW__SLICES_MAX = 3 };
GW_MUST_CHECK enum gw_err gw__check_deadlock(
    const struct gw__index *index, const struct gw__versions *versions,
    const struct gw__buckets *by_link, unsigned slices, unsigned room,
    struct gw_verdict *verdict, struct gw_error *why);

/* Fills *verdict from a deadlocked game. */
void gw__cycle_describe(const struct gw__deadlock_state *state,
                        struct gw_verdict *verdict);

/* Fills verdict->history from a finding, and verdict->sentence if that needs
 * the sets: GW_FAULT_DOUBLE and GW_FAULT_INCOMPLETE. */
GW_MUST_CHECK enum gw_err
gw__history_describe(const struct gw__index *index,
                     const struct gw__finding *finding,
                     struct gw_verdict *verdict, struct gw_error *why);
/* Appends a line; one that does not fit is dropped. */
GW_PRINTF(2, 3)
void gw__history_add(struct gw_verdict *verdict, const char *format, ...);

#endif
