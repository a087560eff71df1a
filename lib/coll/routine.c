/* SPDX-License-Identifier: MIT
 *
 * Routines: what an eager call comes to once everything but its buffers is
 * known. Which program it runs, what it signs, which bytes of whose card it
 * folds into which place of the result. A loop of equal calls asks all of that
 * once.
 *
 * A call that was begun the long way and proved to be eager leaves its routine
 * here; the one that was not used for longest gives way. A routine holds its
 * program, and counts its runs: what they moved is reckoned when somebody asks.
 */
#include "coll/eager.h"

#include "coll/card.h"

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
    free(r->origins);
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

static uint32_t origin_offset(const struct gw__routine *r,
                              const struct gw_request *request, unsigned rank,
                              unsigned chunk)
{
    bool own = rank == request->comm->rank;
    return (uint32_t)(r->elem_bytes *
                      gw__offset_in(&request->call, request->program->plan,
                                    rank, chunk, own && r->kind.in_place));
}

/* A value that lies where it belongs is no stroke. */
static void add_stroke(struct gw__routine *r, const struct gw_request *request,
                       const struct gw__pass *pass)
{
    const struct gw_plan *plan = request->program->plan;
    const uint16_t *ranks = passes_of(request)->ranks;
    unsigned me = request->comm->rank;
    struct gw__stroke *s = &r->strokes[r->stroke_count];
    size_t offset, length;
    gw_plan_extent(plan, pass->chunk,
                   gw__block_elems(&request->call, plan, me, pass->chunk),
                   r->elem_bytes, &offset, &length);
    *s = (struct gw__stroke){
        .origin_begin = r->origin_count,
        .origin_count = pass->source_count,
        .offset = (uint32_t)(r->elem_bytes *
                             gw__offset_out(&request->call, plan, me,
                                            pass->chunk, r->kind.in_place)),
        .count = (uint32_t)length,
        .completes = pass->completes,
    };
    unsigned first = ranks[pass->source_begin];
    bool there = pass->source_count == 1 && first == me && r->kind.in_place &&
                 origin_offset(r, request, me, pass->chunk) == s->offset;
    if (length == 0 || there)
        return;
    for (uint32_t i = 0; i < pass->source_count; i++) {
        unsigned rank = ranks[pass->source_begin + i];
        r->origins[r->origin_count++] = (struct gw__origin){
            .rank = rank,
            .offset = origin_offset(r, request, rank, pass->chunk)};
    }
    r->stroke_count++;
}

/* What one run moves, by peer. False: no memory. */
static bool add_moved(struct gw__routine *r, const struct gw_request *request)
{
    unsigned ranks = request->comm->size;
    struct gw_counters *once = calloc(ranks, sizeof *once);
    if (!once)
        return false;
    gw__count_moved(request, once);
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
    r->origins = calloc(passes->rank_count + 1, sizeof *r->origins);
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
    for (unsigned i = 0; call->out && i < passes->count; i++)
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
    if (!is_plain(call) ||
        (call->algo && strlen(call->algo) >= GW__ALGO_NAME_BYTES) ||
        gw__routine_find(comm, call))
        return;
    struct gw__routine **place = oldest(comm);
    struct gw__routine *r = new_routine(request);
    drop(comm, place);
    *place = r;
    if (!r || !r->strokes || !r->origins || !r->moved ||
        !add_moved(r, request)) {
        drop(comm, place);
        return;
    }
    fill(r, request);
    r->used = ++comm->cache_clock;
}
