/* SPDX-License-Identifier: MIT
 *
 * The table of dedup.h: a list in the order in which workers came. It is short,
 * and most lookups are for the worker of the last one.
 */
#include "dedup.h"

#include <stdlib.h>
#include <string.h>

void gw__dedup_fini(struct gw__dedup *seen)
{
    free(seen->workers);
    *seen = (struct gw__dedup){.count = 0};
}

static bool is(const struct gw__dedup_worker *worker, unsigned node,
               uint64_t incarnation)
{
    return worker->node == node && worker->incarnation == incarnation;
}

struct gw__dedup_worker *gw__dedup_find(struct gw__dedup *seen, unsigned node,
                                        uint64_t incarnation)
{
    if (seen->last < seen->count &&
        is(&seen->workers[seen->last], node, incarnation))
        return &seen->workers[seen->last];
    for (unsigned i = 0; i < seen->count; i++)
        if (is(&seen->workers[i], node, incarnation)) {
            seen->last = i;
            return &seen->workers[i];
        }
    return NULL;
}

static bool grow_workers(struct gw__dedup *seen)
{
    unsigned room = seen->room ? 2 * seen->room : 16;
    struct gw__dedup_worker *more =
        realloc(seen->workers, room * sizeof *seen->workers);
    if (!more)
        return false;
    seen->workers = more;
    seen->room = room;
    return true;
}

static struct gw__dedup_worker *oldest(struct gw__dedup *seen)
{
    struct gw__dedup_worker *oldest = &seen->workers[0];
    for (unsigned i = 1; i < seen->count; i++)
        if (seen->workers[i].used < oldest->used)
            oldest = &seen->workers[i];
    return oldest;
}

struct gw__dedup_worker *gw__dedup_make(struct gw__dedup *seen, unsigned node,
                                        uint64_t incarnation, uint64_t index)
{
    struct gw__dedup_worker *worker = gw__dedup_find(seen, node, incarnation);
    if (!worker) {
        if (seen->count == GW__DEDUP_MAX)
            worker = oldest(seen);
        else if (seen->count == seen->room && !grow_workers(seen))
            return NULL;
        else
            worker = &seen->workers[seen->count++];
        *worker =
            (struct gw__dedup_worker){.node = node, .incarnation = incarnation};
    }
    worker->used = index;
    return worker;
}

bool gw__dedup_has(const struct gw__dedup_worker *worker, uint64_t sequence)
{
    if (sequence <= worker->floor)
        return true;
    uint64_t above = sequence - worker->floor - 1;
    return above < 64 && worker->bits >> above & 1;
}

static void raise_floor(struct gw__dedup_worker *worker, uint64_t floor)
{
    uint64_t by = floor - worker->floor;
    worker->bits = by < 64 ? worker->bits >> by : 0;
    worker->floor = floor;
}

void gw__dedup_add(struct gw__dedup_worker *worker, uint64_t floor,
                   uint64_t sequence)
{
    if (floor > worker->floor)
        raise_floor(worker, floor);
    if (sequence <= worker->floor)
        return;
    uint64_t above = sequence - worker->floor - 1;
    if (above < 64)
        worker->bits |= UINT64_C(1) << above;
}

bool gw__dedup_is_sound(uint64_t floor, uint64_t sequence)
{
    return sequence > floor && sequence - floor <= 64;
}

void gw__put_dedup(struct gw__writer *writer, const struct gw__dedup *seen)
{
    gw__put_u32(writer, seen->count);
    for (unsigned i = 0; i < seen->count; i++) {
        const struct gw__dedup_worker *w = &seen->workers[i];
        gw__put_u64(writer, w->incarnation);
        gw__put_u32(writer, w->node);
        gw__put_u64(writer, w->floor);
        gw__put_u64(writer, w->bits);
        for (unsigned g = 0; g < GW_PS_GROUPS_MAX; g++)
            gw__put_u64(writer, w->over[g]);
        gw__put_u64(writer, w->used);
    }
}

void gw__get_dedup(struct gw__reader *reader, struct gw__dedup *seen)
{
    unsigned count = gw__get_u32(reader);
    gw__reader_demand(reader, count <= GW__DEDUP_MAX);
    for (unsigned i = 0; i < count && !reader->bad; i++) {
        if (seen->count == seen->room && !grow_workers(seen)) {
            gw__reader_demand(reader, false);
            return;
        }
        struct gw__dedup_worker *w = &seen->workers[seen->count++];
        w->incarnation = gw__get_u64(reader);
        w->node = gw__get_u32(reader);
        w->floor = gw__get_u64(reader);
        w->bits = gw__get_u64(reader);
        for (unsigned g = 0; g < GW_PS_GROUPS_MAX; g++)
            w->over[g] = gw__get_u64(reader);
        w->used = gw__get_u64(reader);
    }
}
