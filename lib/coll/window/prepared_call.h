/* SPDX-License-Identifier: MIT
 *
 * A prepared call: what a call over windows comes to once everything but its
 * buffers is known. Which program it runs, what it signs, and the steps of this
 * rank: which bytes of whose buffer it folds into which bytes of whose result.
 *
 * A communicator keeps the newest of them by key, so that a loop of equal calls
 * prepares once. The others, and those with a count for each rank, live as long
 * as their request. Both ways of a call run the same steps (pass.c): a request
 * (window.c), piece by piece if need be, and the fast path (fast_path.c).
 */
#ifndef GW__PREPARED_CALL_H
#define GW__PREPARED_CALL_H

#include "coll/comm.h"

enum { GW__ALGO_NAME_BYTES = 32 };

/* What tells a call from others: all but the buffers. */
struct gw__call_key {
    uint64_t count;
    uint16_t collective, type, op;
    bool in_place, no_out, named;
    uint32_t root, segments, group;
    char algo[GW__ALGO_NAME_BYTES]; /* if named */
};

/* How a rank's buffer is laid out: its call is not in place, is in place, or
 * the bytes lie in a stage. */
enum gw__layout { GW__APART, GW__IN_PLACE, GW__STAGED, GW__LAYOUTS };

/* A place in the input or the result of a rank: bytes from the beginning. */
struct gw__operand {
    uint32_t rank;
    size_t offset[GW__LAYOUTS];
};

/* One loop: `count` elements of all sources, into all destinations. */
struct gw__prepared_step {
    uint32_t source_begin, source_count;
    uint32_t dest_begin, dest_count;
    size_t count;
    bool completes, past; /* past the caches */
};

/* What a call moves between this rank and a peer. */
struct gw__moved {
    uint32_t peer;
    struct gw_counters once;
};

struct gw__prepared_call {
    struct gw__call_key key;
    unsigned users;              /* the communicator, requests */
    struct gw__program *program; /* held, so that it stays */
    struct gw__signature signature;
    bool eager;                 /* the input travels on the card */
    bool lends, takes;          /* others load the input, store the result */
    bool set_aside;             /* others store into the input before all have
                                   read it */
    bool overwrites;            /* the result may lie where others still read */
    size_t bytes_in, bytes_out; /* of this rank's buffers */
    size_t posted_from; /* eager: where in the buffer the input begins */
    size_t elem_bytes;
    /* Pieces, if some memory cannot be mapped (stage.c). */
    struct gw_call staged; /* whose buffers a stage is laid out as */
    size_t piece_elems;
    uint32_t pieces; /* that every chunk is cut into */
    unsigned step_count, operand_count, moved_count;
    struct gw__prepared_step *steps;
    struct gw__operand *operands;
    struct gw__moved *moved;
    uint64_t runs, used;
};

static inline const struct gw__passes *
gw__prepared_passes(const struct gw__prepared_call *p)
{
    return p->eager ? &p->program->pull : &p->program->push;
}

/* The kept one for calls like this, or NULL. */
struct gw__prepared_call *gw__prepared_find(struct gw_comm *comm,
                                            const struct gw_call *call);
/* The kept one, or one that is made, and kept if it can be; held for the
 * request. NULL: no memory. */
struct gw__prepared_call *gw__prepare(struct gw_comm *comm,
                                      const struct gw_call *call,
                                      struct gw__program *program,
                                      const struct gw__signature *signature);
/* NULL allowed. */
void gw__prepared_release(struct gw_comm *comm,
                          struct gw__prepared_call *prepared);
/* Runs are counted, not what each moves. Adds what they have moved. */
void gw__prepared_count(const struct gw_comm *comm, unsigned peer,
                        struct gw_counters *counters);
void gw__prepared_reset_counts(struct gw_comm *comm);
/* Costs and rules have changed: other algorithms may be chosen. */
void gw__prepared_forget(struct gw_comm *comm);
/* Bytes of a chunk of the call. */
size_t gw__chunk_bytes(const struct gw_comm *comm, const struct gw_call *call,
                       const struct gw_plan *plan, unsigned chunk);

#endif
