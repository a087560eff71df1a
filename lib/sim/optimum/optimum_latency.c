/* SPDX-License-Identifier: MIT
 *
 * The largest latency between two ranks, over the links with the least sum of
 * latencies: a plan can be no faster, whatever its bytes. A queue of nodes
 * whose distance has become smaller (Bellman-Ford with a queue) is quick in
 * graphs whose paths have few links.
 */
#include "bounds.h"

#include <stdlib.h>

struct nearest {
    const struct gw__network *n;
    bool reversed;
    uint64_t *distance; /* of each node; UINT64_MAX: not reached */
    size_t *first;      /* edges by the node that they leave */
    size_t *next;
    uint32_t *queue; /* a ring of all nodes */
    bool *queued;
};

static uint32_t tail_of(const struct nearest *s, size_t edge)
{
    return s->reversed ? s->n->edges[edge].to : s->n->edges[edge].from;
}

static uint32_t head_of(const struct nearest *s, size_t edge)
{
    return s->reversed ? s->n->edges[edge].from : s->n->edges[edge].to;
}

static void list_edges(struct nearest *s)
{
    for (unsigned v = 0; v < s->n->nodes; v++)
        s->first[v] = SIZE_MAX;
    for (size_t e = 0; e < s->n->edge_count; e++) {
        s->next[e] = s->first[tail_of(s, e)];
        s->first[tail_of(s, e)] = e;
    }
}

/* Returns the largest distance of a rank. */
static uint64_t measure_from(struct nearest *s, uint32_t rank)
{
    unsigned nodes = s->n->nodes, head = 0, count = 1;
    for (unsigned v = 0; v < nodes; v++)
        s->distance[v] = UINT64_MAX;
    s->distance[rank] = 0;
    s->queue[0] = rank;
    while (count > 0) {
        uint32_t node = s->queue[head];
        head = (head + 1) % nodes;
        count--;
        s->queued[node] = false;
        for (size_t e = s->first[node]; e != SIZE_MAX; e = s->next[e]) {
            uint32_t to = head_of(s, e);
            uint64_t far = s->distance[node] + s->n->edges[e].latency_ns;
            if (far >= s->distance[to])
                continue;
            s->distance[to] = far;
            if (!s->queued[to])
                s->queue[(head + count++) % nodes] = to;
            s->queued[to] = true;
        }
    }
    uint64_t most = 0;
    for (unsigned r = 0; r < s->n->ranks; r++)
        if (s->distance[r] != UINT64_MAX && s->distance[r] > most)
            most = s->distance[r];
    return most;
}

enum gw_err gw__optimum_latency(struct gw_optimum *optimum,
                                const struct gw__network *network,
                                struct gw_error *why)
{
    unsigned nodes = network->nodes;
    bool rooted = gw_collective_rooted(optimum->collective);
    struct nearest s = {
        .n = network,
        .reversed = optimum->collective == GW_REDUCE ||
                    optimum->collective == GW_GATHER,
        .distance = calloc(nodes, sizeof *s.distance),
        .first = calloc(nodes, sizeof *s.first),
        .next = calloc(network->edge_count + 1, sizeof *s.next),
        .queue = calloc(nodes, sizeof *s.queue),
        .queued = calloc(nodes, sizeof *s.queued),
    };
    bool room = s.distance && s.first && s.next && s.queue && s.queued;
    uint64_t most = 0;
    if (room)
        list_edges(&s);
    for (unsigned r = 0; r < network->ranks && room; r++) {
        uint64_t far = rooted && r != optimum->root ? 0 : measure_from(&s, r);
        most = far > most ? far : most;
    }
    optimum->latency_us = (double)most / 1e3;
    free(s.distance);
    free(s.first);
    free(s.next);
    free(s.queue);
    free(s.queued);
    return room ? GW_OK
                : gw_fail(why, GW_ENOMEM, "latencies between %u nodes", nodes);
}
