/* SPDX-License-Identifier: MIT
 *
 * Checks the size limits before anything is built: emits the algorithm once,
 * only counting messages and runs, and stops at either limit.
 *
 * A rank that alternates between receivers within a step counts a message for
 * each change here, whereas the construction would continue the first one. No
 * algorithm of ours does this (test_traffic.c).
 */
#include "traffic.h"

#include <stdlib.h>

/* The newest message of a sender. */
struct last {
    unsigned step, dst; /* step: + 1; 0: none */
};

struct count {
    struct last *last; /* of each rank */
    uint64_t runs, messages;
    uint64_t runs_max;
};

static bool count_run(void *context, const struct gw__run *run)
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
    const struct gw__run_sink sink = {.context = &count, .add = count_run};
    const char *name = gw_collective_name(algo->collective);
    unsigned steps;
    count.last = calloc(args->ranks, sizeof *count.last);
    if (!count.last)
        return gw_fail(why, GW_ENOMEM, "a simulation of %u ranks", args->ranks);
    enum gw_err err = gw__algo_stream(algo, args, &sink, &steps, why);
    free(count.last);
    if (count.runs > runs_max)
        err = gw_fail(why, GW_EINVAL,
                      "%s %s of %u ranks sends too many chunks to simulate; "
                      "use fewer ranks or an algorithm with logarithmic rounds",
                      name, algo->name, args->ranks);
    else if (count.messages > GW__TRAFFIC_MESSAGES_MAX)
        err = gw_fail(why, GW_EINVAL,
                      "%s %s of %u ranks sends more than %d messages", name,
                      algo->name, args->ranks, GW__TRAFFIC_MESSAGES_MAX);
    *messages = count.messages;
    return err;
}
