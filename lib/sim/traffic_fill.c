/* SPDX-License-Identifier: MIT
 *
 * Max-min shares over classes and bundles: the filling up of traffic_share.c, a
 * class in the place of a link and a bundle in the place of a flow. See
 * traffic_classes.h.
 */
#include "traffic_classes.h"

#include <math.h>

/* Shares so near to each other are one: roundings must not make rounds. */
static const double NEAR = 1 + 1e-9;

/* How many of the bundle's messages a link of the class carries. */
static double messages_a_link(const struct gw__classes *c,
                              const struct gw__use *use)
{
    return (double)gw__bundle_at(c, use->bundle)->messages * use->times /
           gw__class_at(c, use->class)->link_count;
}

static void near_class(struct gw__classes *c, uint32_t number)
{
    struct gw__class *class = gw__class_at(c, number);
    if (class->mark == c->round || class->first_use == GW__NOTHING)
        return;
    class->mark = c->round;
    class->room = class->rate;
    class->open = 0;
    gw__classes_push(c, &c->near_c, number);
}

static void near_bundle(struct gw__classes *c, uint32_t number)
{
    struct gw__bundle *bundle = gw__bundle_at(c, number);
    if (bundle->mark == c->round)
        return;
    bundle->mark = c->round;
    bundle->settled = false;
    gw__classes_push(c, &c->near_b, number);
    for (uint32_t u = bundle->first_use; u != GW__NOTHING;
         u = gw__use_at(c, u)->next)
        near_class(c, gw__use_at(c, u)->class);
}

static void gather(struct gw__classes *c, uint32_t first)
{
    c->near_c.count = c->near_b.count = 0;
    near_class(c, first);
    for (size_t i = 0; i < c->near_c.count; i++) {
        uint32_t number = ((uint32_t *)c->near_c.items)[i];
        struct gw__class *class = gw__class_at(c, number);
        for (uint32_t u = class->first_use; u != GW__NOTHING;
             u = gw__use_at(c, u)->after) {
            near_bundle(c, gw__use_at(c, u)->bundle);
            class->open += messages_a_link(c, gw__use_at(c, u));
        }
    }
}

/* A bundle keeps its rate, and so the time of its next end, or gets both
 * anew. */
static void set_rate(struct gw__classes *c, uint32_t number, double rate)
{
    struct gw__bundle *bundle = gw__bundle_at(c, number);
    if (rate == bundle->rate && bundle->fresh == GW__NOTHING &&
        bundle->due_ps != UINT64_MAX)
        return;
    gw__bundle_serve(c, bundle);
    bundle->rate = rate;
    double first = HUGE_VAL;
    if (bundle->group_count > 0)
        first = bundle->groups[0].end;
    for (uint32_t at = bundle->fresh; at != GW__NOTHING;
         at = ((struct gw__group *)c->fresh.items)[at].next) {
        double end = ((struct gw__group *)c->fresh.items)[at].end;
        first = end < first ? end : first;
    }
    double left = first - bundle->served;
    double takes = (left > 0 ? left : 0) / rate;
    uint64_t due_ps =
        c->now_ps +
        (takes < (double)GW__PS_MAX ? (uint64_t)llround(takes) : GW__PS_MAX);
    bundle->due_ps = due_ps;
    gw__heap_put(&c->due, number, due_ps);
}

static void settle(struct gw__classes *c, uint32_t number, double rate)
{
    struct gw__bundle *bundle = gw__bundle_at(c, number);
    if (bundle->settled)
        return;
    bundle->settled = true;
    set_rate(c, number, rate);
    for (uint32_t u = bundle->first_use; u != GW__NOTHING;
         u = gw__use_at(c, u)->next) {
        const struct gw__use *use = gw__use_at(c, u);
        struct gw__class *class = gw__class_at(c, use->class);
        double messages = messages_a_link(c, use);
        class->room -= messages * rate;
        class->open -= messages;
    }
}

/* Less than half a message is none: sums of fractions may leave a rest. */
static bool is_open(const struct gw__class *class)
{
    return class->open > 1e-6;
}

static double least_share(struct gw__classes *c)
{
    uint32_t *near_c = c->near_c.items;
    size_t kept = 0;
    double least = HUGE_VAL;
    for (size_t i = 0; i < c->near_c.count; i++) {
        const struct gw__class *class = gw__class_at(c, near_c[i]);
        if (!is_open(class))
            continue;
        near_c[kept++] = near_c[i];
        double share = class->room / class->open;
        least = share < least ? share : least;
    }
    c->near_c.count = kept;
    return least;
}

static void fill_up(struct gw__classes *c)
{
    double least;
    while ((least = least_share(c)) < HUGE_VAL)
        for (size_t i = 0; i < c->near_c.count; i++) {
            uint32_t number = ((uint32_t *)c->near_c.items)[i];
            struct gw__class *class = gw__class_at(c, number);
            if (!is_open(class) || class->room / class->open > least * NEAR)
                continue;
            for (uint32_t u = class->first_use; u != GW__NOTHING;
                 u = gw__use_at(c, u)->after)
                settle(c, gw__use_at(c, u)->bundle, least);
        }
}

void gw__classes_deal(struct gw__classes *c)
{
    if (c->batch.count > 0)
        gw__colours_sort(c);
    c->round++;
    for (size_t i = 0; i < c->touched.count && !c->exhausted; i++) {
        uint32_t number = ((uint32_t *)c->touched.items)[i];
        struct gw__class *class = gw__class_at(c, number);
        class->touched = false;
        if (class->mark == c->round || class->first_use == GW__NOTHING)
            continue;
        gather(c, number);
        fill_up(c);
    }
    c->touched.count = 0;
    gw__bundles_keep_fresh(c);
}

uint64_t gw__classes_due(const struct gw__classes *c)
{
    return c->due.count > 0 ? c->due.slots[0].time_ps : UINT64_MAX;
}

uint32_t gw__classes_pop(struct gw__classes *c)
{
    return gw__classes_due(c) == c->now_ps ? gw__heap_pop(&c->due)
                                           : GW__NOTHING;
}
