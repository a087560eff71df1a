/* SPDX-License-Identifier: MIT
 *
 * The list of pending_pushes.h. It has about as many units as there are
 * workers.
 */
#include "pending_pushes.h"

#include <stdlib.h>
#include <string.h>

static size_t push_bytes(const struct gw__staged_push *push)
{
    return sizeof *push +
           push->keys->count * (size_t)push->width * sizeof(float);
}

unsigned gw__staged_free(struct gw__staged *staged)
{
    unsigned count = 0;
    while (staged && staged->first) {
        struct gw__staged_push *push = staged->first;
        staged->first = push->next;
        gw__keys_release(push->keys);
        free(push);
        count++;
    }
    free(staged);
    return count;
}

static struct gw__staged *unlink_push(struct gw__stage *stage,
                                      struct gw__staged *before,
                                      struct gw__staged *staged)
{
    *(before ? &before->next : &stage->first) = staged->next;
    if (stage->last == staged)
        stage->last = before;
    stage->units--;
    for (struct gw__staged_push *p = staged->first; p; p = p->next)
        stage->bytes -= push_bytes(p);
    staged->next = NULL;
    return staged;
}

void gw__stage_fini(struct gw__stage *stage)
{
    while (stage->first)
        gw__staged_free(unlink_push(stage, NULL, stage->first));
}

static bool is(const struct gw__staged *staged, unsigned group,
               struct gw__unit unit)
{
    return staged->group == group && staged->unit.node == unit.node &&
           staged->unit.incarnation == unit.incarnation &&
           staged->unit.clock == unit.clock;
}

struct gw__staged *gw__stage_find(const struct gw__stage *stage, unsigned group,
                                  struct gw__unit unit)
{
    for (struct gw__staged *s = stage->first; s; s = s->next)
        if (is(s, group, unit))
            return s;
    return NULL;
}

static struct gw__staged *find_or_make(struct gw__stage *stage, unsigned group,
                                       struct gw__unit unit)
{
    struct gw__staged *made = gw__stage_find(stage, group, unit);
    if (made)
        return made;
    made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->unit = unit;
    made->group = group;
    *(stage->last ? &stage->last->next : &stage->first) = made;
    stage->last = made;
    stage->units++;
    return made;
}

struct gw__staged_push *gw__stage_add(struct gw__stage *stage, unsigned group,
                                      struct gw__unit unit,
                                      struct gw__keys *keys, uint32_t width)
{
    struct gw__staged_push *push = malloc(
        sizeof *push + keys->count * (size_t)width * sizeof *push->values);
    struct gw__staged *staged = push ? find_or_make(stage, group, unit) : NULL;
    if (!staged) {
        free(push);
        return NULL;
    }
    push->next = NULL;
    push->keys = keys;
    push->width = width;
    gw__keys_hold(keys);
    *(staged->last ? &staged->last->next : &staged->first) = push;
    staged->last = push;
    stage->bytes += push_bytes(push);
    return push;
}

struct gw__staged *gw__stage_take(struct gw__stage *stage, unsigned group,
                                  struct gw__unit unit)
{
    struct gw__staged *before = NULL;
    for (struct gw__staged *s = stage->first; s; before = s, s = s->next)
        if (is(s, group, unit))
            return unlink_push(stage, before, s);
    return NULL;
}

static void put_push(struct gw__writer *writer,
                     const struct gw__staged_push *push)
{
    gw__put_u8(writer, push->keys->table);
    gw__put_u32(writer, push->keys->count);
    gw__put_u32(writer, push->width);
    gw__put_bytes(writer, push->keys->keys,
                  push->keys->count * sizeof(uint64_t));
    gw__put_bytes(writer, push->values,
                  push->keys->count * (size_t)push->width * sizeof(float));
}

void gw__put_stage(struct gw__writer *writer, const struct gw__stage *stage)
{
    gw__put_u32(writer, (uint32_t)stage->units);
    for (const struct gw__staged *s = stage->first; s; s = s->next) {
        unsigned count = 0;
        for (const struct gw__staged_push *p = s->first; p; p = p->next)
            count++;
        gw__put_u8(writer, s->group);
        gw__put_u8(writer, s->unit.node);
        gw__put_u64(writer, s->unit.incarnation);
        gw__put_u64(writer, s->unit.clock);
        gw__put_u32(writer, count);
        for (const struct gw__staged_push *p = s->first; p; p = p->next)
            put_push(writer, p);
    }
}

static void get_push(struct gw__reader *reader, struct gw__stage *stage,
                     unsigned slot, const uint8_t tables[GW_PS_TABLES_MAX],
                     unsigned group, struct gw__unit unit)
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
    struct gw__staged_push *push =
        keys ? gw__stage_add(stage, group, unit, keys, (uint32_t)width) : NULL;
    gw__keys_release(keys);
    gw__reader_demand(reader, push);
    if (push)
        gw__get_bytes(reader, push->values, count * width * sizeof(float));
}

void gw__get_stage(struct gw__reader *reader, struct gw__stage *stage,
                   unsigned slot, const uint8_t tables[GW_PS_TABLES_MAX])
{
    unsigned units = gw__get_u32(reader);
    for (unsigned i = 0; i < units && !reader->bad; i++) {
        unsigned group = gw__get_u8_below(reader, GW_PS_GROUPS_MAX);
        struct gw__unit unit = {.node = gw__get_u8_below(reader, GW_PS_NODES)};
        unit.incarnation = gw__get_u64(reader);
        unit.clock = gw__get_u64(reader);
        unsigned pushes = gw__get_u32(reader);
        for (unsigned j = 0; j < pushes && !reader->bad; j++)
            get_push(reader, stage, slot, tables, group, unit);
    }
}
