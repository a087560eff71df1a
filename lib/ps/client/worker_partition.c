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
    unsigned slot_count;
    uint8_t slots[GW_PS_SLOTS_MAX]; /* in the order of servers */
    size_t counts[GW_PS_SLOTS_MAX]; /* by slot */
    size_t next[GW_PS_SLOTS_MAX];   /* by slot: where its next key goes */
    const uint8_t *slot_of;         /* by the caller's index */
};

/* ---- the order ---- */

/* Insertion sort: the slots are few and mostly in order. */
static void order_slots(struct sorter *s)
{
    const struct gw__slot_route *routes = s->routes->slots;
    for (unsigned slot = 0; slot < s->slot_count; slot++) {
        unsigned at = slot;
        for (; at > 0; at--) {
            if (routes[s->slots[at - 1]].primary <= routes[slot].primary)
                break;
            s->slots[at] = s->slots[at - 1];
        }
        s->slots[at] = (uint8_t)slot;
    }
}

static enum gw_err find_slots(struct sorter *s,
                              const struct gw_ps_table_config *table,
                              const struct gw__request_args *args,
                              uint8_t *slot_of, struct gw_error *why)
{
    s->slot_of = slot_of;
    for (size_t i = 0; i < args->count; i++) {
        uint64_t key = args->keys[i];
        if (table->dense && key >= table->dense)
            return gw_fail(why, GW_EINVAL, "table %s has no key %llu",
                           table->name, (unsigned long long)key);
        slot_of[i] = (uint8_t)gw__route_slot(s->routes, table, key);
        s->counts[slot_of[i]]++;
    }
    return GW_OK;
}

static void sort(struct sorter *s, const struct gw__request_args *args,
                 struct gw__partitioning *partitioning)
{
    size_t at = 0;
    for (unsigned i = 0; i < s->slot_count; i++) {
        s->next[s->slots[i]] = at;
        at += s->counts[s->slots[i]];
    }
    for (size_t i = 0; i < args->count; i++) {
        size_t place = s->next[s->slot_of[i]]++;
        partitioning->keys[place] = args->keys[i];
        partitioning->order[place] = (uint32_t)i;
    }
}

/* ---- partitions ---- */

/* Makes two passes over the keys; the first one counts partitions and
 * segments. */
struct partitioner {
    struct gw__partitioning *partitioning;
    bool counts_only;
    bool lone_slots; /* each partition has one slot only */
    unsigned ranges, segments;
    struct gw__key_range range; /* the last one */
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
    if (c->range.slots >> slot & 1) {
        if (!c->counts_only)
            c->partitioning->segments[c->segments - 1].keys += count;
    } else {
        if (!c->counts_only)
            c->partitioning->segments[c->segments] =
                (struct gw__ps_segment){.slot = slot, .keys = count};
        c->segments++;
        c->range.segment_count++;
        c->range.slots |= (uint64_t)1 << slot;
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
    for (unsigned i = 0; i < s->slot_count; i++) {
        unsigned slot = s->slots[i], node = s->routes->slots[slot].primary;
        uint32_t left = (uint32_t)s->counts[slot];
        if (node != last_node || c->lone_slots)
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
    struct sorter s = {.routes = &worker->routes,
                       .slot_count = worker->routes.slot_count};
    size_t count = args->count;
    if (!gw__grow(&worker->scratch, &worker->scratch_bytes, count + 1))
        return gw_fail(why, GW_ENOMEM, "%zu keys", count);
    partitioning->keys = malloc((count + 1) * sizeof *partitioning->keys);
    partitioning->order = calloc(count + 1, sizeof *partitioning->order);
    if (!partitioning->keys || !partitioning->order)
        return gw_fail(why, GW_ENOMEM, "%zu keys", count);
    partitioning->bytes =
        count * (sizeof *partitioning->keys + sizeof *partitioning->order);
    enum gw_err err = find_slots(&s, table, args, worker->scratch, why);
    if (err)
        return err;
    order_slots(&s);
    sort(&s, args, partitioning);
    return make_ranges(worker, &s, partitioning, table->width * sizeof(float),
                       why);
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
