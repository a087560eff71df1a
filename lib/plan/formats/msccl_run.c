/* SPDX-License-Identifier: MIT
 *
 * Runs the steps of MSCCL's XML on symbols, in their order, into a flow of
 * values. Each place of a gpu has a value, the step that wrote it, and the steps
 * that have read it since. A step that touches a place must come after all of
 * those in every run, or the file has a race: a chunk is overwritten before it
 * was read.
 */
#include "msccl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES_MAX = 1 << 23 };

struct msccl_place {
    uint32_t value;  /* or none */
    uint32_t writer; /* step, or none */
    uint32_t reads;  /* the first of `reads`, or none */
};

struct msccl_reading {
    uint32_t step, next;
};

struct msccl_run {
    struct gw__msccl *msccl;
    struct gw__flow *flow;
    bool in_place;
    struct msccl_place *places;
    struct msccl_reading *readings;
    size_t reading_count, reading_room;
    uint32_t *payload; /* values sent, by step */
    uint32_t payload_count;
    uint32_t *sent_level; /* of each block: the level of its last message */
    uint32_t results;     /* of a custom algorithm */
    struct gw_error *why;
};

/* One step at work. */
struct msccl_work {
    uint32_t step;
    uint32_t gpu;
    const struct gw__msccl_step *s;
    const struct gw__msccl_action *action;
    uint32_t level;
};

static struct msccl_place *place_at(const struct msccl_run *r, uint32_t gpu,
                                    struct gw__msccl_range range, unsigned k)
{
    range.offset += k;
    return &r->places[r->msccl->gpus[gpu].place_begin +
                      gw__msccl_place(r->msccl, r->in_place, gpu, range)];
}

/* `other` has read or written the place that this step overwrites. */
static enum gw_err refuse_overwrite(const struct msccl_run *r,
                                    const struct msccl_work *w, unsigned k,
                                    uint32_t other, const char *touched)
{
    const struct gw__msccl_step *s = &r->msccl->steps[other];
    return gw__msccl_refuse(
        r->msccl, w->step, r->why,
        "%c[%u] is overwritten before step %u of tb %u has %s it: no "
        "dependency orders them",
        gw__msccl_sign(w->s->dst.buffer), w->s->dst.offset + k, s->number,
        r->msccl->blocks[s->block].id, touched);
}

/* `other` writes the place that this step reads. */
static enum gw_err refuse_read(const struct msccl_run *r,
                               const struct msccl_work *w,
                               struct gw__msccl_range range, unsigned k,
                               uint32_t other)
{
    const struct gw__msccl_step *s = &r->msccl->steps[other];
    return gw__msccl_refuse(
        r->msccl, w->step, r->why,
        "%c[%u] is read, but no dependency orders this after step %u of tb %u, "
        "which writes it",
        gw__msccl_sign(range.buffer), range.offset + k, s->number,
        r->msccl->blocks[s->block].id);
}

static enum gw_err note_reading(struct msccl_run *r, struct msccl_place *place,
                                uint32_t step)
{
    if (r->reading_count == r->reading_room) {
        size_t room = r->reading_room ? 2 * r->reading_room : 1024;
        void *moved = realloc(r->readings, room * sizeof *r->readings);
        if (!moved)
            return gw_fail(r->why, GW_ENOMEM, "%.200s", r->msccl->xml->name);
        r->readings = moved;
        r->reading_room = room;
    }
    r->readings[r->reading_count] = (struct msccl_reading){step, place->reads};
    place->reads = (uint32_t)r->reading_count++;
    return GW_OK;
}

/* The value of a place, for a step that reads it. */
static enum gw_err load(struct msccl_run *r, const struct msccl_work *w,
                        struct gw__msccl_range range, unsigned k,
                        uint32_t *value)
{
    struct msccl_place *place = place_at(r, w->gpu, range, k);
    *value = GW__NO_VALUE;
    if (place->writer != GW__MSCCL_NONE &&
        !gw__msccl_before(r->msccl, place->writer, w->step))
        return refuse_read(r, w, range, k, place->writer);
    if (place->value == GW__NO_VALUE)
        return gw__msccl_refuse(r->msccl, w->step, r->why,
                                "%c[%u] is read before it has a value",
                                gw__msccl_sign(range.buffer), range.offset + k);
    *value = place->value;
    return note_reading(r, place, w->step);
}

static enum gw_err store(struct msccl_run *r, const struct msccl_work *w,
                         unsigned k, uint32_t value)
{
    struct msccl_place *place = place_at(r, w->gpu, w->s->dst, k);
    if (place->writer != GW__MSCCL_NONE &&
        !gw__msccl_before(r->msccl, place->writer, w->step))
        return refuse_overwrite(r, w, k, place->writer, "written");
    assert(place->reads == GW__MSCCL_NONE || r->readings);
    for (uint32_t i = place->reads; i != GW__MSCCL_NONE;
         i = r->readings[i].next)
        if (r->readings[i].step != w->step &&
            !gw__msccl_before(r->msccl, r->readings[i].step, w->step))
            return refuse_overwrite(r, w, k, r->readings[i].step, "read");
    *place = (struct msccl_place){value, w->step, GW__MSCCL_NONE};
    return GW_OK;
}

/* ---- sums ---- */

static enum gw_err check_sum(const struct msccl_run *r,
                             const struct msccl_work *w, uint32_t a, uint32_t b)
{
    const struct gw__flow *flow = r->flow;
    unsigned chunk = flow->values[a].chunk, other = flow->values[b].chunk;
    if (flow->words == 0)
        return gw__msccl_refuse(
            r->msccl, w->step, r->why, "type=\"%s\" reduces, but %s does not",
            w->action->name, gw_collective_name(flow->shape.collective));
    if (chunk != other)
        return gw__msccl_refuse(r->msccl, w->step, r->why,
                                "adds a part of chunk %u to one of chunk %u",
                                other, chunk);
    int twice = gw__flow_shared(flow, a, b);
    return twice < 0 ? GW_OK
                     : gw__msccl_refuse(r->msccl, w->step, r->why,
                                        "would count gpu %d twice in chunk %u",
                                        twice, chunk);
}

static uint32_t later_level(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t level_after(const struct msccl_run *r, uint32_t value)
{
    return r->flow->values[value].level + 1;
}

/* ---- one step ---- */

static uint32_t received(const struct msccl_run *r, const struct msccl_work *w,
                         unsigned k)
{
    return r->payload[r->msccl->steps[w->s->peer].payload + k];
}

/* The level of the step's message or sum: after all that it is made of. The
 * chunks of a step move together. */
static enum gw_err find_level(struct msccl_run *r, struct msccl_work *w,
                              uint32_t *loaded)
{
    enum gw_err err = GW_OK;
    w->level = 1;
    if (w->action->receives)
        w->level = r->sent_level[r->msccl->steps[w->s->peer].block] + 1;
    for (unsigned k = 0; k < w->s->count && !err; k++) {
        if (w->action->receives)
            w->level = later_level(w->level, level_after(r, received(r, w, k)));
        loaded[k] = GW__NO_VALUE;
        if (w->action->loads)
            err = load(r, w, w->s->src, k, &loaded[k]);
        if (!err && w->action->loads && w->s->type != GW__MSCCL_SEND)
            w->level = later_level(w->level, level_after(r, loaded[k]));
        if (err || w->s->type != GW__MSCCL_REDUCE)
            continue;
        uint32_t into = GW__NO_VALUE;
        err = load(r, w, w->s->dst, k, &into);
        if (!err)
            w->level = later_level(w->level, level_after(r, into));
    }
    return err;
}

/* The value that comes of chunk k of the step. */
static enum gw_err make_value(struct msccl_run *r, const struct msccl_work *w,
                              unsigned k, uint32_t loaded, uint32_t *made)
{
    unsigned channel = r->msccl->blocks[w->s->block].channel;
    uint32_t first = loaded, second = GW__NO_VALUE;
    if (w->s->type == GW__MSCCL_REDUCE) {
        first = place_at(r, w->gpu, w->s->dst, k)->value;
        second = loaded;
    } else if (w->action->receives && w->action->loads)
        second = received(r, w, k);
    else if (w->action->receives)
        return gw__flow_move(r->flow, received(r, w, k), w->gpu, channel,
                             w->level, made, r->why);
    *made = first;
    if (second == GW__NO_VALUE)
        return GW_OK; /* a copy */
    enum gw_err err = check_sum(r, w, first, second);
    return err ? err
               : gw__flow_add(r->flow, first, second, channel, w->level, made,
                              r->why);
}

static enum gw_err work_step(struct msccl_run *r, uint32_t step,
                             uint32_t *loaded)
{
    struct gw__msccl_step *s = &r->msccl->steps[step];
    struct msccl_work w = {.step = step,
                           .gpu = r->msccl->blocks[s->block].gpu,
                           .s = s,
                           .action = &gw__msccl_actions[s->type]};
    enum gw_err err = find_level(r, &w, loaded);
    s->payload = r->payload_count;
    for (unsigned k = 0; k < s->count && !err; k++) {
        uint32_t value = GW__NO_VALUE;
        err = make_value(r, &w, k, loaded[k], &value);
        if (!err && w.action->stores)
            err = store(r, &w, k, value);
        if (!err && w.action->sends)
            r->payload[r->payload_count++] = value;
    }
    if (!err && w.action->receives)
        r->sent_level[r->msccl->steps[s->peer].block] = w.level;
    return err;
}

/* ---- before and after ---- */

static void fill_inputs(struct msccl_run *r, uint32_t gpu)
{
    const struct gw__msccl *m = r->msccl;
    unsigned size = gw__msccl_size(m, gpu, GW__MSCCL_INPUT);
    for (unsigned k = 0; k < size; k++) {
        struct gw__msccl_range range = {GW__MSCCL_INPUT, k};
        unsigned chunk = gw__msccl_chunk(m, gpu, range);
        if (chunk != GW__MSCCL_NONE)
            place_at(r, gpu, range, 0)->value =
                gw__flow_input(r->flow, gpu, chunk);
    }
}

/* The result at a place of the output must be complete. */
static enum gw_err take_output(struct msccl_run *r, uint32_t gpu,
                               struct gw__msccl_range range)
{
    const struct gw__msccl *m = r->msccl;
    unsigned chunk = gw__msccl_chunk(m, gpu, range);
    if (!gw_plan_wants(&m->shape, gpu, chunk))
        return GW_OK;
    uint32_t value = place_at(r, gpu, range, 0)->value;
    const char *name = m->xml->name;
    unsigned line = m->gpus[gpu].line;
    if (value == GW__NO_VALUE)
        return gw_fail(r->why, GW_EDATA,
                       "%.200s:%u: gpu %u: the result is incomplete: o[%u] "
                       "never gets a value",
                       name, line, gpu, range.offset);
    unsigned found = r->flow->values[value].chunk;
    if (found != chunk)
        return gw_fail(r->why, GW_EDATA,
                       "%.200s:%u: gpu %u: the result is wrong: o[%u] has "
                       "chunk %u instead of chunk %u",
                       name, line, gpu, range.offset, found, chunk);
    int lacking = gw__flow_lacking(r->flow, value);
    if (lacking >= 0)
        return gw_fail(r->why, GW_EDATA,
                       "%.200s:%u: gpu %u: the result is incomplete: o[%u] "
                       "lacks the data of gpu %d",
                       name, line, gpu, range.offset, lacking);
    gw__flow_output(r->flow, value);
    return GW_OK;
}

/* Custom: a complete chunk is a result. Of several places with it, the first
 * counts. The input of a gpu with one buffer is not a result. */
static void take_custom(struct msccl_run *r, uint32_t gpu,
                        struct gw__msccl_range range)
{
    struct gw_plan *shape = &r->msccl->shape;
    uint32_t value = place_at(r, gpu, range, 0)->value;
    if (value == GW__NO_VALUE || gw__flow_lacking(r->flow, value) >= 0 ||
        (r->in_place && r->flow->values[value].level == 0))
        return;
    unsigned chunk = r->flow->values[value].chunk;
    unsigned char *cell =
        &shape->conditions[gpu * (size_t)shape->chunks + chunk];
    if (*cell & GW_WANTS)
        return;
    *cell |= GW_WANTS;
    r->results++;
    gw__flow_output(r->flow, value);
}

static enum gw_err take_outputs(struct msccl_run *r)
{
    const struct gw__msccl *m = r->msccl;
    enum gw_err err = GW_OK;
    for (uint32_t gpu = 0; gpu < m->shape.ranks && !err; gpu++) {
        unsigned size = gw__msccl_size(m, gpu, GW__MSCCL_OUTPUT);
        for (unsigned k = 0; k < size && !err; k++) {
            const struct gw__msccl_range range = {GW__MSCCL_OUTPUT, k};
            if (m->shape.collective == GW_CUSTOM)
                take_custom(r, gpu, range);
            else
                err = take_output(r, gpu, range);
        }
    }
    if (!err && m->shape.collective == GW_CUSTOM && r->results == 0)
        return gw_fail(r->why, GW_EDATA,
                       "%.200s:%u: <algo>: no gpu has a result in its output",
                       m->xml->name, m->xml->elements[0].line);
    return err;
}

static enum gw_err run_all(struct msccl_run *r, uint32_t *loaded)
{
    const struct gw__msccl *m = r->msccl;
    enum gw_err err = GW_OK;
    for (uint32_t gpu = 0; gpu < m->shape.ranks; gpu++)
        fill_inputs(r, gpu);
    for (uint32_t i = 0; i < m->step_count && !err; i++)
        err = work_step(r, m->order[i], loaded);
    return err ? err : take_outputs(r);
}

enum gw_err gw__msccl_count(struct gw__msccl *m, uint32_t *places,
                            uint64_t *payload, struct gw_error *why)
{
    uint64_t count = 0;
    *payload = 0;
    for (uint32_t gpu = 0; gpu < m->shape.ranks; gpu++) {
        m->gpus[gpu].place_begin = (uint32_t)count;
        count += gw__msccl_places(m, gpu);
        if (count > PLACES_MAX)
            return gw_fail(why, GW_EDATA, "%.200s:%u: more than %d chunks",
                           m->xml->name, m->gpus[gpu].line, PLACES_MAX);
    }
    for (uint32_t s = 0; s < m->step_count; s++)
        *payload += m->steps[s].count;
    *places = (uint32_t)count;
    if (*payload <= GW__FLOW_VALUES_MAX)
        return GW_OK;
    return gw_fail(why, GW_EDATA, "%.200s: the steps move more than %d chunks",
                   m->xml->name, GW__FLOW_VALUES_MAX);
}

enum gw_err gw__msccl_run(struct gw__msccl *m, bool in_place,
                          struct gw__flow *flow, struct gw_error *why)
{
    uint32_t places = 0, most = 0;
    uint64_t payload = 0;
    enum gw_err err = gw__msccl_count(m, &places, &payload, why);
    if (err)
        return err;
    for (uint32_t s = 0; s < m->step_count; s++)
        most = later_level(most, m->steps[s].count);
    struct msccl_run r = {
        .msccl = m,
        .flow = flow,
        .in_place = in_place,
        .places = calloc(places + (size_t)1, sizeof *r.places),
        .payload = calloc(payload + 1, sizeof *r.payload),
        .sent_level = calloc(m->block_count + 1, sizeof *r.sent_level),
        .why = why,
    };
    uint32_t *loaded = calloc((size_t)most + 1, sizeof *loaded);
    bool room = r.places && r.payload && r.sent_level && loaded;
    for (uint32_t i = 0; room && i < places; i++)
        r.places[i] =
            (struct msccl_place){GW__NO_VALUE, GW__MSCCL_NONE, GW__MSCCL_NONE};
    err = room ? run_all(&r, loaded)
               : gw_fail(why, GW_ENOMEM, "%.200s", m->xml->name);
    free(loaded);
    free(r.sent_level);
    free(r.payload);
    free(r.readings);
    free(r.places);
    return err;
}
