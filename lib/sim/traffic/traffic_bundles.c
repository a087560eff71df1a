/* SPDX-License-Identifier: MIT
 *
 * Bundles, their uses of classes, and their groups; see traffic_classes.h.
 * Their rates are computed in traffic_fill.c.
 */
#include "traffic_classes.h"

#include <stdlib.h>
#include <string.h>

#define HEAP_SLOT          struct gw__group
#define HEAP_EARLIER(a, b) ((a)->end < (b)->end)
#include "base/heap.h"

/* ---- uses of classes ---- */

static uint32_t use_new(struct gw__classes *c)
{
    uint32_t number = c->free_use;
    if (number == GW__NOTHING) {
        number = (uint32_t)c->uses.count;
        if (!gw__vector_push(&c->uses, sizeof(struct gw__use)))
            c->exhausted = true;
    } else {
        c->free_use = gw__use_at(c, number)->next;
    }
    return c->exhausted ? GW__NOTHING : number;
}

/* Counts one more link of the class on the path of the bundle's messages. */
static void use_link(struct gw__classes *c, uint32_t number, uint32_t of)
{
    struct gw__bundle *bundle = gw__bundle_at(c, number);
    struct gw__class *class = gw__class_at(c, of);
    uint32_t at = bundle->first_use;
    while (at != GW__NOTHING && gw__use_at(c, at)->class != of)
        at = gw__use_at(c, at)->next;
    if (at != GW__NOTHING) {
        gw__use_at(c, at)->times++;
        return;
    }
    at = use_new(c);
    if (at == GW__NOTHING)
        return;
    *gw__use_at(c, at) = (struct gw__use){.bundle = number,
                                          .class = of,
                                          .times = 1,
                                          .before = GW__NOTHING,
                                          .after = class->first_use,
                                          .next = bundle->first_use};
    if (class->first_use != GW__NOTHING)
        gw__use_at(c, class->first_use)->before = at;
    class->first_use = bundle->first_use = at;
}

static void drop_uses(struct gw__classes *c, struct gw__bundle *bundle)
{
    while (bundle->first_use != GW__NOTHING) {
        uint32_t at = bundle->first_use;
        struct gw__use *use = gw__use_at(c, at);
        struct gw__class *class = gw__class_at(c, use->class);
        bundle->first_use = use->next;
        if (use->before == GW__NOTHING)
            class->first_use = use->after;
        else
            gw__use_at(c, use->before)->after = use->after;
        if (use->after != GW__NOTHING)
            gw__use_at(c, use->after)->before = use->before;
        if (class->first_use == GW__NOTHING)
            gw__class_free(c, use->class);
        use->next = c->free_use;
        c->free_use = at;
    }
}

/* ---- bundles by their signature ---- */

static uint32_t *hash_place(const struct gw__classes *c, uint64_t signature)
{
    return &c->hashed[(size_t)signature & (c->hashed_room - 1)];
}

static bool hash_widen(struct gw__classes *c)
{
    size_t room = c->hashed_room ? 2 * c->hashed_room : 256;
    uint32_t *wider = malloc(room * sizeof *wider);
    if (!wider)
        return false;
    memset(wider, 0xff, room * sizeof *wider);
    free(c->hashed);
    c->hashed = wider;
    c->hashed_room = room;
    for (uint32_t i = 0; i < c->bundles.count; i++) {
        struct gw__bundle *bundle = gw__bundle_at(c, i);
        if (!bundle->signature)
            continue;
        uint32_t *place = hash_place(c, bundle->signature);
        bundle->next = *place;
        *place = i;
    }
    return true;
}

static void hash_drop(struct gw__classes *c, uint32_t number)
{
    struct gw__bundle *bundle = gw__bundle_at(c, number);
    uint32_t *place = hash_place(c, bundle->signature);
    while (*place != number)
        place = &gw__bundle_at(c, *place)->next;
    *place = bundle->next;
}

/* Makes room in the heap for all bundles. */
static bool due_widen(struct gw__classes *c)
{
    size_t room = c->bundles.room;
    if (c->due_room >= room)
        return true;
    void *more = realloc(c->due.slots, room * sizeof *c->due.slots);
    if (!more)
        return false;
    c->due.slots = more;
    more = realloc(c->due.place, room * sizeof *c->due.place);
    if (!more)
        return false;
    c->due.place = more;
    memset(c->due.place + c->due_room, 0,
           (room - c->due_room) * sizeof *c->due.place);
    c->due_room = room;
    return true;
}

static uint32_t bundle_new(struct gw__classes *c, uint64_t signature)
{
    uint32_t number = c->free_bundle;
    if (number != GW__NOTHING) {
        c->free_bundle = gw__bundle_at(c, number)->next;
    } else {
        struct gw__bundle *made =
            gw__vector_push(&c->bundles, sizeof(struct gw__bundle));
        number = (uint32_t)c->bundles.count - 1;
        if (made)
            *made = (struct gw__bundle){0};
        if (!made || !due_widen(c) ||
            (c->bundles.count > c->hashed_room && !hash_widen(c))) {
            c->exhausted = true;
            return GW__NOTHING;
        }
    }
    struct gw__bundle *bundle = gw__bundle_at(c, number);
    uint32_t *place = hash_place(c, signature);
    *bundle = (struct gw__bundle){.signature = signature,
                                  .since_ps = c->now_ps,
                                  .due_ps = UINT64_MAX,
                                  .groups = bundle->groups,
                                  .group_room = bundle->group_room,
                                  .first_use = GW__NOTHING,
                                  .fresh = GW__NOTHING,
                                  .next = *place};
    *place = number;
    return number;
}

/* Its messages have ended or are in the batch. */
static void bundle_free(struct gw__classes *c, uint32_t number)
{
    struct gw__bundle *bundle = gw__bundle_at(c, number);
    hash_drop(c, number);
    drop_uses(c, bundle);
    bundle->signature = 0;
    bundle->group_count = 0;
    bundle->due_ps = UINT64_MAX;
    if (c->due.place[number])
        gw__heap_put(&c->due, number, UINT64_MAX);
    bundle->next = c->free_bundle;
    c->free_bundle = number;
}

/* ---- groups ---- */

void gw__bundle_serve(const struct gw__classes *c, struct gw__bundle *bundle)
{
    bundle->served += bundle->rate * (double)(c->now_ps - bundle->since_ps);
    bundle->since_ps = c->now_ps;
}

static struct gw__group pop_group(struct gw__bundle *bundle)
{
    struct gw__group first = bundle->groups[0];
    bundle->group_count--;
    heap_fill(bundle->groups, bundle->group_count, 0,
              bundle->groups[bundle->group_count], NULL);
    return first;
}

void gw__bundle_dissolve(struct gw__classes *c, uint32_t number)
{
    struct gw__bundle *bundle = gw__bundle_at(c, number);
    gw__bundle_serve(c, bundle);
    for (uint32_t g = 0; g < bundle->group_count; g++) {
        struct gw__group *group = &bundle->groups[g];
        double left = group->end - bundle->served;
        for (uint32_t i = 0; i < group->count && !c->exhausted; i++) {
            struct gw__new_message *new =
                gw__vector_push(&c->batch, sizeof *new);
            if (new)
                *new = (struct gw__new_message){group->messages[i],
                                                left > 0 ? left : 0};
            else
                c->exhausted = true;
        }
        free(group->messages);
    }
    bundle_free(c, number);
}

bool gw__classes_end(struct gw__classes *c, uint32_t number,
                     struct gw__group *group)
{
    struct gw__bundle *bundle = gw__bundle_at(c, number);
    if (bundle->due_ps != c->now_ps || !bundle->signature)
        return false;
    /* The first group ends now, as scheduled, and so do others within
     * rounding. */
    double end = bundle->groups[0].end;
    *group = pop_group(bundle);
    bundle->messages -= group->count;
    for (uint32_t u = bundle->first_use; u != GW__NOTHING;
         u = gw__use_at(c, u)->next)
        gw__class_touch(c, gw__use_at(c, u)->class);
    if (bundle->group_count == 0)
        bundle_free(c, number);
    else if ((bundle->groups[0].end - end) >= bundle->rate / 2)
        bundle->due_ps = UINT64_MAX;
    return true;
}

static uint32_t find_bundle(struct gw__classes *c, uint64_t signature,
                            const unsigned *path, unsigned count)
{
    uint32_t at = c->hashed_room ? *hash_place(c, signature) : GW__NOTHING;
    while (at != GW__NOTHING && gw__bundle_at(c, at)->signature != signature)
        at = gw__bundle_at(c, at)->next;
    if (at != GW__NOTHING)
        return at;
    at = bundle_new(c, signature);
    for (unsigned i = 0; i < count && !c->exhausted; i++)
        use_link(c, at, c->links[path[i]].class);
    return at;
}

static struct gw__group *find_group(struct gw__classes *c, uint32_t number,
                                    double end, uint64_t latency_ps)
{
    struct gw__bundle *bundle = gw__bundle_at(c, number);
    struct gw__group *fresh = c->fresh.items;
    for (uint32_t at = bundle->fresh; at != GW__NOTHING; at = fresh[at].next)
        if (fresh[at].end == end && fresh[at].latency_ps == latency_ps)
            return &fresh[at];
    struct gw__group *new = gw__vector_push(&c->fresh, sizeof *new);
    if (!new) {
        c->exhausted = true;
        return NULL;
    }
    *new = (struct gw__group){.end = end,
                              .latency_ps = latency_ps,
                              .next = bundle->fresh,
                              .bundle = number};
    bundle->fresh = (uint32_t)(c->fresh.count - 1);
    return new;
}

void gw__bundle_add_message(struct gw__classes *c, struct gw__new_message what)
{
    unsigned path[GW_PATH_LINKS_MAX];
    uint64_t latency_ps, signature = 0;
    unsigned count = gw__classes_path(c, what.message, path, &latency_ps);
    for (unsigned i = 0; i < count; i++) {
        uint64_t x = (c->links[path[i]].class + UINT64_C(1)) *
                     UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
        signature += x ^ x >> 32;
    }
    uint32_t number = find_bundle(c, signature | 1, path, count);
    if (c->exhausted)
        return;
    struct gw__bundle *bundle = gw__bundle_at(c, number);
    gw__bundle_serve(c, bundle);
    struct gw__group *group =
        find_group(c, number, bundle->served + what.left, latency_ps);
    if (!group)
        return;
    struct gw__vector messages = {group->messages, group->count, group->room};
    gw__classes_push(c, &messages, what.message);
    group->messages = messages.items;
    group->count = (uint32_t)messages.count;
    group->room = (uint32_t)messages.room;
    bundle->messages++;
}

/* Moves the fresh groups to their bundles. */
void gw__bundles_keep_fresh(struct gw__classes *c)
{
    struct gw__group *fresh = c->fresh.items;
    for (size_t i = 0; i < c->fresh.count && !c->exhausted; i++) {
        struct gw__bundle *bundle = gw__bundle_at(c, fresh[i].bundle);
        bundle->fresh = GW__NOTHING;
        struct gw__vector groups = {bundle->groups, bundle->group_count,
                                    bundle->group_room};
        if (!gw__vector_push(&groups, sizeof *bundle->groups)) {
            c->exhausted = true;
            return;
        }
        bundle->groups = groups.items;
        bundle->group_room = (uint32_t)groups.room;
        bundle->group_count++;
        heap_fill(bundle->groups, bundle->group_count, bundle->group_count - 1,
                  fresh[i], NULL);
        fresh[i].messages = NULL;
    }
    c->fresh.count = 0;
}
