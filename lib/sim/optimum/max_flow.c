/* SPDX-License-Identifier: MIT
 *
 * Dinic's algorithm: a breadth-first search numbers the nodes by their distance
 * from the source; augmenting paths then go from level to level only, until no
 * such path is left. The path is a stack of arcs, not a recursion, so that long
 * paths need no deep stack.
 */
#include "max_flow.h"

#include <stdlib.h>

enum gw_err gw__max_flow_init(struct gw__max_flow *flow, unsigned nodes,
                              struct gw_error *why)
{
    *flow = (struct gw__max_flow){.nodes = nodes};
    flow->first = malloc(5 * ((size_t)nodes + 1) * sizeof *flow->first);
    if (!flow->first)
        return gw_fail(why, GW_ENOMEM, "a flow between %u nodes", nodes);
    flow->level = flow->first + nodes + 1;
    flow->current = flow->level + nodes + 1;
    flow->queue = flow->current + nodes + 1;
    flow->via = flow->queue + nodes + 1;
    for (unsigned n = 0; n < nodes; n++)
        flow->first[n] = GW__FLOW_NONE;
    return GW_OK;
}

void gw__max_flow_fini(struct gw__max_flow *flow)
{
    free(flow->arcs);
    free(flow->first);
    *flow = (struct gw__max_flow){0};
}

static void put_arc(struct gw__max_flow *flow, uint32_t from, uint32_t to,
                    int64_t capacity)
{
    uint32_t arc = flow->arc_count++;
    flow->arcs[arc] = (struct gw__max_flow_arc){
        .to = to, .next = flow->first[from], .capacity = capacity};
    flow->first[from] = arc;
}

uint32_t gw__max_flow_add(struct gw__max_flow *flow, uint32_t from, uint32_t to,
                          int64_t capacity)
{
    if (flow->arc_count + 2 > flow->arc_room) {
        uint32_t room = flow->arc_room ? 2 * flow->arc_room : 256;
        struct gw__max_flow_arc *moved =
            realloc(flow->arcs, room * sizeof *flow->arcs);
        if (!moved) {
            flow->full = true;
            return GW__FLOW_NONE;
        }
        flow->arcs = moved;
        flow->arc_room = room;
    }
    put_arc(flow, from, to, capacity);
    put_arc(flow, to, from, 0);
    return flow->arc_count - 2;
}

void gw__max_flow_set(struct gw__max_flow *flow, uint32_t arc, int64_t capacity)
{
    flow->arcs[arc].capacity = capacity;
}

int64_t gw__max_flow_on(const struct gw__max_flow *flow, uint32_t arc)
{
    return flow->arcs[arc].capacity - flow->arcs[arc].left;
}

bool gw__max_flow_inside(const struct gw__max_flow *flow, uint32_t node)
{
    return flow->level[node] != GW__FLOW_NONE;
}

/* Numbers the nodes; is the sink reached? */
static bool set_levels(struct gw__max_flow *f, uint32_t from, uint32_t to)
{
    uint32_t head = 0, tail = 0;
    for (unsigned n = 0; n < f->nodes; n++)
        f->level[n] = GW__FLOW_NONE;
    f->level[from] = 0;
    f->queue[tail++] = from;
    while (head < tail && f->level[to] == GW__FLOW_NONE) {
        uint32_t node = f->queue[head++];
        for (uint32_t a = f->first[node]; a != GW__FLOW_NONE;
             a = f->arcs[a].next) {
            uint32_t next = f->arcs[a].to;
            if (f->arcs[a].left > 0 && f->level[next] == GW__FLOW_NONE) {
                f->level[next] = f->level[node] + 1;
                f->queue[tail++] = next;
            }
        }
    }
    return f->level[to] != GW__FLOW_NONE;
}

/* The next arc of `node` towards the sink; GW__FLOW_NONE: a dead end. */
static uint32_t forward_arc(struct gw__max_flow *f, uint32_t node)
{
    uint32_t a = f->current[node];
    while (
        a != GW__FLOW_NONE &&
        (f->arcs[a].left == 0 || f->level[f->arcs[a].to] != f->level[node] + 1))
        a = f->arcs[a].next;
    f->current[node] = a;
    return a;
}

/* Finds a path, whose last arc is via[depth - 1]; 0: there is none. */
static uint32_t find_path(struct gw__max_flow *f, uint32_t from, uint32_t to)
{
    uint32_t depth = 0, node = from;
    while (node != to) {
        uint32_t a = forward_arc(f, node);
        if (a != GW__FLOW_NONE) {
            f->via[depth++] = a;
            node = f->arcs[a].to;
        } else if (depth == 0) {
            return 0;
        } else {
            a = f->via[--depth];
            node = f->arcs[a ^ 1].to;
            f->current[node] = f->arcs[a].next;
        }
    }
    return depth;
}

static int64_t push_along(struct gw__max_flow *f, uint32_t depth)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < depth; i++)
        if (f->arcs[f->via[i]].left < least)
            least = f->arcs[f->via[i]].left;
    for (uint32_t i = 0; i < depth; i++) {
        f->arcs[f->via[i]].left -= least;
        f->arcs[f->via[i] ^ 1].left += least;
    }
    return least;
}

int64_t gw__max_flow_find(struct gw__max_flow *flow, uint32_t from, uint32_t to,
                          int64_t enough)
{
    int64_t value = 0;
    uint32_t depth;
    for (uint32_t a = 0; a < flow->arc_count; a++)
        flow->arcs[a].left = flow->arcs[a].capacity;
    while (value < enough && set_levels(flow, from, to)) {
        for (unsigned n = 0; n < flow->nodes; n++)
            flow->current[n] = flow->first[n];
        while (value < enough && (depth = find_path(flow, from, to)) > 0)
            value += push_along(flow, depth);
    }
    return value;
}
