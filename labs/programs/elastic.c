/* SPDX-License-Identifier: MIT
 *
 * A program of an elastic job. Processes on any hosts add vectors together, and
 * they may die, leave and join while it runs. Element i counts the
 * contributions of member i, so that every result can be checked: each member
 * that is listed as a contributor counts once, and no other member counts.
 *
 *     cc -o elastic elastic.c -lgradwire
 *     psnode controller --index 0 --peers tcp://HOST:7100 --dir c0 --ring 3
 *     GW_CONTROLLERS=tcp://HOST:7100 ./elastic OPS     on three hosts or more
 *     ringctl up 3 exec ./elastic OPS                  or on this host alone
 *
 * After SIGTERM it leaves at the end of the op under way. It ends with status
 * 75 when it could not go on and should be started again.
 */
#include <gradwire/gradwire.h>

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { AGAIN = 75 };

static struct gw_ring *ring;
static volatile sig_atomic_t ended, joining;

static void on_signal(int number)
{
    (void)number;
    ended = 1;
    if (joining && ring) /* joining may take long; an op does not */
        gw_ring_interrupt(ring);
}

/* The common state of all members; joiners copy it. */
struct state {
    uint64_t ops, members; /* contributions, of all ops together */
};

static void apply(void *context, const struct gw_ring_result *result)
{
    struct state *state = context;
    state->ops++;
    state->members += gw_nodes_count(&result->contributors);
}

static enum gw_err check(const struct gw_ring_result *result,
                         const uint32_t *sum, struct gw_error *why)
{
    for (unsigned node = 0; node < GW_RING_NODES; node++)
        if (sum[node] != gw_nodes_has(&result->contributors, node))
            return gw_fail(why, GW_EWRONG,
                           "op %" PRIu64 ": member %u counts %u", result->op,
                           node, sum[node]);
    return GW_OK;
}

static enum gw_err turn(unsigned node, struct gw_error *why)
{
    const struct timespec compute = {.tv_nsec = 10000000};
    uint32_t in[GW_RING_NODES] = {0}, sum[GW_RING_NODES];
    struct gw_ring_turn place;
    struct gw_ring_result result;
    const struct gw_ring_call call = {.in = in,
                                      .out = sum,
                                      .count = GW_RING_NODES,
                                      .type = GW_U32,
                                      .op = GW_SUM};
    if (gw_ring_begin(ring, &place, why))
        return why->code;
    nanosleep(&compute, NULL);
    in[node] = 1;
    if (gw_ring_allreduce(ring, &call, &result, why))
        return why->code;
    return check(&result, sum, why);
}

/* ringctl and ringtop show this. */
static void report_progress(const struct state *state, uint64_t ops)
{
    const struct gw_ring_progress progress = {
        .step = state->ops, .loss = NAN, .done = state->ops >= ops};
    gw_ring_report(ring, &progress);
}

static void report(const char *what, const struct state *state)
{
    static struct gw_ring_status status;
    gw_ring_status(ring, &status);
    printf("%s: node %u, op %" PRIu64 ", epoch %" PRIu64
           ", %u members, %" PRIu64 " contributions, lost %" PRIu64
           ", doubled %" PRIu64 "\n",
           what, status.node, state->ops, status.epoch, status.size,
           state->members, status.lost, status.doubled);
    fflush(stdout);
}

/* From joining to leaving. GW_ECLOSED: the others continued without this
 * member. */
static enum gw_err live(uint64_t ops, struct gw_error *why)
{
    static struct gw_ring_status status;
    struct state state = {.ops = 0};
    const struct gw_ring_config config = {.context = &state,
                                          .state = &state,
                                          .state_bytes = sizeof state,
                                          .apply = apply};
    joining = 1;
    enum gw_err err = gw_ring_from_env(&config, &ring, why);
    joining = 0;
    if (err)
        return err;
    gw_ring_status(ring, &status);
    report("joined", &state);
    while (!err && !ended && state.ops < ops) {
        err = turn(status.node, why);
        report_progress(&state, ops);
    }
    if (!err)
        report(ended ? "leaves" : "done", &state);
    else
        fprintf(stderr, "elastic: %s\n", why->text);
    /* The last member has no other to notify. */
    struct gw_error alone;
    if (!err && gw_ring_leave(ring, &alone) != GW_OK)
        fprintf(stderr, "elastic: %s\n", alone.text);
    gw_ring_destroy(&ring);
    return err;
}

int main(int argc, char **argv)
{
    const struct sigaction action = {.sa_handler = on_signal};
    uint64_t ops = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
    struct gw_error why = {.code = GW_OK};
    enum gw_err err;
    sigaction(SIGTERM, &action, NULL);
    do
        err = live(ops, &why);
    while (err == GW_ECLOSED && !ended);
    if (!err || (ended && err == GW_EINTR))
        return 0;
    fprintf(stderr, "elastic: %s\n", why.text);
    return err == GW_EWRONG ? 1 : AGAIN;
}
