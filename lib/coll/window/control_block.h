/* SPDX-License-Identifier: MIT
 *
 * The card on which a rank posts its window passes (window.c tells the story),
 * and the parts of running one.
 */
#ifndef GW__CONTROL_BLOCK_H
#define GW__CONTROL_BLOCK_H

#include "prepared_call.h"

#include <stdatomic.h>

/* What is posted begins in the line that says so. */
struct side {
    _Alignas(64) _Atomic uint64_t entered; /* turn + 1; publishes the rest */
    struct gw__signature signature;
    uint32_t op;
    bool in_place;
    union {
        unsigned char bytes[GW__EAGER_BYTES]; /* the input, when eager */
        struct {
            struct gw__place in, out;
            /* Of stages, see stage.c; 0: the buffer itself lies there. */
            size_t in_slot_bytes, out_slot_bytes;
            _Atomic uint32_t filled, done, drained; /* pieces */
        };
    };
};

struct card {
    _Alignas(64) _Atomic uint64_t left; /* turns that I have ended, at least */
    struct side sides[GW__SIDES];
};
_Static_assert(sizeof(struct card) <= GW__CONTROL_BLOCK_BYTES, "fits the card");

static inline struct side *gw__side(const struct gw_comm *comm, unsigned rank,
                                    uint64_t turn)
{
    return &comm->cards[rank]->sides[turn % GW__SIDES];
}

static inline bool gw__has_entered(const struct gw_comm *comm, unsigned rank,
                                   uint64_t turn)
{
    return atomic_load_explicit(&gw__side(comm, rank, turn)->entered,
                                memory_order_acquire) == turn + 1;
}

/* Has it ended the turn? Then its side may be used again. */
static inline bool gw__has_left(const struct gw_comm *comm, unsigned rank,
                                uint64_t turn)
{
    return atomic_load_explicit(&comm->cards[rank]->left,
                                memory_order_acquire) > turn;
}

static inline struct side *side_of(const struct gw_request *r, unsigned rank)
{
    return gw__side(r->comm, rank, r->turn);
}

static inline bool in_place(const struct gw_request *r)
{
    return r->call.in == GW_IN_PLACE;
}

static inline const struct gw__passes *passes_of(const struct gw_request *r)
{
    return gw__prepared_passes(r->prepared);
}

/* control_block.c: posts what this rank calls, and its input or where it lies. */
enum gw_err gw__control_block_enter(struct gw_request *r, struct gw_error *why);
/* Its parts: takes the own side of the turn back, and names the call; shows it
 * to all. What is posted is written in between. */
struct side *gw__side_open(struct gw_comm *comm, uint64_t turn, uint32_t op,
                           const struct gw__signature *signature);
/* Where the buffers lie; without stages. */
void gw__side_show(struct side *side, const struct gw__place *in,
                   const struct gw__place *out, bool in_place);
/* The input itself, laid out as if not in place. */
void gw__side_post_input(struct side *side, const struct gw__prepared_call *p,
                         const struct gw_call *call);
void gw__side_publish(struct gw_comm *comm, struct side *side, uint64_t turn);
/* Have all finished with what I posted so many turns ago as there are sides? */
bool gw__side_is_free(struct gw_comm *comm, uint64_t turn);
/* Tells that I have ended all turns before `turn`. */
void gw__tell_left(struct gw_comm *comm, uint64_t turn);

/* A call in its turn. */
struct gw__window_call {
    struct gw_comm *comm;
    const struct gw_call *call;
    struct gw__prepared_call *prepared;
    uint64_t turn;
    uint32_t op;
    /* Read and written in place of the own input and result; NULL: not. */
    const struct gw__staging *stage_in, *stage_out;
};

#define GW__WHOLE UINT32_MAX /* all pieces at once */

/* pass.c: one piece of every step of the call. False: the memory of rank
 * `*lost` is out of reach. */
bool gw__run_steps(const struct gw__window_call *w, uint32_t piece,
                   unsigned *lost);
/* Every load, fold and store that falls to this rank, as far as the
 * pieces are there. GW_PENDING: not all yet. */
enum gw_err gw__run_passes(struct gw_request *r, bool *moved,
                           struct gw_error *why);
/* What was read counts only if its owners were still in the call after that: a
 * rank that fails takes its card back, and its memory may be anything. The
 * first of the touched that is not, or -1. */
int gw__first_not_entered(const struct gw_comm *comm,
                          const struct gw__passes *passes, uint64_t turn);

#endif
