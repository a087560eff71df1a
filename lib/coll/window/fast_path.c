/* SPDX-License-Identifier: MIT
 *
 * The fast path of a call over windows that comes again: post it on the card,
 * wait a moment for those that are touched, load, fold and store, wait a moment
 * for those that touch us. No request, no clock, no state.
 *
 *   in gw_run:  is the call prepared, is nothing else under way, is the side of
 *               the card free? Then post, and
 *     all are there within a moment      run the steps, and that was it
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
 * What a request costs beside this (its memory, clock, geometry of the chunks)
 * is 0.3 us of a call of 2 ranks; with 8 ranks on 2 cores, which take turns, an
 * all-to-all of 128 KiB takes 13.6 us instead of 19.0, a reduce 9.4 instead of
 * 13.3.
 */
#include "control_block.h"

#include <string.h>

enum { AHEAD = 2 }; /* turns: the side to fetch */

/* What a request would refuse, it shall refuse; and it stages what must not be
 * read or stored where it lies. */
static bool buffers_are_sound(const struct gw__prepared_call *p,
                              const struct gw_call *call)
{
    uintptr_t in = (uintptr_t)call->in, out = (uintptr_t)call->out;
    if ((p->bytes_in && !in) || (p->bytes_out && !out))
        return false;
    if (p->key.in_place)
        return !p->set_aside && !p->overwrites;
    return !p->bytes_in || !p->bytes_out || in + p->bytes_in <= out ||
           out + p->bytes_out <= in;
}

/* Where the buffers lie that others touch; false: some cannot be mapped. */
static bool find_places(const struct gw__window_call *w, struct gw__place *in,
                        struct gw__place *out)
{
    struct gw_comm *comm = w->comm;
    const struct gw__prepared_call *p = w->prepared;
    const struct gw__windows *windows = comm->windows;
    *in = *out = (struct gw__place){.fd = -1};
    if (p->lends && p->key.in_place)
        *in = windows->show(comm->wire, w->call->out, p->bytes_out);
    else if (p->lends)
        *in = windows->show(comm->wire, w->call->in, p->bytes_in);
    if (p->takes)
        *out = windows->show(comm->wire, w->call->out, p->bytes_out);
    return (!p->lends || in->fd >= 0) && (!p->takes || out->fd >= 0);
}

/* False, and nothing has happened: this call needs a request. */
static bool post(struct gw__window_call *w)
{
    struct gw_comm *comm = w->comm;
    const struct gw__prepared_call *p = w->prepared;
    struct gw__place in, out;
    if (!p->eager && !find_places(w, &in, &out))
        return false;
    w->turn = comm->turns++;
    w->op = comm->next_op++;
    gw__history_keep(comm, w->op, &p->signature);
    struct side *own = gw__side_open(comm, w->turn, w->op, &p->signature);
    if (p->eager)
        gw__side_post_input(own, p, w->call);
    else
        gw__side_show(own, &in, &out, p->key.in_place);
    gw__side_publish(comm, own, w->turn);
    return true;
}

/* The next look at what others do. False: it has lasted. */
static bool pause_a_moment(struct gw_comm *comm, bool *waited)
{
    *waited = true;
    return !comm->beside_count && comm->windows->relax(comm->wire);
}

/* All whom the steps touch have entered this turn, with this call, and lie
 * open. */
static bool are_there(const struct gw__window_call *w)
{
    struct gw_comm *comm = w->comm;
    const struct gw__prepared_call *p = w->prepared;
    const struct gw__passes *passes = gw__prepared_passes(p);
    bool waited = false;
    for (unsigned i = 0; i < passes->touch_count; i++) {
        struct side *side = gw__side(comm, passes->touch[i], w->turn);
        while (!gw__has_entered(comm, passes->touch[i], w->turn))
            if (!pause_a_moment(comm, &waited))
                return false;
        __builtin_prefetch(gw__side(comm, passes->touch[i], w->turn + AHEAD));
        if (side->op != w->op ||
            memcmp(&side->signature, &p->signature, sizeof p->signature) != 0)
            return false;
        if (!p->eager && (side->in_slot_bytes || side->out_slot_bytes))
            return false;
    }
    if (waited)
        comm->windows->moved(comm->wire);
    return true;
}

/* False: some memory is out of reach, or somebody has withdrawn. */
static bool run_steps(const struct gw__window_call *w)
{
    const struct gw__prepared_call *p = w->prepared;
    unsigned lost;
    return gw__run_steps(w, GW__WHOLE, &lost) &&
           (p->eager ||
            gw__first_not_entered(w->comm, &p->program->push, w->turn) < 0);
}

/* Says that the steps are done, and waits for those that touch us. */
static bool leave(const struct gw__window_call *w)
{
    struct gw_comm *comm = w->comm;
    const struct gw__passes *passes = &w->prepared->program->push;
    bool waited = false;
    atomic_store_explicit(&gw__side(comm, comm->rank, w->turn)->done,
                          UINT32_MAX, memory_order_release);
    gw__tell_left(comm, w->turn + 1);
    for (unsigned i = 0; i < passes->touched_count; i++)
        while (!gw__has_left(comm, passes->touched[i], w->turn))
            if (!pause_a_moment(comm, &waited))
                return false;
    if (waited)
        comm->windows->moved(comm->wire);
    return true;
}

static enum gw_err run(const struct gw__window_call *w)
{
    struct gw_comm *comm = w->comm;
    if (!are_there(w) || !run_steps(w))
        return gw__request_resume(w, GW__ENTERED);
    w->prepared->runs++;
    if (!w->prepared->eager && !leave(w))
        return gw__request_resume(w, GW__LEAVING);
    comm->turns_done++;
    if (w->prepared->eager && comm->turns_done % (GW__SIDES / 2) == 0)
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

bool gw__fast_path_run(struct gw_comm *comm, const struct gw_call *call,
                       enum gw_err *err)
{
    struct gw__window_call w = {
        .comm = comm, .call = call, .prepared = gw__prepared_find(comm, call)};
    if (!w.prepared || comm->error.code || comm->active ||
        comm->config.events || !buffers_are_sound(w.prepared, call))
        return false;
    if (!all_agree(comm, err))
        return true;
    if (!gw__side_is_free(comm, comm->turns) || !post(&w))
        return false;
    *err = run(&w);
    return true;
}
