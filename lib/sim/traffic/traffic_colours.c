/* SPDX-License-Identifier: MIT
 *
 * Finds equivalent links and messages by colour refinement on the graph of
 * links and new messages (Weisfeiler, Leman 1968; an equitable partition). See
 * traffic_classes.h.
 *
 * A round gives each message the sum of its links' colours, and each link the
 * sum of its messages'. A link's new colour depends on its old one, so rounds
 * only refine; they end when the number of colours stays the same. Most batches
 * take one round: 4,096 messages of a ring step have one colour.
 *
 * In a long chain of connected messages each round distinguishes two more
 * links, from the ends inwards. So after ROUNDS_MAX rounds every link gets a
 * colour of its own, which is also correct, and would be reached anyway.
 *
 * Equivalent links that are not connected form one class as long as the same
 * events happen to all of them. After an event at one of them, more will
 * follow. So a dissolved class is combined again only within connected parts
 * (`colour_components`); otherwise each of a thousand parts would cost a
 * thousand.
 */
#include "traffic_classes.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 32, FEW = 2 };

/* The mixing of splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t mix_hash(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t bits(double value)
{
    uint64_t out;
    memcpy(&out, &value, sizeof out);
    return out;
}

/* ---- colours, counted ---- */

struct colour {
    uint64_t colour; /* 0: empty entry */
    uint32_t class;
};

/* Prepares an empty table for as many colours as there are links. */
static bool clear_table(struct gw__classes *c)
{
    size_t room = 8;
    while (room < 2 * c->met.count)
        room *= 2;
    if (room > c->colours.room) {
        free(c->colours.items);
        c->colours.items = malloc(room * sizeof(struct colour));
        c->colours.room = c->colours.items ? room : 0;
        c->exhausted = c->exhausted || !c->colours.items;
    }
    if (c->colours.items)
        memset(c->colours.items, 0, room * sizeof(struct colour));
    c->colours.count = room;
    return !c->exhausted;
}

static struct colour *find_colour(const struct gw__classes *c, uint64_t colour)
{
    struct colour *table = c->colours.items;
    size_t at = (size_t)colour & (c->colours.count - 1);
    while (table[at].colour && table[at].colour != colour)
        at = (at + 1) & (c->colours.count - 1);
    return &table[at];
}

static size_t count_colours(struct gw__classes *c)
{
    const uint32_t *met = c->met.items;
    size_t count = 0;
    uint64_t last = 0;
    if (!clear_table(c))
        return 0;
    for (size_t i = 0; i < c->met.count; i++) {
        uint64_t colour = c->links[met[i]].colour;
        if (colour == last)
            continue;
        last = colour;
        struct colour *there = find_colour(c, colour);
        if (there->colour)
            continue;
        *there = (struct colour){colour, GW__NOTHING};
        count++;
    }
    return count;
}

/* ---- rounds ---- */

/* Collects the links of the batch, each with the colour of its class or its
 * rate. */
static void colour_links(struct gw__classes *c)
{
    const struct gw__new_message *batch = c->batch.items;
    unsigned path[GW_PATH_LINKS_MAX];
    uint64_t latency_ps;
    c->round++;
    c->met.count = 0;
    for (size_t i = 0; i < c->batch.count && !c->exhausted; i++) {
        unsigned count =
            gw__classes_path(c, batch[i].message, path, &latency_ps);
        for (unsigned k = 0; k < count; k++) {
            struct gw__class_link *link = &c->links[path[k]];
            if (link->mark == c->round)
                continue;
            uint32_t *met = gw__vector_push(&c->met, sizeof *met);
            if (!met) {
                c->exhausted = true;
                return;
            }
            *met = path[k];
            link->mark = c->round;
            link->sum = 0;
            link->colour =
                mix_hash(link->class == GW__NOTHING ? bits(link->rate)
                                                    : link->class) |
                1;
        }
    }
}

static void refine(struct gw__classes *c)
{
    const struct gw__new_message *batch = c->batch.items;
    const uint32_t *met = c->met.items;
    unsigned path[GW_PATH_LINKS_MAX];
    uint64_t latency_ps;
    for (size_t i = 0; i < c->batch.count; i++) {
        unsigned count =
            gw__classes_path(c, batch[i].message, path, &latency_ps);
        uint64_t sum = bits(batch[i].left);
        for (unsigned k = 0; k < count; k++)
            sum += mix_hash(c->links[path[k]].colour);
        sum = mix_hash(sum);
        for (unsigned k = 0; k < count; k++)
            c->links[path[k]].sum += sum;
    }
    for (size_t i = 0; i < c->met.count; i++) {
        struct gw__class_link *link = &c->links[met[i]];
        link->colour = mix_hash(link->colour + 3 * mix_hash(link->sum)) | 1;
        link->sum = 0;
    }
}

/* ---- connected components ---- */

/* Union-find on links; `sum` is the parent. */
static uint64_t root_of(const struct gw__classes *c, uint64_t link)
{
    while (c->links[link].sum != link) {
        uint64_t parent = c->links[link].sum;
        c->links[link].sum = c->links[parent].sum;
        link = parent;
    }
    return link;
}

/* Gives unclassified links of different components different colours. */
static void colour_components(struct gw__classes *c)
{
    const struct gw__new_message *batch = c->batch.items;
    const uint32_t *met = c->met.items;
    unsigned path[GW_PATH_LINKS_MAX];
    uint64_t latency_ps;
    for (size_t i = 0; i < c->met.count; i++)
        c->links[met[i]].sum = met[i];
    for (size_t i = 0; i < c->batch.count; i++) {
        unsigned count =
            gw__classes_path(c, batch[i].message, path, &latency_ps);
        for (unsigned k = 1; k < count; k++)
            c->links[root_of(c, path[k])].sum = root_of(c, path[0]);
    }
    for (size_t i = 0; i < c->met.count; i++) {
        struct gw__class_link *link = &c->links[met[i]];
        if (link->class == GW__NOTHING)
            link->colour =
                mix_hash(link->colour + 5 * mix_hash(root_of(c, met[i]))) | 1;
    }
    for (size_t i = 0; i < c->met.count; i++)
        c->links[met[i]].sum = 0;
}

/* Gives each link its own colour: a partition that cannot be refined. */
static void colour_each_link(struct gw__classes *c)
{
    const uint32_t *met = c->met.items;
    for (size_t i = 0; i < c->met.count; i++)
        c->links[met[i]].colour = mix_hash(met[i]) | 1;
}

static void colour(struct gw__classes *c, bool broken)
{
    colour_links(c);
    if (broken && !c->exhausted)
        colour_components(c);
    size_t before, count = count_colours(c);
    unsigned rounds = 0;
    do {
        before = count;
        if (++rounds > ROUNDS_MAX)
            colour_each_link(c);
        else
            refine(c);
        count = count_colours(c);
    } while (count != before && rounds <= ROUNDS_MAX && !c->exhausted);
}

/* ---- splitting classes ---- */

/* A class stays valid if all its links have the same colour. */
static bool holds(const struct gw__classes *c, const struct gw__class *class)
{
    if (class->met != class->link_count)
        return false;
    for (uint32_t i = 0; i < class->link_count; i++)
        if (c->links[class->links[i]].colour != class->colour)
            return false;
    return true;
}

static void want_apart(struct gw__classes *c, uint32_t class)
{
    uint32_t *place = gw__vector_push(&c->connected_classes, sizeof *place);
    if (place)
        *place = class;
    else
        c->exhausted = true;
}

/* Dissolves this class and everything connected to it. */
static void dissolve_connected(struct gw__classes *c, uint32_t first)
{
    c->connected_classes.count = 0;
    want_apart(c, first);
    for (size_t i = 0; i < c->connected_classes.count && !c->exhausted; i++) {
        uint32_t class = ((uint32_t *)c->connected_classes.items)[i], use;
        while (!c->exhausted &&
               (use = gw__class_at(c, class)->first_use) != GW__NOTHING) {
            uint32_t bundle = gw__use_at(c, use)->bundle;
            use = gw__bundle_at(c, bundle)->first_use;
            for (; use != GW__NOTHING; use = gw__use_at(c, use)->next)
                want_apart(c, gw__use_at(c, use)->class);
            gw__bundle_dissolve(c, bundle);
        }
        if (gw__class_at(c, class)->link_count > 0)
            gw__class_free(c, class); /* it had no bundle to begin with */
    }
}

/* Dissolves the classes that the batch splits. True: all are still valid. */
static bool classes_hold(struct gw__classes *c)
{
    const uint32_t *met = c->met.items;
    bool hold = true;
    for (size_t i = 0; i < c->met.count; i++) {
        const struct gw__class_link *link = &c->links[met[i]];
        if (link->class == GW__NOTHING)
            continue;
        struct gw__class *class = gw__class_at(c, link->class);
        class->met = 0;
        class->colour = link->colour;
    }
    for (size_t i = 0; i < c->met.count; i++)
        if (c->links[met[i]].class != GW__NOTHING)
            gw__class_at(c, c->links[met[i]].class)->met++;
    for (size_t i = 0; i < c->met.count && !c->exhausted; i++) {
        uint32_t class = c->links[met[i]].class;
        if (class == GW__NOTHING || gw__class_at(c, class)->met == 0)
            continue;
        if (!holds(c, gw__class_at(c, class))) {
            dissolve_connected(c, class);
            hold = false;
        } else {
            gw__class_at(c, class)->met = 0;
        }
    }
    return hold;
}

/* ---- new classes ---- */

static void make_classes(struct gw__classes *c)
{
    const uint32_t *met = c->met.items;
    for (size_t i = 0; i < c->met.count && !c->exhausted; i++) {
        struct gw__class_link *link = &c->links[met[i]];
        if (link->class != GW__NOTHING) {
            gw__class_touch(c, link->class);
            continue;
        }
        struct colour *there = find_colour(c, link->colour);
        if (there->class == GW__NOTHING)
            there->class = gw__class_new(c, link->rate);
        if (!c->exhausted && gw__class_add_link(c, there->class, met[i]))
            link->class = there->class;
    }
}

/* For few messages on links without larger classes: each link gets a class of
 * its own. False: the general way is needed. */
static bool sort_few(struct gw__classes *c)
{
    const struct gw__new_message *batch = c->batch.items;
    unsigned path[GW_PATH_LINKS_MAX];
    uint64_t latency_ps;
    if (c->batch.count > FEW)
        return false;
    for (size_t i = 0; i < c->batch.count; i++) {
        unsigned count =
            gw__classes_path(c, batch[i].message, path, &latency_ps);
        for (unsigned k = 0; k < count; k++) {
            uint32_t class = c->links[path[k]].class;
            if (class != GW__NOTHING && gw__class_at(c, class)->link_count > 1)
                return false;
        }
    }
    for (size_t i = 0; i < c->batch.count && !c->exhausted; i++) {
        unsigned count =
            gw__classes_path(c, batch[i].message, path, &latency_ps);
        for (unsigned k = 0; k < count && !c->exhausted; k++) {
            struct gw__class_link *link = &c->links[path[k]];
            if (link->class != GW__NOTHING) {
                gw__class_touch(c, link->class);
                continue;
            }
            uint32_t class = gw__class_new(c, link->rate);
            if (!c->exhausted && gw__class_add_link(c, class, path[k]))
                link->class = class;
        }
    }
    return true;
}

static void sort_many(struct gw__classes *c)
{
    bool broken = false;
    for (colour(c, broken); !c->exhausted && !classes_hold(c);) {
        broken = true;
        colour(c, broken);
    }
    if (!c->exhausted)
        make_classes(c);
}

void gw__colours_sort(struct gw__classes *c)
{
    if (!sort_few(c))
        sort_many(c);
    const struct gw__new_message *batch = c->batch.items;
    for (size_t i = 0; i < c->batch.count && !c->exhausted; i++)
        gw__bundle_add_message(c, batch[i]);
    c->batch.count = 0;
}
