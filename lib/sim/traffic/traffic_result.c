/* SPDX-License-Identifier: MIT
 *
 * The results of a simulation: bytes per link, the end of each rank, the events
 * of a recording, and the critical path. The path is found backwards from the
 * last value, since each message has its last dependency.
 */
#include "event/apply.h"
#include "traffic.h"

#include <stdlib.h>

static double us_of(uint64_t ps)
{
    return (double)ps / 1e6;
}

enum gw_err gw__result_new(unsigned links, unsigned ranks,
                           struct gw_topology_result **result,
                           struct gw_error *why)
{
    struct gw_topology_result *made = calloc(1, sizeof *made);
    if (made) {
        made->links = links;
        made->ranks = ranks;
        made->link_bytes = calloc(links, sizeof *made->link_bytes);
        made->rank_us = calloc(ranks, sizeof *made->rank_us);
    }
    *result = made;
    return made && made->link_bytes && made->rank_us
               ? GW_OK
               : gw_fail(why, GW_ENOMEM, "result of a simulation");
}

void gw_topology_result_destroy(struct gw_topology_result **result)
{
    if (!*result)
        return;
    free((*result)->link_bytes);
    free((*result)->rank_us);
    free(*result);
    *result = NULL;
}

/* ---- during the run ---- */

static void emit(const struct gw__traffic *f, enum gw_event_kind kind,
                 uint32_t rank, const struct gw_event *rest)
{
    struct gw_event event = *rest;
    event.time_ns = f->now_ps / 1000;
    event.kind = (uint32_t)kind;
    event.rank = rank;
    event.op = 1;
    gw_emit(f->job->events, &event);
}

static void emit_transfer(const struct gw__traffic *f, enum gw_event_kind kind,
                          uint32_t transfer)
{
    const struct gw_transfer *x = &f->of_plan.plan->transfers[transfer];
    bool sends = kind == GW_EV_SEND;
    if (sends && gw__is_local(x))
        return;
    const struct gw__apply apply = {x->action, x->src_scratch, x->dst_scratch};
    struct gw_event rest = {
        .bytes = f->of_plan.chunk_bytes[x->chunk],
        .value = sends ? 1 : gw__apply_value(&apply),
        .peer = sends ? x->dst : x->src,
        .step = f->of_plan.index.step[transfer],
        .chunk = x->chunk,
    };
    emit(f, kind, sends ? x->src : x->dst, &rest);
}

static void emit_op(const struct gw__traffic *f, enum gw_event_kind kind,
                    uint32_t rank)
{
    bool begins = kind == GW_EV_OP_BEGIN;
    struct gw_event rest = {
        .bytes = begins && f->of_plan.plan->collective != GW_BARRIER
                     ? f->job->count * f->job->elem_bytes
                     : 0,
        .value = begins ? (int64_t)f->of_plan.plan->collective : 0,
        .peer = GW_NONE,
        .step = GW_NONE,
        .chunk = GW_NONE,
    };
    emit(f, kind, rank, &rest);
}

void gw__result_begin(struct gw__traffic *f)
{
    for (unsigned rank = 0; rank < f->of_plan.plan->ranks; rank++)
        emit_op(f, GW_EV_OP_BEGIN, rank);
    for (unsigned rank = 0; rank < f->of_plan.plan->ranks; rank++)
        if (f->of_plan.unfinished[rank] == 0)
            emit_op(f, GW_EV_OP_END, rank);
}

void gw__result_done(struct gw__traffic *f, uint32_t rank)
{
    if (--f->of_plan.unfinished[rank] == 0)
        emit_op(f, GW_EV_OP_END, rank);
}

void gw__result_send(struct gw__traffic *f, uint32_t message)
{
    const struct gw__buckets *carried = &f->of_plan.carried;
    const uint32_t *begin = &carried->begin[message];
    for (uint32_t i = begin[0]; i < begin[1]; i++)
        emit_transfer(f, GW_EV_SEND, carried->item[i]);
}

void gw__result_apply(struct gw__traffic *f, uint32_t version)
{
    const struct gw__buckets *writers = &f->of_plan.versions.writers;
    const uint32_t *begin = &writers->begin[version];
    for (uint32_t i = begin[0]; i < begin[1]; i++) {
        uint32_t message = f->of_plan.message_of[writers->item[i]];
        gw__message_at(f, message)->end_ps = f->now_ps;
        emit_transfer(f, GW_EV_APPLY, writers->item[i]);
    }
    gw__result_done(f, gw__extra_at(f, version)->rank);
}

/* ---- after the run ---- */

static unsigned step_of(const struct gw__traffic *f, uint32_t message)
{
    const uint32_t *begin = f->step_begin.items;
    size_t low = 0, high = f->step_begin.count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        *(begin[middle] <= message ? &low : &high) = middle;
    }
    return (unsigned)low + 1;
}

static void trace_critical_path(struct gw__traffic *f)
{
    struct gw_topology_result *result = f->result;
    for (uint32_t m = f->last; m != GW__NOTHING && result->hops < GW_HOPS_MAX;
         m = gw__message_at(f, m)->cause) {
        const struct gw__traffic_message *message = gw__message_at(f, m);
        result->hop[result->hops++] = (struct gw_topology_hop){
            .step = step_of(f, m),
            .src = message->src,
            .dst = message->dst,
            .bytes = message->bytes,
            .begin_us = us_of(message->begin_ps),
            .end_us = us_of(message->end_ps),
        };
    }
}

static void count_uplinks(const struct gw_topology *topology,
                          struct gw_topology_result *result)
{
    for (unsigned i = 0; i < result->links; i++) {
        struct gw_topology_link link;
        uint64_t bytes = result->link_bytes[i];
        gw_topology_link(topology, i, &link);
        if (link.kind == GW_LINK_UPLINK && link.out)
            result->uplink_bytes += bytes;
        if (gw_topology_is_shared(&link) && bytes > result->uplink_bytes_max)
            result->uplink_bytes_max = bytes;
    }
}

void gw__result_end(struct gw__traffic *f)
{
    f->result->time_us = us_of(f->last_ps);
    f->result->rounds = f->steps;
    count_uplinks(f->topology, f->result);
    trace_critical_path(f);
}

double gw_topology_utilisation(const struct gw_topology *topology,
                               const struct gw_topology_result *result,
                               unsigned link)
{
    struct gw_topology_link what;
    gw_topology_link(topology, link, &what);
    if (what.rate == 0 || result->time_us <= 0)
        return 0;
    return (double)result->link_bytes[link] * 1e6 /
           ((double)what.rate * result->time_us);
}
