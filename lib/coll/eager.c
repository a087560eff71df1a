/* SPDX-License-Identifier: MIT
 *
 * The short way of a small call: post the input on the card, wait a moment for
 * those that are read, fold from their cards. No request, no clock, no state.
 *
 *   in gw_run:  is a routine kept for this kind of call, is nothing else under
 *               way, is the side of the card free? Then post, and
 *     all are there within a moment     fold, and that was the call
 *     somebody is late, or calls        the call goes on as a request that has
 *     something else                    entered: window.c waits, finds errors,
 *                                       and describes them
 *
 * So whatever takes time or fails is told in one place.
 *
 * Ranks that read nobody (the root of a broadcast, the leaves of a gather) run
 * ahead of the others as far as the card has sides, without a wait. "Left" is
 * told once in so many turns as half the sides: then a cache line with it
 * travels once in eight calls. A reader fetches the side of two turns ahead,
 * which may be there already: between cores that share no cache that makes 125
 * ns of a broadcast of 8 bytes that took 158. Nobody waits for ever because it
 * is told late: who waits for a side to come free is more than eight turns
 * ahead of this rank in any case.
 */
#include "coll/eager.h"

#include "coll/card.h"

#include <string.h>

enum { AHEAD = 2 }; /* turns: the side to fetch */

/* What the long way would refuse, it shall refuse. */
static bool buffers_are_sound(const struct gw__routine *r,
                              const struct gw_call *call)
{
    uintptr_t in = (uintptr_t)call->in, out = (uintptr_t)call->out;
    if ((r->bytes_in && !in) || (r->bytes_out && !out))
        return false;
    return r->kind.in_place || !r->bytes_in || !r->bytes_out ||
           in + r->bytes_in <= out || out + r->bytes_out <= in;
}

static bool may_begin(struct gw_comm *comm, const struct gw__routine *r,
                      const struct gw_call *call)
{
    return !comm->active && !comm->config.events &&
           buffers_are_sound(r, call) && gw__side_is_free(comm, comm->turns);
}

static void post(struct gw_comm *comm, const struct gw__routine *r,
                 const struct gw_call *call, uint64_t turn, uint32_t op)
{
    struct side *side = gw__side_open(comm, turn, op, &r->signature);
    const unsigned char *from = r->kind.in_place ? call->out : call->in;
    if (r->bytes_in)
        memcpy(side->bytes, from + r->posted_from, r->bytes_in);
    gw__side_publish(comm, side, turn);
}

/* All whose cards are read have entered this turn, with this call. */
static bool are_there(struct gw_comm *comm, const struct gw__routine *r,
                      uint64_t turn, uint32_t op)
{
    const struct gw__passes *passes = &r->program->pull;
    bool waited = false;
    for (unsigned i = 0; i < passes->touch_count; i++) {
        struct side *side = gw__side(comm, passes->touch[i], turn);
        while (atomic_load_explicit(&side->entered, memory_order_acquire) !=
               turn + 1) {
            if (comm->beside_count || !comm->windows->relax(comm->wire))
                return false;
            waited = true;
        }
        __builtin_prefetch(gw__side(comm, passes->touch[i], turn + AHEAD));
        if (side->op != op ||
            memcmp(&side->signature, &r->signature, sizeof r->signature) != 0)
            return false;
    }
    if (waited)
        comm->windows->moved(comm->wire);
    return true;
}

static void run_strokes(struct gw_comm *comm, const struct gw__routine *r,
                        const struct gw_call *call, uint64_t turn)
{
    const unsigned char *own = r->kind.in_place ? call->out : call->in;
    for (unsigned i = 0; i < r->stroke_count; i++) {
        const struct gw__stroke *s = &r->strokes[i];
        const struct gw__origin *origins = &r->origins[s->origin_begin];
        void *dest = (unsigned char *)call->out + s->offset;
        for (unsigned k = 0; k < s->origin_count; k++) {
            unsigned rank = origins[k].rank;
            comm->fold_sources[k] =
                (rank == comm->rank ? own : gw__side(comm, rank, turn)->bytes) +
                origins[k].offset;
        }
        if (s->origin_count == 1) {
            memcpy(dest, comm->fold_sources[0], s->count * r->elem_bytes);
            continue;
        }
        struct gw_fold fold = {.sources = comm->fold_sources,
                               .dests = &dest,
                               .source_count = s->origin_count,
                               .dest_count = 1,
                               .count = s->count,
                               .type = call->type,
                               .op = call->op,
                               .scale_ranks = s->completes ? comm->size : 1};
        gw__fold_many(&fold);
    }
}

/* Ranks that never wait would never see that others call something else, so
 * they look around once in a while. */
static bool all_agree(struct gw_comm *comm, enum gw_err *err)
{
    struct gw_error why = {0};
    if (comm->turns % (4 * GW__SIDES) || !gw__find_mismatch(comm, &why))
        return true;
    *err = gw__comm_fail(comm, &why);
    return false;
}

bool gw__eager_run(struct gw_comm *comm, const struct gw_call *call,
                   enum gw_err *err)
{
    struct gw__routine *r = gw__routine_find(comm, call);
    if (!r || comm->error.code)
        return false;
    if (!all_agree(comm, err))
        return true;
    if (!may_begin(comm, r, call))
        return false;
    uint64_t turn = comm->turns++;
    uint32_t op = comm->next_op++;
    gw__history_keep(comm, op, &r->signature);
    post(comm, r, call, turn, op);
    if (!are_there(comm, r, turn, op)) {
        *err = gw__request_resume(comm, call, r, turn, op);
        return true;
    }
    run_strokes(comm, r, call, turn);
    comm->turns_done++;
    if (comm->turns_done % (GW__SIDES / 2) == 0)
        gw__tell_left(comm, comm->turns_done);
    r->runs++;
    *err = GW_OK;
    return true;
}
