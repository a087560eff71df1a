/* SPDX-License-Identifier: MIT
 *
 * Which algorithm a call runs when it names none: the one whose predicted time
 * is least, under costs that calibration measured.
 *
 *   messages   gw_plan_price: alpha-beta-gamma, step by step; on shm the work
 *              of all ranks shares the cores
 *   windows    two meetings, and the loads and stores of the passes, spread
 *              over the cores and bounded by the busiest rank
 */
#include "coll/comm.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that fit the caches of a core or are shared close by. */
enum { CACHED_BYTES = 4 << 20 };

/* Loads and stores of a direct plan: of the busiest rank, and of all. A sum
 * loads every source and the own value, and is stored once and once more a
 * receiver; a first value is loaded once and stored once a receiver. */
struct traffic {
    double busiest, all;
};

static struct traffic traffic_of(
    const struct gw_plan *plan, size_t count, size_t elem_bytes)
{
    struct traffic t = { 0, 0 };
    double *rank = calloc(plan->ranks, sizeof *rank);
    bool *summed = calloc((size_t)plan->ranks * plan->chunks, sizeof *summed);
    bool reduces = gw_collective_reduces(plan->collective);
    for (size_t i = 0; rank && summed && i < plan->transfer_count; i++) {
        const struct gw_transfer *tr = &plan->transfers[i];
        size_t offset, length;
        gw_plan_extent(plan, tr->chunk, count, elem_bytes, &offset, &length);
        double bytes = (double)(length * elem_bytes);
        bool *first = &summed[tr->dst * (size_t)plan->chunks + tr->chunk];
        if (tr->action == GW_ADD) {
            rank[tr->dst] += *first ? bytes : 3 * bytes;
            *first = true;
        } else if (reduces)
            rank[tr->src] += bytes;
        else
            rank[tr->dst] += 2 * bytes;
    }
    for (unsigned r = 0; rank && r < plan->ranks; r++) {
        t.busiest = rank[r] > t.busiest ? rank[r] : t.busiest;
        t.all += rank[r];
    }
    free(rank);
    free(summed);
    return t;
}

static double window_us(const struct gw_wire_costs *costs,
    const struct gw_plan *plan, size_t count, size_t elem_bytes)
{
    struct traffic t = traffic_of(plan, count, elem_bytes);
    double cores = costs->cores < plan->ranks ? costs->cores : plan->ranks;
    double per_byte = t.all > CACHED_BYTES ? costs->memory_us_per_byte
                                           : costs->cached_us_per_byte;
    double work = t.all / cores;
    double bytes = work > t.busiest ? work : t.busiest;
    double crowd = plan->ranks / costs->cores;
    return costs->sync_us * (crowd > 1 ? crowd : 1) + per_byte * bytes;
}

static double predict(const struct gw_wire_costs *costs, bool windows,
    const struct gw_algo *algo, unsigned ranks, size_t count,
    size_t elem_bytes)
{
    struct gw_algo_args args = { .ranks = ranks };
    struct gw_plan *plan;
    struct gw_price price;
    double us = -1;
    if (gw_plan_make(algo->collective, algo->name, &args, &plan, NULL))
        return -1;
    if (windows && algo->direct)
        us = window_us(costs, plan, count, elem_bytes);
    else if (gw_plan_price(
                 plan, count, elem_bytes, &costs->model, &price, NULL)
        == GW_OK) {
        double crowd = ranks / costs->cores;
        us = price.predicted_us * (crowd > 1 ? crowd : 1);
    }
    gw_plan_destroy(&plan);
    return us;
}

static int cheaper(const void *a, const void *b)
{
    double x = ((const struct gw_candidate *)a)->predicted_us;
    double y = ((const struct gw_candidate *)b)->predicted_us;
    return (x > y) - (x < y);
}

size_t gw__choose(const struct gw_wire_costs *costs, bool windows,
    enum gw_collective collective, unsigned ranks, size_t count,
    size_t elem_bytes, struct gw_candidate *out, size_t capacity)
{
    enum { ALGOS_MAX = 64 };
    struct gw_candidate found[ALGOS_MAX];
    size_t algos, n = 0;
    const struct gw_algo *const *list = gw_algo_list(&algos);
    for (size_t i = 0; i < algos && n < ALGOS_MAX; i++) {
        if (list[i]->collective != collective || !list[i]->valid(ranks))
            continue;
        double us
            = predict(costs, windows, list[i], ranks, count, elem_bytes);
        if (us >= 0)
            found[n++] = (struct gw_candidate) { list[i], us };
    }
    qsort(found, n, sizeof *found, cheaper);
    memcpy(out, found, (n < capacity ? n : capacity) * sizeof *out);
    return n;
}

size_t gw_choose(const char *wire, enum gw_collective collective,
    unsigned ranks, size_t count, size_t elem_bytes, struct gw_candidate *out,
    size_t capacity)
{
    struct gw_wire_costs costs;
    bool measured;
    gw_costs(wire, &costs, &measured);
    return gw__choose(&costs, strcmp(wire, "shm") == 0, collective, ranks,
        count, elem_bytes, out, capacity);
}
