/* SPDX-License-Identifier: MIT
 *
 * Views, looked up and as bytes; see view.h.
 */
#include "view.h"

int gw__view_rank(const struct gw__view *view, unsigned node)
{
    for (unsigned i = 0; i < view->ring_count; i++)
        if (view->ring[i].node == node)
            return (int)i;
    return -1;
}

uint64_t gw__view_nodes(const struct gw__view *view)
{
    uint64_t nodes = 0;
    for (unsigned i = 0; i < view->ring_count; i++)
        nodes |= (uint64_t)1 << view->ring[i].node;
    return nodes;
}

void gw__put_ring_member(struct gw__writer *w, const struct gw__ring_member *m)
{
    gw__put_u8(w, m->node);
    gw__put_id(w, m->incarnation);
    gw__put_u64(w, m->from_op);
}

void gw__get_ring_member(struct gw__reader *r, struct gw__ring_member *m)
{
    m->node = gw__get_u8_below(r, GW__NODES_MAX);
    m->incarnation = gw__get_id(r);
    m->from_op = gw__get_u64(r);
}

void gw__put_view(struct gw__writer *w, const struct gw__view *view)
{
    gw__put_u64(w, view->epoch);
    gw__put_u64(w, view->ring_epoch);
    gw__put_u64(w, view->op_floor);
    gw__put_u8(w, view->ring_count);
    for (unsigned i = 0; i < view->ring_count; i++)
        gw__put_ring_member(w, &view->ring[i]);
}

void gw__get_view(struct gw__reader *r, struct gw__view *view)
{
    *view = (struct gw__view){.epoch = gw__get_u64(r)};
    view->ring_epoch = gw__get_u64(r);
    view->op_floor = gw__get_u64(r);
    gw__reader_demand(r, view->ring_epoch <= view->epoch);
    unsigned count = gw__get_u8_below(r, GW__NODES_MAX + 1);
    while (view->ring_count < count && !r->bad) {
        struct gw__ring_member *m = &view->ring[view->ring_count];
        gw__get_ring_member(r, m);
        gw__reader_demand(r, gw__view_rank(view, m->node) < 0);
        view->ring_count++;
    }
    if (r->bad)
        *view = (struct gw__view){0};
}
