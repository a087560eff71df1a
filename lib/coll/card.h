/* SPDX-License-Identifier: MIT
 *
 * The card on which a rank posts its window passes (window.c tells the story),
 * and the parts of running one.
 */
#ifndef GW__CARD_H
#define GW__CARD_H

#include "coll/comm.h"

#include <stdatomic.h>

struct side {
    _Alignas(64) _Atomic uint64_t entered; /* turn + 1; publishes the rest */
    struct gw__signature signature;
    uint32_t op;
    unsigned char bytes[GW__EAGER_BYTES]; /* the input, when eager */
    struct gw__place in, out;
    bool in_place;
};

struct card {
    _Alignas(64) _Atomic uint64_t left; /* turns that I have ended */
    struct side sides[2];
};
_Static_assert(sizeof(struct card) <= GW__CARD_BYTES, "fits the card");

static inline struct card *card_of(const struct gw_comm *comm, unsigned rank)
{
    return comm->windows->card(comm->wire, rank);
}

static inline struct side *side_of(const struct gw_request *r, unsigned rank)
{
    return &card_of(r->comm, rank)->sides[r->turn % 2];
}

static inline bool in_place(const struct gw_request *r)
{
    return r->call.in == GW_IN_PLACE;
}

static inline const struct gw__passes *passes_of(const struct gw_request *r)
{
    return r->eager ? &r->program->pull : &r->program->push;
}

/* card.c: posts what this rank calls, and its input or where it lies. */
enum gw_err gw__card_enter(struct gw_request *r, struct gw_error *why);

/* pass.c: every load, fold and store that falls to this rank. */
enum gw_err gw__run_passes(struct gw_request *r, struct gw_error *why);

#endif
