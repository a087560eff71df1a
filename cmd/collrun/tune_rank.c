/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Measuring in every rank. The algorithms of a case take turns, round by round,
 * so that whatever else the machine does meets all of them; each round begins
 * with another one. A round of an algorithm is a batch of calls back to back,
 * as in `collrun bench`, and its time that of the slowest rank: the ranks agree
 * on it by an all-reduce, which is not timed and from which all go on together.
 * So all ranks know the same times, and decide alike how many calls make a
 * batch and when the time of the case is over. Many rounds: then their median
 * is one that nothing disturbed.
 *
 * A batch begins with calls that are not timed, so that its algorithm finds the
 * caches as its own calls leave them, and is no shorter than a few turns of the
 * scheduler: with 8 ranks on 2 cores a reduce-scatter by a ring, 512 KiB, took
 * 361 us in cold batches of 0.4 ms and 93 us back to back.
 */
#include "tune.h"

#include "common/command.h"
#include "pattern.h"

#include <math.h>

enum {
    ROUNDS_MIN = 6,
    BATCH_MAX = 1 << 16,
    BATCH_NS = 2000000, /* at least */
    WARM_NS = 500000,   /* before it */
    QUICK_NS = 1000000, /* calls below are tried more often than once */
    QUICK_CALLS = 8,
};

struct tune_rank {
    const struct tune *tune;
    struct gw_comm *comm;
    unsigned rank;
    void *in, *out;
    struct gw_call call;
    double estimate_ns[TUNE_ALGOS_MAX]; /* a call */
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

/* Nanoseconds a call of the slowest rank, over `calls` of them, after `warm`
 * others. */
static enum gw_err time_calls(struct tune_rank *r, const struct gw_algo *algo,
                              uint64_t warm, uint64_t calls, double *ns)
{
    double told[2] = {0, 0}, slowest[2];
    *ns = (double)INFINITY;
    r->call.algo = algo->name;
    for (uint64_t i = 0; i < warm; i++)
        if (gw_run(r->comm, &r->call))
            return comm_failed(r);
    uint64_t begin_ns = gw_now_ns();
    for (uint64_t i = 0; i < calls; i++)
        if (gw_run(r->comm, &r->call))
            return comm_failed(r);
    told[0] = (double)(gw_now_ns() - begin_ns) / (double)calls;
    told[1] = interrupted != 0;
    if (gw_allreduce(r->comm, told, slowest, 2, GW_F64, GW_MAX))
        return comm_failed(r);
    *ns = slowest[0];
    return slowest[1] > 0 ? gw_fail(r->why, GW_EINTR, "interrupted") : GW_OK;
}

static uint64_t within(double value, uint64_t least, uint64_t most)
{
    if (value < (double)least)
        return least;
    return value > (double)most ? most : (uint64_t)value;
}

/* What a call takes at best, so far: a disturbed one must not make the batches
 * of its algorithm shorter than those of the others. */
static enum gw_err time_algo(struct tune_rank *r, const struct tune_case *item,
                             unsigned a, uint64_t calls, double *ns)
{
    uint64_t warm = r->estimate_ns[a] < WARM_NS
                        ? within(WARM_NS / r->estimate_ns[a], 1, calls)
                        : 0;
    enum gw_err err = time_calls(r, item->algos[a].algo, warm, calls, ns);
    if (!err && *ns < r->estimate_ns[a])
        r->estimate_ns[a] = *ns > 1 ? *ns : 1;
    return err;
}

/* The first call makes the plan; then what one takes, roughly. */
static enum gw_err try_algos(struct tune_rank *r, const struct tune_case *item)
{
    enum gw_err err = GW_OK;
    for (unsigned a = 0; a < item->algo_count && !err; a++) {
        double ns;
        r->estimate_ns[a] = (double)INFINITY;
        err = time_algo(r, item, a, 1, &ns);
        if (!err)
            err = time_algo(r, item, a, ns < QUICK_NS ? QUICK_CALLS : 1, &ns);
    }
    return err;
}

/* Every algorithm once. *spent_ns grows by what that took. */
static enum gw_err run_round(struct tune_rank *r, const struct tune_case *item,
                             struct tune_report *report, double *spent_ns)
{
    unsigned algos = item->algo_count;
    double share_ns = (double)r->tune->seconds_ns / TUNE_ROUNDS_MAX / algos;
    share_ns = share_ns < BATCH_NS ? BATCH_NS : share_ns;
    for (unsigned i = 0; i < algos; i++) {
        unsigned a = (i + (unsigned)report->rounds) % algos;
        double ns;
        uint64_t calls = within(share_ns / r->estimate_ns[a], 1, BATCH_MAX);
        enum gw_err err = time_algo(r, item, a, calls, &ns);
        if (err)
            return err;
        report->us[a][report->rounds] = ns * 1e-3;
        *spent_ns += ns * (double)calls;
    }
    report->rounds++;
    return GW_OK;
}

static enum gw_err time_case(struct tune_rank *r, const struct tune_case *item,
                             struct tune_report *report)
{
    double spent_ns = 0;
    enum gw_err err = GW_OK;
    while (
        !err && report->rounds < TUNE_ROUNDS_MAX &&
        (report->rounds < ROUNDS_MIN || spent_ns < (double)r->tune->seconds_ns))
        err = run_round(r, item, report, &spent_ns);
    return err;
}

/* No larger than the case needs: in the first pages of 64 MiB, which lie in one
 * piece, half a megabyte a rank was now and then reduced four times slower, for
 * as long as the processes lived; the ranks' buffers then meet in the same sets
 * of the caches. */
static enum gw_err get_buffers(struct tune_rank *r, const struct pattern *p)
{
    size_t in = pattern_in_bytes(p, r->rank);
    size_t out = pattern_out_bytes(p, r->rank);
    r->in = gw_alloc(in ? in : 1, r->why);
    r->out = r->in ? gw_alloc(out ? out : 1, r->why) : NULL;
    return r->out ? GW_OK : r->why->code;
}

static enum gw_err measure(struct tune_rank *r, const struct tune_case *item,
                           struct tune_report *report)
{
    struct pattern p = pattern_of(r->tune, item);
    enum gw_err err = get_buffers(r, &p);
    if (err)
        return err;
    pattern_fill(&p, r->rank, r->in, r->out);
    r->call = (struct gw_call){
        .collective = item->collective,
        .in = pattern_in(&p, r->rank, r->in),
        .out = r->out,
        .count = item->count,
        .type = p.type,
        .op = p.op,
    };
    err = try_algos(r, item);
    return err ? err : time_case(r, item, report);
}

enum gw_err tune_rank(struct gw_comm *comm, struct reporter *report,
                      const struct tune *tune, struct gw_error *why)
{
    struct tune_rank r = {
        .tune = tune,
        .comm = comm,
        .rank = gw_comm_rank(comm),
        .why = why,
    };
    enum gw_err err = GW_OK;
    for (size_t i = tune->begin; i < tune->end && !err; i++) {
        struct tune_report result = {.index = i};
        err = measure(&r, &tune->cases[i], &result);
        gw_free(r.in);
        gw_free(r.out);
        r.in = r.out = NULL;
        if (!err && r.rank == 0)
            report_send(report, &result, sizeof result);
    }
    return err;
}
