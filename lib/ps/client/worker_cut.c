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
                              const struct gw__access *access, uint8_t *slot_of,
                              struct gw_error *why)
{
    s->slot_of = slot_of;
    for (size_t i = 0; i < access->count; i++) {
        uint64_t key = access->keys[i];
        if (table->dense && key >= table->dense)
            return gw_fail(why, GW_EINVAL, "table %s has no key %llu",
                           table->name, (unsigned long long)key);
        slot_of[i] = (uint8_t)gw__route_slot(s->routes, table, key);
        s->counts[slot_of[i]]++;
    }
    return GW_OK;
}

static void sort(struct sorter *s, const struct gw__access *access,
                 struct gw__cut *cut)
{
    size_t at = 0;
    for (unsigned i = 0; i < s->slot_count; i++) {
        s->next[s->slots[i]] = at;
        at += s->counts[s->slots[i]];
    }
    for (size_t i = 0; i < access->count; i++) {
        size_t place = s->next[s->slot_of[i]]++;
        cut->keys[place] = access->keys[i];
        cut->order[place] = (uint32_t)i;
    }
}

/* ---- partitions ---- */

/* Makes two passes over the keys; the first one counts partitions and
 * segments. */
struct cutter {
    struct gw__cut *cut;
    bool counts_only;
    bool lone_slots; /* each partition has one slot only */
    unsigned pieces, segments;
    struct gw__piece piece; /* the last one */
};

static void close_piece(struct cutter *c)
{
    if (c->piece.count == 0)
        return;
    if (!c->counts_only)
        c->cut->pieces[c->pieces] = c->piece;
    c->pieces++;
    c->piece.count = 0;
}

static void add_keys(struct cutter *c, unsigned node, unsigned slot,
                     uint32_t first, uint32_t count)
{
    if (c->piece.count == 0)
        c->piece = (struct gw__piece){
            .node = node, .first = first, .first_segment = c->segments};
    if (c->piece.slots >> slot & 1) {
        if (!c->counts_only)
            c->cut->segments[c->segments - 1].keys += count;
    } else {
        if (!c->counts_only)
            c->cut->segments[c->segments] =
                (struct gw__ps_segment){.slot = slot, .keys = count};
        c->segments++;
        c->piece.segment_count++;
        c->piece.slots |= (uint64_t)1 << slot;
    }
    c->piece.count += count;
}

/* How many of the next `count` keys from `first` fit. */
static uint32_t fitting(const struct cutter *c, uint32_t first, uint32_t count,
                        size_t row_bytes, size_t piece_bytes)
{
    const uint32_t *order = c->cut->order;
    size_t room = piece_bytes / row_bytes;
    if (row_bytes >= GW__LONE_ROW_BYTES) { /* a contiguous run */
        uint32_t run = c->piece.count == 0;
        while (run < count && order[first + run] == order[first + run - 1] + 1)
            run++;
        count = run;
    }
    if (room == 0)
        room = 1;
    room -= c->piece.count < room ? c->piece.count : room;
    return count < room ? count : (uint32_t)room;
}

static void cut_slots(struct cutter *c, const struct sorter *s,
                      size_t row_bytes, size_t piece_bytes)
{
    uint32_t first = 0;
    unsigned last_node = GW__NO_NODE;
    c->pieces = c->segments = 0;
    c->piece.count = 0;
    for (unsigned i = 0; i < s->slot_count; i++) {
        unsigned slot = s->slots[i], node = s->routes->slots[slot].primary;
        uint32_t left = (uint32_t)s->counts[slot];
        if (node != last_node || c->lone_slots)
            close_piece(c);
        last_node = node;
        while (left > 0) {
            uint32_t count = fitting(c, first, left, row_bytes, piece_bytes);
            if (count == 0) {
                close_piece(c);
                continue;
            }
            add_keys(c, node, slot, first, count);
            first += count;
            left -= count;
        }
    }
    close_piece(c);
}

static void finish_piece(struct gw__cut *cut, struct gw__piece *piece,
                         bool signs)
{
    const uint32_t *order = cut->order + piece->first;
    piece->straight = true;
    for (uint32_t i = 1; i < piece->count && piece->straight; i++)
        piece->straight = order[i] == order[i - 1] + 1;
    if (signs && piece->count >= GW__KEY_LIST_LEAST)
        piece->key_list = gw__ps_key_list(
            cut->segments + piece->first_segment, piece->segment_count,
            cut->keys + piece->first, piece->count, cut->table);
}

static enum gw_err make_pieces(struct gw__worker *worker,
                               const struct sorter *s, struct gw__cut *cut,
                               size_t row_bytes, struct gw_error *why)
{
    struct cutter c = {.cut = cut,
                       .counts_only = true,
                       .lone_slots = worker->config.no_coalesce};
    cut_slots(&c, s, row_bytes, worker->config.piece_bytes);
    cut->pieces = calloc(c.pieces ? c.pieces : 1, sizeof *cut->pieces);
    cut->segments = calloc(c.segments ? c.segments : 1, sizeof *cut->segments);
    if (!cut->pieces || !cut->segments)
        return gw_fail(why, GW_ENOMEM, "%zu keys", cut->count);
    cut->bytes +=
        c.pieces * sizeof *cut->pieces + c.segments * sizeof *cut->segments;
    c.counts_only = false;
    cut_slots(&c, s, row_bytes, worker->config.piece_bytes);
    cut->piece_count = c.pieces;
    for (unsigned i = 0; i < c.pieces; i++)
        finish_piece(cut, &cut->pieces[i], !worker->config.no_key_cache);
    return GW_OK;
}

/* ---- the whole list ---- */

static enum gw_err fill_partitioning(struct gw__worker *worker,
                                     const struct gw__access *access,
                                     struct gw__cut *cut, struct gw_error *why)
{
    const struct gw_ps_table_config *table =
        &worker->routes.tables[access->table];
    struct sorter s = {.routes = &worker->routes,
                       .slot_count = worker->routes.slot_count};
    size_t count = access->count;
    if (!gw__grow(&worker->scratch, &worker->scratch_bytes, count + 1))
        return gw_fail(why, GW_ENOMEM, "%zu keys", count);
    cut->keys = malloc((count + 1) * sizeof *cut->keys);
    cut->order = calloc(count + 1, sizeof *cut->order);
    if (!cut->keys || !cut->order)
        return gw_fail(why, GW_ENOMEM, "%zu keys", count);
    cut->bytes = count * (sizeof *cut->keys + sizeof *cut->order);
    enum gw_err err = find_slots(&s, table, access, worker->scratch, why);
    if (err)
        return err;
    order_slots(&s);
    sort(&s, access, cut);
    return make_pieces(worker, &s, cut, table->width * sizeof(float), why);
}

enum gw_err gw__cut_make(struct gw__worker *worker,
                         const struct gw__access *access, struct gw__cut **made,
                         struct gw_error *why)
{
    struct gw__cut *cut = calloc(1, sizeof *cut);
    if (!cut)
        return gw_fail(why, GW_ENOMEM, "%zu keys", access->count);
    cut->table = access->table;
    cut->count = access->count;
    cut->placement = worker->placement;
    cut->refs = 1;
    enum gw_err err = fill_partitioning(worker, access, cut, why);
    if (err)
        gw__cut_release(cut);
    else
        *made = cut;
    return err;
}

void gw__cut_release(struct gw__cut *cut)
{
    if (--cut->refs > 0)
        return;
    free(cut->keys);
    free(cut->order);
    free(cut->segments);
    free(cut->pieces);
    free(cut);
}
