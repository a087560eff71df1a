/* SPDX-License-Identifier: MIT
 *
 * The plan taken apart for its run in virtual time. The verifier's index and
 * versions tell which value each transfer reads and which it helps to make;
 * here transfers become messages, and everything counts what it waits for.
 */
#include "traffic.h"

#include <stdlib.h>

/* ---- messages ---- */

/* Numbers the messages in the order of the plan. `newest` has room for each
 * flow: its last message. */
static void number_messages(struct gw__traffic *f, uint32_t *newest)
{
    const struct gw__index *index = &f->index;
    for (uint32_t flow = 0; flow < index->links; flow++)
        newest[flow] = GW__NO_MESSAGE;
    for (uint32_t t = 0; t < index->transfers; t++) {
        uint32_t flow = index->link[t], before = newest[flow];
        if (before == GW__NO_MESSAGE ||
            f->messages[before].step != index->step[t]) {
            newest[flow] = f->message_count++;
            f->messages[newest[flow]] = (struct gw__traffic_message){
                .step = index->step[t],
                .flow = flow,
                .next = GW__NO_MESSAGE,
                .waits = before != GW__NO_MESSAGE,
                .cause = GW__NO_MESSAGE,
            };
            if (before == GW__NO_MESSAGE)
                f->flows[flow].message = newest[flow];
            else
                f->messages[before].next = newest[flow];
        }
        struct gw__traffic_message *message = &f->messages[newest[flow]];
        message->bytes += f->chunk_bytes[f->plan->transfers[t].chunk];
        message->waits += !f->versions.first[f->versions.read[t]];
        f->message_of[t] = newest[flow];
    }
}

static bool make_messages(struct gw__traffic *f)
{
    uint32_t transfers = f->index.transfers;
    uint32_t *newest = malloc(((size_t)f->index.links + 1) * sizeof *newest);
    f->message_of = malloc(((size_t)transfers + 1) * sizeof *f->message_of);
    f->messages = malloc(((size_t)transfers + 1) * sizeof *f->messages);
    bool room = newest && f->message_of && f->messages;
    if (room)
        number_messages(f, newest);
    free(newest);
    return room && gw__buckets_init(&f->carried, f->message_of, transfers,
                                    f->message_count);
}

/* ---- versions ---- */

static bool make_needs(struct gw__traffic *f)
{
    const struct gw__versions *v = &f->versions;
    f->needs = calloc((size_t)v->count + 1, sizeof *f->needs);
    f->cause = malloc(((size_t)v->count + 1) * sizeof *f->cause);
    if (!f->needs || !f->cause)
        return false;
    for (uint32_t i = 0; i < v->count; i++) {
        if (v->first[i])
            continue;
        f->needs[i] = v->writers.begin[i + 1] - v->writers.begin[i] +
                      !v->first[i - 1] + v->readers.begin[i] -
                      v->readers.begin[i - 1];
        uint32_t writer = v->writers.item[v->writers.begin[i]];
        f->unfinished[f->plan->transfers[writer].dst]++;
    }
    for (uint32_t m = 0; m < f->message_count; m++)
        f->unfinished[f->flows[f->messages[m].flow].src]++;
    return true;
}

/* ---- the topology ---- */

static bool make_links(struct gw__traffic *f)
{
    f->link_count = gw_topology_links(f->topology);
    size_t links = (size_t)f->link_count + 1;
    f->links = calloc(links, sizeof *f->links);
    f->touched = malloc(links * sizeof *f->touched);
    f->near_links = malloc(links * sizeof *f->near_links);
    if (!f->links || !f->touched || !f->near_links)
        return false;
    for (unsigned i = 0; i < f->link_count; i++) {
        struct gw_topology_link link;
        gw_topology_link(f->topology, i, &link);
        f->links[i].rate = (double)link.rate / 1e12;
        f->links[i].first = UINT32_MAX;
    }
    return true;
}

/* The links between the two ranks, and the latency of all. */
static bool make_way(struct gw__traffic *f, uint32_t number)
{
    struct gw__traffic_stream *flow = &f->flows[number];
    unsigned way[GW_WAY_MAX];
    uint64_t rate, latency_ns;
    flow->way = (uint32_t)f->way_count;
    flow->way_count = gw_topology_way(f->topology, flow->src, flow->dst, way);
    gw_topology_way_sum(f->topology, flow->src, flow->dst, &rate, &latency_ns);
    flow->latency_ps = latency_ns * 1000;
    for (uint32_t i = 0; i < flow->way_count; i++) {
        if (f->way_count == f->way_room) {
            size_t room = f->way_room ? 2 * f->way_room : 64;
            void *moved = realloc(f->ways, room * sizeof *f->ways);
            if (!moved)
                return false;
            f->ways = moved;
            f->way_room = room;
        }
        f->ways[f->way_count++] =
            (struct gw__way_link){.link = way[i], .flow = number};
    }
    return true;
}

static bool make_flows(struct gw__traffic *f)
{
    size_t flows = (size_t)f->index.links + 1;
    f->flows = calloc(flows, sizeof *f->flows);
    f->near_flows = malloc(flows * sizeof *f->near_flows);
    if (!f->flows || !f->near_flows)
        return false;
    for (uint32_t t = 0; t < f->index.transfers; t++) {
        const struct gw_transfer *x = &f->plan->transfers[t];
        struct gw__traffic_stream *flow = &f->flows[f->index.link[t]];
        if (flow->way_count > 0)
            continue;
        flow->src = x->src;
        flow->dst = x->dst;
        if (!make_way(f, f->index.link[t]))
            return false;
    }
    return true;
}

/* ---- all of it ---- */

static bool make_chunks(struct gw__traffic *f)
{
    const struct gw_plan *plan = f->plan;
    f->chunk_bytes = calloc(plan->chunks, sizeof *f->chunk_bytes);
    for (unsigned c = 0; f->chunk_bytes && c < plan->chunks; c++) {
        size_t offset, length = 0;
        if (plan->collective != GW_BARRIER)
            gw_plan_extent(plan, c, f->job->count, f->job->elem_bytes, &offset,
                           &length);
        f->chunk_bytes[c] = f->job->chunk_bytes ? f->job->chunk_bytes[c]
                                                : length * f->job->elem_bytes;
    }
    return f->chunk_bytes != NULL;
}

static bool make_heap(struct gw__traffic *f)
{
    size_t things =
        (size_t)f->index.links + f->message_count + f->versions.count + 1;
    f->heap.slots = malloc(things * sizeof *f->heap.slots);
    f->heap.place = calloc(things, sizeof *f->heap.place);
    f->ready = malloc(((size_t)f->message_count + 1) * sizeof *f->ready);
    return f->heap.slots && f->heap.place && f->ready;
}

static bool make_ranks(struct gw__traffic *f)
{
    f->unfinished = calloc(f->plan->ranks, sizeof *f->unfinished);
    f->sender_ps = calloc(f->plan->ranks, sizeof *f->sender_ps);
    f->reducer_ps = calloc(f->plan->ranks, sizeof *f->reducer_ps);
    return f->unfinished && f->sender_ps && f->reducer_ps;
}

enum gw_err gw__traffic_init(struct gw__traffic *f, struct gw_error *why)
{
    enum gw_err err = gw__index_init(&f->index, f->plan, why);
    if (!err)
        err = gw__versions_init(&f->versions, &f->index, why);
    if (err)
        return err;
    f->message_ps = gw__ps_of(f->job->message_us);
    f->last = GW__NO_MESSAGE;
    if (make_chunks(f) && make_ranks(f) && make_links(f) && make_flows(f) &&
        make_messages(f) && make_needs(f) && make_heap(f))
        return GW_OK;
    return gw_fail(why, GW_ENOMEM, "simulation of %u transfers",
                   f->index.transfers);
}

void gw__traffic_fini(struct gw__traffic *f)
{
    gw__versions_fini(&f->versions);
    gw__index_fini(&f->index);
    gw__buckets_fini(&f->carried);
    free(f->message_of);
    free(f->chunk_bytes);
    free(f->messages);
    free(f->flows);
    free(f->ways);
    free(f->links);
    free(f->needs);
    free(f->cause);
    free(f->unfinished);
    free(f->sender_ps);
    free(f->reducer_ps);
    free(f->heap.slots);
    free(f->heap.place);
    free(f->ready);
    free(f->touched);
    free(f->near_links);
    free(f->near_flows);
}
