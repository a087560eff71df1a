/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Measuring in every rank, as nccl-tests and the MPI benchmarks do it: calls
 * back to back, without a barrier between them, and the mean over the loop.
 *
 *   warm-up   1, 2, 4, ... calls, until there were enough and they took a tenth
 *             of the time; the last batch gives the time of a call
 *   timing    rounds of samples of batches of calls. A sample is long enough
 *             (20 us) that reading the clock does not count; p50 and p99 are
 *             over samples. With long samples (--sample 5ms) p50 is comparable
 *             to other programs: the time of a call in a long series, to which
 *             single interruptions, and a root ahead by some calls, hardly
 *             contribute. Between rounds rank 0 decides whether there is time
 *             for another one and informs the others, which is not timed.
 *   checking  with fresh data, once and as often as --check requests
 *
 * Only rank 0 reads the clock and handles Ctrl-C, so that all ranks make the
 * same calls and end together.
 */
#include "bench.h"

#include "collrun/run/pattern.h"
#include "common/command.h"
#include "common/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLES_MAX = 1 << 16,
    ROUND_NS = 50000000,
};

/* Rank 0's message before each batch of calls. */
struct round_plan {
    uint64_t samples; /* in the next round; 0: the end */
    uint64_t batch;   /* calls per sample */
    uint64_t interrupted;
};

struct bench_rank {
    const struct bench *bench;
    struct gw_comm *comm;
    unsigned rank;
    struct buffer {
        void *memory;
        size_t bytes;
    } in, out;
    double *samples; /* microseconds per call */
    size_t sample_count;
    uint64_t calls, total_ns; /* timed ones */
    struct gw_call call;
    struct gw_error *why;
};

static struct pattern pattern_of(const struct bench *b,
                                 const struct bench_case *item, uint64_t seed)
{
    return (struct pattern){
        .collective = item->collective,
        .type = b->type,
        .op = b->op,
        .ranks = b->ranks,
        .root = gw_collective_rooted(item->collective) ? item->root : 0,
        .count = item->count,
        .in_place = b->in_place,
        .seed = seed,
    };
}

static enum gw_err comm_failed(struct bench_rank *r)
{
    const struct gw_error *error = gw_comm_error(r->comm);
    return gw_fail(r->why, error->code, "%s", error->text);
}

static enum gw_err agree(struct bench_rank *r, struct round_plan *round_plan)
{
    round_plan->interrupted = interrupted != 0;
    if (gw_broadcast(r->comm, GW_IN_PLACE, round_plan, sizeof *round_plan,
                     GW_U8, 0))
        return comm_failed(r);
    if (round_plan->interrupted)
        return gw_fail(r->why, GW_EINTR, "interrupted");
    return GW_OK;
}

static enum gw_err run_batch(struct bench_rank *r, uint64_t calls)
{
    for (uint64_t i = 0; i < calls; i++)
        if (gw_run(r->comm, &r->call))
            return comm_failed(r);
    return GW_OK;
}

/* *call_ns receives the approximate time of a call; rank 0's is the one used.
 */
static enum gw_err warm_up(struct bench_rank *r, double *call_ns)
{
    const struct bench *b = r->bench;
    uint64_t begin_ns = gw_now_ns(), done = 0;
    struct round_plan round_plan = {.samples = 1, .batch = 1};
    enum gw_err err = GW_OK;
    while (!err && round_plan.samples > 0) {
        uint64_t start_ns = gw_now_ns();
        if ((err = run_batch(r, round_plan.batch)))
            return err;
        uint64_t end_ns = gw_now_ns();
        *call_ns = (double)(end_ns - start_ns) / (double)round_plan.batch;
        done += round_plan.batch;
        bool warm = b->iterations > 0 || end_ns - begin_ns > b->seconds_ns / 10;
        round_plan.samples = done < b->warmup || !warm;
        round_plan.batch *= 2;
        err = agree(r, &round_plan);
    }
    return err;
}

static enum gw_err run_round(struct bench_rank *r,
                             const struct round_plan *round_plan)
{
    uint64_t begin_ns = gw_now_ns(), before_ns = begin_ns;
    for (uint64_t s = 0; s < round_plan->samples; s++) {
        enum gw_err err = run_batch(r, round_plan->batch);
        if (err)
            return err;
        uint64_t now_ns = gw_now_ns();
        r->samples[r->sample_count++] =
            (double)(now_ns - before_ns) / (double)round_plan->batch * 1e-3;
        before_ns = now_ns;
    }
    r->calls += round_plan->samples * round_plan->batch;
    r->total_ns += before_ns - begin_ns;
    return GW_OK;
}

static uint64_t at_least_1(double value)
{
    return value < 1 ? 1 : (uint64_t)value;
}

/* The number of calls per sample, for the whole case. */
static uint64_t choose_batch(const struct bench *b, double call_ns)
{
    double room = SAMPLES_MAX / 2.0;
    double sample_ns = fmax((double)b->seconds_ns / room, (double)b->sample_ns);
    if (b->iterations > 0)
        return at_least_1((double)b->iterations / room + 1);
    return at_least_1(sample_ns / call_ns);
}

static uint64_t at_most(uint64_t value, uint64_t limit)
{
    return value < limit ? value : limit;
}

/* The rest of --iters, in whole samples; the last one may have a smaller batch.
 */
static void plan_calls(const struct bench_rank *r,
                       struct round_plan *round_plan)
{
    uint64_t left = r->bench->iterations - r->calls;
    round_plan->batch = at_most(round_plan->batch, left);
    round_plan->samples =
        left ? at_most(round_plan->samples, left / round_plan->batch) : 0;
}

/* The next round: the remaining time, but not much more than ROUND_NS. */
static void plan_round(const struct bench_rank *r, double call_ns,
                       struct round_plan *round_plan)
{
    const struct bench *b = r->bench;
    bool by_time = b->iterations == 0;
    double sample_ns = call_ns * (double)round_plan->batch;
    double left_ns = (double)b->seconds_ns - (double)r->total_ns;
    double round_ns = by_time && left_ns < ROUND_NS ? left_ns : ROUND_NS;
    round_plan->samples = at_most(at_least_1(round_ns / sample_ns),
                                  SAMPLES_MAX - r->sample_count);
    if (!by_time)
        plan_calls(r, round_plan);
    else if (r->calls > 0 && left_ns <= 0)
        round_plan->samples = 0;
}

static enum gw_err time_case(struct bench_rank *r, double call_ns)
{
    struct round_plan round_plan = {.batch = choose_batch(r->bench, call_ns)};
    r->sample_count = 0;
    r->calls = r->total_ns = 0;
    for (;;) {
        plan_round(r, call_ns, &round_plan);
        enum gw_err err = agree(r, &round_plan);
        if (!err && round_plan.samples > 0)
            err = run_round(r, &round_plan);
        if (err || round_plan.samples == 0)
            return err;
    }
}

static void release_memory(const struct bench *b, void *memory)
{
    if (b->malloc)
        free(memory);
    else
        gw_free(memory);
}

/* Makes a buffer as large as the case needs; it grows with the sizes, so that
 * the first row does not wait for the largest buffer. */
static enum gw_err grow_buffer(struct bench_rank *r, struct buffer *buffer,
                               size_t bytes)
{
    const struct bench *b = r->bench;
    if (bytes <= buffer->bytes)
        return GW_OK;
    release_memory(b, buffer->memory);
    buffer->bytes = 0;
    buffer->memory = b->malloc ? malloc(bytes) : gw_alloc(bytes, r->why);
    if (!buffer->memory && b->malloc)
        gw_fail(r->why, GW_ENOMEM, "a buffer of %zu bytes", bytes);
    if (!buffer->memory)
        return r->why->code;
    buffer->bytes = bytes;
    return GW_OK;
}

static enum gw_err grow_buffers(struct bench_rank *r, const struct pattern *p)
{
    enum gw_err err = grow_buffer(r, &r->in, pattern_in_bytes(p, r->rank));
    return err ? err : grow_buffer(r, &r->out, pattern_out_bytes(p, r->rank));
}

/* Runs with data for which every element of the result is known. */
static enum gw_err check_case(struct bench_rank *r,
                              const struct bench_case *item,
                              struct bench_report *report)
{
    report->first_wrong = UINT64_MAX;
    for (unsigned i = 0; i <= r->bench->checks; i++) {
        struct pattern p = pattern_of(r->bench, item, r->bench->seed + i + 1);
        size_t first;
        pattern_fill(&p, r->rank, r->in.memory, r->out.memory);
        enum gw_err err = run_batch(r, 1);
        if (err)
            return err;
        report->wrong +=
            pattern_wrong(&p, r->rank, r->in.memory, r->out.memory, &first);
        if (first < report->first_wrong)
            report->first_wrong = first;
    }
    return GW_OK;
}

static void sum_up(struct bench_rank *r, struct bench_report *report)
{
    stats_sort(r->samples, r->sample_count);
    report->iterations = r->calls;
    report->time_us = (double)r->total_ns / (double)r->calls * 1e-3;
    report->p50_us = stats_quantile(r->samples, r->sample_count, 0.5);
    report->p99_us = stats_quantile(r->samples, r->sample_count, 0.99);
}

static enum gw_err measure_case(struct bench_rank *r,
                                const struct bench_case *item,
                                struct bench_report *report)
{
    const struct bench *b = r->bench;
    struct pattern p = pattern_of(b, item, b->seed);
    double call_ns;
    enum gw_err err = grow_buffers(r, &p);
    if (err)
        return err;
    pattern_fill(&p, r->rank, r->in.memory, r->out.memory);
    r->call = (struct gw_call){
        .collective = item->collective,
        .in = pattern_in(&p, r->rank, r->in.memory),
        .out = r->out.memory,
        .count = item->count,
        .type = b->type,
        .op = b->op,
        .root = p.root,
        .algo = item->algo->name,
    };
    err = warm_up(r, &call_ns);
    if (!err)
        err = time_case(r, call_ns);
    if (err)
        return err;
    sum_up(r, report);
    return check_case(r, item, report);
}

enum gw_err bench_rank(struct gw_comm *comm, struct reporter *report,
                       const struct bench *b, struct gw_error *why)
{
    struct bench_rank r = {
        .bench = b,
        .comm = comm,
        .rank = gw_comm_rank(comm),
        .why = why,
    };
    enum gw_err err = GW_OK;
    r.samples = malloc(SAMPLES_MAX * sizeof *r.samples);
    if (!r.samples)
        err = gw_fail(why, GW_ENOMEM, "%d samples", SAMPLES_MAX);
    for (size_t i = b->begin; i < b->end && !err; i++) {
        struct bench_report result = {.index = i};
        err = measure_case(&r, &b->cases[i], &result);
        if (!err)
            report_send(report, &result, sizeof result);
    }
    release_memory(b, r.in.memory);
    release_memory(b, r.out.memory);
    free(r.samples);
    return err;
}
