/* SPDX-License-Identifier: MIT
 *
 * The short way of window passes that come again (shortcut.c), and what it
 * knows by heart of a kind of call (routine.c). Everything here also works
 * without: a call that the short way does not serve, or that must wait for
 * long, goes the way of all calls.
 */
#ifndef GW__SHORTCUT_H
#define GW__SHORTCUT_H

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

/* A place in the input or the result of a rank, in bytes: if its call is not in
 * place, and if it is. */
struct gw__spot {
    uint32_t rank;
    size_t offset[2];
};

/* One loop: `count` elements of all origins, into all targets. */
struct gw__stroke {
    uint32_t origin_begin, origin_count;
    uint32_t target_begin, target_count;
    size_t count;
    bool completes, past; /* past the caches */
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
    bool eager;                 /* the input travels on the card */
    bool lends, takes;          /* others load the input, store the result */
    size_t bytes_in, bytes_out; /* of this rank's buffers */
    size_t posted_from; /* eager: where in the buffer the input begins */
    size_t elem_bytes;
    unsigned stroke_count, spot_count, moved_count;
    struct gw__stroke *strokes;
    struct gw__spot *spots;
    struct gw__moved *moved;
    uint64_t runs, used;
};

static inline const struct gw__passes *
gw__routine_passes(const struct gw__routine *r)
{
    return r->eager ? &r->program->pull : &r->program->push;
}

/* The kept routine for calls like this one, or NULL. */
struct gw__routine *gw__routine_find(struct gw_comm *comm,
                                     const struct gw_call *call);
/* Keeps what the request comes to, if such calls can go the short way. When
 * there is no memory it does nothing. */
void gw__routine_keep(const struct gw_request *request);
/* Runs are counted, not what each moves. Adds what they have moved. */
void gw__routines_count(const struct gw_comm *comm, unsigned peer,
                        struct gw_counters *counters);
void gw__routines_count_anew(struct gw_comm *comm);
/* Costs and rules have changed: other algorithms may be chosen. */
void gw__routines_forget(struct gw_comm *comm);

/* Runs the call if a routine is kept for it and nothing stands in the way.
 * False: it has not been begun. */
bool gw__shortcut_run(struct gw_comm *comm, const struct gw_call *call,
                      enum gw_err *err);

#endif
