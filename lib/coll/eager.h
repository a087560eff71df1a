/* SPDX-License-Identifier: MIT
 *
 * The short way of a small call (eager.c), and what it knows by heart of a kind
 * of call (routine.c). Everything here also works without: a call that the
 * short way does not serve, or that must wait, goes the way of all calls.
 */
#ifndef GW__EAGER_H
#define GW__EAGER_H

#include "coll/comm.h"

enum { GW__ALGO_NAME_BYTES = 32 };

/* What tells a kind of call from others: all but the buffers. */
struct gw__kind {
    uint64_t count;
    uint16_t collective, type, op;
    bool in_place, no_out, named;
    uint32_t root, segments, group;
    char algo[GW__ALGO_NAME_BYTES]; /* if named */
};

/* A value to fold: of a rank's card, or of the own input. Bytes. */
struct gw__origin {
    uint32_t rank;
    uint32_t offset;
};

/* One loop: `count` elements of all origins, into the own result. */
struct gw__stroke {
    uint32_t origin_begin, origin_count;
    uint32_t offset, count;
    bool completes;
};

/* What a call moves between this rank and a peer. */
struct gw__moved {
    uint32_t peer;
    struct gw_counters once;
};

struct gw__routine {
    struct gw__kind kind;
    struct gw__program *program; /* held, so that it stays */
    struct gw__signature signature;
    size_t bytes_in, bytes_out; /* of this rank's buffers */
    size_t posted_from; /* where in the buffer the posted input begins */
    size_t elem_bytes;
    unsigned stroke_count, origin_count, moved_count;
    struct gw__stroke *strokes;
    struct gw__origin *origins;
    struct gw__moved *moved;
    uint64_t runs, used;
};

/* The kept routine for calls like this one, or NULL. */
struct gw__routine *gw__routine_find(struct gw_comm *comm,
                                     const struct gw_call *call);
/* Keeps what the request, an eager one, comes to. When there is no memory it
 * does nothing. */
void gw__routine_keep(const struct gw_request *request);
/* Runs are counted, not what each moves. Adds what they have moved. */
void gw__routines_count(const struct gw_comm *comm, unsigned peer,
                        struct gw_counters *counters);
void gw__routines_count_anew(struct gw_comm *comm);
/* Costs and rules have changed: other algorithms may be chosen. */
void gw__routines_forget(struct gw_comm *comm);

/* Runs the call if a routine is kept for it and nothing stands in the way.
 * False: it has not been begun. */
bool gw__eager_run(struct gw_comm *comm, const struct gw_call *call,
                   enum gw_err *err);

#endif
