/* SPDX-License-Identifier: MIT
 *
 * Routines: what a call over windows comes to once everything but its buffers
 * is known. Which program it runs, what it signs, which bytes of whose card or
 * buffer it folds into which places of whose result. A loop of equal calls asks
 * all of that once.
 *
 * A call that went the long way leaves its routine here, unless its results
 * must wait or its input be set aside (stage.c); the one that was not used for
 * longest gives way. A routine holds its program, and counts its runs: what
 * they moved, runs times the bytes of its strokes, is reckoned when somebody
 * asks.
 */
#include "coll/shortcut.h"

#include "coll/fold.h"
#include "coll/stage.h"

#include <stdlib.h>
#include <string.h>

static bool is_plain(const struct gw_call *call)
{
    return !call->counts && !call->recv_counts && !call->plan;
}

static bool is_like(const struct gw__kind *kind, const struct gw_call *call)
{
    return kind->count == call->count &&
           kind->collective == (uint16_t)call->collective &&
           kind->type == (uint16_t)call->type &&
           kind->op == (uint16_t)call->op && kind->root == call->root &&
           kind->in_place == (call->in == GW_IN_PLACE) &&
           kind->no_out == (call->out == NULL) &&
           kind->segments == call->segments && kind->group == call->group &&
           kind->named == (call->algo != NULL) &&
           (!call->algo || strcmp(kind->algo, call->algo) == 0);
}

struct gw__routine *gw__routine_find(struct gw_comm *comm,
                                     const struct gw_call *call)
{
    struct gw__routine *r = comm->routine;
    if (!is_plain(call))
        return NULL;
    if (r && is_like(&r->kind, call))
        return r;
    for (unsigned i = 0; i < GW__ROUTINES; i++) {
        r = comm->routines[i];
        if (r && is_like(&r->kind, call)) {
            r->used = ++comm->cache_clock;
            return comm->routine = r;
        }
    }
    return NULL;
}

static void add_runs(struct gw_counters *counters,
                     const struct gw_counters *once, uint64_t runs)
{
    counters->messages_sent += runs * once->messages_sent;
    counters->messages_received += runs * once->messages_received;
    counters->bytes_sent += runs * once->bytes_sent;
    counters->bytes_received += runs * once->bytes_received;
}

static void drop(struct gw_comm *comm, struct gw__routine **routine)
{
    struct gw__routine *r = *routine;
    if (!r)
        return;
    for (unsigned i = 0; i < r->moved_count; i++)
        add_runs(&comm->counters[r->moved[i].peer], &r->moved[i].once, r->runs);
    if (comm->routine == r)
        comm->routine = NULL;
    r->program->users--;
    free(r->strokes);
    free(r->spots);
    free(r->moved);
    free(r);
    *routine = NULL;
}

void gw__routines_forget(struct gw_comm *comm)
{
    for (unsigned i = 0; i < GW__ROUTINES; i++)
        drop(comm, &comm->routines[i]);
}

void gw__routines_count(const struct gw_comm *comm, unsigned peer,
                        struct gw_counters *counters)
{
    for (unsigned k = 0; k < GW__ROUTINES; k++) {
        const struct gw__routine *r = comm->routines[k];
        for (unsigned i = 0; r && i < r->moved_count; i++)
            if (r->moved[i].peer == peer)
                add_runs(counters, &r->moved[i].once, r->runs);
    }
}

void gw__routines_count_anew(struct gw_comm *comm)
{
    for (unsigned k = 0; k < GW__ROUTINES; k++)
        if (comm->routines[k])
            comm->routines[k]->runs = 0;
}

/* ---- making one ---- */

static void name_kind(struct gw__kind *kind, const struct gw_call *call)
{
    *kind = (struct gw__kind){
        .count = call->count,
        .collective = (uint16_t)call->collective,
        .type = (uint16_t)call->type,
        .op = (uint16_t)call->op,
        .root = call->root,
        .in_place = call->in == GW_IN_PLACE,
        .no_out = call->out == NULL,
        .segments = call->segments,
        .group = call->group,
        .named = call->algo != NULL,
    };
    if (call->algo)
        memcpy(kind->algo, call->algo, strlen(call->algo));
}

static uint32_t add_spot(struct gw__routine *r, uint32_t rank, size_t plain,
                         size_t in_place)
{
    r->spots[r->spot_count] = (struct gw__spot){
        .rank = rank,
        .offset = {plain * r->elem_bytes, in_place * r->elem_bytes}};
    return r->spot_count++;
}

static void add_stroke(struct gw__routine *r, const struct gw_request *request,
                       const struct gw__pass *pass)
{
    const struct gw_plan *plan = request->program->plan;
    const struct gw_call *call = &request->call;
    const struct gw_comm *comm = request->comm;
    const uint16_t *ranks = passes_of(request)->ranks;
    unsigned chunk = pass->chunk;
    struct gw__stroke *s = &r->strokes[r->stroke_count];
    size_t offset;
    *s = (struct gw__stroke){.completes = pass->completes,
                             .past =
                                 gw__fold_past(comm, call, pass->source_count)};
    gw_plan_extent(plan, chunk, gw__block_elems(call, plan, comm->rank, chunk),
                   r->elem_bytes, &offset, &s->count);
    s->origin_begin = r->spot_count;
    for (uint32_t i = 0; i < pass->source_count; i++) {
        unsigned rank = ranks[pass->source_begin + i];
        add_spot(r, rank, gw__offset_in(call, plan, rank, chunk, false),
                 gw__offset_in(call, plan, rank, chunk, true));
    }
    s->target_begin = r->spot_count;
    for (uint32_t i = 0; i < pass->dest_count; i++) {
        unsigned rank = ranks[pass->dest_begin + i];
        if (rank != comm->rank || call->out)
            add_spot(r, rank, gw__offset_out(call, plan, rank, chunk, false),
                     gw__offset_out(call, plan, rank, chunk, true));
    }
    s->origin_count = s->target_begin - s->origin_begin;
    s->target_count = r->spot_count - s->target_begin;
    r->stroke_count += s->count > 0 && s->target_count > 0;
}

/* What a stroke loads from others and stores into theirs. */
static void count_stroke(const struct gw__routine *r,
                         const struct gw__stroke *s, unsigned rank,
                         struct gw_counters *once)
{
    const struct gw__spot *origins = &r->spots[s->origin_begin];
    const struct gw__spot *targets = &r->spots[s->target_begin];
    for (unsigned i = 0; i < s->origin_count; i++)
        if (origins[i].rank != rank)
            once[origins[i].rank].bytes_received += s->count * r->elem_bytes;
    for (unsigned i = 0; i < s->target_count; i++)
        if (targets[i].rank != rank)
            once[targets[i].rank].bytes_sent += s->count * r->elem_bytes;
}

/* What one run moves, by peer. False: no memory. */
static bool add_moved(struct gw__routine *r, const struct gw_request *request)
{
    unsigned ranks = request->comm->size;
    struct gw_counters *once = calloc(ranks, sizeof *once);
    if (!once)
        return false;
    gw__count_served(request, once);
    for (unsigned i = 0; i < r->stroke_count; i++)
        count_stroke(r, &r->strokes[i], request->comm->rank, once);
    for (unsigned q = 0; q < ranks; q++)
        if (once[q].messages_sent + once[q].messages_received > 0)
            r->moved[r->moved_count++] =
                (struct gw__moved){.peer = q, .once = once[q]};
    free(once);
    return true;
}

static struct gw__routine *new_routine(const struct gw_request *request)
{
    const struct gw__passes *passes = passes_of(request);
    struct gw__routine *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->program = request->program;
    r->program->users++;
    r->strokes = calloc(passes->count + 1, sizeof *r->strokes);
    r->spots = calloc(passes->rank_count + 1, sizeof *r->spots);
    r->moved = calloc(request->comm->size, sizeof *r->moved);
    return r;
}

static void fill(struct gw__routine *r, const struct gw_request *request)
{
    const struct gw__passes *passes = passes_of(request);
    const struct gw_call *call = &request->call;
    name_kind(&r->kind, call);
    r->signature = request->signature;
    r->elem_bytes = request->elem_bytes;
    r->bytes_in = gw__bytes_in(request->comm, call);
    r->bytes_out = gw__bytes_out(request->comm, call);
    r->posted_from = gw__posted_from(request);
    r->eager = request->eager;
    r->lends = !r->eager && gw__stage_is_lent(request) && r->bytes_in > 0;
    r->takes = !r->eager && gw__stage_is_given(request) && r->bytes_out > 0;
    for (unsigned i = 0; i < passes->count; i++)
        add_stroke(r, request, &passes->list[i]);
}

static struct gw__routine **oldest(struct gw_comm *comm)
{
    struct gw__routine **oldest = &comm->routines[0];
    for (unsigned i = 0; i < GW__ROUTINES; i++) {
        struct gw__routine **r = &comm->routines[i];
        if (!*r)
            return r;
        if ((*r)->used < (*oldest)->used)
            oldest = r;
    }
    return oldest;
}

void gw__routine_keep(const struct gw_request *request)
{
    struct gw_comm *comm = request->comm;
    const struct gw_call *call = &request->call;
    if (!is_plain(call) || request->aside || request->deferred ||
        (call->algo && strlen(call->algo) >= GW__ALGO_NAME_BYTES) ||
        gw__routine_find(comm, call))
        return;
    struct gw__routine **place = oldest(comm);
    struct gw__routine *r = new_routine(request);
    drop(comm, place);
    *place = r;
    bool made = r && r->strokes && r->spots && r->moved;
    if (made)
        fill(r, request);
    if (!made || !add_moved(r, request)) {
        drop(comm, place);
        return;
    }
    r->used = ++comm->cache_clock;
}
