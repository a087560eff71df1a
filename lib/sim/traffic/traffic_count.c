/* SPDX-License-Identifier: MIT
 *
 * Refuses what there is no room for before anything is built: the algorithm is
 * emitted once into nothing but two counts, and no further than either limit.
 *
 * A rank that turns from one receiver to another and back within a step begins a
 * message each time here, where the build would go on with the first; no
 * algorithm of ours does so (test_traffic.c).
 */
#include "traffic.h"

#include <stdlib.h>

/* What a rank has sent last. */
struct last {
    unsigned step, dst; /* the step + 1; 0: nothing */
};

struct count {
    struct last *last; /* by each rank */
    uint64_t runs, messages;
    uint64_t runs_max;
};

static bool take(void *context, const struct gw__run *run)
{
    struct count *c = context;
    struct last *last = &c->last[run->src];
    bool same = last->step == run->step + 1 && last->dst == run->dst;
    *last = (struct last){run->step + 1, run->dst};
    c->messages += !same;
    return ++c->runs <= c->runs_max && c->messages <= GW__TRAFFIC_MESSAGES_MAX;
}

enum gw_err gw__traffic_check(const struct gw_algo *algo,
                              const struct gw_algo_args *args,
                              uint64_t runs_max, uint64_t *messages,
                              struct gw_error *why)
{
    struct count count = {.runs_max = runs_max};
    const struct gw__run_sink sink = {.context = &count, .take = take};
    const char *name = gw_collective_name(algo->collective);
    unsigned steps;
    count.last = calloc(args->ranks, sizeof *count.last);
    if (!count.last)
        return gw_fail(why, GW_ENOMEM, "a simulation of %u ranks", args->ranks);
    enum gw_err err = gw__algo_stream(algo, args, &sink, &steps, why);
    free(count.last);
    if (count.runs > runs_max)
        err = gw_fail(why, GW_EINVAL,
                      "%s %s of %u ranks moves too many pieces: so many ranks "
                      "are for logarithmic algorithms",
                      name, algo->name, args->ranks);
    else if (count.messages > GW__TRAFFIC_MESSAGES_MAX)
        err = gw_fail(why, GW_EINVAL,
                      "%s %s of %u ranks sends more than %d messages", name,
                      algo->name, args->ranks, GW__TRAFFIC_MESSAGES_MAX);
    *messages = count.messages;
    return err;
}
