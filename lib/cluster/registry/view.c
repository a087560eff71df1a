/* SPDX-License-Identifier: MIT
 *
 * Looks up, encodes and decodes views; see view.h.
 */
#include "view.h"

#include <stddef.h>
#include <string.h>

/* A small ring is searched as fast. */
enum { INDEXED_LEAST = 32, NO_RANK = UINT16_MAX };

void gw__view_clear(struct gw__view *view)
{
    memset(view, 0, offsetof(struct gw__view, ring));
}

void gw__view_copy(struct gw__view *to, const struct gw__view *from)
{
    memcpy(to, from,
           offsetof(struct gw__view, ring) +
               from->ring_count * sizeof *from->ring);
    if (from->indexed)
        memcpy(to->ranks, from->ranks, sizeof to->ranks);
}

static void index_ring(struct gw__view *view)
{
    view->indexed = view->ring_count >= INDEXED_LEAST;
    if (!view->indexed)
        return;
    memset(view->ranks, NO_RANK & 255, sizeof view->ranks);
    for (unsigned i = 0; i < view->ring_count; i++)
        view->ranks[view->ring[i].node] = (uint16_t)i;
}

int gw__view_rank(const struct gw__view *view, unsigned node)
{
    if (view->indexed && node < GW__NODES_MAX)
        return view->ranks[node] == NO_RANK ? -1 : (int)view->ranks[node];
    for (unsigned i = 0; i < view->ring_count; i++)
        if (view->ring[i].node == node)
            return (int)i;
    return -1;
}

struct gw_nodes gw__view_nodes(const struct gw__view *view)
{
    struct gw_nodes nodes = {{0}};
    for (unsigned i = 0; i < view->ring_count; i++)
        gw__nodes_add(&nodes, view->ring[i].node);
    return nodes;
}

static bool is_senior(const struct gw__ring_member *a,
                      const struct gw__ring_member *b)
{
    return a->from_op != b->from_op ? a->from_op < b->from_op
                                    : a->node < b->node;
}

/* The ring is mostly in this order already, so that few members move. */
unsigned gw__ring_places(const struct gw__ring_member *ring, unsigned count,
                         uint64_t op, uint16_t places[GW__NODES_MAX])
{
    uint16_t sorted[GW__NODES_MAX]; /* positions in `ring` */
    unsigned assigned = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned place = assigned;
        if (ring[i].from_op > op)
            continue;
        for (; place > 0 && is_senior(&ring[i], &ring[sorted[place - 1]]);
             place--)
            sorted[place] = sorted[place - 1];
        sorted[place] = (uint16_t)i;
        assigned++;
    }
    for (unsigned i = 0; i < assigned; i++)
        places[i] = (uint16_t)ring[sorted[i]].node;
    return assigned;
}

/* ---- order ---- */

/* Nodes that are not named come after all others. */
static unsigned find_in(const struct gw__order *order, unsigned node)
{
    unsigned i = 0;
    while (i < order->count && order->nodes[i] != node)
        i++;
    return i;
}

void gw__view_reorder(struct gw__view *view, const struct gw__order *order)
{
    for (unsigned i = 1; i < view->ring_count; i++) {
        struct gw__ring_member moved = view->ring[i];
        unsigned to = i;
        for (; to > 0 && find_in(order, view->ring[to - 1].node) >
                             find_in(order, moved.node);
             to--)
            view->ring[to] = view->ring[to - 1];
        view->ring[to] = moved;
    }
}

bool gw__view_in_order(const struct gw__view *view,
                       const struct gw__order *order)
{
    for (unsigned i = 1; i < view->ring_count; i++)
        if (find_in(order, view->ring[i - 1].node) >
            find_in(order, view->ring[i].node))
            return false;
    return true;
}

bool gw__view_is_moved(const struct gw__view *before,
                       const struct gw__view *now)
{
    int last = -1;
    for (unsigned i = 0; i < before->ring_count; i++) {
        int rank = gw__view_rank(now, before->ring[i].node);
        if (rank >= 0 && rank < last)
            return true;
        last = rank >= 0 ? rank : last;
    }
    return false;
}

void gw__put_order(struct gw__writer *w, const struct gw__order *order)
{
    gw__put_node_list(w, order->nodes, order->count);
}

void gw__get_order(struct gw__reader *r, struct gw__order *order)
{
    *order = (struct gw__order){0};
    order->count = gw__get_node_list(r, order->nodes);
}

/* ---- as bytes ---- */

void gw__put_ring_member(struct gw__writer *w, const struct gw__ring_member *m)
{
    gw__put_node(w, m->node);
    gw__put_id(w, m->incarnation);
    gw__put_u64(w, m->from_op);
}

void gw__get_ring_member(struct gw__reader *r, struct gw__ring_member *m)
{
    m->node = gw__get_node(r);
    m->incarnation = gw__get_id(r);
    m->from_op = gw__get_u64(r);
}

void gw__put_view(struct gw__writer *w, const struct gw__view *view)
{
    gw__put_u64(w, view->epoch);
    gw__put_u64(w, view->ring_epoch);
    gw__put_u64(w, view->op_low_watermark);
    gw__put_u64(w, view->from_op);
    gw__put_u16(w, view->ring_count);
    for (unsigned i = 0; i < view->ring_count; i++)
        gw__put_ring_member(w, &view->ring[i]);
}

void gw__get_view(struct gw__reader *r, struct gw__view *view)
{
    gw__view_clear(view);
    view->epoch = gw__get_u64(r);
    view->ring_epoch = gw__get_u64(r);
    view->op_low_watermark = gw__get_u64(r);
    view->from_op = gw__get_u64(r);
    gw__reader_demand(r, view->ring_epoch <= view->epoch);
    unsigned count = gw__get_u16_below(r, GW_RING_MEMBERS_MAX + 1);
    struct gw_nodes nodes = {{0}};
    while (view->ring_count < count && !r->bad) {
        struct gw__ring_member *m = &view->ring[view->ring_count++];
        gw__get_ring_member(r, m);
        gw__reader_demand(r, !gw__nodes_has(&nodes, m->node));
        gw__nodes_add(&nodes, m->node);
    }
    if (r->bad)
        gw__view_clear(view);
    index_ring(view);
}
