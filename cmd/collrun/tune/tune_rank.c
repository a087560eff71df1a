/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Measuring in every rank. The algorithms of a case take turns, round by round,
 * so that other load on the machine affects all of them; each round begins with
 * another one. A turn is a batch of calls back to back, as in `collrun bench`,
 * and its time that of the slowest rank: the ranks agree on it by an
 * all-reduce, which is not timed and which synchronises them. So all ranks know
 * the same times, and make the same decisions about the calls per batch and the
 * end of the time. With many rounds, the median is that of an undisturbed one.
 *
 * A turn begins with calls that are not counted, so that its algorithm finds
 * the caches as its own calls leave them. They also determine the calls per
 * batch: the time of a call in another round could be a thousandth of its time
 * on a machine that has become busy since, and a batch of 2 ms would take
 * seconds. A batch is not shorter than a few time slices of the scheduler: with
 * 8 ranks on 2 cores a reduce-scatter by a ring, 512 KiB, took 361 us in cold
 * batches of 0.4 ms and 93 us back to back.
 *
 * With --calibrate, all cases of one number of ranks take their turns together,
 * round by round, and between them samples for the costs, of about the same
 * size. So a temporary change of the machine affects the costs and the
 * predicted cases alike.
 */
#include "tune.h"

#include "collrun/run/pattern.h"
#include "common/command.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS_MIN = 6,
    BATCH_MAX = 1 << 16,
    BATCH_NS = 2000000, /* at least */
    WARM_NS = 500000,   /* before each batch */
};

/* A case being measured. */
struct trial {
    const struct tune_case *item;
    double call_ns[TUNE_ALGOS_MAX]; /* from the latest measurement */
    struct tune_report report;
};

/* For one size: all its cases share them. */
struct buffers {
    uint64_t requested_bytes;
    void *in, *out;
};

struct tune_rank {
    const struct tune *tune;
    struct gw_comm *comm;
    unsigned rank;
    struct trial *trials; /* taking turns */
    size_t trial_count;
    struct buffers *buffers; /* as many, or fewer */
    unsigned buffer_count;
    struct gw_call call;
    double spent_ns;                    /* by all trials together */
    struct gw_calibration *calibration; /* NULL: none */
    struct gw_error *why;
};

static struct pattern pattern_of(const struct tune *tune,
                                 const struct tune_case *item)
{
    return (struct pattern){
        .collective = item->collective,
        .type = GW_F32,
        .op = GW_SUM,
        .ranks = item->ranks,
        .count = item->count,
        .seed = tune->seed,
    };
}

static enum gw_err comm_failed(struct tune_rank *r)
{
    const struct gw_error *error = gw_comm_error(r->comm);
    return gw_fail(r->why, error->code, "%s", error->text);
}

/* ---- a turn ---- */

/* Nanoseconds per call of the slowest rank, over `calls` of them. */
static enum gw_err time_calls(struct tune_rank *r, uint64_t calls, double *ns)
{
    double own[2] = {0, 0}, slowest[2];
    uint64_t begin_ns = gw_now_ns();
    for (uint64_t i = 0; i < calls; i++)
        if (gw_run(r->comm, &r->call))
            return comm_failed(r);
    own[0] = (double)(gw_now_ns() - begin_ns) / (double)calls;
    own[1] = interrupted != 0;
    if (gw_allreduce(r->comm, own, slowest, 2, GW_F64, GW_MAX))
        return comm_failed(r);
    *ns = slowest[0] > 1 ? slowest[0] : 1;
    return slowest[1] > 0 ? gw_fail(r->why, GW_EINTR, "interrupted") : GW_OK;
}

static uint64_t within(double value, uint64_t least, uint64_t most)
{
    if (value < (double)least)
        return least;
    return value > (double)most ? most : (uint64_t)value;
}

/* One call, then as many as seem to fit into the time, until the time is over;
 * none when even one takes longer. */
static enum gw_err warm_up(struct tune_rank *r, double *call_ns)
{
    enum gw_err err = GW_OK;
    uint64_t calls = 1;
    double spent_ns = 0;
    while (!err && *call_ns < WARM_NS && spent_ns < 0.5 * WARM_NS) {
        err = time_calls(r, calls, call_ns);
        spent_ns = *call_ns * (double)calls;
        calls = within(WARM_NS / *call_ns, 1, BATCH_MAX);
    }
    return err;
}

static enum gw_err run_turn(struct tune_rank *r, struct trial *t, unsigned a,
                            double share_ns)
{
    unsigned round = (unsigned)t->report.rounds;
    double *call_ns = &t->call_ns[a], first_ns;
    enum gw_err err = GW_OK;
    r->call.algo = t->item->algos[a].algo->name;
    if (round == 0) /* makes the plan */
        err = time_calls(r, 1, &first_ns);
    if (!err)
        err = warm_up(r, call_ns);
    uint64_t calls = within(share_ns / *call_ns, 1, BATCH_MAX);
    if (!err)
        err = time_calls(r, calls, call_ns);
    t->report.us[a][round] = *call_ns * 1e-3;
    r->spent_ns += *call_ns * (double)calls;
    return err;
}

/* ---- a round ---- */

/* Every algorithm of the case once. */
static enum gw_err run_case(struct tune_rank *r, struct trial *t,
                            const struct buffers *b)
{
    struct pattern p = pattern_of(r->tune, t->item);
    unsigned algos = t->item->algo_count;
    double share_ns = (double)r->tune->seconds_ns / TUNE_ROUNDS_MAX / algos;
    enum gw_err err = GW_OK;
    r->call = (struct gw_call){
        .collective = t->item->collective,
        .in = pattern_in(&p, r->rank, b->in),
        .out = b->out,
        .count = t->item->count,
        .type = p.type,
        .op = p.op,
    };
    for (unsigned i = 0; i < algos && !err; i++)
        err = run_turn(r, t, (i + (unsigned)t->report.rounds) % algos,
                       share_ns < BATCH_NS ? BATCH_NS : share_ns);
    t->report.rounds += !err;
    return err;
}

/* All cases, by size, and after each size samples of about that size. */
static enum gw_err run_round(struct tune_rank *r)
{
    enum gw_err err = GW_OK;
    for (unsigned k = 0; k < r->buffer_count && !err; k++) {
        for (size_t i = 0; i < r->trial_count && !err; i++)
            if (r->trials[i].item->requested_bytes ==
                r->buffers[k].requested_bytes)
                err = run_case(r, &r->trials[i], &r->buffers[k]);
        if (!err && r->calibration &&
            gw_calibration_round(r->calibration, k, r->buffer_count))
            err = comm_failed(r);
    }
    return err;
}

static enum gw_err run_rounds(struct tune_rank *r)
{
    double most_ns = (double)r->tune->seconds_ns * (double)r->trial_count;
    enum gw_err err = GW_OK;
    r->spent_ns = 0;
    for (unsigned round = 0; !err && round < TUNE_ROUNDS_MAX &&
                             (round < ROUNDS_MIN || r->spent_ns < most_ns);
         round++)
        err = run_round(r);
    return err;
}

/* ---- cases in turn ---- */

static size_t larger_of(size_t a, size_t b)
{
    return a < b ? b : a;
}

/* As small as the cases of the size allow. When half a megabyte per rank was in
 * the first pages of 64 MiB, which are contiguous, it was now and then reduced
 * four times slower for the whole life of the processes: the ranks' buffers
 * then share the same sets of the caches. */
static enum gw_err get_buffers(struct tune_rank *r, uint64_t requested_bytes)
{
    struct buffers *b = &r->buffers[r->buffer_count++];
    size_t in = 1, out = 1;
    for (size_t i = 0; i < r->trial_count; i++) {
        struct pattern p = pattern_of(r->tune, r->trials[i].item);
        if (r->trials[i].item->requested_bytes != requested_bytes)
            continue;
        in = larger_of(in, pattern_in_bytes(&p, r->rank));
        out = larger_of(out, pattern_out_bytes(&p, r->rank));
    }
    *b = (struct buffers){.requested_bytes = requested_bytes,
                          .in = gw_alloc(in, r->why)};
    b->out = b->in ? gw_alloc(out, r->why) : NULL;
    if (!b->out)
        return r->why->code;
    memset(b->in, 0, in);
    memset(b->out, 0, out);
    return GW_OK;
}

static bool has_buffers(const struct tune_rank *r, uint64_t requested_bytes)
{
    for (size_t i = 0; i < r->buffer_count; i++)
        if (r->buffers[i].requested_bytes == requested_bytes)
            return true;
    return false;
}

/* Measures the cases from `begin` to `end`. */
static enum gw_err measure_cases(struct tune_rank *r, size_t begin, size_t end)
{
    enum gw_err err = GW_OK;
    r->trial_count = end - begin;
    r->buffer_count = 0;
    for (size_t i = 0; i < r->trial_count; i++)
        r->trials[i] = (struct trial){.item = &r->tune->cases[begin + i],
                                      .report = {.index = begin + i}};
    for (size_t i = 0; i < r->trial_count && !err; i++)
        if (!has_buffers(r, r->trials[i].item->requested_bytes))
            err = get_buffers(r, r->trials[i].item->requested_bytes);
    if (!err)
        err = run_rounds(r);
    for (size_t k = 0; k < r->buffer_count; k++) {
        gw_free(r->buffers[k].in);
        gw_free(r->buffers[k].out);
    }
    return err;
}

/* Reports the cases with enough rounds. */
static void report_trials(const struct tune_rank *r, struct reporter *report)
{
    for (size_t i = 0; i < r->trial_count && r->rank == 0; i++)
        if (r->trials[i].report.rounds >= ROUNDS_MIN)
            report_send(report, &r->trials[i].report,
                        sizeof r->trials[i].report);
}

/* ---- all cases ---- */

/* One after another, so that each row is printed as soon as it is measured. */
static enum gw_err measure_each(struct tune_rank *r, struct reporter *report)
{
    enum gw_err err = GW_OK;
    for (size_t i = r->tune->begin; i < r->tune->end && !err; i++) {
        err = measure_cases(r, i, i + 1);
        report_trials(r, report);
    }
    return err;
}

/* All together. The costs are reported before the cases that they predict. */
static enum gw_err measure_among_samples(struct tune_rank *r,
                                         struct reporter *report)
{
    struct gw_wire_costs costs;
    if (gw_calibration_begin(r->comm, &r->calibration))
        return comm_failed(r);
    enum gw_err err = measure_cases(r, r->tune->begin, r->tune->end);
    if (!err && gw_calibration_end(r->calibration, &costs))
        err = comm_failed(r);
    gw_calibration_destroy(&r->calibration);
    if (!err && r->rank == 0)
        report_send(report, &costs, sizeof costs);
    report_trials(r, report);
    return err;
}

enum gw_err tune_rank(struct gw_comm *comm, struct reporter *report,
                      const struct tune *tune, struct gw_error *why)
{
    size_t together = tune->calibrate ? tune->end - tune->begin : 1;
    struct trial *trials = calloc(together, sizeof *trials);
    struct buffers *buffers = calloc(together, sizeof *buffers);
    struct tune_rank r = {
        .tune = tune,
        .comm = comm,
        .rank = gw_comm_rank(comm),
        .trials = trials,
        .buffers = buffers,
        .why = why,
    };
    enum gw_err err = GW_ENOMEM;
    if (!trials || !buffers)
        gw_fail(why, err, "%zu cases", together);
    else if (tune->calibrate)
        err = measure_among_samples(&r, report);
    else
        err = measure_each(&r, report);
    free(trials);
    free(buffers);
    return err;
}
