/* SPDX-License-Identifier: MIT
 *
 * Orders all steps: a step comes after the one before it in its thread block,
 * after the step on which it depends, and after the send that it receives. If
 * that is not possible, they wait for each other in a cycle.
 *
 * On the way each step gets a vector clock (Mattern 1989): how many steps of
 * each thread block have happened before it in every run. A clock has only the
 * blocks of which there are any, in ascending order. Two steps that touch
 * the same chunk must be ordered by it.
 */
#include "msccl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TICKS_MAX = 1 << 25 };

struct msccl_order {
    struct gw__msccl *msccl;
    uint32_t *left;  /* of each step: its waits that are left */
    uint32_t *after; /* of each step: the first that waits for it, or none */
    uint32_t *next;  /* of each wait (3 per step): the next in that list */
    uint32_t done;
    size_t tick_room;
    bool exhausted;
};

/* The wait of a step, by kind: 0 its block, 1 a dependency, 2 a send. */
static uint32_t waits_for(const struct gw__msccl *m, uint32_t step, int kind)
{
    const struct gw__msccl_step *s = &m->steps[step];
    if (kind == 0)
        return s->number > 0 ? step - 1 : GW__MSCCL_NONE;
    return kind == 1 ? s->dependency : s->peer;
}

static void add_waits(struct msccl_order *o)
{
    for (uint32_t step = o->msccl->step_count; step-- > 0;)
        for (uint32_t kind = 0; kind < 3; kind++) {
            uint32_t on = waits_for(o->msccl, step, (int)kind);
            if (on == GW__MSCCL_NONE)
                continue;
            o->left[step]++;
            o->next[3 * step + kind] = o->after[on];
            o->after[on] = 3 * step + kind;
        }
}

/* Room for the clock of one more step. */
static bool grow_ticks(struct msccl_order *o, size_t more)
{
    struct gw__msccl *m = o->msccl;
    if (m->tick_count + more <= o->tick_room)
        return true;
    size_t room = 2 * (m->tick_count + more);
    void *moved = room <= 2 * (size_t)TICKS_MAX
                      ? realloc(m->ticks, room * sizeof *m->ticks)
                      : NULL;
    if (!moved)
        return false;
    m->ticks = moved;
    o->tick_room = room;
    return true;
}

/* A clock that is being merged. */
struct tick_list {
    size_t at, end;
};

/* The next block of any of the clocks, with its largest count. */
static bool next_tick(const struct gw__msccl *m, struct tick_list lists[3],
                      struct gw__msccl_tick *tick)
{
    *tick = (struct gw__msccl_tick){.block = UINT32_MAX};
    for (int l = 0; l < 3; l++)
        if (lists[l].at < lists[l].end &&
            m->ticks[lists[l].at].block < tick->block)
            tick->block = m->ticks[lists[l].at].block;
    for (int l = 0; l < 3; l++) {
        const struct gw__msccl_tick *t = &m->ticks[lists[l].at];
        if (lists[l].at == lists[l].end || t->block != tick->block)
            continue;
        tick->done = t->done > tick->done ? t->done : tick->done;
        lists[l].at++;
    }
    return tick->block != UINT32_MAX;
}

/* Merges the clocks of the steps that this one waits for, and counts it. */
static bool set_clock(struct msccl_order *o, uint32_t step)
{
    struct gw__msccl *m = o->msccl;
    struct gw__msccl_step *s = &m->steps[step];
    struct tick_list lists[3] = {{0, 0}, {0, 0}, {0, 0}};
    struct gw__msccl_tick tick;
    size_t most = 1;
    for (int kind = 0; kind < 3; kind++) {
        uint32_t on = waits_for(m, step, kind);
        if (on == GW__MSCCL_NONE)
            continue;
        lists[kind].at = m->steps[on].clock;
        lists[kind].end = lists[kind].at + m->steps[on].clock_length;
        most += m->steps[on].clock_length;
    }
    if (!grow_ticks(o, most))
        return false;
    const struct gw__msccl_tick own = {s->block, s->number + 1};
    size_t begin = m->tick_count, used = begin;
    bool counted = false;
    while (next_tick(m, lists, &tick)) {
        if (!counted && tick.block >= own.block) {
            m->ticks[used++] = own;
            counted = true;
        }
        if (tick.block != own.block)
            m->ticks[used++] = tick;
    }
    if (!counted)
        m->ticks[used++] = own;
    s->clock = begin;
    s->clock_length = (uint32_t)(used - begin);
    m->tick_count = used;
    return true;
}

static void order_steps(struct msccl_order *o)
{
    struct gw__msccl *m = o->msccl;
    uint32_t ready = 0;
    for (uint32_t step = 0; step < m->step_count; step++)
        if (o->left[step] == 0)
            m->order[ready++] = step;
    for (; o->done < ready; o->done++) {
        uint32_t step = m->order[o->done];
        if (!set_clock(o, step)) {
            o->exhausted = true;
            return;
        }
        for (uint32_t w = o->after[step]; w != GW__MSCCL_NONE; w = o->next[w])
            if (--o->left[w / 3] == 0)
                m->order[ready++] = w / 3;
    }
}

/* A wait of a step that is left: for another one that is left. */
static uint32_t blocked_by(const struct msccl_order *o, uint32_t step)
{
    uint32_t on = GW__MSCCL_NONE;
    for (int kind = 0; kind < 3; kind++) {
        uint32_t other = waits_for(o->msccl, step, kind);
        if (other != GW__MSCCL_NONE && o->left[other] > 0)
            on = other;
    }
    return on;
}

static void append_step(const struct gw__msccl *m, uint32_t step, char *text,
                        size_t size)
{
    const struct gw__msccl_step *s = &m->steps[step];
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%sgpu %u tb %u step %u",
             used ? " > " : "", m->blocks[s->block].gpu, m->blocks[s->block].id,
             s->number);
}

static enum gw_err refuse_cycle(const struct msccl_order *o,
                                struct gw_error *why)
{
    const struct gw__msccl *m = o->msccl;
    char text[200] = "";
    uint32_t at = 0;
    while (o->left[at] == 0)
        at++;
    for (uint32_t i = 0; i < m->step_count; i++) /* onto the cycle */
        at = blocked_by(o, at);
    uint32_t first = at;
    do {
        append_step(m, at, text, sizeof text);
        at = blocked_by(o, at);
    } while (at != first && strlen(text) + 32 < sizeof text);
    return gw__msccl_refuse(m, first, why,
                            "the steps wait for each other in a cycle: %s%s",
                            text, at == first ? "" : " > ...");
}

static enum gw_err run_order(struct msccl_order *o, struct gw_error *why)
{
    const struct gw__msccl *m = o->msccl;
    add_waits(o);
    order_steps(o);
    if (o->exhausted)
        return gw_fail(why, GW_EDATA,
                       "%.200s: %u thread blocks with %u steps depend on each "
                       "other in too many ways",
                       m->xml->name, m->block_count, m->step_count);
    return o->done == o->msccl->step_count ? GW_OK : refuse_cycle(o, why);
}

enum gw_err gw__msccl_order(struct gw__msccl *m, struct gw_error *why)
{
    size_t steps = m->step_count;
    m->order = calloc(steps + 1, sizeof *m->order);
    struct msccl_order o = {
        .msccl = m,
        .left = calloc(steps + 1, sizeof *o.left),
        .after = malloc((steps + 1) * sizeof *o.after),
        .next = malloc((3 * steps + 1) * sizeof *o.next),
    };
    enum gw_err err = GW_ENOMEM;
    if (m->order && o.left && o.after && o.next) {
        memset(o.after, 0xff, steps * sizeof *o.after);
        err = run_order(&o, why);
    } else
        gw_fail(why, err, "%.200s", m->xml->name);
    free(o.next);
    free(o.after);
    free(o.left);
    return err;
}

bool gw__msccl_before(const struct gw__msccl *m, uint32_t a, uint32_t b)
{
    uint32_t block = m->steps[a].block;
    size_t low = m->steps[b].clock, high = low + m->steps[b].clock_length;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        *(m->ticks[middle].block <= block ? &low : &high) = middle;
    }
    return m->ticks[low].block == block &&
           m->ticks[low].done > m->steps[a].number;
}
