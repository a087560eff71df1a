/* SPDX-License-Identifier: MIT
 *
 * Takes samples for the fit: every algorithm at a few sizes. These are between
 * the sizes that `collrun tune` measures, so that the coefficients are judged
 * by other data. All samples are measured several times and their medians
 * count: a machine that shares its cores can behave differently seconds later
 * (a barrier of 2 ranks took 0.10 or 0.35 us, for minutes each). An algorithm
 * makes calls back to back for a millisecond, after some uncounted calls that
 * leave the caches as such calls find them. The slowest rank counts. Without
 * the uncounted calls, batches of 0.4 ms among 8 ranks on 2 cores gave up to
 * four times the time.
 */
#include "samples.h"

#include <gradwire/wire.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 25, BATCH_NS = 1000000, WARM_NS = 300000 };
/* The buffers of one kind, of all ranks together. */
enum { ROOM_BYTES = 128 << 20 };

static const size_t sizes[] = {16,        256,     4 << 10, 16 << 10, 64 << 10,
                               256 << 10, 1 << 20, 4 << 20, 24 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };

struct gw__sampling {
    struct gw_comm *comm;
    struct gw__setting setting;
    unsigned char *in, *out;
    struct gw__sample *samples;
    double (*us)[ROUNDS_MAX]; /* per sample */
    size_t count, room;       /* samples of this round so far; at most */
    unsigned rounds;          /* completed rounds */
};

static bool of_blocks(enum gw_collective collective)
{
    return collective == GW_GATHER || collective == GW_SCATTER ||
           collective == GW_ALLGATHER || collective == GW_REDUCE_SCATTER ||
           collective == GW_ALLTOALL;
}

static enum gw_err make_calls(struct gw_comm *comm, const struct gw_call *call,
                              uint64_t calls)
{
    enum gw_err err = GW_OK;
    for (uint64_t i = 0; i < calls && !err; i++)
        err = gw_run(comm, call);
    return err;
}

static uint64_t calls_in(double ns, double call_ns)
{
    double calls = ns / call_ns;
    return calls < 1 ? 1 : calls > 1 << 16 ? 1 << 16 : (uint64_t)calls;
}

/* Nanoseconds per call, of the slowest rank. */
static enum gw_err time_calls(struct gw_comm *comm, const struct gw_call *call,
                              uint64_t warm, uint64_t calls, double *ns)
{
    double own, slowest = 1;
    enum gw_err err = make_calls(comm, call, warm);
    uint64_t begin_ns = gw_now_ns();
    if (!err)
        err = make_calls(comm, call, calls);
    own = (double)(gw_now_ns() - begin_ns) / (double)calls;
    if (!err)
        err = gw_allreduce(comm, &own, &slowest, 1, GW_F64, GW_MAX);
    *ns = fmax(slowest, 1);
    return err;
}

/* The first call makes the plan or touches new memory. The next calls estimate
 * the time of one; an estimate from an earlier round could make a batch of
 * seconds if the machine has become busy. Then the batch is measured. */
static enum gw_err time_call(struct gw_comm *comm, const struct gw_call *call,
                             double *ns)
{
    enum gw_err err = time_calls(comm, call, 0, 1, ns);
    if (!err && *ns < BATCH_NS)
        err = time_calls(comm, call, 0, calls_in(WARM_NS, *ns), ns);
    if (!err)
        err = time_calls(comm, call, *ns < WARM_NS ? calls_in(WARM_NS, *ns) : 0,
                         calls_in(BATCH_NS, *ns), ns);
    return err;
}

/* The amounts of the call's cost breakdown. */
static enum gw_err count_needs(struct gw__sampling *s,
                               const struct gw_algo *algo, size_t count)
{
    struct gw_algo_args args = {.ranks = s->comm->size};
    struct gw__cost_features work;
    struct gw_plan *plan;
    if (s->count == s->room ||
        gw_plan_make(algo->collective, algo->name, &args, &plan, NULL))
        return GW_ENOMEM;
    bool counted = gw__cost_features_of(plan, algo->direct, count,
                                        sizeof(float), &s->setting, &work);
    gw_plan_destroy(&plan);
    if (!counted)
        return GW_ENOMEM;
    gw__cost_breakdown(&work, &s->setting, s->samples[s->count].features);
    return GW_OK;
}

/* All algorithms of a collective at a size. */
static enum gw_err sample(struct gw__sampling *s, enum gw_collective collective,
                          size_t bytes)
{
    size_t algos, count = bytes / sizeof(float);
    const struct gw_algo *const *list = gw_algo_list(&algos);
    enum gw_err err = GW_OK;
    if (of_blocks(collective))
        count = count / s->comm->size ? count / s->comm->size : 1;
    if (collective == GW_BARRIER)
        count = 0;
    for (size_t i = 0; i < algos && !err; i++) {
        if (list[i]->collective != collective || !list[i]->valid(s->comm->size))
            continue;
        const struct gw_call call = {.collective = collective,
                                     .in = s->in,
                                     .out = s->out,
                                     .count = count,
                                     .type = GW_F32,
                                     .op = GW_SUM,
                                     .algo = list[i]->name};
        double ns;
        if (s->rounds == 0)
            err = count_needs(s, list[i], count);
        if (!err)
            err = time_call(s->comm, &call, &ns);
        if (!err)
            s->us[s->count++][s->rounds] = ns * 1e-3;
    }
    return err;
}

static enum gw_err sample_size(struct gw__sampling *s, size_t bytes,
                               bool barrier)
{
    size_t room = bytes + 64 * (size_t)s->comm->size;
    enum gw_err err = GW_OK;
    s->in = gw_alloc(room, NULL);
    s->out = gw_alloc(room, NULL);
    if (!s->in || !s->out)
        err = GW_ENOMEM;
    else
        memset(s->in, 0, room);
    for (unsigned c = 0; c < GW_COLLECTIVES && !err; c++)
        if (c != GW_BARRIER || barrier)
            err = sample(s, (enum gw_collective)c, bytes);
    gw_free(s->in);
    gw_free(s->out);
    return err;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* As in tune: of an even number, the mean of the middle two. */
static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, by_value);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Reports a shortage of memory, which only one rank knows, to all; they know
 * every other failure. */
static enum gw_err agree_on_error(struct gw_comm *comm, enum gw_err err)
{
    struct gw_error why = {0};
    if (err != GW_ENOMEM)
        return err;
    gw_fail(&why, err, "samples for the calibration");
    return gw__comm_fail(comm, &why);
}

enum gw_err gw__samples_begin(struct gw_comm *comm, struct gw__sampling **s)
{
    size_t algos;
    (void)gw_algo_list(&algos);
    struct gw__sampling *made = calloc(1, sizeof *made);
    *s = made;
    if (!made)
        return agree_on_error(comm, GW_ENOMEM);
    *made = (struct gw__sampling){
        .comm = comm,
        .setting = {.windows = comm->windows != NULL,
                    .shared = strcmp(comm->wire_name, "shm") == 0,
                    .cores = comm->costs.cores},
        .room = SIZES * algos,
        .samples = calloc(SIZES * algos, sizeof *made->samples),
        .us = calloc(SIZES * algos, sizeof *made->us),
    };
    if (made->samples && made->us)
        return GW_OK;
    gw__samples_end(s);
    return agree_on_error(comm, GW_ENOMEM);
}

enum gw_err gw__samples_round(struct gw__sampling *s, unsigned part,
                              unsigned parts)
{
    unsigned end = (part + 1) * SIZES / parts;
    enum gw_err err = GW_OK;
    if (s->rounds == ROUNDS_MAX)
        return GW_OK;
    if (part == 0)
        s->count = 0;
    for (unsigned k = part * SIZES / parts; k < end && !err; k++)
        if (sizes[k] <= ROOM_BYTES / s->comm->size)
            err = sample_size(s, sizes[k], k == 0);
    s->rounds += !err && part + 1 == parts;
    return agree_on_error(s->comm, err);
}

enum gw_err gw__samples_fit(struct gw__sampling *s, struct gw_wire_costs *costs)
{
    if (s->rounds == 0)
        return GW_OK;
    for (size_t i = 0; i < s->count; i++)
        s->samples[i].us = median(s->us[i], s->rounds);
    if (!gw__fit(s->samples, s->count, costs->coefficients))
        return agree_on_error(s->comm, GW_ENOMEM);
    costs->fitted_ranks = s->comm->size;
    return GW_OK;
}

void gw__samples_end(struct gw__sampling **s)
{
    if (*s) {
        free((*s)->us);
        free((*s)->samples);
    }
    free(*s);
    *s = NULL;
}
