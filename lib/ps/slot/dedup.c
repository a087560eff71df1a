/* SPDX-License-Identifier: MIT
 *
 * The table of dedup.h: a list in the order in which workers came. It is short,
 * and most lookups are for the worker of the last one.
 */
#include "dedup.h"

#include <stdlib.h>
#include <string.h>

void gw__dedup_fini(struct gw__dedup *dedup)
{
    free(dedup->workers);
    *dedup = (struct gw__dedup){.count = 0};
}

static bool is(const struct gw__dedup_worker *worker, unsigned node,
               uint64_t incarnation)
{
    return worker->node == node && worker->incarnation == incarnation;
}

struct gw__dedup_worker *gw__dedup_find(struct gw__dedup *dedup, unsigned node,
                                        uint64_t incarnation)
{
    if (dedup->last < dedup->count &&
        is(&dedup->workers[dedup->last], node, incarnation))
        return &dedup->workers[dedup->last];
    for (unsigned i = 0; i < dedup->count; i++)
        if (is(&dedup->workers[i], node, incarnation)) {
            dedup->last = i;
            return &dedup->workers[i];
        }
    return NULL;
}

static bool grow_workers(struct gw__dedup *dedup)
{
    unsigned room = dedup->room ? 2 * dedup->room : 16;
    struct gw__dedup_worker *more =
        realloc(dedup->workers, room * sizeof *dedup->workers);
    if (!more)
        return false;
    dedup->workers = more;
    dedup->room = room;
    return true;
}

static struct gw__dedup_worker *oldest(struct gw__dedup *dedup)
{
    struct gw__dedup_worker *oldest = &dedup->workers[0];
    for (unsigned i = 1; i < dedup->count; i++)
        if (dedup->workers[i].used < oldest->used)
            oldest = &dedup->workers[i];
    return oldest;
}

struct gw__dedup_worker *gw__dedup_make(struct gw__dedup *dedup, unsigned node,
                                        uint64_t incarnation, uint64_t index)
{
    struct gw__dedup_worker *worker = gw__dedup_find(dedup, node, incarnation);
    if (!worker) {
        if (dedup->count == GW__DEDUP_MAX)
            worker = oldest(dedup);
        else if (dedup->count == dedup->room && !grow_workers(dedup))
            return NULL;
        else
            worker = &dedup->workers[dedup->count++];
        *worker =
            (struct gw__dedup_worker){.node = node, .incarnation = incarnation};
    }
    worker->used = index;
    return worker;
}

bool gw__dedup_has(const struct gw__dedup_worker *worker, uint64_t sequence)
{
    if (sequence <= worker->low_watermark)
        return true;
    uint64_t above = sequence - worker->low_watermark - 1;
    return above < 64 && worker->bits >> above & 1;
}

static void raise_low_watermark(struct gw__dedup_worker *worker,
                                uint64_t low_watermark)
{
    uint64_t by = low_watermark - worker->low_watermark;
    worker->bits = by < 64 ? worker->bits >> by : 0;
    worker->low_watermark = low_watermark;
}

void gw__dedup_add(struct gw__dedup_worker *worker, uint64_t low_watermark,
                   uint64_t sequence)
{
    if (low_watermark > worker->low_watermark)
        raise_low_watermark(worker, low_watermark);
    if (sequence <= worker->low_watermark)
        return;
    uint64_t above = sequence - worker->low_watermark - 1;
    if (above < 64)
        worker->bits |= UINT64_C(1) << above;
}

bool gw__dedup_is_sound(uint64_t low_watermark, uint64_t sequence)
{
    return sequence > low_watermark && sequence - low_watermark <= 64;
}

void gw__put_dedup(struct gw__writer *writer, const struct gw__dedup *dedup)
{
    gw__put_u32(writer, dedup->count);
    for (unsigned i = 0; i < dedup->count; i++) {
        const struct gw__dedup_worker *w = &dedup->workers[i];
        gw__put_u64(writer, w->incarnation);
        gw__put_u32(writer, w->node);
        gw__put_u64(writer, w->low_watermark);
        gw__put_u64(writer, w->bits);
        for (unsigned g = 0; g < GW_PS_GROUPS_MAX; g++)
            gw__put_u64(writer, w->over[g]);
        gw__put_u64(writer, w->used);
    }
}

void gw__get_dedup(struct gw__reader *reader, struct gw__dedup *dedup)
{
    unsigned count = gw__get_u32(reader);
    gw__reader_demand(reader, count <= GW__DEDUP_MAX);
    for (unsigned i = 0; i < count && !reader->bad; i++) {
        if (dedup->count == dedup->room && !grow_workers(dedup)) {
            gw__reader_demand(reader, false);
            return;
        }
        struct gw__dedup_worker *w = &dedup->workers[dedup->count++];
        w->incarnation = gw__get_u64(reader);
        w->node = gw__get_u32(reader);
        w->low_watermark = gw__get_u64(reader);
        w->bits = gw__get_u64(reader);
        for (unsigned g = 0; g < GW_PS_GROUPS_MAX; g++)
            w->over[g] = gw__get_u64(reader);
        w->used = gw__get_u64(reader);
    }
}
