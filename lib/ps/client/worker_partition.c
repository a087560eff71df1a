/* SPDX-License-Identifier: MIT
 *
 * Partitions a key list. A counting sort orders the keys by server and slot; it
 * keeps the caller's order within a slot, so that values are read forward. The
 * result is split into partitions of at most `piece_bytes` of values. Rows so
 * wide that a copy costs more than a message are split into runs that are
 * contiguous in the caller's memory.
 */
#include "worker_parts.h"

#include <stdlib.h>
#include <string.h>

struct sorter {
    const struct gw__routes *routes;
    struct gw__slot_order *order;
    unsigned used_count;
    uint16_t used[GW_PS_SLOTS_MAX]; /* slots with keys */
    const uint16_t *slot_of;        /* by the caller's index */
};

static enum gw_err find_slots(struct sorter *s,
                              const struct gw_ps_table_config *table,
                              const struct gw__request_args *args,
                              uint16_t *slot_of, struct gw_error *why)
{
    uint32_t *counts = s->order->counts;
    s->slot_of = slot_of;
    for (size_t i = 0; i < args->count; i++) {
        uint64_t key = args->keys[i];
        if (table->dense && key >= table->dense)
            return gw_fail(why, GW_EINVAL, "table %s has no key %llu",
                           table->name, (unsigned long long)key);
        unsigned slot = gw__route_slot(s->routes, table, key);
        slot_of[i] = (uint16_t)slot;
        if (counts[slot]++ == 0)
            s->used[s->used_count++] = (uint16_t)slot;
    }
    return GW_OK;
}

static void sort(struct sorter *s, const struct gw__request_args *args,
                 struct gw__partitioning *partitioning)
{
    uint32_t at = 0, *next = s->order->next;
    for (unsigned i = 0; i < s->used_count; i++) {
        next[s->used[i]] = at;
        at += s->order->counts[s->used[i]];
    }
    for (size_t i = 0; i < args->count; i++) {
        size_t place = next[s->slot_of[i]]++;
        partitioning->keys[place] = args->keys[i];
        partitioning->order[place] = (uint32_t)i;
    }
}

static void forget_counts(struct sorter *s)
{
    for (unsigned i = 0; i < s->used_count; i++)
        s->order->counts[s->used[i]] = 0;
}

/* ---- partitions ---- */

/* Makes two passes over the keys; the first one counts partitions and
 * segments. */
struct partitioner {
    struct gw__partitioning *partitioning;
    bool counts_only;
    bool lone_slots; /* each partition has one slot only */
    unsigned ranges, segments;
    struct gw__key_range range; /* the last one, */
    unsigned slot;              /* and the slot of its last segment */
};

static void close_range(struct partitioner *c)
{
    if (c->range.count == 0)
        return;
    if (!c->counts_only)
        c->partitioning->ranges[c->ranges] = c->range;
    c->ranges++;
    c->range.count = 0;
}

static void add_keys(struct partitioner *c, unsigned node, unsigned slot,
                     uint32_t first, uint32_t count)
{
    if (c->range.count == 0)
        c->range = (struct gw__key_range){
            .node = node, .first = first, .first_segment = c->segments};
    if (c->range.count > 0 && c->slot == slot) {
        if (!c->counts_only)
            c->partitioning->segments[c->segments - 1].keys += count;
    } else {
        if (!c->counts_only)
            c->partitioning->segments[c->segments] =
                (struct gw__ps_segment){.slot = slot, .keys = count};
        c->segments++;
        c->range.segment_count++;
        c->slot = slot;
    }
    c->range.count += count;
}

/* How many of the next `count` keys from `first` fit. */
static uint32_t fitting(const struct partitioner *c, uint32_t first,
                        uint32_t count, size_t row_bytes, size_t range_bytes)
{
    const uint32_t *order = c->partitioning->order;
    size_t room = range_bytes / row_bytes;
    if (row_bytes >= GW__LONE_ROW_BYTES) { /* a contiguous run */
        uint32_t run = c->range.count == 0;
        while (run < count && order[first + run] == order[first + run - 1] + 1)
            run++;
        count = run;
    }
    if (room == 0)
        room = 1;
    room -= c->range.count < room ? c->range.count : room;
    return count < room ? count : (uint32_t)room;
}

static void partition_slots(struct partitioner *c, const struct sorter *s,
                            size_t row_bytes, size_t range_bytes)
{
    uint32_t first = 0;
    unsigned last_node = GW__NO_NODE;
    c->ranges = c->segments = 0;
    c->range.count = 0;
    for (unsigned i = 0; i < s->used_count; i++) {
        unsigned slot = s->used[i], node = s->routes->slots[slot].primary;
        uint32_t left = s->order->counts[slot];
        if (node != last_node || c->lone_slots ||
            c->range.segment_count == GW_PS_SEGMENTS_MAX)
            close_range(c);
        last_node = node;
        while (left > 0) {
            uint32_t count = fitting(c, first, left, row_bytes, range_bytes);
            if (count == 0) {
                close_range(c);
                continue;
            }
            add_keys(c, node, slot, first, count);
            first += count;
            left -= count;
        }
    }
    close_range(c);
}

static void finish_range(struct gw__partitioning *partitioning,
                         struct gw__key_range *range, bool signs)
{
    const uint32_t *order = partitioning->order + range->first;
    range->straight = true;
    for (uint32_t i = 1; i < range->count && range->straight; i++)
        range->straight = order[i] == order[i - 1] + 1;
    if (signs && range->count >= GW__KEY_LIST_LEAST)
        range->key_list = gw__ps_key_list(
            partitioning->segments + range->first_segment, range->segment_count,
            partitioning->keys + range->first, range->count,
            partitioning->table);
}

static enum gw_err make_ranges(struct gw__worker *worker,
                               const struct sorter *s,
                               struct gw__partitioning *partitioning,
                               size_t row_bytes, struct gw_error *why)
{
    struct partitioner c = {.partitioning = partitioning,
                            .counts_only = true,
                            .lone_slots = worker->config.no_coalesce};
    partition_slots(&c, s, row_bytes, worker->config.range_bytes);
    partitioning->ranges =
        calloc(c.ranges ? c.ranges : 1, sizeof *partitioning->ranges);
    partitioning->segments =
        calloc(c.segments ? c.segments : 1, sizeof *partitioning->segments);
    if (!partitioning->ranges || !partitioning->segments)
        return gw_fail(why, GW_ENOMEM, "%zu keys", partitioning->count);
    partitioning->bytes += c.ranges * sizeof *partitioning->ranges +
                           c.segments * sizeof *partitioning->segments;
    c.counts_only = false;
    partition_slots(&c, s, row_bytes, worker->config.range_bytes);
    partitioning->range_count = c.ranges;
    for (unsigned i = 0; i < c.ranges; i++)
        finish_range(partitioning, &partitioning->ranges[i],
                     !worker->config.no_key_cache);
    return GW_OK;
}

/* ---- the whole list ---- */

static enum gw_err fill_partitioning(struct gw__worker *worker,
                                     const struct gw__request_args *args,
                                     struct gw__partitioning *partitioning,
                                     struct gw_error *why)
{
    const struct gw_ps_table_config *table =
        &worker->routes.tables[args->table];
    struct sorter s;
    size_t count = args->count;
    s.routes = &worker->routes;
    s.order = &worker->order;
    s.used_count = 0;
    if (!gw__grow(&worker->scratch, &worker->scratch_bytes,
                  (count + 1) * sizeof(uint16_t)))
        return gw_fail(why, GW_ENOMEM, "%zu keys", count);
    partitioning->keys = malloc((count + 1) * sizeof *partitioning->keys);
    partitioning->order = calloc(count + 1, sizeof *partitioning->order);
    if (!partitioning->keys || !partitioning->order)
        return gw_fail(why, GW_ENOMEM, "%zu keys", count);
    partitioning->bytes =
        count * (sizeof *partitioning->keys + sizeof *partitioning->order);
    enum gw_err err =
        find_slots(&s, table, args, (uint16_t *)(void *)worker->scratch, why);
    if (!err) {
        if (s.order->placement != worker->placement)
            gw__slot_order_make(s.order, s.routes);
        s.order->placement = worker->placement;
        gw__slot_order_sort(s.order, s.routes, s.used, s.used_count);
        sort(&s, args, partitioning);
        err = make_ranges(worker, &s, partitioning,
                          table->width * sizeof(float), why);
    }
    forget_counts(&s);
    return err;
}

enum gw_err gw__partitioning_make(struct gw__worker *worker,
                                  const struct gw__request_args *args,
                                  struct gw__partitioning **made,
                                  struct gw_error *why)
{
    struct gw__partitioning *partitioning = calloc(1, sizeof *partitioning);
    if (!partitioning)
        return gw_fail(why, GW_ENOMEM, "%zu keys", args->count);
    partitioning->table = args->table;
    partitioning->count = args->count;
    partitioning->placement = worker->placement;
    partitioning->refs = 1;
    enum gw_err err = fill_partitioning(worker, args, partitioning, why);
    if (err)
        gw__partitioning_release(partitioning);
    else
        *made = partitioning;
    return err;
}

void gw__partitioning_release(struct gw__partitioning *partitioning)
{
    if (--partitioning->refs > 0)
        return;
    free(partitioning->keys);
    free(partitioning->order);
    free(partitioning->segments);
    free(partitioning->ranges);
    free(partitioning);
}
