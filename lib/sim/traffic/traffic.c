/* SPDX-License-Identifier: MIT
 *
 * A plan in virtual time: what leads to what. The life of a message, all of
 * whose waits are over:
 *
 *     alpha at its sender --> bytes, at the rate of traffic_share.c --> left
 *         --> latency --> arrived: its values are reduced, one at a time --> in
 *
 * What has left sets free the message behind it and what its values were kept
 * for; what is in sets free the messages that carry it on. All that happens at
 * one time happens before the links are dealt anew. See traffic.h.
 */
#include "traffic.h"
#include "traffic_bulk.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

uint64_t gw__ps_of(double us)
{
    double ps = us * 1e6;
    return ps < (double)GW__PS_MAX ? (uint64_t)llround(ps) : GW__PS_MAX;
}

static void at(struct gw__traffic *f, uint32_t thing, uint64_t time_ps)
{
    if (time_ps >= GW__PS_MAX) {
        f->too_long = true;
        time_ps = GW__PS_MAX;
    }
    gw__heap_put(&f->heap, thing, time_ps);
}

/* ---- messages ---- */

/* Its turn at the sender. */
static void begin_message(struct gw__traffic *f, uint32_t number)
{
    struct gw__traffic_message *message = &f->messages[number];
    struct gw__traffic_stream *flow = &f->flows[message->flow];
    uint64_t *busy_ps = &f->sender_ps[flow->src];
    assert(flow->message == number);
    message->begin_ps = f->now_ps;
    *busy_ps = *busy_ps > f->now_ps ? *busy_ps : f->now_ps;
    *busy_ps += f->message_ps;
    at(f, message->flow, *busy_ps);
}

static void message_got(struct gw__traffic *f, uint32_t number, uint32_t cause)
{
    struct gw__traffic_message *message = &f->messages[number];
    assert(message->waits > 0);
    if (--message->waits > 0)
        return;
    message->cause = cause;
    f->ready[f->ready_count++] = number;
}

static int earlier(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Those that are ready at one time begin in the order of the plan. */
static void begin_ready(struct gw__traffic *f)
{
    qsort(f->ready, f->ready_count, sizeof *f->ready, earlier);
    for (uint32_t i = 0; i < f->ready_count; i++)
        begin_message(f, f->ready[i]);
    f->ready_count = 0;
}

/* ---- values ---- */

static uint64_t reduced_bytes(const struct gw__traffic *f, uint32_t version)
{
    uint64_t bytes = 0;
    const struct gw__buckets *writers = &f->versions.writers;
    for (uint32_t i = writers->begin[version]; i < writers->begin[version + 1];
         i++) {
        const struct gw_transfer *x = &f->plan->transfers[writers->item[i]];
        if (x->action == GW_ADD)
            bytes += f->chunk_bytes[x->chunk];
    }
    return bytes;
}

static uint32_t rank_of_version(const struct gw__traffic *f, uint32_t version)
{
    const struct gw__buckets *writers = &f->versions.writers;
    return f->plan->transfers[writers->item[writers->begin[version]]].dst;
}

/* Something that the version needs is there. */
static void version_got(struct gw__traffic *f, uint32_t version, uint32_t cause)
{
    assert(f->needs[version] > 0);
    if (--f->needs[version] > 0)
        return;
    f->cause[version] = cause;
    uint64_t end_ps = f->now_ps;
    uint64_t takes_ps = gw__ps_of((double)reduced_bytes(f, version) *
                                  f->job->reduce_us_per_byte);
    if (takes_ps > 0) {
        uint64_t *busy_ps = &f->reducer_ps[rank_of_version(f, version)];
        *busy_ps = *busy_ps > f->now_ps ? *busy_ps : f->now_ps;
        *busy_ps += takes_ps;
        end_ps = *busy_ps;
    }
    at(f, gw__thing_of_version(f, version), end_ps);
}

static void version_is_in(struct gw__traffic *f, uint32_t version)
{
    const struct gw__buckets *readers = &f->versions.readers;
    uint32_t cause = f->cause[version];
    gw__result_apply(f, version);
    gw__result_done(f, rank_of_version(f, version));
    f->last = cause;
    if (!f->versions.first[version + 1])
        version_got(f, version + 1, cause);
    for (uint32_t i = readers->begin[version]; i < readers->begin[version + 1];
         i++)
        message_got(f, f->message_of[readers->item[i]], cause);
}

/* ---- from leaving to arriving ---- */

static void left(struct gw__traffic *f, uint32_t number)
{
    struct gw__traffic_stream *flow = &f->flows[number];
    uint32_t message = flow->message;
    const struct gw__buckets *carried = &f->carried;
    flow->message = f->messages[message].next;
    at(f, gw__thing_of_message(f, message), f->now_ps + flow->latency_ps);
    for (uint32_t i = carried->begin[message]; i < carried->begin[message + 1];
         i++) {
        uint32_t read = f->versions.read[carried->item[i]];
        if (!f->versions.first[read + 1])
            version_got(f, read + 1, message);
    }
    gw__result_done(f, flow->src);
    if (flow->message != GW__NO_MESSAGE)
        message_got(f, flow->message, message);
}

static bool is_limited(const struct gw__traffic *f,
                       const struct gw__traffic_stream *flow)
{
    for (uint32_t i = 0; i < flow->way_count; i++)
        if (f->links[f->ways[flow->way + i].link].rate > 0)
            return true;
    return false;
}

/* The sender is done with it, or the links are. */
static void flow_moves(struct gw__traffic *f, uint32_t number)
{
    struct gw__traffic_stream *flow = &f->flows[number];
    if (flow->under_way) {
        gw__share_leave(f, number);
        left(f, number);
        return;
    }
    gw__result_send(f, flow->message);
    flow->left = (double)f->messages[flow->message].bytes;
    if (flow->left > 0 && is_limited(f, flow))
        gw__share_join(f, number);
    else
        left(f, number);
}

static void arrived(struct gw__traffic *f, uint32_t message)
{
    const struct gw__buckets *carried = &f->carried;
    for (uint32_t i = carried->begin[message]; i < carried->begin[message + 1];
         i++)
        version_got(f, f->versions.write[carried->item[i]], message);
}

static void happen(struct gw__traffic *f, uint32_t thing)
{
    if (thing < f->index.links)
        flow_moves(f, thing);
    else if (thing < f->index.links + f->message_count)
        arrived(f, thing - f->index.links);
    else
        version_is_in(f, thing - f->index.links - f->message_count);
}

/* ---- the run ---- */

static bool is_now(const struct gw__traffic *f)
{
    return f->heap.count > 0 && f->heap.slots[0].time_ps == f->now_ps;
}

static void happen_all(struct gw__traffic *f)
{
    while (is_now(f))
        happen(f, gw__heap_pop(&f->heap));
}

static void play(struct gw__traffic *f)
{
    gw__result_begin(f);
    for (uint32_t m = 0; m < f->message_count; m++)
        if (f->messages[m].waits == 0)
            begin_message(f, m);
    while (f->heap.count > 0 && !f->too_long) {
        f->now_ps = f->heap.slots[0].time_ps;
        do {
            happen_all(f);
            begin_ready(f);
        } while (is_now(f));
        gw__share_deal(f);
    }
    gw__result_end(f);
}

static enum gw_err check(const struct gw_topology *topology,
                         const struct gw_topology_job *job,
                         struct gw_error *why)
{
    enum { ELEM_BYTES_MAX = 64 };
    uint64_t bytes;
    unsigned ranks = job->plan ? job->plan->ranks : job->args->ranks;
    size_t most = job->plan ? job->plan->transfer_count + 1 : 1;
    if (ranks > gw_topology_ranks(topology))
        return gw_fail(why, GW_EINVAL,
                       "the plan is for %u ranks, and topology %s has %u",
                       ranks, topology->name, gw_topology_ranks(topology));
    if (job->elem_bytes == 0 || job->elem_bytes > ELEM_BYTES_MAX)
        return gw_fail(why, GW_EINVAL, "an element has 1 to %d bytes, not %zu",
                       ELEM_BYTES_MAX, job->elem_bytes);
    if (__builtin_mul_overflow(job->count, job->elem_bytes, &bytes) ||
        __builtin_mul_overflow(bytes, most, &bytes))
        return gw_fail(why, GW_EINVAL, "%zu elements are too many", job->count);
    if (!(job->message_us >= 0) || !(job->reduce_us_per_byte >= 0))
        return gw_fail(why, GW_EINVAL, "costs are not negative");
    return GW_OK;
}

enum gw_err gw_topology_simulate(const struct gw_topology *topology,
                                 const struct gw_topology_job *job,
                                 struct gw_topology_result **result,
                                 struct gw_error *why)
{
    *result = NULL;
    enum gw_err err = check(topology, job, why);
    if (err)
        return err;
    if (!job->plan)
        return gw__bulk_simulate(topology, job, result, why);
    struct gw__traffic f = {
        .topology = topology, .job = job, .plan = job->plan};
    err = gw__traffic_init(&f, why);
    if (!err)
        err = gw__result_new(f.link_count, f.plan->ranks, &f.result, why);
    if (!err)
        play(&f);
    if (!err && f.too_long)
        err = gw_fail(why, GW_EINVAL,
                      "the run would take more than 53 days of virtual time");
    gw__traffic_fini(&f);
    if (err)
        gw_topology_result_destroy(&f.result);
    *result = f.result;
    return err;
}
