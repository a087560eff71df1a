/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One worker of a benchmark. It repeats requests, at most `depth` of them at a
 * time; a request's time is from its beginning until it has been waited for. At
 * the end all workers meet, and each pulls the lists and counts wrong values.
 */
#include "bench.h"
#include "psnode/psnode.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 64, CONNECT_MS = 30000 };

/* The barriers, in their order. */
enum { BARRIER_STORED = 1, BARRIER_WARM, BARRIER_DONE };

struct worker {
    const struct bench *bench;
    struct bench_shared *shared;
    struct bench_report *report;
    struct bench_keys keys;
    struct gw_ps *ps;
    unsigned table;
    float *values[BENCH_LISTS_MAX];
    float *out[DEPTH_MAX]; /* the results of pulls */
    struct {
        struct gw_ps_handle handle;
        uint64_t began_ns;
    } inflights[DEPTH_MAX];
    uint64_t requests;
    unsigned stride, skipped; /* of samples */
};

/* ---- beginning ---- */

static enum gw_err connect(struct worker *w, unsigned number,
                           struct gw_error *why)
{
    char endpoint[64];
    struct gw_ps_config config = w->bench->settings.worker;
    const struct gw_ps_table_config table = {
        .name = "bench", .width = w->bench->floats, .updater = GW_PS_ADD};
    bench_endpoint(w->shared, number, endpoint);
    config.node = number;
    config.aggregator_node = AGGREGATOR_NODES;
    config.endpoint = endpoint;
    config.token = w->shared->token;
    config.controller_count = 1;
    config.controllers[0] = CONTROLLER_NODES;
    config.controller_endpoints[0] = w->shared->controller;
    config.wire = w->bench->wire;
    config.connect_ms = CONNECT_MS;
    config.seed = w->bench->seed;
    enum gw_err code = gw_ps_connect(&config, &w->ps, why);
    return code ? code : gw_ps_table(w->ps, &table, &w->table, why);
}

static enum gw_err allocate_worker(struct worker *w, struct gw_error *why)
{
    size_t bytes = w->keys.count * w->keys.floats * sizeof(float);
    for (unsigned l = 0; l < w->keys.list_count; l++) {
        w->values[l] = gw_alloc(bytes, why);
        if (!w->values[l])
            return GW_ENOMEM;
        bench_values(&w->keys, l, w->values[l]);
    }
    for (unsigned d = 0; d < w->bench->depth; d++) {
        w->out[d] = gw_alloc(bytes, why);
        if (!w->out[d])
            return GW_ENOMEM;
    }
    return GW_OK;
}

/* ---- requests ---- */

static void record_time(struct worker *w, uint64_t ns)
{
    struct bench_report *report = w->report;
    if (++w->skipped < w->stride)
        return;
    w->skipped = 0;
    if (report->sample_count == BENCH_SAMPLES_MAX) { /* keeps half of them */
        report->sample_count /= 2;
        for (unsigned i = 0; i < report->sample_count; i++)
            report->samples_us[i] = report->samples_us[2 * i + 1];
        w->stride *= 2;
    }
    report->samples_us[report->sample_count++] = (double)ns * 1e-3;
}

static enum gw_err finish_request(struct worker *w, unsigned inflight,
                                  struct gw_error *why)
{
    if (w->inflights[inflight].handle.id == 0)
        return GW_OK;
    enum gw_err code = gw_ps_wait(w->ps, &w->inflights[inflight].handle, why);
    record_time(w, gw_now_ns() - w->inflights[inflight].began_ns);
    return code;
}

static enum gw_err request(struct worker *w, enum bench_op op,
                           struct gw_error *why)
{
    assert(w->bench->depth > 0 && w->keys.list_count > 0);
    unsigned inflight = (unsigned)(w->requests % w->bench->depth);
    unsigned list = (unsigned)(w->requests % w->keys.list_count);
    struct gw_ps_handle *handle = &w->inflights[inflight].handle;
    const uint64_t *keys = w->keys.lists[list];
    enum gw_err code = finish_request(w, inflight, why);
    if (code)
        return code;
    w->inflights[inflight].began_ns = gw_now_ns();
    w->requests++;
    if (op == BENCH_PULL)
        code = gw_ps_pull(w->ps, w->table, keys, w->keys.count,
                          w->out[inflight], handle, why);
    else if (op == BENCH_PUSH)
        code = gw_ps_push(w->ps, w->table, keys, w->keys.count, w->values[list],
                          handle, why);
    else
        code = gw_ps_push_pull(w->ps, w->table, keys, w->keys.count,
                               w->values[list], w->out[inflight], handle, why);
    if (!code && op != BENCH_PULL)
        atomic_fetch_add(&w->report->pushed[list], 1);
    if (!code && w->bench->depth == 1)
        code = finish_request(w, inflight, why);
    return code;
}

static enum gw_err finish_all(struct worker *w, struct gw_error *why)
{
    enum gw_err code = GW_OK;
    for (unsigned d = 0; d < w->bench->depth && !code; d++)
        code = finish_request(w, d, why);
    return code;
}

/* ---- the measurement ---- */

/* Creates every row before time is measured, also when only pulls are timed. */
static enum gw_err warm_up(struct worker *w, struct gw_error *why)
{
    unsigned rounds = w->bench->warmup;
    enum gw_err code = GW_OK;
    if (rounds < w->keys.list_count)
        rounds = w->keys.list_count;
    for (unsigned r = 0; r < w->keys.list_count && !code; r++)
        code = request(w, BENCH_PUSH, why);
    if (!code)
        code = finish_all(w, why);
    if (!code) /* pulled values are constant from here on */
        code = gw_ps_barrier(w->ps, BARRIER_STORED, w->bench->workers, why);
    for (unsigned r = 0; r < rounds && !code; r++)
        code = request(w, w->bench->op, why);
    return code ? code : finish_all(w, why);
}

static void record_messages(struct worker *w, const struct gw_ps_counts *before)
{
    struct gw_ps_counts now;
    gw_ps_get_counts(w->ps, &now);
    w->report->messages_sent = now.messages_sent - before->messages_sent;
    w->report->messages_saved = now.messages_saved - before->messages_saved;
    w->report->aggregator_sent = now.aggregator_sent - before->aggregator_sent;
    w->report->aggregator_saved =
        now.aggregator_saved - before->aggregator_saved;
    w->report->bytes_gathered = now.bytes_gathered - before->bytes_gathered;
    w->report->retries = now.retries - before->retries;
    w->report->bytes_in_place = now.bytes_in_place - before->bytes_in_place;
}

static enum gw_err measure_rounds(struct worker *w, struct gw_error *why)
{
    const struct bench *bench = w->bench;
    struct gw_ps_counts counts;
    enum gw_err code = GW_OK;
    gw_ps_get_counts(w->ps, &counts);
    uint64_t began_ns = gw_now_ns(), now_ns = began_ns, before = w->requests;
    uint64_t most = bench_rounds_max(bench);
    w->report->sample_count = 0;
    w->stride = 1;
    while (!code && !interrupted && w->requests < most) {
        uint64_t made = w->requests - before;
        if (bench->rounds ? made >= bench->rounds
                          : made && now_ns - began_ns >= bench->seconds_ns)
            break;
        code = request(w, bench->op, why);
        now_ns = gw_now_ns();
    }
    if (!code)
        code = finish_all(w, why);
    w->report->ns = gw_now_ns() - began_ns;
    record_messages(w, &counts);
    w->report->requests = w->requests - before;
    return code;
}

/* Checks the stored values, after all workers have arrived here. */
static enum gw_err check_stored(struct worker *w, struct gw_error *why)
{
    uint64_t pushed[BENCH_LISTS_MAX] = {0};
    enum gw_err code = GW_OK;
    for (unsigned k = 0; k < w->bench->workers; k++)
        for (unsigned l = 0; l < w->keys.list_count; l++)
            pushed[l] += atomic_load(&w->shared->workers[k].pushed[l]);
    for (unsigned l = 0; l < w->keys.list_count && !code; l++) {
        code = gw_ps_pull(w->ps, w->table, w->keys.lists[l], w->keys.count,
                          w->out[0], NULL, why);
        if (!code)
            code = bench_count_wrong(&w->keys, l, w->out[0], pushed,
                                     &w->report->wrong, why);
    }
    return code;
}

static enum gw_err run_worker(struct worker *w, unsigned number,
                              struct gw_error *why)
{
    enum gw_err code = bench_keys_init(&w->keys, w->bench, why);
    if (!code)
        code = allocate_worker(w, why);
    if (!code)
        code = connect(w, number, why);
    w->stride = 1;
    if (!code)
        code = warm_up(w, why);
    if (!code)
        code = gw_ps_barrier(w->ps, BARRIER_WARM, w->bench->workers, why);
    if (!code)
        code = measure_rounds(w, why);
    if (code)
        return code;
    gw_ps_get_counts(w->ps, &w->report->counts);
    code = gw_ps_barrier(w->ps, BARRIER_DONE, w->bench->workers, why);
    return code ? code : check_stored(w, why);
}

enum gw_err bench_worker(const struct bench *bench, struct bench_shared *shared,
                         unsigned number, struct gw_error *why)
{
    static struct worker worker;
    worker.bench = bench;
    worker.shared = shared;
    worker.report = &shared->workers[number];
    enum gw_err code = run_worker(&worker, number, why);
    gw_ps_close(&worker.ps);
    for (unsigned l = 0; l < BENCH_LISTS_MAX; l++)
        gw_free(worker.values[l]);
    for (unsigned d = 0; d < DEPTH_MAX; d++)
        gw_free(worker.out[d]);
    bench_keys_fini(&worker.keys);
    return code;
}
