/* SPDX-License-Identifier: MIT
 *
 * A prepared call: everything about a call over windows except its buffers. It
 * contains the program, the signature, and the steps of this rank: the bytes
 * that each step reduces from the ranks' buffers, and their places in the
 * results.
 *
 * A communicator keeps the newest of them by key, so that a loop of equal calls
 * prepares once. The others, and those with separate counts per rank, live as
 * long as their request. Both ways to run a call use the same steps (pass.c): a
 * request (window.c), piece by piece if necessary, and the fast path
 * (fast_path.c).
 */
#ifndef GW__PREPARED_CALL_H
#define GW__PREPARED_CALL_H

#include "coll/comm.h"

enum { GW__ALGO_NAME_BYTES = 32 };

/* The identity of a call: everything except the buffers. */
struct gw__call_key {
    uint64_t count;
    uint16_t collective, type, op;
    bool in_place, no_out, named;
    uint32_t root, segments, group;
    char algo[GW__ALGO_NAME_BYTES]; /* if named */
};

/* Layout of a rank's buffer: its call is not in place, its call is in place, or
 * the bytes are in a staging buffer. */
enum gw__layout { GW__APART, GW__IN_PLACE, GW__STAGED, GW__LAYOUTS };

/* An offset in the input or the result of a rank, in bytes. */
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
    enum gw__half half;
};

/* The transfers of a call between this rank and a peer. */
struct gw__moved {
    uint32_t peer;
    struct gw_counters once;
};

struct gw__prepared_call {
    struct gw__call_key key;
    unsigned users;              /* the communicator and requests */
    struct gw__program *program; /* referenced */
    struct gw__signature signature;
    bool eager;                   /* the input travels in the control block */
    bool peers_load, peers_store; /* others load the input, store the result */
    bool saves_input;             /* others store into the input before all have
                                   read it */
    bool overwrites;              /* the result may overlap memory that others
                                   still read */
    bool copies;                  /* peers copy the buffers if they cannot map
                                     them (private_memory.c) */
    bool halved;                  /* both ranks copy a half of each chunk */
    size_t bytes_in, bytes_out;   /* of this rank's buffers */
    size_t posted_from;           /* eager: offset of the input in the buffer */
    size_t elem_bytes;
    /* Pieces, if some memory cannot be mapped (staging.c). */
    struct gw_call staged; /* a call with the layout of a staging buffer */
    size_t fragment_elems;
    uint32_t fragments; /* number of pieces per chunk */
    unsigned step_count, operand_count, moved_count;
    struct gw__prepared_step *steps;
    struct gw__operand *operands;
    struct gw__moved *moved;
    uint64_t runs, used;
};

static inline const struct gw__passes *
gw__prepared_passes(const struct gw__prepared_call *p)
{
    return p->eager    ? &p->program->pull
           : p->halved ? &p->program->halves
                       : &p->program->push;
}

/* The kept call with the same key, or NULL. */
struct gw__prepared_call *gw__prepared_find(struct gw_comm *comm,
                                            const struct gw_call *call);
/* The kept call, or a new one that is kept if possible; referenced for the
 * request. NULL: out of memory. */
struct gw__prepared_call *gw__prepare(struct gw_comm *comm,
                                      const struct gw_call *call,
                                      struct gw__program *program,
                                      const struct gw__signature *signature);
/* NULL allowed. */
void gw__prepared_release(struct gw_comm *comm,
                          struct gw__prepared_call *prepared);
/* Adds the transfers of all runs to the counters; a run itself only counts
 * runs. */
void gw__prepared_count(const struct gw_comm *comm, unsigned peer,
                        struct gw_counters *counters);
void gw__prepared_reset_counts(struct gw_comm *comm);
/* Forgets all, because new costs and rules may choose other algorithms. */
void gw__prepared_forget(struct gw_comm *comm);
/* Bytes of a chunk of the call. */
size_t gw__chunk_bytes(const struct gw_comm *comm, const struct gw_call *call,
                       const struct gw_plan *plan, unsigned chunk);

#endif
