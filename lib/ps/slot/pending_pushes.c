/* SPDX-License-Identifier: MIT
 *
 * The list of pending_pushes.h. It has about as many items as there are
 * workers.
 */
#include "pending_pushes.h"

#include <stdlib.h>
#include <string.h>

static size_t push_bytes(const struct gw__pending_push *push)
{
    return sizeof *push +
           push->keys->count * (size_t)push->width * sizeof(float);
}

unsigned gw__pending_item_free(struct gw__pending_item *entry)
{
    unsigned count = 0;
    while (entry && entry->first) {
        struct gw__pending_push *push = entry->first;
        entry->first = push->next;
        gw__keys_release(push->keys);
        free(push);
        count++;
    }
    free(entry);
    return count;
}

static struct gw__pending_item *unlink_push(struct gw__pending *pending,
                                            struct gw__pending_item *before,
                                            struct gw__pending_item *entry)
{
    *(before ? &before->next : &pending->first) = entry->next;
    if (pending->last == entry)
        pending->last = before;
    pending->items--;
    for (struct gw__pending_push *p = entry->first; p; p = p->next)
        pending->bytes -= push_bytes(p);
    entry->next = NULL;
    return entry;
}

void gw__pending_fini(struct gw__pending *pending)
{
    while (pending->first)
        gw__pending_item_free(unlink_push(pending, NULL, pending->first));
}

static bool is(const struct gw__pending_item *entry, unsigned group,
               struct gw__work_item item)
{
    return entry->group == group && entry->item.node == item.node &&
           entry->item.incarnation == item.incarnation &&
           entry->item.clock == item.clock;
}

struct gw__pending_item *gw__pending_find(const struct gw__pending *pending,
                                          unsigned group,
                                          struct gw__work_item item)
{
    for (struct gw__pending_item *s = pending->first; s; s = s->next)
        if (is(s, group, item))
            return s;
    return NULL;
}

static struct gw__pending_item *find_or_make(struct gw__pending *pending,
                                             unsigned group,
                                             struct gw__work_item item)
{
    struct gw__pending_item *made = gw__pending_find(pending, group, item);
    if (made)
        return made;
    made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->item = item;
    made->group = group;
    *(pending->last ? &pending->last->next : &pending->first) = made;
    pending->last = made;
    pending->items++;
    return made;
}

struct gw__pending_push *gw__pending_add(struct gw__pending *pending,
                                         unsigned group,
                                         struct gw__work_item item,
                                         struct gw__keys *keys, uint32_t width)
{
    struct gw__pending_push *push = malloc(
        sizeof *push + keys->count * (size_t)width * sizeof *push->values);
    struct gw__pending_item *entry =
        push ? find_or_make(pending, group, item) : NULL;
    if (!entry) {
        free(push);
        return NULL;
    }
    push->next = NULL;
    push->keys = keys;
    push->width = width;
    gw__keys_hold(keys);
    *(entry->last ? &entry->last->next : &entry->first) = push;
    entry->last = push;
    pending->bytes += push_bytes(push);
    return push;
}

struct gw__pending_item *gw__pending_remove(struct gw__pending *pending,
                                            unsigned group,
                                            struct gw__work_item item)
{
    struct gw__pending_item *before = NULL;
    for (struct gw__pending_item *s = pending->first; s;
         before = s, s = s->next)
        if (is(s, group, item))
            return unlink_push(pending, before, s);
    return NULL;
}

static void put_push(struct gw__writer *writer,
                     const struct gw__pending_push *push)
{
    gw__put_u8(writer, push->keys->table);
    gw__put_u32(writer, push->keys->count);
    gw__put_u32(writer, push->width);
    gw__put_bytes(writer, push->keys->keys,
                  push->keys->count * sizeof(uint64_t));
    gw__put_bytes(writer, push->values,
                  push->keys->count * (size_t)push->width * sizeof(float));
}

void gw__put_pending(struct gw__writer *writer,
                     const struct gw__pending *pending)
{
    gw__put_u32(writer, (uint32_t)pending->items);
    for (const struct gw__pending_item *s = pending->first; s; s = s->next) {
        unsigned count = 0;
        for (const struct gw__pending_push *p = s->first; p; p = p->next)
            count++;
        gw__put_u8(writer, s->group);
        gw__put_u16(writer, s->item.node);
        gw__put_u64(writer, s->item.incarnation);
        gw__put_u64(writer, s->item.clock);
        gw__put_u32(writer, count);
        for (const struct gw__pending_push *p = s->first; p; p = p->next)
            put_push(writer, p);
    }
}

static void get_push(struct gw__reader *reader, struct gw__pending *pending,
                     unsigned slot, const uint8_t tables[GW_PS_TABLES_MAX],
                     unsigned group, struct gw__work_item item)
{
    unsigned table = tables[gw__get_u8_below(reader, GW_PS_TABLES_MAX)];
    uint64_t count = gw__get_u32(reader), width = gw__get_u32(reader);
    gw__reader_demand(reader, table < GW_PS_TABLES_MAX && width > 0 &&
                                  width <= GW_PS_WIDTH_MAX &&
                                  count <= reader->left / (8 + 4 * width));
    if (reader->bad)
        return;
    uint64_t *copy = malloc(count * sizeof *copy + 1);
    if (copy)
        gw__get_bytes(reader, copy, count * sizeof *copy);
    struct gw__keys *keys =
        copy ? gw__keys_new(table, slot, copy, (uint32_t)count) : NULL;
    free(copy);
    struct gw__pending_push *push =
        keys ? gw__pending_add(pending, group, item, keys, (uint32_t)width)
             : NULL;
    gw__keys_release(keys);
    gw__reader_demand(reader, push);
    if (push)
        gw__get_bytes(reader, push->values, count * width * sizeof(float));
}

void gw__get_pending(struct gw__reader *reader, struct gw__pending *pending,
                     unsigned slot, const uint8_t tables[GW_PS_TABLES_MAX])
{
    unsigned items = gw__get_u32(reader);
    for (unsigned i = 0; i < items && !reader->bad; i++) {
        unsigned group = gw__get_u8_below(reader, GW_PS_GROUPS_MAX);
        struct gw__work_item item = {
            .node = gw__get_u16_below(reader, GW_PS_NODES)};
        item.incarnation = gw__get_u64(reader);
        item.clock = gw__get_u64(reader);
        unsigned pushes = gw__get_u32(reader);
        for (unsigned j = 0; j < pushes && !reader->bad; j++)
            get_push(reader, pending, slot, tables, group, item);
    }
}
