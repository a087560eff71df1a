/* SPDX-License-Identifier: MIT
 *
 * Chooses the algorithm of a call that names none: the algorithm of a tuning
 * rule (tuning_table.c), else the one with the lowest predicted time, or a
 * nearly equal one that windows run in one pass. The prediction is the cost
 * model (cost_model.c) with the coefficients that calibration found. If there
 * are none, because the file is of an older calibration or written by hand:
 *
 *   ipc, tcp   gw_plan_price: alpha-beta-gamma, step by step; ranks that share
 *              a core take turns
 *   shm        meetings (two for a window pass, one when it is eager, one per
 *              round otherwise), and the loads and stores, spread over the
 *              cores and bounded by the busiest rank
 */
#include "choose.h"

#include "calibration.h"
#include "coll/program.h"
#include "cost_model.h"
#include "plan/registry.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that fit the caches of a core or a shared cache nearby. */
enum { CACHED_BYTES = 4 << 20 };
/* Of one collective. */
enum { ALGOS_MAX = 64 };
/* Predicted times with a smaller ratio differ less than the model is wrong. */
static const double SURELY_LONGER = 1.15;

/* Loads and stores in shared memory: of the busiest rank, and of all. A write
 * that adds loads its sources and its own value and stores the sum; one that
 * replaces loads and stores. Fused (window passes), the pass that makes a sum
 * also stores it at its receivers, without a further load. */
struct traffic {
    double busiest, all;
};

/* False when memory is short. */
static bool count_traffic(const struct gw_plan *plan, size_t count,
                          size_t elem_bytes, bool fused,
                          struct traffic *traffic)
{
    struct traffic t = {0, 0};
    double *rank = calloc(plan->ranks, sizeof *rank);
    unsigned *added = calloc((size_t)plan->ranks * plan->chunks, sizeof *added);
    bool reduces = gw_collective_reduces(plan->collective);
    unsigned step = 0;
    for (size_t i = 0; rank && added && i < plan->transfer_count; i++) {
        const struct gw_transfer *tr = &plan->transfers[i];
        size_t offset, length;
        while (plan->step_begin[step + 1] <= i)
            step++;
        gw_plan_extent(plan, tr->chunk, count, elem_bytes, &offset, &length);
        double bytes = (double)(length * elem_bytes);
        unsigned *last = &added[tr->dst * (size_t)plan->chunks + tr->chunk];
        if (tr->action == GW_ADD) {
            rank[tr->dst] += *last == step + 1 ? bytes : 3 * bytes;
            *last = step + 1;
        } else if (reduces && fused)
            rank[tr->src] += bytes;
        else
            rank[tr->dst] += 2 * bytes;
    }
    for (unsigned r = 0; rank && r < plan->ranks; r++) {
        t.busiest = rank[r] > t.busiest ? rank[r] : t.busiest;
        t.all += rank[r];
    }
    bool counted = rank && added;
    free(rank);
    free(added);
    *traffic = t;
    return counted;
}

/* The number of ranks per core. */
static double crowd(const struct gw_wire_costs *costs, unsigned ranks)
{
    return ranks > costs->cores ? ranks / costs->cores : 1;
}

static double memory_us(const struct gw_wire_costs *costs, unsigned ranks,
                        struct traffic t)
{
    double cores = costs->cores < ranks ? costs->cores : ranks;
    double per_byte = t.all > CACHED_BYTES ? costs->memory_us_per_byte
                                           : costs->cached_us_per_byte;
    double spread = t.all / cores;
    return per_byte * (spread > t.busiest ? spread : t.busiest);
}

/* From alpha, beta, gamma, memory and meetings alone. */
static enum gw_err predict_roughly(const struct gw_wire_costs *costs,
                                   bool windows, bool direct,
                                   const struct gw_plan *plan, size_t count,
                                   size_t elem_bytes, double *us)
{
    struct gw_price price;
    struct traffic traffic;
    enum gw_err err =
        gw_plan_price(plan, count, elem_bytes, &costs->model, &price, NULL);
    if (err)
        return err;
    *us = crowd(costs, plan->ranks) * price.predicted_us;
    if (!windows)
        return GW_OK;
    if (!count_traffic(plan, count, elem_bytes, direct, &traffic))
        return GW_ENOMEM;
    bool eager = plan->steps == 1 && count * elem_bytes <= GW__EAGER_BYTES;
    double meetings = !direct
                          ? gw_cost_model_us(&costs->model, price.rounds, 0, 0)
                      : eager ? costs->sync_us / 2
                              : costs->sync_us;
    *us = crowd(costs, plan->ranks) * meetings +
          memory_us(costs, plan->ranks, traffic);
    return GW_OK;
}

/* The features and amounts of the cost breakdown; false when memory is
 * short. */
static bool find_features(const struct gw__setting *setting, bool direct,
                          const struct gw_plan *plan, size_t count,
                          size_t elem_bytes,
                          double features[GW_COEFFICIENTS_MAX])
{
    struct gw__cost_features work;
    if (!gw__cost_features_of(plan, direct, count, elem_bytes, setting, &work))
        return false;
    gw__cost_breakdown(&work, setting, features);
    return true;
}

/* A plan of a user is analysed, as before it runs. */
static enum gw_err runs_direct(const struct gw_algo *algo,
                               const struct gw_plan *plan, bool *direct)
{
    *direct = algo->direct;
    return gw__algo_is_added(algo) ? gw__plan_is_direct(plan, direct, NULL)
                                   : GW_OK;
}

static enum gw_err predict_plan(const struct gw_wire_costs *costs,
                                const struct gw__setting *setting,
                                const struct gw_plan *plan, bool direct,
                                size_t count, size_t elem_bytes, double *us)
{
    double features[GW_COEFFICIENTS_MAX];
    if (!costs->fitted_ranks)
        return predict_roughly(costs, setting->windows, direct, plan, count,
                               elem_bytes, us);
    if (!find_features(setting, direct, plan, count, elem_bytes, features))
        return GW_ENOMEM;
    *us = gw__cost_us(features, costs->coefficients);
    return GW_OK;
}

static enum gw_err predict(const struct gw_wire_costs *costs,
                           const struct gw__setting *setting,
                           const struct gw_algo *algo, unsigned ranks,
                           size_t count, size_t elem_bytes, double *us)
{
    struct gw_algo_args args = {.ranks = ranks};
    struct gw_plan *plan;
    bool direct;
    enum gw_err err =
        gw_plan_make(algo->collective, algo->name, &args, &plan, NULL);
    if (!err)
        err = runs_direct(algo, plan, &direct);
    if (!err)
        err = predict_plan(costs, setting, plan, direct, count, elem_bytes, us);
    gw_plan_destroy(&plan);
    return err;
}

/* Each input loaded once, each output stored once, by all ranks together. */
static double least_traffic(enum gw_collective collective, double ranks,
                            double bytes)
{
    switch (collective) {
    case GW_REDUCE:
        return (ranks + 1) * bytes;
    case GW_ALLREDUCE:
    case GW_SCAN:
        return 2 * ranks * bytes;
    case GW_EXSCAN:
        return 2 * (ranks - 1) * bytes;
    case GW_BROADCAST:
        return ranks * bytes;
    case GW_GATHER:
    case GW_SCATTER:
        return 2 * (ranks - 1) * bytes;
    case GW_ALLGATHER:
    case GW_REDUCE_SCATTER:
        return ranks * (ranks + 1) * bytes;
    case GW_ALLTOALL:
        return 2 * ranks * ranks * bytes;
    default:
        return 0;
    }
}

double gw_wire_bound_us(const char *wire, enum gw_collective collective,
                        unsigned ranks, size_t count, size_t elem_bytes)
{
    struct gw_wire_costs costs;
    bool measured;
    gw_costs(wire, &costs, &measured);
    if (strcmp(wire, "shm") != 0)
        return gw_bound_us(collective, ranks, count, elem_bytes, &costs.model);
    if (ranks < 2)
        return 0;
    double all =
        least_traffic(collective, (double)ranks, (double)(count * elem_bytes));
    struct traffic t = {.busiest = all / ranks, .all = all};
    return costs.sync_us / 2 + memory_us(&costs, ranks, t);
}

/* Baselines come last: the model ignores their congestion and predicts too
 * little. */
static int cheaper(const void *a, const void *b)
{
    const struct gw_candidate *first = a, *second = b;
    double x = first->predicted_us, y = second->predicted_us;
    if (first->algo->baseline != second->algo->baseline)
        return first->algo->baseline ? 1 : -1;
    return (x > y) - (x < y);
}

/* Moves `algo` to the front; the others keep their order. */
static void promote(struct gw_candidate *found, size_t n,
                    const struct gw_algo *algo)
{
    size_t at = 0;
    while (at < n && found[at].algo != algo)
        at++;
    if (at == n)
        return;
    struct gw_candidate first = found[at];
    memmove(found + 1, found, at * sizeof *found);
    found[0] = first;
}

/* The cheapest algorithm that windows run in one pass, if its predicted time is
 * not certainly longer; else the cheapest. Where both were predicted alike, the
 * pass took 0.5 to 0.8 times as long in all 15 cases (2 to 8 ranks on 2 cores,
 * 16 KiB to 16 MiB of gw_alloc). With memory of malloc it took 0.3 to 1.1 times
 * as long from 256 KiB on (but a scan of 2 ranks 1.4 times), and for 16 KiB up
 * to 4 us more. */
static const struct gw_algo *cheapest(const struct gw__setting *setting,
                                      const struct gw_candidate *found,
                                      size_t n)
{
    for (size_t i = 0; setting->windows && i < n; i++)
        if (found[i].algo->direct && !found[i].algo->baseline &&
            found[i].predicted_us <= SURELY_LONGER * found[0].predicted_us)
            return found[i].algo;
    return n ? found[0].algo : NULL;
}

/* All valid algorithms, cheapest first. None when memory is short: a rank with
 * a partial list could choose differently from the others. */
static size_t list_candidates(const struct gw_wire_costs *costs,
                              const struct gw__setting *setting,
                              enum gw_collective collective, unsigned ranks,
                              size_t count, size_t elem_bytes,
                              struct gw_candidate *out, size_t capacity)
{
    struct gw_candidate found[ALGOS_MAX];
    size_t algos, n = 0;
    const struct gw_algo *const *list = gw_algo_list(&algos);
    for (size_t i = 0; i < algos && n < ALGOS_MAX; i++) {
        if (list[i]->collective != collective || !list[i]->valid(ranks))
            continue;
        double us;
        enum gw_err err =
            predict(costs, setting, list[i], ranks, count, elem_bytes, &us);
        if (err == GW_ENOMEM)
            return 0;
        if (!err && us >= 0)
            found[n++] = (struct gw_candidate){list[i], us};
    }
    qsort(found, n, sizeof *found, cheaper);
    promote(found, n, cheapest(setting, found, n));
    memcpy(out, found, (n < capacity ? n : capacity) * sizeof *out);
    return n;
}

size_t gw__choose(const struct gw_comm *comm, enum gw_collective collective,
                  size_t count, size_t elem_bytes, struct gw_candidate *out,
                  size_t capacity)
{
    struct gw__setting setting = {
        .windows = comm->windows != NULL,
        .shared = strcmp(comm->wire_name, "shm") == 0,
        .cores = comm->costs.cores,
    };
    return list_candidates(&comm->costs, &setting, collective, comm->size,
                           count, elem_bytes, out, capacity);
}

static struct gw__setting setting_of(const char *wire,
                                     const struct gw_wire_costs *costs)
{
    bool shm = strcmp(wire, "shm") == 0;
    return (struct gw__setting){
        .windows = shm, .shared = shm, .cores = costs->cores};
}

double gw_predict_us(const char *wire, const struct gw_wire_costs *costs,
                     const struct gw_algo *algo, unsigned ranks, size_t count,
                     size_t elem_bytes)
{
    struct gw__setting setting = setting_of(wire, costs);
    double us;
    return predict(costs, &setting, algo, ranks, count, elem_bytes, &us) ? -1
                                                                         : us;
}

enum gw_err gw__plan_predict_us(const char *wire,
                                const struct gw_wire_costs *costs,
                                const struct gw_plan *plan, size_t count,
                                size_t elem_bytes, double *us,
                                struct gw_error *why)
{
    struct gw__setting setting = setting_of(wire, costs);
    bool direct;
    enum gw_err err = gw__plan_is_direct(plan, &direct, why);
    if (err)
        return err;
    err = predict_plan(costs, &setting, plan, direct, count, elem_bytes, us);
    return err ? gw_fail(why, err, "prediction for %zu elements", count)
               : GW_OK;
}

size_t gw_choose(const char *wire, enum gw_collective collective,
                 unsigned ranks, size_t count, size_t elem_bytes,
                 struct gw_candidate *out, size_t capacity)
{
    struct gw_candidate found[ALGOS_MAX];
    struct gw_wire_costs costs;
    struct gw__tuning_table tuning_table;
    bool measured;
    json_t *file = gw__calibration_load();
    gw__costs_of(file, wire, ranks, &costs, &measured);
    gw__tuning_table_of(file, wire, ranks, &tuning_table);
    json_decref(file);
    struct gw__setting setting = setting_of(wire, &costs);
    size_t n = list_candidates(&costs, &setting, collective, ranks, count,
                               elem_bytes, found, ALGOS_MAX);
    promote(found, n,
            gw__tuning_table_algo(&tuning_table, collective, ranks, count,
                                  elem_bytes));
    memcpy(out, found, (n < capacity ? n : capacity) * sizeof *out);
    return n;
}

size_t gw_cost_breakdown(const char *wire, const struct gw_algo *algo,
                         unsigned ranks, size_t count, size_t elem_bytes,
                         struct gw_cost_line *lines)
{
    struct gw_algo_args args = {.ranks = ranks};
    struct gw_wire_costs costs;
    struct gw_plan *plan;
    double features[GW_COEFFICIENTS_MAX];
    size_t n = 0;
    bool measured;
    gw_costs_among(wire, ranks, &costs, &measured);
    struct gw__setting setting = setting_of(wire, &costs);
    if (!costs.fitted_ranks ||
        gw_plan_make(algo->collective, algo->name, &args, &plan, NULL))
        return 0;
    bool direct, known = !runs_direct(algo, plan, &direct) &&
                         find_features(&setting, direct, plan, count,
                                       elem_bytes, features);
    for (unsigned i = 0; known && gw_coefficient_name(i, NULL); i++)
        if (features[i] * costs.coefficients[i] > 0)
            lines[n++] = (struct gw_cost_line){
                i, features[i], features[i] * costs.coefficients[i]};
    gw_plan_destroy(&plan);
    return n;
}
