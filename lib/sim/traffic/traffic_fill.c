/* SPDX-License-Identifier: MIT
 *
 * Max-min fair rates of bundles by progressive filling. The class with the
 * smallest room per message determines the rate of its bundles. This rate is
 * subtracted from the other classes on their paths, and so on with the
 * remaining room. See traffic_classes.h.
 *
 * Rates are max-min fair exactly if each bundle has a bottleneck: a full class
 * in which no other bundle has a higher rate (Bertsekas, Gallager: Data
 * Networks, 6.5.2). So the effect of a change can be checked locally. At first
 * only the bundles of the changed classes are open; all others keep their
 * rates. The open ones are filled into the remaining room. A bundle that has
 * thereby lost its bottleneck, or has a higher rate than an open bundle limited
 * by the same class, is opened, too, until none is left. If ranks diverge, as
 * in a pipelined broadcast, all links are connected, but most changes affect
 * only a few of them: 4,096 ranks of the circulant broadcast took 5.2 s with
 * new rates for all connected bundles, and take 0.1 s now.
 */
#include "traffic_classes.h"

#include <math.h>

/* Rates within this factor are equal, so that rounding errors cause no
 * rounds. */
static const double RATE_TOLERANCE = 1 + 1e-9;
/* A change below this fraction is none. */
static const double SAME = 1e-12;
/* After this number of extensions all connected bundles are opened. */
enum { WIDENINGS = 8 };

/* ---- connected classes ---- */

static bool is_open_bundle(const struct gw__classes *c,
                           const struct gw__bundle *bundle)
{
    return bundle->mark == c->round;
}

static void add_connected_class(struct gw__classes *c, uint32_t number)
{
    struct gw__class *class = gw__class_at(c, number);
    if (class->mark == c->round)
        return;
    class->mark = c->round;
    gw__classes_push(c, &c->connected_classes, number);
}

static void open_bundle(struct gw__classes *c, uint32_t number)
{
    struct gw__bundle *bundle = gw__bundle_at(c, number);
    if (is_open_bundle(c, bundle))
        return;
    bundle->mark = c->round;
    gw__classes_push(c, &c->connected_bundles, number);
    for (uint32_t u = bundle->first_use; u != GW__NOTHING;
         u = gw__use_at(c, u)->next)
        add_connected_class(c, gw__use_at(c, u)->class);
}

/* Opens the bundles of the touched near classes, or of all near classes, and
 * continues with the classes that these bundles add. */
static void open_from(struct gw__classes *c, size_t first, bool all)
{
    for (size_t i = first; i < c->connected_classes.count; i++) {
        struct gw__class *class =
            gw__class_at(c, ((uint32_t *)c->connected_classes.items)[i]);
        if (!all && !class->touched)
            continue;
        class->touched = false;
        for (uint32_t u = class->first_use; u != GW__NOTHING;
             u = gw__use_at(c, u)->after)
            open_bundle(c, gw__use_at(c, u)->bundle);
    }
}

/* Computes the room that the closed bundles leave. */
static void measure_room(struct gw__classes *c)
{
    for (size_t i = 0; i < c->connected_classes.count; i++) {
        struct gw__class *class =
            gw__class_at(c, ((uint32_t *)c->connected_classes.items)[i]);
        class->room = class->rate;
        class->open = 0;
        class->share = HUGE_VAL;
        class->has_closed = false;
        for (uint32_t u = class->first_use; u != GW__NOTHING;
             u = gw__use_at(c, u)->after) {
            struct gw__use *use = gw__use_at(c, u);
            const struct gw__bundle *bundle = gw__bundle_at(c, use->bundle);
            use->messages = (double)(int64_t)bundle->messages * use->times;
            if (class->link_count > 1)
                use->messages /= class->link_count;
            if (is_open_bundle(c, bundle)) {
                class->open += use->messages;
            } else {
                class->room -= use->messages * bundle->rate;
                class->has_closed = true;
            }
        }
    }
    for (size_t i = 0; i < c->connected_bundles.count; i++)
        gw__bundle_at(c, ((uint32_t *)c->connected_bundles.items)[i])
            ->is_fixed = false;
}

/* Sets the rate and the time of the next end. Nothing changes if the rate is
 * the same and there are no fresh groups. */
static void set_rate(struct gw__classes *c, uint32_t number, double rate)
{
    struct gw__bundle *bundle = gw__bundle_at(c, number);
    bool same = fabs(rate - bundle->rate) <= SAME * rate;
    if (same && bundle->fresh == GW__NOTHING && bundle->due_ps != UINT64_MAX)
        return;
    rate = same ? bundle->rate : rate;
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
    double left_ps = (left > 0 ? left : 0) / rate;
    uint64_t due_ps =
        c->now_ps + (left_ps < (double)GW__PS_MAX ? (uint64_t)llround(left_ps)
                                                  : GW__PS_MAX);
    bundle->due_ps = due_ps;
    gw__heap_put(&c->due, number, due_ps);
}

/* ---- filling up ---- */

static void fix_rate(struct gw__classes *c, uint32_t number,
                     uint32_t bottleneck, double share)
{
    struct gw__bundle *bundle = gw__bundle_at(c, number);
    if (!is_open_bundle(c, bundle) || bundle->is_fixed)
        return;
    bundle->is_fixed = true;
    bundle->share = share;
    bundle->bottleneck = bottleneck;
    for (uint32_t u = bundle->first_use; u != GW__NOTHING;
         u = gw__use_at(c, u)->next) {
        const struct gw__use *use = gw__use_at(c, u);
        struct gw__class *class = gw__class_at(c, use->class);
        class->room -= use->messages * share;
        class->open -= use->messages;
    }
}

/* A tiny remainder is zero: fractions may not add up exactly. */
static bool is_open(const struct gw__class *class)
{
    return class->open > 1e-6;
}

static double share_of(const struct gw__class *class)
{
    return (class->room > 0 ? class->room : 0) / class->open;
}

/* The least share of the first `*count` near classes. Classes without open
 * messages are removed from this range. */
static double least_share(struct gw__classes *c, size_t *count)
{
    uint32_t *connected = c->connected_classes.items;
    size_t kept = 0;
    double least = HUGE_VAL;
    for (size_t i = 0; i < *count; i++) {
        uint32_t number = connected[i];
        const struct gw__class *class = gw__class_at(c, number);
        if (!is_open(class))
            continue;
        connected[i] = connected[kept];
        connected[kept++] = number;
        double share = share_of(class);
        least = share < least ? share : least;
    }
    *count = kept;
    return least;
}

static void fill_up(struct gw__classes *c)
{
    double least;
    size_t count = c->connected_classes.count;
    while ((least = least_share(c, &count)) < HUGE_VAL)
        for (size_t i = 0; i < count; i++) {
            uint32_t number = ((uint32_t *)c->connected_classes.items)[i];
            struct gw__class *class = gw__class_at(c, number);
            if (!is_open(class) || share_of(class) > least * RATE_TOLERANCE)
                continue;
            class->share = least;
            for (uint32_t u = class->first_use; u != GW__NOTHING;
                 u = gw__use_at(c, u)->after)
                fix_rate(c, gw__use_at(c, u)->bundle, number, least);
        }
}

/* ---- affected bundles ---- */

static double highest_rate(const struct gw__classes *c,
                           const struct gw__class *class)
{
    double highest = 0;
    for (uint32_t u = class->first_use; u != GW__NOTHING;
         u = gw__use_at(c, u)->after) {
        const struct gw__bundle *bundle =
            gw__bundle_at(c, gw__use_at(c, u)->bundle);
        double rate = is_open_bundle(c, bundle) ? bundle->share : bundle->rate;
        highest = rate > highest ? rate : highest;
    }
    return highest;
}

/* Opens the closed bundles that have a higher rate than an open one which this
 * class limits, and those for which this class is no longer the bottleneck. */
static void open_felt(struct gw__classes *c, uint32_t number)
{
    const struct gw__class *class = gw__class_at(c, number);
    const double slack = RATE_TOLERANCE - 1;
    bool full = class->room <= 4 * slack * class->rate;
    double highest = full ? highest_rate(c, class) : 0;
    for (uint32_t u = class->first_use; u != GW__NOTHING;
         u = gw__use_at(c, u)->after) {
        uint32_t of = gw__use_at(c, u)->bundle;
        const struct gw__bundle *bundle = gw__bundle_at(c, of);
        bool more = bundle->rate > class->share * (1 + 4 * slack);
        bool mine = bundle->bottleneck == number;
        bool holds = full && highest <= bundle->rate * (1 + 4 * slack);
        if (more || (mine && !holds))
            open_bundle(c, of);
    }
}

/* Computes the rates for a touched class and all affected bundles. */
static void update_rates_from(struct gw__classes *c, uint32_t number)
{
    size_t opened = 0;
    c->round++;
    c->connected_classes.count = c->connected_bundles.count = 0;
    add_connected_class(c, number);
    open_from(c, 0, false);
    for (unsigned times = 1;
         opened < c->connected_bundles.count && !c->exhausted; times++) {
        opened = c->connected_bundles.count;
        measure_room(c);
        fill_up(c);
        size_t count = c->connected_classes.count;
        for (size_t i = 0; i < count; i++) {
            uint32_t other = ((uint32_t *)c->connected_classes.items)[i];
            if (gw__class_at(c, other)->has_closed)
                open_felt(c, other);
        }
        if (opened < c->connected_bundles.count)
            open_from(c, times < WIDENINGS ? count : 0, times >= WIDENINGS);
    }
    for (size_t i = 0; i < c->connected_bundles.count && !c->exhausted; i++) {
        uint32_t bundle = ((uint32_t *)c->connected_bundles.items)[i];
        set_rate(c, bundle, gw__bundle_at(c, bundle)->share);
    }
}

void gw__classes_update_rates(struct gw__classes *c)
{
    if (c->batch.count > 0)
        gw__colours_sort(c);
    for (size_t i = 0; i < c->touched.count && !c->exhausted; i++) {
        uint32_t number = ((uint32_t *)c->touched.items)[i];
        struct gw__class *class = gw__class_at(c, number);
        if (class->touched && class->first_use != GW__NOTHING)
            update_rates_from(c, number);
        class->touched = false;
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
