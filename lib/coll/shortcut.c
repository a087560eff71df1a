/* SPDX-License-Identifier: MIT
 *
 * The short way of a call over windows that comes again: post it on the card,
 * wait a moment for those that are touched, load, fold and store, wait a moment
 * for those that touch us. No request, no clock, no state.
 *
 *   in gw_run:  is a routine kept for this kind of call, is nothing else under
 *               way, is the side of the card free? Then post, and
 *     all are there within a moment      do the strokes, and that was it
 *     somebody is late, has a stage,     the call goes on as a request that has
 *     or calls something else            entered, or is leaving: window.c
 *                                        waits, finds errors, describes them
 *
 * So whatever takes time or fails is told in one place.
 *
 * Of eager calls, whose input is on the card, nobody waits for those that read
 * it: ranks that read nobody (the root of a broadcast, the leaves of a gather)
 * run ahead of the others as far as the card has sides. (With 64 of them and
 * not 16, a broadcast of 8 bytes among 8 ranks on 2 cores takes 0.57 us and not
 * 0.94: a wait there is a switch of ranks.) "Left" is then told once in so many
 * turns as half the sides, so that its cache line seldom travels. A reader
 * fetches the side of two turns ahead, which may be there already: between
 * cores that share no cache that makes 125 ns of a broadcast of 8 bytes that
 * took 158. Nobody waits for ever because it is told late: who waits for a side
 * to come free is more turns ahead of this rank than it has not told.
 *
 * What the long way costs beside this (request, clock, geometry of the chunks)
 * is 0.3 us of a call of 2 ranks; with 8 ranks on 2 cores, which take turns, an
 * all-to-all of 128 KiB takes 13.6 us instead of 19.0, a reduce 9.4 instead of
 * 13.3.
 */
#include "coll/shortcut.h"

#include "coll/card.h"

#include <string.h>

enum { AHEAD = 2 }; /* turns: the side to fetch */

/* A call on its short way. */
struct trip {
    struct gw_comm *comm;
    const struct gw_call *call;
    const struct gw__routine *routine;
    struct side *own;
    uint64_t turn;
    uint32_t op;
};

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

/* Where the buffers lie that others touch; false: some cannot be mapped. */
static bool find_places(struct gw_comm *comm, const struct gw__routine *r,
                        const struct gw_call *call, struct gw__place *in,
                        struct gw__place *out)
{
    const struct gw__windows *windows = comm->windows;
    *in = *out = (struct gw__place){.fd = -1};
    if (r->lends && r->kind.in_place)
        *in = windows->show(comm->wire, call->out, r->bytes_out);
    else if (r->lends)
        *in = windows->show(comm->wire, call->in, r->bytes_in);
    if (r->takes)
        *out = windows->show(comm->wire, call->out, r->bytes_out);
    return (!r->lends || in->fd >= 0) && (!r->takes || out->fd >= 0);
}

/* False, and nothing has happened: this call must go the long way. */
static bool post(struct trip *t)
{
    struct gw_comm *comm = t->comm;
    const struct gw__routine *r = t->routine;
    const struct gw_call *call = t->call;
    struct gw__place in, out;
    if (!r->eager && !find_places(comm, r, call, &in, &out))
        return false;
    t->turn = comm->turns++;
    t->op = comm->next_op++;
    gw__history_keep(comm, t->op, &r->signature);
    t->own = gw__side_open(comm, t->turn, t->op, &r->signature);
    if (r->eager) {
        const unsigned char *from = r->kind.in_place ? call->out : call->in;
        if (r->bytes_in)
            memcpy(t->own->bytes, from + r->posted_from, r->bytes_in);
    } else
        gw__side_show(t->own, &in, &out, r->kind.in_place);
    gw__side_publish(comm, t->own, t->turn);
    return true;
}

/* The next look at what others do. False: it has lasted. */
static bool pause_a_moment(struct gw_comm *comm, bool *waited)
{
    *waited = true;
    return !comm->beside_count && comm->windows->relax(comm->wire);
}

/* All whom the strokes touch have entered this turn, with this call, and lie
 * open. */
static bool are_there(const struct trip *t)
{
    struct gw_comm *comm = t->comm;
    const struct gw__routine *r = t->routine;
    const struct gw__passes *passes = gw__routine_passes(r);
    bool waited = false;
    for (unsigned i = 0; i < passes->touch_count; i++) {
        struct side *side = gw__side(comm, passes->touch[i], t->turn);
        while (!gw__has_entered(comm, passes->touch[i], t->turn))
            if (!pause_a_moment(comm, &waited))
                return false;
        __builtin_prefetch(gw__side(comm, passes->touch[i], t->turn + AHEAD));
        if (side->op != t->op ||
            memcmp(&side->signature, &r->signature, sizeof r->signature) != 0)
            return false;
        if (!r->eager && (side->in_slot_bytes || side->out_slot_bytes))
            return false;
    }
    if (waited)
        comm->windows->moved(comm->wire);
    return true;
}

static const unsigned char *origin(const struct trip *t,
                                   const struct gw__spot *spot)
{
    struct gw_comm *comm = t->comm;
    const struct gw_call *call = t->call;
    const struct side *side = gw__side(comm, spot->rank, t->turn);
    const unsigned char *base;
    bool in_place = side->in_place;
    if (spot->rank == comm->rank) {
        in_place = t->routine->kind.in_place;
        base = in_place ? call->out : call->in;
    } else if (t->routine->eager) {
        in_place = false;
        base = side->bytes;
    } else
        base = comm->windows->reach(comm->wire, spot->rank, &side->in);
    return base ? base + spot->offset[in_place] : NULL;
}

static unsigned char *target(const struct trip *t, const struct gw__spot *spot)
{
    struct gw_comm *comm = t->comm;
    const struct side *side = gw__side(comm, spot->rank, t->turn);
    bool own = spot->rank == comm->rank;
    bool in_place = own ? t->routine->kind.in_place : side->in_place;
    unsigned char *base =
        own ? t->call->out
            : comm->windows->reach(comm->wire, spot->rank, &side->out);
    return base ? base + spot->offset[in_place] : NULL;
}

/* False: some memory is out of reach. */
static bool do_stroke(const struct trip *t, const struct gw__stroke *s)
{
    struct gw_comm *comm = t->comm;
    const struct gw__routine *r = t->routine;
    const void **sources = comm->fold_sources;
    void **dests = comm->fold_dests;
    unsigned dest_count = 0;
    for (unsigned i = 0; i < s->origin_count; i++) {
        sources[i] = origin(t, &r->spots[s->origin_begin + i]);
        if (!sources[i])
            return false;
    }
    for (unsigned i = 0; i < s->target_count; i++) {
        void *dest = target(t, &r->spots[s->target_begin + i]);
        if (!dest)
            return false;
        if (s->origin_count > 1 || dest != sources[0])
            dests[dest_count++] = dest;
    }
    if (dest_count == 0)
        return true;
    if (s->origin_count == 1 && dest_count == 1 && !s->past) {
        memcpy(dests[0], sources[0], s->count * r->elem_bytes);
        return true;
    }
    const struct gw_fold fold = {.sources = sources,
                                 .dests = dests,
                                 .source_count = s->origin_count,
                                 .dest_count = dest_count,
                                 .count = s->count,
                                 .type = t->call->type,
                                 .op = t->call->op,
                                 .scale_ranks = s->completes ? comm->size : 1,
                                 .stream = s->past};
    gw__fold_many(&fold);
    return true;
}

static bool do_strokes(const struct trip *t)
{
    const struct gw__routine *r = t->routine;
    for (unsigned i = 0; i < r->stroke_count; i++)
        if (!do_stroke(t, &r->strokes[i]))
            return false;
    return r->eager ||
           gw__first_not_entered(t->comm, &r->program->push, t->turn) < 0;
}

/* Tells that the strokes are done, and waits for those that touch us. */
static bool leave(const struct trip *t)
{
    struct gw_comm *comm = t->comm;
    const struct gw__passes *passes = &t->routine->program->push;
    bool waited = false;
    atomic_store_explicit(&t->own->done, UINT32_MAX, memory_order_release);
    gw__tell_left(comm, t->turn + 1);
    for (unsigned i = 0; i < passes->touched_count; i++)
        while (!gw__has_left(comm, passes->touched[i], t->turn))
            if (!pause_a_moment(comm, &waited))
                return false;
    if (waited)
        comm->windows->moved(comm->wire);
    return true;
}

static enum gw_err go_on(const struct trip *t, enum gw__state state)
{
    return gw__request_resume(t->comm, t->call, t->routine, t->turn, t->op,
                              state);
}

static enum gw_err travel(const struct trip *t, struct gw__routine *routine)
{
    struct gw_comm *comm = t->comm;
    if (!are_there(t) || !do_strokes(t))
        return go_on(t, GW__ENTERED);
    routine->runs++;
    if (!routine->eager && !leave(t))
        return go_on(t, GW__LEAVING);
    comm->turns_done++;
    if (routine->eager && comm->turns_done % (GW__SIDES / 2) == 0)
        gw__tell_left(comm, comm->turns_done);
    return GW_OK;
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

bool gw__shortcut_run(struct gw_comm *comm, const struct gw_call *call,
                      enum gw_err *err)
{
    struct gw__routine *r = gw__routine_find(comm, call);
    struct trip trip = {.comm = comm, .call = call, .routine = r};
    if (!r || comm->error.code || comm->active || comm->config.events ||
        !buffers_are_sound(r, call))
        return false;
    if (!all_agree(comm, err))
        return true;
    if (!gw__side_is_free(comm, comm->turns) || !post(&trip))
        return false;
    *err = travel(&trip, r);
    return true;
}
