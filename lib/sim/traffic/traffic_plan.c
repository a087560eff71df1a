/* SPDX-License-Identifier: MIT
 *
 * Prepares a plan for its simulation. The verifier's index and versions give
 * the value that each transfer reads and the one to which it contributes. Here
 * transfers become messages and versions become extra values, with counts of
 * their dependencies. A message waits for the values that it carries. A value
 * waits for the messages that bring it, for the previous value, and for all
 * messages with the previous value to leave.
 */
#include "traffic.h"

#include <assert.h>
#include <stdlib.h>

#define HEAP_SLOT          struct gw__traffic_turn
#define HEAP_EARLIER(a, b) ((a)->turn < (b)->turn)
#include "base/heap.h"

/* ---- messages ---- */

/* Creates the messages of a step, in the order of the plan. `newest` has the
 * last one of each flow, a link's channel, from 1. A copy inside a rank is a
 * message that uses no link. */
static bool number_step(struct gw__traffic *f, unsigned step, size_t channels,
                        uint32_t *newest)
{
    struct gw__traffic_plan *p = &f->of_plan;
    uint32_t first = (uint32_t)f->messages.count;
    uint32_t *begin = gw__vector_push(&f->step_begin, sizeof *begin);
    if (!begin)
        return false;
    *begin = first;
    for (size_t t = p->plan->step_begin[step];
         t < p->plan->step_begin[step + 1]; t++) {
        const struct gw_transfer *x = &p->plan->transfers[t];
        uint32_t *last = &newest[p->index.link[t] * channels + x->channel];
        if (*last <= first && !gw__traffic_new_message(f, x->src, x->dst, last))
            return false;
        p->message_of[t] = *last - 1;
        gw__message_at(f, *last - 1)->bytes += p->chunk_bytes[x->chunk];
    }
    return true;
}

static bool make_messages(struct gw__traffic *f)
{
    struct gw__traffic_plan *p = &f->of_plan;
    size_t channels = gw__channels(p->plan);
    uint32_t *newest =
        calloc(channels * ((size_t)p->index.links + 1), sizeof *newest);
    p->message_of =
        malloc(((size_t)p->index.transfers + 1) * sizeof *p->message_of);
    bool room = newest && p->message_of;
    for (unsigned step = 0; room && step < p->plan->steps; step++)
        room = number_step(f, step, channels, newest);
    free(newest);
    return room &&
           gw__buckets_init(&p->carried, p->message_of, p->index.transfers,
                            (uint32_t)f->messages.count);
}

/* ---- values ---- */

static bool make_values(struct gw__traffic *f)
{
    struct gw__traffic_plan *p = &f->of_plan;
    const struct gw__versions *v = &p->versions;
    for (uint32_t i = 0; i < v->count; i++) {
        struct gw__traffic_extra *extra =
            gw__vector_push(&f->extras, sizeof *extra);
        if (!extra)
            return false;
        *extra = (struct gw__traffic_extra){.waiters = GW__NOTHING,
                                            .cause = GW__NOTHING};
        for (uint32_t w = v->writers.begin[i]; w < v->writers.begin[i + 1];
             w++) {
            const struct gw_transfer *x =
                &p->plan->transfers[v->writers.item[w]];
            extra->rank = x->dst;
            if (x->action == GW_ADD || gw__is_local(x))
                extra->adds += p->chunk_bytes[x->chunk];
        }
    }
    return true;
}

/* Lists grow at their front, so the last transfer is inserted first. */
static bool make_dependencies(struct gw__traffic *f)
{
    const struct gw__versions *v = &f->of_plan.versions;
    bool room = true;
    for (uint32_t t = f->of_plan.index.transfers; t-- > 0 && room;) {
        uint32_t message = f->of_plan.message_of[t], read = v->read[t];
        if (!v->first[read])
            room = gw__traffic_wait(
                f, gw__traffic_code(GW__TRAFFIC_EXTRA, read),
                gw__traffic_code(GW__TRAFFIC_MESSAGE, message));
        if (!v->first[read + 1])
            room = room && gw__traffic_wait(
                               f, gw__traffic_code(GW__TRAFFIC_LEFT, message),
                               gw__traffic_code(GW__TRAFFIC_EXTRA, read + 1));
        room = room && gw__traffic_wait(
                           f, gw__traffic_code(GW__TRAFFIC_OWN, message),
                           gw__traffic_code(GW__TRAFFIC_EXTRA, v->write[t]));
    }
    for (uint32_t i = 1; i < v->count && room; i++)
        if (!v->first[i] && !v->first[i - 1])
            room =
                gw__traffic_wait(f, gw__traffic_code(GW__TRAFFIC_EXTRA, i - 1),
                                 gw__traffic_code(GW__TRAFFIC_EXTRA, i));
    return room;
}

static bool make_unfinished(struct gw__traffic *f)
{
    struct gw__traffic_plan *p = &f->of_plan;
    p->unfinished = calloc(p->plan->ranks, sizeof *p->unfinished);
    if (!p->unfinished)
        return false;
    for (uint32_t i = 0; i < p->versions.count; i++)
        if (!p->versions.first[i])
            p->unfinished[gw__extra_at(f, i)->rank]++;
    for (uint32_t m = 0; m < f->messages.count; m++)
        p->unfinished[gw__message_at(f, m)->src]++;
    return true;
}

/* ---- order of events ---- */

static uint32_t turn_of(const struct gw__traffic *f, uint32_t code)
{
    const struct gw__traffic_plan *p = &f->of_plan;
    uint32_t number = gw__traffic_number(code);
    switch (gw__traffic_kind(code)) {
    case GW__TRAFFIC_MESSAGE:
    case GW__TRAFFIC_LEFT:
        return p->index.link[p->carried.item[p->carried.begin[number]]];
    case GW__TRAFFIC_ARRIVAL:
    case GW__TRAFFIC_OWN:
        return p->index.links + number;
    default:
        return p->index.links + (uint32_t)f->messages.count + number;
    }
}

bool gw__turn_put(struct gw__traffic *f, uint32_t code)
{
    struct gw__traffic_turn turn = {turn_of(f, code), code};
    struct gw__vector *turns = &f->of_plan.turns;
    if (!gw__vector_push(turns, sizeof turn))
        return false;
    heap_fill(turns->items, turns->count, turns->count - 1, turn, NULL);
    return true;
}

uint32_t gw__turn_pop(struct gw__traffic *f)
{
    struct gw__vector *turns = &f->of_plan.turns;
    struct gw__traffic_turn *heap = turns->items;
    assert(turns->count > 0);
    uint32_t code = heap[0].code;
    turns->count--;
    heap_fill(heap, turns->count, 0, heap[turns->count], NULL);
    return code;
}

/* ---- the whole plan ---- */

static bool make_chunks(struct gw__traffic *f)
{
    const struct gw_plan *plan = f->job->plan;
    uint64_t *bytes = calloc(plan->chunks, sizeof *bytes);
    f->of_plan.chunk_bytes = bytes;
    for (unsigned c = 0; bytes && c < plan->chunks; c++) {
        size_t offset, length = 0;
        if (plan->collective != GW_BARRIER)
            gw_plan_extent(plan, c, f->job->count, f->job->elem_bytes, &offset,
                           &length);
        bytes[c] = f->job->chunk_bytes ? f->job->chunk_bytes[c]
                                       : length * f->job->elem_bytes;
    }
    return bytes != NULL;
}

enum gw_err gw__traffic_of_plan(struct gw__traffic *f, struct gw_error *why)
{
    struct gw__traffic_plan *p = &f->of_plan;
    p->plan = f->job->plan;
    f->steps = p->plan->steps;
    enum gw_err err = gw__index_init(&p->index, p->plan, why);
    if (!err)
        err = gw__versions_init(&p->versions, &p->index, why);
    if (err)
        return err;
    if (make_chunks(f) && make_messages(f) && make_values(f) &&
        make_dependencies(f) && make_unfinished(f))
        return GW_OK;
    return gw_fail(why, GW_ENOMEM, "simulation of %u transfers",
                   p->index.transfers);
}

void gw__traffic_plan_fini(struct gw__traffic_plan *p)
{
    gw__versions_fini(&p->versions);
    gw__index_fini(&p->index);
    gw__buckets_fini(&p->carried);
    free(p->message_of);
    free(p->chunk_bytes);
    free(p->unfinished);
    free(p->turns.items);
}
