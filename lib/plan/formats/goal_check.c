/* SPDX-License-Identifier: MIT
 *
 * Checks the operations of a GOAL file: each send has a receive with the same
 * size, in their order on (sender, receiver, tag), and nothing waits for itself.
 * Labels are found by a hash table, which is emptied with each rank.
 */
#include "goal.h"

#include <stdlib.h>
#include <string.h>

enum { LABELS = 4 * GW__GOAL_OPS_MAX };

enum gw_err gw__goal_begin(struct gw__goal *g)
{
    g->labels = malloc(LABELS * sizeof *g->labels);
    if (!g->labels)
        return gw_fail(g->why, GW_ENOMEM, "%.200s", g->name);
    memset(g->labels, 0xff, LABELS * sizeof *g->labels);
    return GW_OK;
}

void gw__goal_end(struct gw__goal *g)
{
    free(g->labels);
    free(g->edges);
}

static uint32_t slot_of(const char *label)
{
    return (uint32_t)gw_hash(label, strlen(label), 0) % LABELS;
}

/* The operations that were read since the last look enter the table. */
static void enter_labels(struct gw__goal *g)
{
    for (; g->entered < g->count; g->entered++) {
        struct gw__goal_op *op = &g->ops[g->entered];
        if (*op->label == 0)
            continue;
        op->slot = slot_of(op->label);
        while (g->labels[op->slot] != GW__GOAL_NONE)
            op->slot = (op->slot + 1) % LABELS;
        g->labels[op->slot] = g->entered;
    }
}

uint32_t gw__goal_find(struct gw__goal *g, const char *label)
{
    enter_labels(g);
    uint32_t slot = slot_of(label);
    while (g->labels[slot] != GW__GOAL_NONE &&
           strcmp(g->ops[g->labels[slot]].label, label) != 0)
        slot = (slot + 1) % LABELS;
    return g->labels[slot];
}

void gw__goal_forget(struct gw__goal *g)
{
    enter_labels(g);
    for (uint32_t op = g->rank_begin; op < g->count; op++)
        if (g->ops[op].slot != GW__GOAL_NONE)
            g->labels[g->ops[op].slot] = GW__GOAL_NONE;
}

enum gw_err gw__goal_require(struct gw__goal *g, uint32_t op, uint32_t on)
{
    if (g->edge_count == g->edge_room) {
        size_t room = g->edge_room ? 2 * g->edge_room : 256;
        void *moved = realloc(g->edges, room * sizeof *g->edges);
        if (!moved)
            return gw_fail(g->why, GW_ENOMEM, "%.200s", g->name);
        g->edges = moved;
        g->edge_room = room;
    }
    g->edges[g->edge_count] = (struct gw__goal_edge){on, g->ops[op].requires};
    g->ops[op].requires = (uint32_t)g->edge_count++;
    return GW_OK;
}

/* ---- messages ---- */

struct goal_end {
    const struct gw__goal_op *op;
    uint32_t src, dst, number;
    uint64_t tag;
};

static int by_order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_keys(const struct goal_end *a, const struct goal_end *b)
{
    int by = by_order(a->src, b->src);
    by = by ? by : by_order(a->dst, b->dst);
    return by ? by : by_order(a->tag, b->tag);
}

static int compare_goal_ends(const void *one, const void *other)
{
    const struct goal_end *a = one, *b = other;
    int by = compare_keys(a, b);
    return by ? by : by_order(a->number, b->number);
}

static size_t list_goal_ends(const struct gw__goal *g, enum gw__goal_kind kind,
                             struct goal_end *ends)
{
    size_t count = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct gw__goal_op *op = &g->ops[i];
        bool sends = kind == GW__GOAL_SEND;
        if (op->kind == kind)
            ends[count++] =
                (struct goal_end){op, sends ? op->rank : op->peer,
                                  sends ? op->peer : op->rank, i, op->tag};
    }
    qsort(ends, count, sizeof *ends, compare_goal_ends);
    return count;
}

static enum gw_err match_goal_ends(struct gw__goal *g, struct goal_end *out,
                                   struct goal_end *in)
{
    size_t outs = list_goal_ends(g, GW__GOAL_SEND, out);
    size_t ins = list_goal_ends(g, GW__GOAL_RECV, in);
    for (size_t i = 0; i < outs || i < ins; i++) {
        int by = i == outs ? 1 : i == ins ? -1 : compare_keys(&out[i], &in[i]);
        if (by < 0)
            return gw__goal_refuse(g, out[i].op->line,
                                   "send without matching recv", "");
        if (by > 0)
            return gw__goal_refuse(g, in[i].op->line,
                                   "recv without matching send", "");
        if (out[i].op->size != in[i].op->size)
            return gw__goal_refuse(g, in[i].op->line,
                                   "the matching send has another size", "");
        g->ops[in[i].number].peer_op = out[i].number;
    }
    return GW_OK;
}

/* ---- cycles ---- */

/* Counts the waits of each operation, and frees those that wait for nothing,
 * again and again. `next` and `after` are lists of waiting operations. */
static enum gw_err find_goal_cycle(struct gw__goal *g, uint32_t *left,
                                   uint32_t *ready)
{
    uint32_t count = (uint32_t)g->count, freed = 0, done = 0;
    struct gw__goal_edge *waits =
        calloc(g->edge_count + g->count + 1, sizeof *waits);
    uint32_t *after = malloc((g->count + 1) * sizeof *after), used = 0;
    bool room = waits && after;
    if (room)
        memset(after, 0xff, g->count * sizeof *after);
    for (uint32_t op = 0; room && op < count; op++) {
        uint32_t edge = g->ops[op].requires, on = g->ops[op].peer_op;
        for (; on != GW__GOAL_NONE || edge != GW__GOAL_NONE;) {
            if (on == GW__GOAL_NONE) {
                on = g->edges[edge].on;
                edge = g->edges[edge].next;
            }
            waits[used] = (struct gw__goal_edge){op, after[on]};
            after[on] = used++;
            left[op]++;
            on = GW__GOAL_NONE;
        }
        if (left[op] == 0)
            ready[freed++] = op;
    }
    for (; room && done < freed; done++)
        for (uint32_t w = after[ready[done]]; w != GW__GOAL_NONE;
             w = waits[w].next)
            if (--left[waits[w].on] == 0)
                ready[freed++] = waits[w].on;
    free(after);
    free(waits);
    if (!room)
        return gw_fail(g->why, GW_ENOMEM, "%.200s", g->name);
    for (uint32_t op = 0; op < count; op++)
        if (left[op] > 0)
            return gw__goal_refuse(g, g->ops[op].line,
                                   "the operations wait for each other in a "
                                   "cycle",
                                   "");
    return GW_OK;
}

enum gw_err gw__goal_check(struct gw__goal *g)
{
    struct goal_end *out = calloc(g->count + 1, sizeof *out);
    struct goal_end *in = calloc(g->count + 1, sizeof *in);
    uint32_t *left = calloc(g->count + 1, sizeof *left);
    uint32_t *ready = calloc(g->count + 1, sizeof *ready);
    enum gw_err err = out && in && left && ready
                          ? match_goal_ends(g, out, in)
                          : gw_fail(g->why, GW_ENOMEM, "%.200s", g->name);
    if (!err)
        err = find_goal_cycle(g, left, ready);
    free(ready);
    free(left);
    free(in);
    free(out);
    return err;
}
