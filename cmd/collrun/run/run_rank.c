/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One plan, once, on real data: the result is compared with the scalar
 * reference (pattern.h), and the traffic of each link with the plan.
 */
#include "run.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct run_rank {
    const struct run_spec *spec;
    struct gw_comm *comm;
    unsigned rank;
    size_t elem_bytes;
    /* Per peer: what a rank sends according to the plan. */
    uint64_t *messages, *bytes;
    struct run_report *report;
};

static void report_miscount(struct run_rank *r, const char *verb, unsigned peer,
                            uint64_t messages, uint64_t bytes, uint64_t planned,
                            uint64_t planned_bytes)
{
    if (*r->report->miscount)
        return;
    snprintf(r->report->miscount, sizeof r->report->miscount,
             "rank %u %s rank %u %" PRIu64 " messages of %" PRIu64
             " bytes, but the plan has %" PRIu64 " of %" PRIu64,
             r->rank, verb, peer, messages, bytes, planned, planned_bytes);
}

static void price(struct run_rank *r, unsigned rank)
{
    gw_plan_price_rank(r->spec->plan, r->spec->pattern.count, r->elem_bytes,
                       rank, r->messages, r->bytes);
}

static void compare_sent(struct run_rank *r)
{
    price(r, r->rank);
    for (unsigned peer = 0; peer < r->spec->plan->ranks; peer++) {
        struct gw_counters c;
        gw_comm_counters(r->comm, peer, &c);
        r->report->messages += c.messages_sent;
        r->report->bytes += c.bytes_sent;
        r->report->planned_messages += r->messages[peer];
        r->report->planned_bytes += r->bytes[peer];
        if (c.messages_sent != r->messages[peer] ||
            c.bytes_sent != r->bytes[peer])
            report_miscount(r, "sent to", peer, c.messages_sent, c.bytes_sent,
                            r->messages[peer], r->bytes[peer]);
    }
}

static void compare_received(struct run_rank *r)
{
    for (unsigned peer = 0; peer < r->spec->plan->ranks; peer++) {
        struct gw_counters c;
        gw_comm_counters(r->comm, peer, &c);
        price(r, peer);
        if (c.messages_received != r->messages[r->rank] ||
            c.bytes_received != r->bytes[r->rank])
            report_miscount(r, "received from", peer, c.messages_received,
                            c.bytes_received, r->messages[r->rank],
                            r->bytes[r->rank]);
    }
}

static void keep_input(struct run_rank *r, const void *in, const void *out)
{
    const struct pattern *p = &r->spec->pattern;
    size_t count;
    const void *input = pattern_input(p, r->rank, in, out, &count);
    if (p->counting)
        run_values_text(p->type, input, count, r->report->values.before);
}

static void keep_result(struct run_rank *r, const void *out)
{
    const struct pattern *p = &r->spec->pattern;
    size_t count;
    const void *result = pattern_result(p, r->rank, out, &count);
    if (p->counting)
        run_values_text(p->type, result, count, r->report->values.after);
}

static enum gw_err call(struct run_rank *r, void *in, void *out,
                        struct gw_error *why)
{
    const struct pattern *p = &r->spec->pattern;
    const struct gw_call call = {
        .collective = p->collective,
        .in = pattern_in(p, r->rank, in),
        .out = out,
        .count = p->count,
        .type = p->type,
        .op = p->op,
        .root = p->root,
        .plan = r->spec->plan,
    };
    pattern_fill(p, r->rank, in, out);
    keep_input(r, in, out);
    gw_comm_counters_reset(r->comm);
    uint64_t begin_ns = gw_now_ns();
    if (gw_run(r->comm, &call)) {
        const struct gw_error *error = gw_comm_error(r->comm);
        return gw_fail(why, error->code, "%s", error->text);
    }
    r->report->time_ns = gw_now_ns() - begin_ns;
    keep_result(r, out);
    size_t first;
    r->report->wrong = pattern_wrong(p, r->rank, in, out, &first);
    r->report->first_wrong = first;
    compare_sent(r);
    compare_received(r);
    return GW_OK;
}

static enum gw_err run_with_buffers(struct run_rank *r, struct gw_error *why)
{
    const struct pattern *p = &r->spec->pattern;
    enum gw_err err = GW_OK;
    assert(r->messages && r->bytes);
    void *in = gw_alloc(pattern_in_bytes(p, r->rank), why);
    void *out = in ? gw_alloc(pattern_out_bytes(p, r->rank), why) : NULL;
    if (!out)
        err = why->code;
    if (!err)
        err = call(r, in, out, why);
    gw_free(in);
    gw_free(out);
    return err;
}

enum gw_err run_rank(struct gw_comm *comm, struct reporter *report,
                     const struct run_spec *spec, struct gw_error *why)
{
    struct run_report result = {.first_wrong = UINT64_MAX};
    struct run_rank r = {
        .spec = spec,
        .comm = comm,
        .rank = gw_comm_rank(comm),
        .elem_bytes = gw_dtype_size(spec->pattern.type),
        .messages = calloc(spec->plan->ranks, sizeof *r.messages),
        .bytes = calloc(spec->plan->ranks, sizeof *r.bytes),
        .report = &result,
    };
    enum gw_err err = GW_OK;
    if (!r.messages || !r.bytes)
        err = gw_fail(why, GW_ENOMEM, "counting %u links", spec->plan->ranks);
    if (!err)
        err = run_with_buffers(&r, why);
    if (!err)
        report_send(report, &result, sizeof result);
    free(r.messages);
    free(r.bytes);
    return err;
}
