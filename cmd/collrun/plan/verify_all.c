/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun verify --all: algorithms for every supported number of ranks
 * (verify_variants.c chooses the plans).
 *
 * One thread per core takes pairs of (algorithm, ranks) from one list, the most
 * ranks first, so that the cores end together. The library's plans are pure;
 * only the list and the sums are shared, protected by the mutex.
 */
#include "verify.h"

#include "collrun/collrun.h"
#include "common/output.h"
#include "common/plan/plan_algo.h"
#include "common/plan/plan_file.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { THREADS_MAX = 16 };

/* The results of one algorithm so far. */
struct sum {
    uint64_t plans, transfers, wrong, nanoseconds;
    unsigned ranks_most;
};

struct sweep {
    const struct verify_which *which;

    pthread_mutex_t mutex; /* protects the following members */
    pthread_cond_t moved;
    unsigned next_ranks; /* 0: none left */
    size_t next_algo;
    unsigned running;
    struct sum *sums;            /* one per algorithm */
    struct verify_tally trouble; /* the first error, the first fault */
};

/* A single rank has nothing to send: a file need not have a plan for it. */
static bool wanted(const struct gw_algo *algo, unsigned ranks)
{
    return algo->valid(ranks) && (ranks > 1 || !plan_file_path(algo));
}

/* The next pair, or false when there is none. The mutex is held. */
static bool next_pair(struct sweep *sweep, size_t *algo, unsigned *ranks)
{
    while (sweep->next_ranks > 0 && !interrupted &&
           !sweep->trouble.error.code) {
        *algo = sweep->next_algo++;
        *ranks = sweep->next_ranks;
        if (sweep->next_algo == sweep->which->count) {
            sweep->next_algo = 0;
            sweep->next_ranks--;
        }
        if (wanted(sweep->which->algos[*algo], *ranks))
            return true;
    }
    return false;
}

/* The mutex is held. */
static void add_tally(struct sweep *sweep, size_t algo, unsigned ranks,
                      const struct verify_tally *tally, uint64_t nanoseconds)
{
    struct sum *sum = &sweep->sums[algo];
    sum->plans += tally->plans;
    sum->transfers += tally->transfers;
    sum->wrong += tally->wrong;
    sum->nanoseconds += nanoseconds;
    sum->ranks_most = sum->ranks_most > ranks ? sum->ranks_most : ranks;
    struct gw_error error = sweep->trouble.error;
    if (tally->wrong && !sweep->trouble.wrong)
        sweep->trouble = *tally;
    sweep->trouble.error = error.code ? error : tally->error;
}

static void *sweep_pairs(void *context)
{
    struct sweep *sweep = context;
    size_t algo;
    unsigned ranks;
    pthread_mutex_lock(&sweep->mutex);
    while (next_pair(sweep, &algo, &ranks)) {
        pthread_mutex_unlock(&sweep->mutex);
        struct verify_tally tally = {0};
        uint64_t begin = gw_now_ns();
        verify_variants(sweep->which->algos[algo], ranks,
                        sweep->which->link_chunks, &tally);
        uint64_t nanoseconds = gw_now_ns() - begin;
        pthread_mutex_lock(&sweep->mutex);
        add_tally(sweep, algo, ranks, &tally, nanoseconds);
        pthread_cond_signal(&sweep->moved);
    }
    sweep->running--;
    pthread_cond_signal(&sweep->moved);
    pthread_mutex_unlock(&sweep->mutex);
    return NULL;
}

static unsigned cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set))
        return 1;
    int count = CPU_COUNT(&set);
    return count < THREADS_MAX ? (unsigned)count : THREADS_MAX;
}

/* Starts one thread per core, shows the progress, and waits for them. */
static enum gw_err verify_pairs(struct sweep *sweep, struct gw_error *why)
{
    pthread_t threads[THREADS_MAX];
    unsigned wanted = cores(), started = 0;
    pthread_mutex_lock(&sweep->mutex);
    while (started < wanted &&
           pthread_create(&threads[started], NULL, sweep_pairs, sweep) == 0)
        started++;
    sweep->running = started;
    while (sweep->running > 0) {
        progress("verify: %u ranks and fewer remain", sweep->next_ranks);
        pthread_cond_wait(&sweep->moved, &sweep->mutex);
    }
    pthread_mutex_unlock(&sweep->mutex);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return started ? GW_OK : gw_fail(why, GW_ESYS, "cannot start a thread");
}

static void sum_row(struct output *output, const struct gw_algo *algo,
                    const struct sum *sum)
{
    output_row(output, (union value[]){
                           {.text = gw_collective_name(algo->collective)},
                           {.text = plan_algo_label(algo)},
                           {.integer = sum->ranks_most},
                           {.integer = (int64_t)sum->plans},
                           {.integer = (int64_t)sum->transfers},
                           {.integer = (int64_t)sum->wrong},
                           {.real = (double)sum->nanoseconds / 1e6},
                       });
}

static void rows(struct output *output, const struct sweep *sweep)
{
    uint64_t plans = 0, transfers = 0, wrong = 0;
    for (size_t i = 0; i < sweep->which->count; i++) {
        sum_row(output, sweep->which->algos[i], &sweep->sums[i]);
        plans += sweep->sums[i].plans;
        transfers += sweep->sums[i].transfers;
        wrong += sweep->sums[i].wrong;
    }
    output_note_integer(output, "plans", (int64_t)plans);
    output_note_integer(output, "transfers", (int64_t)transfers);
    output_note_integer(output, "wrong", (int64_t)wrong);
}

static bool proved_any(const struct sweep *sweep)
{
    uint64_t plans = 0;
    for (size_t i = 0; i < sweep->which->count; i++)
        plans += sweep->sums[i].plans;
    return plans > 0;
}

static int report_sweep(const struct sweep *sweep, double seconds)
{
    static const struct field fields[] = {
        {"op", NULL, FIELD_TEXT, 0, false},
        {"algo", NULL, FIELD_TEXT, 0, false},
        {"ranks_max", NULL, FIELD_INTEGER, 0, false},
        {"plans", NULL, FIELD_INTEGER, 0, false},
        {"transfers", NULL, FIELD_INTEGER, 0, false},
        {"wrong", NULL, FIELD_INTEGER, 0, false},
        {"time_ms", NULL, FIELD_REAL, 1, false},
    };
    struct gw_error why;
    struct output *output;
    if (!proved_any(sweep) && !sweep->trouble.error.code && !interrupted)
        return complain_with(
            GW_EINVAL, "%s: no number of ranks up to %u is supported",
            plan_algo_label(sweep->which->algos[0]), sweep->which->ranks_max);
    if (sweep->trouble.wrong)
        (void)verify_complain(sweep->trouble.command, &sweep->trouble.verdict);
    if (sweep->trouble.error.code)
        (void)complain(&sweep->trouble.error);
    if (output_begin("collrun verify", common.output, fields,
                     sizeof fields / sizeof *fields, &output, &why))
        return complain(&why);
    output_collect(output);
    rows(output, sweep);
    output_note_real(output, "seconds", seconds);
    output_end(&output, complaint(), interrupted != 0);
    if (complaint())
        return gw_err_exit(complaint()->code);
    return interrupted ? gw_err_exit(GW_EINTR) : 0;
}

int verify_all(const struct verify_which *which)
{
    struct gw_error why;
    struct sweep sweep = {
        .which = which,
        .mutex = PTHREAD_MUTEX_INITIALIZER,
        .moved = PTHREAD_COND_INITIALIZER,
        .next_ranks = which->ranks_max,
    };
    if (which->ranks_max == 0 || which->ranks_max > GW_RANKS_MAX)
        return complain_with(GW_EINVAL,
                             "--max-ranks must be from 1 to %d, not %u",
                             GW_RANKS_MAX, which->ranks_max);
    sweep.sums = calloc(which->count, sizeof *sweep.sums);
    if (!sweep.sums)
        return complain_with(GW_ENOMEM, "%zu algorithms", which->count);
    uint64_t begin = gw_now_ns();
    int status =
        verify_pairs(&sweep, &why)
            ? complain(&why)
            : report_sweep(&sweep, (double)(gw_now_ns() - begin) / 1e9);
    free(sweep.sums);
    return status;
}
