/* SPDX-License-Identifier: MIT
 *
 * The control block in which a rank posts its window passes (window.c explains
 * them), and the functions that run one. A turn is the number of a windowed
 * call in its communicator. A call uses slot `turn` mod GW__CONTROL_ENTRIES of
 * the control block.
 */
#ifndef GW__CONTROL_BLOCK_H
#define GW__CONTROL_BLOCK_H

#include "prepared_call.h"

#include <stdatomic.h>

/* One posted call. Its contents begin in the cache line of `entered`. */
struct control_entry {
    _Alignas(64) _Atomic uint64_t entered; /* turn + 1; publishes the rest */
    struct gw__signature signature;
    uint32_t op;
    bool in_place;
    union {
        unsigned char bytes[GW__EAGER_BYTES]; /* the input, when eager */
        struct {
            struct gw__memory_range in, out;
            struct gw__staging_slots in_slots, out_slots;
            _Atomic uint32_t filled, done, drained; /* pieces */
            struct gw__memory_range arena;          /* of window loads */
            size_t rooms_at;
        };
    };
};

struct control_block {
    _Alignas(64) _Atomic uint64_t left; /* all earlier turns have ended here */
    struct control_entry entries[GW__CONTROL_ENTRIES];
};
_Static_assert(sizeof(struct control_block) <= GW__CONTROL_BLOCK_BYTES,
               "fits the card");

/* Does each rank have its own core? All ranks have the same answer. */
static inline bool gw__has_own_core(const struct gw_comm *comm)
{
    return comm->size <= comm->costs.cores;
}

static inline struct control_entry *
gw__control_entry(const struct gw_comm *comm, unsigned rank, uint64_t turn)
{
    return &comm->control_blocks[rank]->entries[turn % GW__CONTROL_ENTRIES];
}

static inline bool gw__has_entered(const struct gw_comm *comm, unsigned rank,
                                   uint64_t turn)
{
    return atomic_load_explicit(&gw__control_entry(comm, rank, turn)->entered,
                                memory_order_acquire) == turn + 1;
}

/* Has it ended the turn? Then its slot may be used again. */
static inline bool gw__has_left(const struct gw_comm *comm, unsigned rank,
                                uint64_t turn)
{
    return atomic_load_explicit(&comm->control_blocks[rank]->left,
                                memory_order_acquire) > turn;
}

static inline struct control_entry *control_entry_of(const struct gw_request *r,
                                                     unsigned rank)
{
    return gw__control_entry(r->comm, rank, r->turn);
}

static inline bool in_place(const struct gw_request *r)
{
    return r->call.in == GW_IN_PLACE;
}

static inline const struct gw__passes *passes_of(const struct gw_request *r)
{
    return r->prepared ? gw__prepared_passes(r->prepared) : &r->program->push;
}

/* Is the input copied into the control block? Then no peer touches its memory. */
static inline bool gw__is_eager(const struct gw_request *r)
{
    return r->prepared && r->prepared->eager;
}

/* control_block.c: posts this rank's call, and its input or the input's
 * place. */
enum gw_err gw__control_block_enter(struct gw_request *r, struct gw_error *why);
/* The parts of gw__control_block_enter. This one takes back the own slot of the
 * turn and writes the call's signature; gw__control_entry_publish shows the
 * slot to all. The other contents are written in between. */
struct control_entry *
gw__control_entry_open(struct gw_comm *comm, uint64_t turn, uint32_t op,
                       const struct gw__signature *signature);
/* Posts the places of the buffers, without staging. */
void gw__control_entry_show(struct control_entry *entry,
                            const struct gw__memory_range *in,
                            const struct gw__memory_range *out, bool in_place);
/* Posts the input itself, laid out as if not in place. */
void gw__control_entry_post_input(struct control_entry *entry,
                                  const struct gw__prepared_call *p,
                                  const struct gw_call *call);
void gw__control_entry_publish(struct gw_comm *comm,
                               struct control_entry *entry, uint64_t turn);
/* Have all ranks finished with the previous call in the turn's slot? */
bool gw__control_entry_is_free(struct gw_comm *comm, uint64_t turn);
/* Publishes that this rank has ended all turns before `turn`. */
void gw__publish_left(struct gw_comm *comm, uint64_t turn);

/* A windowed call with its turn. */
struct gw__window_call {
    struct gw_comm *comm;
    const struct gw_call *call;
    struct gw_request **request; /* for the rest of a call that must wait */
    struct gw__prepared_call *prepared;
    uint64_t turn;
    uint32_t op;
    /* Read and written instead of the own input and result; NULL: not
     * staged. */
    const struct gw__staging *staging_in, *staging_out;
};

#define GW__WHOLE UINT32_MAX /* all pieces at once */

/* pass.c: runs one piece of every step of the call. False: the memory of rank
 * `*lost` is unreachable. */
bool gw__run_steps(const struct gw__window_call *w, uint32_t fragment,
                   unsigned *lost);
/* Runs every load, reduction and store of this rank for the pieces that are
 * ready. GW_PENDING: some are missing. */
enum gw_err gw__run_passes(struct gw_request *r, bool *moved,
                           struct gw_error *why);
/* Publishes that this rank no longer touches the memory of others. */
void gw__window_leave(struct gw_request *r);
/* Fails: the memory of `peer` cannot be read. */
enum gw_err gw__window_unreachable(struct gw_request *r, unsigned peer,
                                   struct gw_error *why);
/* The first touched rank that is not in the call, or -1. Values are valid only
 * if their owners were still in the call after the read: a failing rank revokes
 * its control block, and its memory may contain anything. */
int gw__first_not_entered(const struct gw_comm *comm,
                          const struct gw__passes *passes, uint64_t turn);

#endif
