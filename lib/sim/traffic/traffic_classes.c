/* SPDX-License-Identifier: MIT
 *
 * Links and their classes; see traffic_classes.h. traffic_bundles.c has bundles
 * and groups.
 */
#include "traffic_classes.h"
#include "traffic.h"

#include <stdlib.h>

void *gw__vector_push(struct gw__vector *vector, size_t item)
{
    if (vector->count == vector->room) {
        size_t room = vector->room ? 2 * vector->room : 64;
        void *moved = realloc(vector->items, room * item);
        if (!moved)
            return NULL;
        vector->items = moved;
        vector->room = room;
    }
    return (char *)vector->items + item * vector->count++;
}

/* ---- creation and destruction ---- */

enum gw_err gw__classes_init(struct gw__classes *c, struct gw_error *why)
{
    c->link_count = gw_topology_links(c->topology);
    c->links = calloc((size_t)c->link_count + 1, sizeof *c->links);
    c->latency_ps = calloc((size_t)c->link_count + 1, sizeof *c->latency_ps);
    c->free_class = c->free_bundle = c->free_use = GW__NOTHING;
    if (!c->links || !c->latency_ps)
        return gw_fail(why, GW_ENOMEM, "%u links", c->link_count);
    for (unsigned i = 0; i < c->link_count; i++) {
        struct gw_topology_link link;
        gw_topology_link(c->topology, i, &link);
        c->links[i].rate = (double)link.rate / 1e12;
        c->links[i].class = GW__NOTHING;
        c->latency_ps[i] = link.latency_ns * 1000;
    }
    return GW_OK;
}

void gw__classes_fini(struct gw__classes *c)
{
    for (uint32_t i = 0; i < c->classes.count; i++)
        free(gw__class_at(c, i)->links);
    for (uint32_t i = 0; i < c->bundles.count; i++) {
        struct gw__bundle *bundle = gw__bundle_at(c, i);
        for (uint32_t g = 0; g < bundle->group_count; g++)
            free(bundle->groups[g].messages);
        free(bundle->groups);
    }
    for (size_t i = 0; i < c->fresh.count; i++)
        free(((struct gw__group *)c->fresh.items)[i].messages);
    struct gw__vector *vectors[] = {&c->classes,
                                    &c->bundles,
                                    &c->uses,
                                    &c->fresh,
                                    &c->batch,
                                    &c->met,
                                    &c->colours,
                                    &c->touched,
                                    &c->connected_classes,
                                    &c->connected_bundles};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        free(vectors[i]->items);
    free(c->hashed);
    free(c->due.slots);
    free(c->due.place);
    free(c->links);
    free(c->latency_ps);
}

bool gw__classes_push(struct gw__classes *c, struct gw__vector *to,
                      uint32_t number)
{
    uint32_t *place = gw__vector_push(to, sizeof *place);
    if (place)
        *place = number;
    else
        c->exhausted = true;
    return place != NULL;
}

unsigned gw__classes_path(const struct gw__classes *c, uint32_t message,
                          unsigned links[GW_PATH_LINKS_MAX],
                          uint64_t *latency_ps)
{
    struct gw__class_message what = c->get_message(c->context, message);
    unsigned count = gw_topology_path(c->topology, what.src, what.dst, links);
    unsigned limited = 0;
    *latency_ps = 0;
    for (unsigned i = 0; i < count; i++) {
        *latency_ps += c->latency_ps[links[i]];
        if (c->links[links[i]].rate > 0)
            links[limited++] = links[i];
    }
    return limited;
}

void gw__classes_join(struct gw__classes *c, uint32_t message)
{
    struct gw__new_message *new = gw__vector_push(&c->batch, sizeof *new);
    if (new)
        *new = (struct gw__new_message){
            message, (double)c->get_message(c->context, message).bytes};
    else
        c->exhausted = true;
}

/* ---- classes ---- */

void gw__class_touch(struct gw__classes *c, uint32_t number)
{
    struct gw__class *class = gw__class_at(c, number);
    if (class->touched)
        return;
    class->touched = gw__classes_push(c, &c->touched, number);
}

uint32_t gw__class_new(struct gw__classes *c, double rate)
{
    uint32_t number = c->free_class;
    struct gw__class *class;
    if (number != GW__NOTHING) {
        class = gw__class_at(c, number);
        c->free_class = class->next;
    } else {
        number = (uint32_t)c->classes.count;
        class = gw__vector_push(&c->classes, sizeof *class);
        if (!class) {
            c->exhausted = true;
            return GW__NOTHING;
        }
        *class = (struct gw__class){0};
    }
    *class = (struct gw__class){.rate = rate,
                                .links = class->links,
                                .link_room = class->link_room,
                                .touched = class->touched,
                                .first_use = GW__NOTHING};
    gw__class_touch(c, number);
    return number;
}

bool gw__class_add_link(struct gw__classes *c, uint32_t number, uint32_t link)
{
    struct gw__class *class = gw__class_at(c, number);
    struct gw__vector links = {class->links, class->link_count,
                               class->link_room};
    bool there = gw__classes_push(c, &links, link);
    class->links = links.items;
    class->link_count = (uint32_t)links.count;
    class->link_room = (uint32_t)links.room;
    return there;
}

/* The class has no uses left; its links become unclassified. */
void gw__class_free(struct gw__classes *c, uint32_t number)
{
    struct gw__class *class = gw__class_at(c, number);
    for (uint32_t i = 0; i < class->link_count; i++)
        c->links[class->links[i]].class = GW__NOTHING;
    class->link_count = 0;
    class->next = c->free_class;
    c->free_class = number;
}
